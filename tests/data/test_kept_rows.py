"""Rows that a match left when it ended are those that a replay of its answers makes, whatever was played."""

import shutil
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.agents.test_predict_first import KNOWN
from tests.cli.in_process import caller
from tests.data.make_runs import HERE, RUNS, STUDIES, Kept, do, placed, those_who_answer

from ostrom.engine.kept_rounds import Columns
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.rows import Rows
from ostrom.engine.unit_rows import ANSWERS, MOST_BYTES, OUTCOMES, PLAYERS, QUESTIONS, UnitRows
from ostrom.ground.errors import RunError, UsageError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

WITHOUT = {"people", "imported", "plain", "looks", "foretold"}
"""People may take back what they did; imported runs are not played; arrays and short scripts need no rows."""


@pytest.fixture(autouse=True)
def _models() -> Iterator[None]:
    with those_who_answer():
        yield


def tables(rows: Rows, *, kept: bool) -> list[str]:
    """All rows of matches and decisions in full: 1 is not 1.0, and 0.0 is not -0.0."""
    lines = []
    for table in rows.tables(stored=kept):
        lines += [repr(row) for row in rows.match_rows(table)]
        lines += [repr(row) for row in rows.decision_rows(table)]
    return lines


@pytest.mark.sample(5)
@pytest.mark.parametrize("kept", RUNS, ids=lambda kept: kept.name)
def test_rows_that_were_left_are_those_of_a_replay(kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / kept.name
    home.mkdir()
    if (STUDIES / kept.name).is_dir():
        shutil.copytree(STUDIES / kept.name, home, dirs_exist_ok=True)
    placed(home, HERE, str(home))
    call, compared, left = caller(monkeypatch, home), 0, 0
    for commands in (kept.commands, kept.goes_on):
        do(call, commands)
        for journal in sorted(home.rglob("journal.db")):
            try:
                run = open_run(journal.parent)
            except UsageError:  # a derived run that is no study
                continue
            with run:
                assert tables(run.rows, kept=True) == tables(run.rows, kept=False)
                ends = list(run.journal.unit_records())
                compared += len(ends)
                left += sum(end.rows is not None for end in ends)
    assert compared or kept.name == "stories"
    assert left or kept.name in WITHOUT or not compared


LONG = "I would rather think about it for a while. " * 8
CHANCE = {"types": {"a": "random:0.3", "b": "random:0.7"}, "seating": "ordered"}
VARIED: dict[str, dict[str, Any]] = {
    **{name: {"mechanism": spec} for name, (spec, _) in KNOWN.items()},
    "asked twice": {"agent": {"style": "social"}, "mechanism": {"name": "reputation", "rounds": 3, "window": 2}},
    "mixtures": {"agent": {"answer": "mixture"}},
    "explained": {"agent": {"answer": "explained"}, "mechanism": {"name": "repetition", "rounds": 3}},
    "a dialogue": {"agent": {"conversation": "dialogue"}, "mechanism": {"name": "repetition", "rounds": 3}},
    "odds": {**CHANCE, "mechanism": {"name": "repetition", "rounds": 40}},
    "many rounds": {**CHANCE, "mechanism": {"name": "repetition", "rounds": 300}},
    "noise": {**CHANCE, "mechanism": {"name": "repetition", "rounds": 40, "noise": 0.4}},
    "three options": {
        "types": {"a": "random"},
        "game": "travelers_dilemma",
        "mechanism": {"name": "repetition", "rounds": 40},
    },
}


def reply(request: Request) -> str:
    last = request.messages[-1].content.rpartition("\n\n")[2]
    if '"rationale"' in last:
        return orjson.dumps({"action": "A1", "rationale": LONG}).decode()
    if '"message"' in last:
        return '{"message": "Well."}'
    return "[A1]" if "[A1]" in request.messages[-1].content else "No."


@pytest.mark.sample(6)
@pytest.mark.parametrize("changes", VARIED.values(), ids=VARIED.keys())
def test_whatever_is_played_leaves_its_rows(changes: dict[str, Any], tmp_path: Path) -> None:
    register("ready", reply)
    try:
        study = {"name": "x", "game": "prisoners_dilemma", "mechanism": "none", "seeds": 2, **changes}
        if "types" not in study:
            study["agent"] = {"model": "scripted/ready", "style": "direct", **changes.get("agent", {})}
        study["invalid"] = {"retries": 1, "policy": "uniform"}
        play(load_study(study), runs=tmp_path, options=PlayOptions(arrays=False))
    finally:
        unregister("ready")
    with open_run("x", tmp_path) as run:
        assert all(end.rows is not None for end in run.journal.unit_records() if end.state == "done")
        rows = tables(run.rows, kept=True)
        assert rows and rows == tables(run.rows, kept=False)


ROWS: dict[str, list[Any]] = {
    "asked": [1, 0, 0, 0, "act", "", None],
    "came": [1, "C", True, 3.0, *[None] * 8],
    "said": [1, "C", None, None, None, 0.5, "exact", 0, None, None, False, None],
    "players": [2, 1, 3.0, None, 0.5, 0, 0, [0, 1]],
}
"""The tables of a match of two players and one decision, as they are kept."""
CODES = [[0], [1], [0], [0], [0]]


def read_rows(codes: Any = CODES, **changes: Any) -> UnitRows:
    tables = {**ROWS, **changes}
    return UnitRows.read(zlib.compress(orjson.dumps([codes, *tables.values()])), "here")


@pytest.mark.parametrize("table", ["asked", "came", "said", "players"])
def test_few_bytes_never_become_many_rows(table: str) -> None:
    """Equal rows take no space while they are kept, so a stranger's journal can claim any number of them."""
    rows = read_rows()
    assert (len(rows.steps), len(rows.players)) == (1, 2)
    row = [value[0] if isinstance(value, list) else value for value in ROWS[table][1:]]
    for count, many in ((1, 3), (100_001, 100_001)):
        if table == "players" and count == 1:
            continue
        with pytest.raises(RunError, match=rf"here: its rows cannot be read \(a table of {many} rows"):
            read_rows([[0] * count] * 5, **{table: [many, *row]})


def test_rows_are_bounded_when_they_are_decompressed() -> None:
    head = orjson.dumps([[MOST_BYTES // 5, 1, 1, 1, 1, 1], *ROWS.values()])
    raw = b"%d\n%s%s" % (len(head), head, bytes(MOST_BYTES))
    assert len(zlib.compress(raw)) < 100_000
    with pytest.raises(RunError, match="cut off or have more than"):
        UnitRows.read(zlib.compress(raw), "here")


def test_tables_that_could_not_be_read_again_are_not_kept() -> None:
    one = read_rows()
    assert one.to_bytes() is not None
    for table in ("asked", "came", "said", "players"):
        assert replace(one, **{table: getattr(one, table)[:1] * 100_001}).to_bytes() is None


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize(
    "wrong", [[], [0, 0], [2**63], [1.0], [True], ["0"], [[0]], [None], 0, None, {"a": 1}], ids=repr
)
def test_codes_of_a_stranger_are_whole_numbers_one_for_every_decision(wrong: Any, place: int) -> None:
    with pytest.raises(RunError, match="here: its rows cannot be read"):
        read_rows([*CODES[:place], wrong, *CODES[place + 1 :]])


@pytest.mark.parametrize("count", [-1, 2, 2**63, 2**70, 1.0, "1", None])
def test_the_number_of_decisions_is_that_of_their_codes(count: Any) -> None:
    head = b"[[%s,1,1,1,1,1],%s]" % (
        str(count).encode() if isinstance(count, int) else orjson.dumps(count),
        b",".join(map(orjson.dumps, ROWS.values())),
    )
    with pytest.raises(RunError, match="here: its rows cannot be read"):
        UnitRows.read(zlib.compress(b"%d\n%s%s" % (len(head), head, bytes([0, 1, 0, 0, 0]))), "here")


VALUES: list[Any] = [None, True, 1, 0.5, "x", [], {}]


@pytest.mark.parametrize(
    ("table", "columns"), [("asked", QUESTIONS), ("came", OUTCOMES), ("said", ANSWERS), ("players", PLAYERS)], ids=str
)
def test_values_of_a_stranger_have_the_types_of_their_columns(table: str, columns: Columns) -> None:
    for place, (column, types) in enumerate(columns.items(), 1):
        for value in VALUES:
            values = [value, value] if table == "players" else value
            row = [*ROWS[table][:place], values, *ROWS[table][place + 1 :]]
            if type(value) in types:
                assert read_rows(**{table: row})
            else:
                with pytest.raises(RunError, match=f"the column {column} has values|a table|argument"):
                    read_rows(**{table: row})


@pytest.mark.parametrize("table", ["asked", "refused"])
def test_rows_name_players_of_their_match_alone(table: str, tmp_path: Path) -> None:
    register("ready", reply)
    try:
        agent = {"model": "scripted/ready", "style": "direct"}
        play(load_study({"name": "x", "game": "prisoners_dilemma", "agent": agent}), runs=tmp_path)
    finally:
        unregister("ready")
    with open_run("x", tmp_path) as run:
        (end,) = run.journal.unit_records()
        assert end.rows is not None
        unit, rows = run.plan.unit(0), UnitRows.read(end.rows, "here")
        asked = [(-1, *one[1:]) for one in rows.asked] if table == "asked" else rows.asked
        changed = replace(rows, asked=asked).to_bytes()
        end = end._replace(rows=changed, refused={"2": 1} if table == "refused" else {})
        with pytest.raises(RunError, match="its rows are those of another match"):
            run.rows._table(unit, end, stored=True)
