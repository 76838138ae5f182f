"""The index beside a journal: complete, resumable, never wrong, and derived."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.view.runs import said, talk

from ostrom.engine.entries import UNIT
from ostrom.engine.integrity import sealed
from ostrom.ground.errors import RunError, UsageError
from ostrom.models.base import Reply, Request, Usage
from ostrom.studies.run import open_run
from ostrom.view.index import MatchFilters, RunIndex, index_path
from ostrom.view.index_writer import update
from ostrom.view.search import MOST_TERMS, _asked, counts, excerpts, query_of, search, terms_of


def indexed(folder: Path) -> RunIndex:
    assert update(folder)
    return RunIndex(index_path(folder))


def hits(folder: Path, typed: str, **which: object) -> list[tuple[int, int, int]]:
    with RunIndex(index_path(folder)) as index:
        found = search(index, [folder / "journal.db"], typed, **which).hits  # type: ignore[arg-type]
        return [(hit.match, hit.step, hit.player) for hit in found]


def test_every_match_says_the_same_as_the_tables(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    with indexed(folder) as index, open_run(folder) as run:
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
        assert index.progress.complete and index.entries == run.journal.entries


def test_pages_by_any_column_hold_every_match_once(tmp_path: Path) -> None:
    folder = talk(tmp_path, seeds=3, types={"tft": "tit_for_tat", "d": "defector"})
    with indexed(folder) as index:
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
    with indexed(folder) as index:
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
        with pytest.raises(UsageError, match="no place in this list"):
            index.matches(after="{}")


def test_an_index_grows_with_its_journal_and_can_be_stopped_at_any_moment(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    turns = iter([False, True])
    assert not update(folder, stop=lambda: next(turns, True))
    with RunIndex(index_path(folder)) as index:
        assert not index.progress.complete
    whole = dict(indexed(folder).connection.execute("SELECT call, match FROM spoken"))
    talk(tmp_path, seeds=2)
    with indexed(folder) as index, open_run(folder) as run:
        assert len(index.matches().rows) == len(run.plan) > len(set(whole.values()))
        assert (
            index.connection.execute("SELECT count(*) FROM spoken").fetchone()[0]
            == run.journal.spent()["calls"]
        )
        grown = [
            list(index.connection.execute(f"SELECT * FROM {table}"))
            for table in ("matches", "spoken", "voices")
        ]
    index_path(folder).unlink()
    with indexed(folder) as index:
        fresh = [
            list(index.connection.execute(f"SELECT * FROM {table}"))
            for table in ("matches", "spoken", "voices")
        ]
    assert grown == fresh


def test_an_index_that_was_only_begun_is_not_complete(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    assert not update(folder, stop=lambda: True)
    with closing(sqlite3.connect(index_path(folder))) as index, index:
        index.execute(
            "DELETE FROM meta WHERE key IN ('of_matches', 'of_calls')"
        )  # as it is in its first moment
    with RunIndex(index_path(folder)) as opened:
        assert not opened.progress.complete


def test_an_index_of_another_journal_or_from_elsewhere_is_made_anew(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    indexed(folder).connection.close()
    other = talk(tmp_path / "other", lambda _: Reply("[A1]", "war", "raw", usage=Usage(1, 1)))
    (folder / "journal.db").write_bytes((other / "journal.db").read_bytes())
    (folder / "journal.db.tally").write_bytes((other / "journal.db.tally").read_bytes())
    indexed(folder).connection.close()
    assert hits(folder, "war") and not hits(folder, "trust")
    fewer = sqlite3.connect(folder / "journal.db")
    fewer.execute("DELETE FROM units WHERE unit=0")
    fewer.execute("UPDATE meta SET value=value-1 WHERE key='entries'")
    fewer.commit()
    fewer.close()
    with indexed(folder) as index:
        assert index.match(0)["state"] == "open"  # type: ignore[index]
    index_path(folder).write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(RunError, match="cannot be read"):
        RunIndex(index_path(folder))
    indexed(folder).connection.close()
    connection = sqlite3.connect(index_path(folder))
    connection.execute("CREATE TRIGGER evil AFTER INSERT ON matches BEGIN DELETE FROM spoken; END")
    connection.commit()
    connection.close()
    with pytest.raises(RunError, match="another version"):
        RunIndex(index_path(folder))
    with indexed(folder) as index:
        assert index.progress.complete
    index_path(folder).unlink()
    index_path(folder).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="symbolic link"):
        update(folder)


def test_a_withdrawn_match_leaves_no_word_in_the_index(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    indexed(folder).connection.close()
    before = {match for match, _, _ in hits(folder, "trust")}
    connection = sqlite3.connect(folder / "journal.db")
    gone = min(before)
    connection.execute(UNIT, sealed((gone, "withdrawn", None, 3, None, None)))
    connection.execute("UPDATE meta SET value=value+1 WHERE key='entries'")
    connection.commit()
    connection.close()
    with indexed(folder) as index:
        assert gone not in [row["match"] for row in index.matches().rows]
        found = index.connection.execute("SELECT rowid FROM words WHERE words MATCH 'trust'").fetchall()
        spoken = dict(index.connection.execute("SELECT call, match FROM spoken"))
        assert found and all(spoken[call] != gone for (call,) in found)
    assert {match for match, _, _ in hits(folder, "trust")} == before - {gone}


def test_a_damaged_match_is_named_and_the_others_are_there(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    connection = sqlite3.connect(folder / "journal.db")
    connection.execute(
        "UPDATE answers SET value=CAST(x'22ff22' AS TEXT) WHERE unit=0 AND step=0 AND player=0"
    )
    connection.execute(
        "UPDATE calls SET reply=CAST(x'68ff6f' AS TEXT), reasoning=? WHERE unit=1", ("y" * 10_000_000,)
    )
    connection.commit()
    connection.close()
    with indexed(folder) as index:
        rows = index.matches().rows
        assert [row["match"] for row in rows if row["state"] == "damaged"] == [0]
        assert "has no action" in rows[0]["reason"] and "anna" in rows[0]["agents"]
        assert len(rows) > 2
    (folder / "journal.db").write_bytes((folder / "journal.db").read_bytes()[:20_000])
    with pytest.raises(RunError, match=r"journal\.db"):
        update(folder)


def test_prompts_are_found_where_their_words_came_up(tmp_path: Path) -> None:
    folder = talk(tmp_path, rounds=4)
    indexed(folder).connection.close()
    rules = hits(folder, "points", where=["prompt"], limit=100)
    assert rules and {step for _, step, _ in rules} == {0}
    with RunIndex(index_path(folder)) as index:
        assert counts(index, "points", where=["prompt"]).by_where == {"prompt": len(rules)}


@pytest.mark.parametrize(
    "typed",
    ['"', "a AND", "NOT", "reply:", "NEAR(", "*", "-", "^x", "(", "{reply}:", "a OR b)", "'; DROP TABLE",
     "\0", "-trust"],
)  # fmt: skip
def test_nothing_that_is_typed_is_an_error(tmp_path_factory: pytest.TempPathFactory, typed: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "typed"
    if not folder.exists():
        indexed(talk(tmp_path_factory.getbasetemp(), name="typed")).connection.close()
    with RunIndex(index_path(folder)) as index:
        found = search(index, [folder / "journal.db"], typed)
        assert counts(index, typed).total >= len(found.hits)


def test_search_by_where_agent_cell_phrase_and_prefix(tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        return Reply("[A0] für 合作 immer\0later", said(request).reasoning, "raw", usage=Usage(1, 1))

    folder = talk(tmp_path, script)
    with indexed(folder) as index:
        every = counts(index, "trust")
        assert every.total == every.by_where["reasoning"] == sum(every.by_cell.values()) > 0
        assert every.by_where["reply"] == 0 and set(every.by_agent) == {"anna"}
        cell = min(every.by_cell)
        assert (
            counts(index, "trust", cell=cell).total
            == every.by_cell[cell]
            == len(search(index, [folder / "journal.db"], "trust", cell=cell, limit=100).hits)
        )
        for typed in ("FUR", "für", "合作", "合", '"a0 fur"', "imm*", "later"):
            assert counts(index, typed, where=["reply"]).total == every.total, typed
        for typed in ('"fur a0"', "作合", "imm", "trust -immer"):
            assert counts(index, typed, where=["reply"]).total == 0, typed
        seen, after = [], None
        while True:
            page = search(index, [folder / "journal.db"], "trust", after=after, limit=3)
            seen += [hit.call for hit in page.hits]
            if (after := page.after) is None:
                break
        assert len(seen) == len(set(seen)) == every.total
        (where, pieces), *_ = page.hits[-1].excerpts
        assert where == "reasoning" and ("trust", True) in pieces


@pytest.mark.slow
def test_excerpts_hold_the_words_and_little_else() -> None:
    text = "x " * 100_000 + "they betrayed me" + " y" * 100_000
    ((*_,),) = [excerpts(text, terms_of("betrayed"))]
    (pieces,) = excerpts(text, terms_of('"BETRAYED me"'))
    assert ("betrayed me", True) in pieces and sum(len(piece) for piece, _ in pieces) < 250
    assert "".join(piece for piece, _ in pieces).strip("…") in text


def test_beginnings_have_two_letters_and_no_unwanted_word_may_occur() -> None:
    assert [term.prefix for term in terms_of("tr* t* 合* trust")] == [True, False, False, False]
    assert (
        query_of(terms_of("trust -war -peace"), ["reply"]) == '({reply} : ("trust")) NOT ("war" OR "peace")'
    )
    assert query_of(terms_of("-war")) is None
    assert len(terms_of("x " * 100)) == MOST_TERMS


def test_a_search_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    monkeypatch.setattr("ostrom.view.search.SLOWEST", 0.0)
    with indexed(talk(tmp_path)) as index:
        with pytest.raises(RunError, match="this search takes too long: name more words, an agent or a cell"):
            _asked(index, endless, [])
        assert _asked(index, "SELECT 1", []) == [(1,)]
