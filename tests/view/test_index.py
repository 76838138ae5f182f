"""The index of words: complete, resumable, never wrong, and derived."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.view.runs import said, talk

from ostrom.engine.entries import UNIT
from ostrom.engine.integrity import sealed
from ostrom.ground.errors import RunError
from ostrom.models.base import Reply, Request, Usage
from ostrom.studies.run import open_run
from ostrom.view.index import RunIndex, index_path
from ostrom.view.index_writer import update
from ostrom.view.postings import Postings, line_of, packed, unpacked, words_in
from ostrom.view.search import AROUND, MOST_TERMS, counts, excerpts, search, terms_of


def indexed(folder: Path) -> RunIndex:
    assert update(folder)
    return RunIndex(index_path(folder))


def hits(folder: Path, typed: str, **which: object) -> list[tuple[int, int, int]]:
    with RunIndex(index_path(folder)) as index:
        found = search(index, [folder / "journal.db"], typed, **which).hits  # type: ignore[arg-type]
        return [(hit.match, hit.step, hit.player) for hit in found]


def test_an_index_grows_with_its_journal_and_can_be_stopped_at_any_moment(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    turns = iter([False, True])
    assert not update(folder, stop=lambda: next(turns, True))
    with RunIndex(index_path(folder)) as index:
        assert not index.progress.complete
    few = counts(indexed(folder), [folder / "journal.db"], "trust").total
    talk(tmp_path, seeds=2)

    def kept() -> list[list[object]]:
        with indexed(folder) as index:
            tables = ("segments", "postings", "voices", "cells")
            return [
                list(index.connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2")) for table in tables
            ]

    grown = kept()
    with RunIndex(index_path(folder)) as index, open_run(folder) as run:
        assert index.progress.calls == run.journal.spent()["calls"] and len(index.segments(0)) == 1
        assert counts(index, [folder / "journal.db"], "trust").total == 2 * few > 0
    index_path(folder).unlink()
    assert grown == kept()


def test_a_large_last_segment_stays_and_the_next_begins_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostrom.view.index_writer.SMALL", 4)
    monkeypatch.setattr("ostrom.view.words.SEGMENT", 7)
    monkeypatch.setattr("ostrom.view.words.TOGETHER", 3)
    folder = talk(tmp_path)
    with indexed(folder) as index:
        before, few = index.segments(0), counts(index, [folder / "journal.db"], "trust").total
    talk(tmp_path, seeds=2)
    with indexed(folder) as index:
        after = index.segments(0)
        assert len(before) > 1 and after[: len(before) - 1] == before[:-1] and len(after) > len(before)
        assert all(one[1] + 1 == other[0] for one, other in pairwise(after))
        assert counts(index, [folder / "journal.db"], "trust").total == 2 * few
        every = [hit.call for hit in search(index, [folder / "journal.db"], "trust", limit=100).hits]
        assert every == sorted(every) and len(every) == 2 * few
        middle = every[few]
        assert [
            hit.call for hit in search(index, [folder / "journal.db"], "trust", after=middle, limit=100).hits
        ] == every[few + 1 :]


def test_a_page_reads_one_state_of_an_index_that_grows(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    with indexed(folder) as index:
        before = counts(index, [folder / "journal.db"], "trust")
        talk(tmp_path, seeds=2)
        assert update(folder)  # its only segment is made anew
        assert counts(index, [folder / "journal.db"], "trust") == before
    with RunIndex(index_path(folder)) as index:
        assert counts(index, [folder / "journal.db"], "trust").total == 2 * before.total


def test_words_stay_when_their_segment_cannot_be_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = talk(tmp_path)
    indexed(folder).connection.close()
    before = hits(folder, "trust", limit=100)
    talk(tmp_path, seeds=2)

    def fails(*_: object) -> int:
        raise RunError("the disk is full")

    with monkeypatch.context() as broken, pytest.raises(RunError, match="the disk is full"):
        broken.setattr("ostrom.view.words.Speech.segment", fails)
        update(folder)
    with RunIndex(index_path(folder)) as index:
        assert index.progress.problem == "the disk is full"
    assert hits(folder, "trust", limit=100) == before
    assert update(folder) and len(hits(folder, "trust", limit=100)) == 2 * len(before)


def test_an_index_that_was_only_begun_is_not_complete(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    assert not update(folder, stop=lambda: True)
    with closing(sqlite3.connect(index_path(folder))) as index, index:
        index.execute("DELETE FROM meta WHERE key='of_calls'")  # as it is in its first moment
    with RunIndex(index_path(folder)) as opened:
        assert not opened.progress.complete


@pytest.mark.slow
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
    indexed(folder).connection.close()
    index_path(folder).write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    with pytest.raises(RunError, match="cannot be read"):
        RunIndex(index_path(folder))
    indexed(folder).connection.close()
    connection = sqlite3.connect(index_path(folder))
    connection.execute("CREATE TRIGGER evil AFTER INSERT ON postings BEGIN DELETE FROM segments; END")
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
        (voices,) = (index.voices_of(*segment) for segment in index.segments(0))
        (found,) = index.calls_with(1, "ttrust", prefix=False)
        assert len(found) and all(voices[found] > 0) and not all(voices > 0)
    assert {match for match, _, _ in hits(folder, "trust")} == before - {gone}


def test_prompts_are_found_where_their_words_came_up(tmp_path: Path) -> None:
    folder = talk(tmp_path, rounds=4)
    indexed(folder).connection.close()
    rules = hits(folder, "points", where=["prompt"], limit=100)
    assert rules and {step for _, step, _ in rules} == {0}
    with RunIndex(index_path(folder)) as index:
        assert counts(index, [folder / "journal.db"], "points", where=["prompt"]).by_where == {
            "prompt": len(rules)
        }


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
        assert counts(index, [folder / "journal.db"], typed).total >= len(found.hits)


def test_search_by_where_agent_cell_phrase_and_prefix(tmp_path: Path) -> None:
    def script(request: Request) -> Reply:
        return Reply("[A0] für 合作 immer\0later", said(request).reasoning, "raw", usage=Usage(1, 1))

    folder = talk(tmp_path, script)
    with indexed(folder) as index:
        every = counts(index, [folder / "journal.db"], "trust")
        assert every.total == every.by_where["reasoning"] == sum(every.by_cell.values()) > 0
        assert every.by_where["reply"] == 0 and set(every.by_agent) == {"anna"}
        cell = min(every.by_cell)
        assert (
            counts(index, [folder / "journal.db"], "trust", cell=cell).total
            == every.by_cell[cell]
            == len(search(index, [folder / "journal.db"], "trust", cell=cell, limit=100).hits)
        )
        chosen = counts(index, [folder / "journal.db"], "trust", cell=cell)
        assert chosen.by_where == {"reply": 0, "reasoning": chosen.total, "prompt": 0}
        for typed in ("trust -a0", 'trust -"a0 fur"'):  # what must not occur is looked for in all texts
            assert counts(index, [folder / "journal.db"], typed, where=["reasoning"]).total == 0, typed
        for typed in ("FUR", "für", "合作", "合", '"a0 fur"', "imm*", "later"):
            assert counts(index, [folder / "journal.db"], typed, where=["reply"]).total == every.total, typed
        for typed in ('"fur a0"', "作合", "imm", "trust -immer", '"a0 fur" -"immer later"'):
            assert counts(index, [folder / "journal.db"], typed, where=["reply"]).total == 0, typed
        for typed in ('trust -"immer a0"', "trust immer-la*"):
            assert counts(index, [folder / "journal.db"], typed).total == every.total, typed
        assert counts(index, [folder / "journal.db"], 'trust -"immer later"').total == 0
        seen, after = [], None
        while True:
            page = search(index, [folder / "journal.db"], "trust", after=after, limit=3)
            seen += [hit.call for hit in page.hits]
            if (after := page.after) is None:
                break
        assert len(seen) == len(set(seen)) == every.total
        (where, pieces), *_ = page.hits[-1].excerpts
        assert where == "reasoning" and ("trust", True) in pieces


def test_a_word_right_behind_an_excerpt_has_one_of_its_own() -> None:
    text = f"trust {'x' * (AROUND - 2)} trust"
    assert [piece for pieces in excerpts(text, terms_of("trust")) for piece in pieces if piece[1]] == [
        ("trust", True)
    ] * 2


def test_words_are_the_same_in_texts_and_in_what_is_typed() -> None:
    text = "Don\u2019t \u2014 Überläufer_war; ½ ﬁne \x00naïve 合作 " + "y" * 100
    words = words_in(text)
    assert words[:6] == ["don", "t", "uberlaufer", "war", "1\u20442", "fine"] and words[-1] == "y" * 64
    assert line_of(text.encode()).split(" ")[1:-1] == words
    postings = Postings()
    postings.add([b"", text.encode(), b"war war"])
    postings.add([b"peace"])
    lists = {word: unpacked(hits).tolist() for word, hits in postings.lists(4)}
    assert lists == {**{word: [1] for word in words}, "war": [1, 2], "peace": [3]}
    assert list(lists) == sorted(lists)


@pytest.mark.parametrize("span", [1, 2, 7, 1000, 65_536])
def test_lists_of_calls_are_read_as_they_were_written(span: int) -> None:
    rng = np.random.default_rng(span)
    for count in {1, 2, span // 3, span} - {0}:
        places = np.sort(rng.choice(span, min(count, span), replace=False))
        raw = packed(places, span)
        assert unpacked(raw).tolist() == places.tolist()
        assert len(raw) <= 5 + 2 + len(places) * (3 + (span // len(places)).bit_length()) / 8
        for broken in (raw[:3], raw[: len(raw) // 2], bytes([63]) + raw[1:], raw + b"\xff"):
            with pytest.raises(ValueError, match="list of calls"):
                unpacked(broken)


def test_an_index_with_damaged_lists_is_named(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    indexed(folder).connection.close()
    for broken in ("UPDATE postings SET hits=x'00'", "UPDATE segments SET voices=x'00'"):
        with closing(sqlite3.connect(index_path(folder))) as connection, connection:
            connection.execute(broken)
        with (
            RunIndex(index_path(folder)) as index,
            pytest.raises(RunError, match="delete it: it is made anew"),
        ):
            counts(index, [folder / "journal.db"], "trust")
        index_path(folder).unlink()
        indexed(folder).connection.close()


def test_beginnings_have_two_letters_and_terms_are_few() -> None:
    assert [term.prefix for term in terms_of("tr* t* 合* trust")] == [True, False, False, False]
    assert len(terms_of("x " * 100)) == MOST_TERMS


def test_a_search_that_takes_too_long_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostrom.view.search.SLOWEST", -1.0)
    folder = talk(tmp_path)
    with (
        indexed(folder) as index,
        pytest.raises(RunError, match="this search takes too long: name more words, an agent or a cell"),
    ):
        counts(index, [folder / "journal.db"], '"I trust them"')
