"""The rows of a unit as they are kept: they come back as they were, and what is no rows is refused in one line."""

import resource
import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from ostrom.engine import integrity
from ostrom.engine.executors.local import batch_endpoint, connections_left
from ostrom.engine.folder import SharedJournal, kind_of, read_manifest, shared_heights
from ostrom.engine.kept_rounds import KeptRounds
from ostrom.engine.match import same
from ostrom.engine.unit_rows import FEW_ROWS, NOTHING_CAME, UnitRows
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import content_hash
from ostrom.models.providers.scripted import ScriptedModel

ASKED = [(seat, seat, seat, "act", "", None) for seat in (0, 1)]
SAID = [("C", None, None, None, p, "scripted", 0, None, None, False, None) for p in (1.0, 0.5)]
CAME = [("C", True, 3, *NOTHING_CAME[3:]), ("D", False, 5.0, *NOTHING_CAME[3:])]
PLAYERS = [(3, 9.0, None, 1.0, 0, 0, 0), (3, 4.0, None, 0.0, 1, 0, 0)]


def rows(count: int, stride: int = 1, said: list[Any] | None = SAID) -> UnitRows:
    """Two decisions a step, every step so far from the one before."""
    steps, ones = np.repeat(np.arange(count // 2) * stride, 2), np.arange(count) % 2
    codes = ones if said is not None else np.arange(count)
    return UnitRows(steps, steps + 1, ASKED, ones, said, codes, CAME, 1 - ones, PLAYERS)


@pytest.mark.parametrize("count", [2, 6, FEW_ROWS, FEW_ROWS + 2])
@pytest.mark.parametrize("stride", [1, 127, 128, 32_767, 32_768])
@pytest.mark.parametrize("said", [SAID, None])
def test_rows_come_back_as_they_were(count: int, stride: int, said: list[Any] | None) -> None:
    made = rows(count, stride, said)
    kept = made.to_bytes()
    assert kept is not None
    back = UnitRows.read(kept, "match 0")
    assert back == made and (back.said is None) == (said is None)
    assert [type(row[2]) for row in back.came] == [int, float]
    assert back.steps.tolist() == made.steps.tolist() and back.rounds.tolist() == made.rounds.tolist()


def test_rows_differ_by_any_number_or_value_that_both_have() -> None:
    made, other = rows(6), rows(6, 2)
    assert made != other and made != rows(4) and made == rows(6) and made != 7
    assert rows(6, 1, None) == made
    assert made != rows(6, 1, [SAID[1], SAID[0]])
    for table in ("asked", "came", "players"):
        other_table: dict[str, Any] = {table: [*getattr(made, table)][::-1]}
        assert made != replace(made, **other_table), table
    for codes in ("steps", "rounds", "asked_codes", "came_codes", "said_codes"):
        other_codes: dict[str, Any] = {codes: getattr(made, codes) + 1}
        assert made != replace(made, **other_codes), codes


def changed(place: int, change: Callable[[Any], Any]) -> bytes:
    """The rows of six decisions with one of their parts changed: the codes, or one of the four tables."""
    kept = rows(6).to_bytes()
    assert kept is not None
    parts = orjson.loads(zlib.decompress(kept))
    parts[place] = change(parts[place])
    return zlib.compress(orjson.dumps(parts))


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        (zlib.compress(b"[[]]")[:-3], "they are cut off"),
        (b"no rows", "incorrect header check"),
        (changed(0, lambda codes: [codes[0][:-1], *codes[1:]]), "they are not complete"),
        (changed(0, lambda codes: codes[:4]), "they are not complete"),
        (changed(0, lambda codes: [[0.5] * 6, *codes[1:]]), "they are not complete"),
        (changed(1, lambda _: None), "they are not complete"),
        (changed(2, lambda _: None), "they are not complete"),
        (changed(4, lambda _: None), "they are not complete"),
        (changed(0, lambda codes: [*codes[:2], [2] * 6, *codes[3:]]), "a code is not in its table"),
        (changed(0, lambda codes: [*codes[:2], [-1] * 6, *codes[3:]]), "a code is not in its table"),
        (changed(0, lambda codes: [*codes[:3], [2] * 6, codes[4]]), "a code is not in its table"),
        (changed(0, lambda codes: [*codes[:4], [2] * 6]), "a code is not in its table"),
        (changed(1, lambda table: table[:-1]), "a table of 2 rows has 5 columns and not 6"),
        (changed(1, lambda table: [7, *table[1:]]), "a table of 7 rows has 6 columns and not 6"),
        (changed(1, lambda table: [-1, *table[1:]]), "a table of -1 rows"),
        (changed(1, lambda table: [1, *(c if isinstance(c, list) else [c, c] for c in table[1:])]),
         "a table has 2 rows and not 1"),
        (changed(1, lambda table: [table[0], ["0", "1"], *table[2:]]), "the column player has values of a wrong type"),
        (changed(4, lambda table: [table[0], True, *table[2:]]), "the column rounds_played has values of a wrong"),
    ],
)  # fmt: skip
def test_what_is_no_rows_is_refused_by_where_and_why(kept: bytes, message: str) -> None:
    with pytest.raises(RunError, match=rf"^match 3: its rows cannot be read \(.*{message}"):
        UnitRows.read(kept, "match 3")


