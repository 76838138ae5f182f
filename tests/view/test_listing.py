"""The list of matches: says what the tables say, in slices and while a run is played."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.view.runs import said, talk

from ostrom.engine.entries import UNIT
from ostrom.engine.integrity import with_checksum
from ostrom.ground.errors import ContentRefused, RunError, UsageError
from ostrom.models.base import Reply, Request
from ostrom.studies.run import Run, open_run
from ostrom.view.listing import MatchFilters, MatchList, sign_of
from ostrom.view.shelf import RunsFolder


@contextmanager
def listed(run: Run) -> Iterator[MatchList]:
    with closing(MatchList(run)) as made:
        assert made.update()
        yield made


def test_every_match_says_the_same_as_the_tables(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    with open_run(folder) as run, listed(run) as index:
        rows = index.matches().rows
        played = list(run.rows.matches())
        assert [r["match"] for r in rows] == sorted({p["match"] for p in played})
        for row in rows:
            own = [p for p in played if p["match"] == row["match"]]
            assert (row["agents"], row["scores"]) == ([p["agent"] for p in own], [p["score"] for p in own])
            assert row["cooperation"] == sum(p["cooperation"] for p in own) / len(own)
            assert row["levels"] == {"rounds": own[0]["rounds"]} and row["rounds"] == own[0]["rounds_played"]
            assert [len(strip) for strip in row["strips"]] == [row["rounds"]] * 2
            acts = [d for d in run.rows.decisions(row["match"]) if d["kind"] == "act"]
            assert row["strips"][0] == "".join("DC"[d["cooperative"]] for d in acts if d["player"] == 1)
        assert sum(row["calls"] for row in rows) == run.journal.spent()["calls"] > 0
        assert sum(row["tokens_in"] for row in rows) == run.journal.spent()["tokens_in"]
        assert index.progress.complete


def test_pages_by_any_column_hold_every_match_once(tmp_path: Path) -> None:
    folder = talk(tmp_path, seeds=3, types={"tft": "tit_for_tat", "d": "defector"})
    with open_run(folder) as run, listed(run) as index:
        firsts = {row["first_defection"] for row in index.matches().rows}
        assert None in firsts and len(firsts) > 1
        everything = [row["match"] for row in index.matches().rows]
        for sort in ("match", "cell", "first_defection", "cooperation", "outcome", "usd"):
            for descending in (False, True):
                seen, after = [], None
                while True:
                    page = index.matches(sort=sort, descending=descending, after=after, limit=2)
                    seen += page.rows
                    if (after := page.after) is None:
                        break
                assert sorted(row["match"] for row in seen) == everything, sort
                values = [(row[sort] is not None, row[sort] or 0) for row in seen if sort != "outcome"]
                assert values == sorted(values, reverse=descending)


def test_filters_leave_what_they_say(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    with open_run(folder) as run, listed(run) as index:
        whole = index.matches().rows
        for filters, fits in (
            (MatchFilters(agent="anna"), lambda r: "anna" in r["agents"]),
            (MatchFilters(levels={"rounds": "2"}), lambda r: r["levels"]["rounds"] == 2),
            (MatchFilters(outcome="CC"), lambda r: r["outcome"] == "CC"),
            (MatchFilters(reading="scripted"), lambda r: "scripted" in r["readings"]),
            (MatchFilters(errors=True), lambda r: r["errors"] > 0),
            (MatchFilters(state="failed"), lambda r: r["state"] == "failed"),
        ):
            wanted = [row["match"] for row in whole if fits(row)]
            assert [row["match"] for row in index.matches(filters).rows] == wanted
            assert index.count(filters) == len(wanted)
        for place in ("{}", f"[0,{2**63}]", f"[{-(2**63)},0]"):
            with pytest.raises(UsageError, match="no place in this list"):
                index.matches(after=place)


@pytest.mark.parametrize("declined", [False, True])
def test_a_reply_that_cannot_be_read_is_no_failed_call(tmp_path: Path, declined: bool) -> None:
    once = iter([True])

    def script(request: Request) -> Reply:
        if next(once, False):
            if declined:
                raise ContentRefused("not this", status=400)
            return Reply("Perhaps.")
        return said(request)

    with open_run(talk(tmp_path, script, refused="uniform")) as run, listed(run) as index:
        rows = index.matches().rows
        assert [sum(row[name] for row in rows) for name in ("errors", "complaints", "policies")] == [
            0, not declined, declined,
        ]  # fmt: skip
        wanted = [row["match"] for row in rows if row["complaints"]]
        assert [row["match"] for row in index.matches(MatchFilters(retries=True)).rows] == wanted


def test_a_damaged_match_is_named_and_the_others_are_there(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    connection = sqlite3.connect(folder / "journal.db")
    connection.execute("UPDATE answers SET value=CAST(x'22ff22' AS TEXT) WHERE unit=0 AND step=0 AND player=0")
    connection.execute("UPDATE unit_rows SET made=x'00' WHERE unit=0")
    connection.execute("UPDATE calls SET reply=CAST(x'68ff6f' AS TEXT), reasoning=? WHERE unit=1", ("y" * 10_000_000,))
    connection.commit()
    connection.close()
    with open_run(folder, checked=False) as run, listed(run) as index:
        rows = index.matches().rows
        assert [row["match"] for row in rows if row["state"] == "damaged"] == [0]
        assert "its rows cannot be read" in rows[0]["reason"] and "anna" in rows[0]["agents"]
        assert len(rows) > 2


def whole(run: Run) -> list[dict[str, Any]]:
    with listed(run) as made:
        return made.matches(limit=500).rows


def test_a_list_follows_its_journal(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    with open_run(folder, checked=False) as run, listed(run) as made:
        before = made.matches().rows
        with closing(sqlite3.connect(folder / "journal.db")) as journal, journal:
            journal.execute(UNIT, with_checksum((0, "withdrawn", None, 3, None, None)))
            journal.execute("DELETE FROM units WHERE unit=1 OR unit=3")
            journal.execute("DELETE FROM answers WHERE unit=3")
            journal.execute("UPDATE meta SET value=value+1 WHERE key='entries'")
        made._next = 0.0
        assert made.update()
        rows = made.matches().rows
        assert [row["match"] for row in rows] == [1, 2, *(row["match"] for row in before[4:])]
        assert rows[0]["state"] == "open" and rows[1:] == [before[2], *before[4:]]
        with closing(sqlite3.connect(folder / "journal.db")) as journal, journal:
            journal.execute("UPDATE calls SET seal=seal+1")  # as if it were another journal
            journal.execute("DELETE FROM calls WHERE unit=2")
        made._next = 0.0
        assert made.update() and made.match(2)["calls"] == 0  # type: ignore[index]


def test_a_match_that_is_being_played_is_listed_as_far_as_it_has_come(tmp_path: Path) -> None:
    folders: list[list[dict[str, Any]]] = []

    def looks(request: Request) -> Reply:
        if "R1:" in request.messages[-1].content and not folders:
            with open_run(tmp_path / "talk", checked=False) as run:
                folders.append(whole(run))
        return said(request)

    talk(tmp_path, looks)
    assert folders and any(row["state"] == "open" for row in folders[0])


GAMES = (
    "prisoners_dilemma", "travelers_dilemma", "matching_pennies", "dictator", "ultimatum", "trust", "centipede",
    "alternating_offers", "gift_exchange", "public_goods_amounts", "common_pool",
)  # fmt: skip


@pytest.mark.parametrize("game", GAMES)
def test_rows_and_a_replay_give_the_same_list(tmp_path: Path, game: str) -> None:
    types = {"one": "random", "other": "random"}
    folder = talk(tmp_path, game=game, types=types, vary={}, seeds=2, seating="unordered", rounds=4)
    with open_run(folder) as run:
        kept = whole(run)
        assert all(row["state"] == "done" for row in kept)
    with closing(sqlite3.connect(folder / "journal.db")) as journal:
        journal.execute("DELETE FROM unit_rows")
        journal.commit()
    with open_run(folder) as run:
        assert whole(run) == kept
        for row in kept:
            unit = run.plan.unit(row["match"])
            _, outcome, _ = run.rows.replayed(unit)
            assert outcome is not None and row["rounds"] == len({played.number for played in outcome.played})
            signs = [
                "".join(sign_of(unit, seat, played.actions[seat]) for played in outcome.played)
                for seat in range(unit.game.seats)
            ]
            assert row["strips"] == signs and row["outcome"] == "".join(strip[-1] for strip in signs)
            acts = "".join(signs)
            known = acts.count("C") + acts.count("D")
            assert row["cooperation"] == (acts.count("C") / known if known else None)
            first = [at for strip in signs for at, sign in enumerate(strip, 1) if sign == "D"]
            assert row["first_defection"] == min(first, default=None)


def test_a_long_list_is_read_on_in_the_background(tmp_path: Path) -> None:
    folder = talk(tmp_path, seeds=3)
    shelf = RunsFolder(folder)
    try:
        with shelf.match_list("talk", 0.0) as made:
            assert not made.progress.complete
        for thread in list(shelf._filling.values()):
            thread.join(300)
        assert made.progress.complete and not shelf._filling
    finally:
        shelf.close()
    with pytest.raises(sqlite3.ProgrammingError):
        made.count()


def test_a_journal_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    with open_run(folder, checked=False) as run, closing(MatchList(run)) as made:
        (folder / "journal.db").write_bytes((folder / "journal.db").read_bytes()[:20_000])
        with pytest.raises(RunError, match=r"journal\.db"):
            made.update()
