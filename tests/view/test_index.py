"""The index of words: complete, resumable, never wrong, and derived."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.view.runs import said, talk

from ostrom.engine.entries import UNIT
from ostrom.engine.integrity import with_checksum
from ostrom.ground.errors import RunError
from ostrom.models.base import Reply, Request, Usage
from ostrom.studies.run import open_run
from ostrom.view.index import RunIndex, index_path, schema_text
from ostrom.view.index_writer import update
from ostrom.view.search import AROUND, MOST_TERMS, counts, excerpts, search, terms_of
from ostrom.view.words import PLACE, indexable, words_in


def indexed(folder: Path) -> RunIndex:
    assert update(folder)
    return RunIndex(index_path(folder))


def words_of(connection: sqlite3.Connection) -> list[tuple[str, int, int]]:
    """Every word, the call that holds it and in which of its texts."""
    connection.execute("CREATE VIRTUAL TABLE temp.listed USING fts5vocab (main, words, instance)")
    return sorted(connection.execute(f"SELECT DISTINCT term, doc % {PLACE}, doc / {PLACE} FROM listed"))


def listed(index: RunIndex) -> list[tuple[str, int, int]]:
    """The words of an index."""
    return words_of(index.connection)


def hits(folder: Path, typed: str, **which: object) -> list[tuple[int, int, int]]:
    with RunIndex(index_path(folder)) as index:
        found = search(index, [folder / "journal.db"], typed, **which).hits  # type: ignore[arg-type]
        return [(hit.match, hit.step, hit.player) for hit in found]


def test_an_index_grows_with_its_journal_and_can_be_stopped_at_any_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostrom.view.index_writer.TOGETHER", 3)
    folder = talk(tmp_path)
    turns = iter([False, True])
    assert not update(folder, stop=lambda: next(turns, True))
    with RunIndex(index_path(folder)) as index:
        assert not index.progress.complete
    few = counts(indexed(folder), [folder / "journal.db"], "trust").total
    talk(tmp_path, seeds=2)

    def kept() -> list[list[object]]:
        with indexed(folder) as index:
            return [
                listed(index),
                *(
                    list(index.connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2"))
                    for table in ("calls", "voices", "cells")
                ),
            ]

    grown = kept()
    with RunIndex(index_path(folder)) as index, open_run(folder) as run:
        assert index.progress.calls == run.journal.spent()["calls"]
        assert counts(index, [folder / "journal.db"], "trust").total == 2 * few > 0
    index_path(folder).unlink()
    assert grown == kept()


def test_calls_that_are_indexed_in_several_transactions_are_all_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = talk(tmp_path)
    with indexed(folder) as index:
        few, once = counts(index, [folder / "journal.db"], "trust").total, listed(index)
    index_path(folder).unlink()
    monkeypatch.setattr("ostrom.view.index_writer.TOGETHER", 3)
    with indexed(folder) as index:
        assert listed(index) == once
    talk(tmp_path, seeds=2)
    monkeypatch.setattr("ostrom.view.index_writer.MOST_BYTES", 1)  # one call a transaction
    with indexed(folder) as index:
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
        assert update(folder)
        assert counts(index, [folder / "journal.db"], "trust") == before
    with RunIndex(index_path(folder)) as index:
        assert counts(index, [folder / "journal.db"], "trust").total == 2 * before.total


def test_words_stay_when_no_more_can_be_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = talk(tmp_path)
    indexed(folder).connection.close()
    before = hits(folder, "trust", limit=100)
    talk(tmp_path, seeds=2)

    def fails(*_: object) -> int:
        raise RunError("the disk is full")

    with monkeypatch.context() as broken, pytest.raises(RunError, match="the disk is full"):
        broken.setattr("ostrom.view.index_writer.Speech.add", fails)
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
    connection.execute("CREATE TRIGGER evil AFTER INSERT ON calls BEGIN DELETE FROM voices; END")
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
    connection.execute(UNIT, with_checksum((gone, "withdrawn", None, 3, None, None)))
    connection.execute("UPDATE meta SET value=value+1 WHERE key='entries'")
    connection.commit()
    connection.close()
    with indexed(folder) as index, closing(sqlite3.connect(folder / "journal.db")) as journal:
        spoken = {call for (call,) in journal.execute("SELECT id FROM calls WHERE unit=?", (gone,))}
        assert spoken and not spoken & {call for _, call, _ in listed(index)}
    assert {match for match, _, _ in hits(folder, "trust")} == before - {gone}


def test_prompts_are_found_where_their_words_came_up(tmp_path: Path) -> None:
    folder = talk(tmp_path, rounds=4)
    indexed(folder).connection.close()
    rules = hits(folder, "points", where=["prompt"], limit=100)
    assert rules and {step for _, step, _ in rules} == {0}
    with RunIndex(index_path(folder)) as index:
        assert counts(index, [folder / "journal.db"], "points", where=["prompt"]).by_where == {"prompt": len(rules)}


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
    text = "Don\u2019t \u2014 Überläufer_war; ½ ﬁne \x00naïve 合作 cafe\u0301s \ufdfa 𞤀x " + "y" * 100
    words = words_in(text)
    assert words[:6] == ["don", "t", "uberlaufer", "war", "1\u20442", "fine"] and words[-1] == "y" * 100
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(schema_text())
        made.execute("INSERT INTO words (rowid, text) VALUES (1, ?)", (indexable(text),))
        assert {word for word, _, _ in words_of(made)} == set(words)
        for word in words:
            assert made.execute("SELECT rowid FROM words WHERE words MATCH ?", (f'"{word}"',)).fetchall() == [(1,)]


def test_an_index_with_damaged_lists_is_named(tmp_path: Path) -> None:
    folder = talk(tmp_path)
    indexed(folder).connection.close()
    with closing(sqlite3.connect(index_path(folder))) as connection, connection:
        connection.execute("UPDATE words_data SET block=x'ffffffff' WHERE id > 10")
    with RunIndex(index_path(folder)) as index, pytest.raises(RunError, match="delete it: it is made anew"):
        counts(index, [folder / "journal.db"], "trust")


@pytest.mark.parametrize("typed", ["trust", "tr*", "trust round", "round -betray", '"I trust them"', '-"I trust" them'])
@pytest.mark.parametrize("where", [("prompt", "reply", "reasoning"), ("reasoning",), ("prompt", "reply")])
def test_a_search_in_stretches_finds_what_a_search_at_once_finds(
    typed: str, where: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = talk(tmp_path, seeds=3)
    with indexed(folder):
        found = []
        for stretches in [(), (1, 2), (5, 8)]:
            monkeypatch.setattr("ostrom.view.search.STRETCHES", stretches)
            found.append([hits(folder, typed, where=where, after=after) for after in (None, 3, 10_000)])
    assert found[0] == found[1] == found[2] and found[0][2] == []
    assert found[0][0] or typed.startswith("-") or where != ("prompt", "reply", "reasoning")


def test_the_first_hits_of_a_common_word_need_the_first_stretch_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostrom.view.search.STRETCHES", (4, 8))
    folder, asked = talk(tmp_path, seeds=3), list[str]()
    with indexed(folder) as index:
        index.connection.set_trace_callback(asked.append)
        for typed, stretches in (("round", 1), ("round*", 1), ("nowhere", 3)):
            asked.clear()
            search(index, [folder / "journal.db"], typed, limit=2)
            assert sum("MATCH" in query for query in asked if "FROM (SELECT" in query) == stretches


def test_an_index_that_is_complete_has_no_empty_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostrom.view.index_writer.TOGETHER", 1)
    with indexed(talk(tmp_path, seeds=10)) as index:
        assert index.connection.execute("PRAGMA auto_vacuum").fetchone() == (2,)
        assert index.connection.execute("PRAGMA freelist_count").fetchone() == (0,)


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