def test_rounds_stand_by_meeting_round_and_player_however_they_were_stored() -> None:
    # meeting, round, player, table; every number differs in its order
    stored = [(1, 3, 0, 8), (0, 5, 1, 6), (0, 5, 0, 7), (1, 2, 1, 9), (0, 4, 1, 4)]
    settled = [(player, 0, "a", "chose", "C", None, True, 1.0, None) for player in (0, 1)]
    meetings, numbers, players, tables = (list(column) for column in zip(*stored, strict=True))
    for order in (slice(None), slice(None, None, -1)):
        columns = (meetings[order], tables[order], numbers[order], settled, players[order])
        found = replace(rows(2), rounds_kept=KeptRounds(*columns)).round_rows()
        who = [found.settled[code][0] for code in found.codes]
        assert [*zip(found.meetings, found.numbers, who, found.tables, strict=True)] == sorted(stored)


def test_answers_that_take_much_space_are_left_to_the_journal() -> None:
    long = [("x" * 1000, *SAID[0][1:]), ("y" * 1100, *SAID[1][1:])]
    kept = rows(6, 1, long).to_bytes()
    assert kept is not None and UnitRows.read(kept, "").said is None
    short = [("x" * 900, *SAID[0][1:]), ("y" * 900, *SAID[1][1:])]
    kept = rows(6, 1, short).to_bytes()
    assert kept is not None and UnitRows.read(kept, "").said == short


@pytest.mark.parametrize(
    ("manifest", "kind"),
    [
        ({"kind": "tree", "parent": {"kind": "branch"}, "study": {}}, "tree"),
        ({"parent": {"kind": "branch"}, "imported": {}, "study": {}}, "branch"),
        ({"imported": {"digest": ""}, "study": {"kind": "x"}}, "imported"),
        ({"study": {"kind": "society"}}, "society"),
        ({"study": {"kind": "society", "game": "chicken"}}, "study"),
        ({"study": {"game": "chicken", "people": {}}}, "people"),
    ],
)
def test_the_kind_of_a_run_is_told_by_its_manifest(manifest: dict[str, Any], kind: str) -> None:
    assert kind_of(manifest) == kind


def test_what_is_no_manifest_is_told_from_one_that_was_changed() -> None:
    for raw, message in (
        (b"{", "cannot be read"), (b"[]", "is not the manifest"), (b"{}", "is not the manifest of a run"),
        (b'{"study": {}}', "its checksum is missing"),
        (b'{\n  "study": {},\n  "checksum": "%s"\n}\n' % (b"0" * 32), "does not fit its checksum"),
    ):  # fmt: skip
        with pytest.raises(RunError, match=f"run.json: {message}"):
            read_manifest(raw, Path("run.json"))


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (True, True, True), (True, 1, False), (0, False, False), (1, 1.0, True), (1.0, 1.0 + 1e-10, True),
        (1.0, 1.0 + 1e-8, False), (0.0, 1e-13, True), (0.0, 1e-11, False), ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"b": 1}, False), ({"a": 1}, {"a": 1, "b": 2}, False), ({"a": 1}, [1], False),
        ([1, 2], (1, 2), True),
        ([1, 2], [1], False), ([1], [2], False), ("a", "a", True), ("a", ["a"], False), ("ab", ["a", "b"], False),
        (None, None, True), (None, 0, False),
    ],
)  # fmt: skip
def test_plain_data_is_the_same_but_for_last_bits(one: Any, other: Any, alike: bool) -> None:
    assert same(one, other) == alike and same(other, one) == alike


def test_a_shared_run_holds_the_tables_that_were_shared_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "matches.parquet").write_bytes(b"rows")
    table = {"digest": content_hash(b"rows"), "rows": 7}
    assert shared_heights(tmp_path, {}) is None
    assert shared_heights(tmp_path, {"shared": {"tables": {"matches": table}}}) == {"matches": 7}
    for name, wrong, message in (
        ("matches", {**table, "digest": content_hash(b"other")}, "is not the table that was shared"),
        ("calls", table, r"calls\.parquet: cannot be read"),
    ):
        with pytest.raises(RunError, match=message):
            shared_heights(tmp_path, {"shared": {"tables": {name: wrong}}})
    journal = SharedJournal(tmp_path / "journal.db")
    journal.close()
    assert (journal.entries, journal.questions, hasattr(journal, "__len__")) == (0, (), False)
    with pytest.raises(UsageError, match="is a shared run: it holds tables without texts"):
        journal.answers(0)


@pytest.mark.parametrize(
    ("soft", "hard", "left"),
    [(1024, 1024, 976), (1024, 4096, 4048), (1024, 9999, 4048), (9000, 9999, 8952), (49, 49, 1), (-1, -1, 4096),
     (100, -1, 4048)],
)  # fmt: skip
def test_connections_are_what_files_are_left(monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, left: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda *_: None)
    assert connections_left() == left


def test_too_few_files_are_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (48, 48))
    with pytest.raises(RunError, match=r"only 48 files may be open at a time, .* more than 48: raise the limit"):
        connections_left()


def test_models_without_batches_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="--batch: scripted/first has no batch endpoint"):
        batch_endpoint(ScriptedModel("scripted/first", lambda _: "x"))


def test_a_query_is_bounded_until_the_structure_is_known_to_be_sound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("EVERY", 100), ("STEPS", 2000), ("STEPS_PER_BYTE", 0)):
        monkeypatch.setattr(integrity, name, value)
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) SELECT max(i) FROM n"
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        made = integrity.guard(connection, tmp_path / "a.db")
        assert connection.execute(count.format(9)).fetchone() == (9,)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            connection.execute(count.format(9000)).fetchone()
        made.reset_limits()
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("CREATE TABLE a (b)")
        integrity.remove_limits(connection)
        assert connection.execute(count.format(9000)).fetchone() == (9000,)
