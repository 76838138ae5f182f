"""Tables with very many columns: what they take grows with their size, not with its square."""

from __future__ import annotations

import itertools
import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from ostrom.features.importing.mapping import load_mapping
from ostrom.features.importing.table import LONGEST_NAME, read_table
from ostrom.ground.errors import StudyError


def wide_csv(columns: int) -> str:
    names = [f"c{n}" for n in range(columns)]
    return "player,other,move,reply\n".replace("\n", "," + ",".join(names) + "\n") + "a,b,C,D" + ",1" * columns


def sparse_json(columns: int) -> str:
    fixed = {"player": "a", "other": "b", "move": "C", "reply": "D"}
    return json.dumps([{**fixed, f"c{n}": n} for n in range(columns)])


def wide_json(columns: int) -> str:
    fixed = {"player": "a", "other": "b", "move": "C", "reply": "D"}
    return json.dumps([{**fixed, **{f"c{n}": n for n in range(columns)}}] * 2)


MAPPING = """
game: prisoners_dilemma
seats:
  1: {player: player, action: move}
  2: {player: other, action: reply}
actions: {C: cooperate, D: defect}
match: {by: [player]}
"""


def count_call(count: itertools.count[int], *_: object) -> None:
    next(count)


def growth(make: Callable[[int], str], name: str, folder: Path) -> float:
    """How many times as many calls a table of eight times as many columns takes."""
    (folder / "m.yaml").write_text(MAPPING)
    rule, where = load_mapping(str(folder / "m.yaml"))[:2]
    calls: list[int] = []
    for columns in (2500, 20_000):
        file = folder / f"{columns}{name}"
        file.write_text(make(columns))
        count = itertools.count()
        sys.setprofile(partial(count_call, count))
        try:
            table = read_table(file, rule, str(where))
        finally:
            sys.setprofile(None)
        assert len(table.columns) == columns + 4
        calls.append(next(count))
    return calls[1] / calls[0]


@pytest.mark.slow
@pytest.mark.parametrize(("make", "name"), [(wide_csv, ".csv"), (wide_json, ".json"), (sparse_json, "-sparse.json")])
def test_many_columns_take_calls_in_proportion(make: Callable[[int], str], name: str, tmp_path: Path) -> None:
    assert growth(make, name, tmp_path) < 10  # in quadratic time it would be 64


def test_a_column_that_stands_twice_is_named(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MAPPING)
    rule, where = load_mapping(str(tmp_path / "m.yaml"))[:2]
    (tmp_path / "a.csv").write_text("player,other,move,reply,x,y,,y,x,\na,b,C,D,1,1,1,1,1,1\n")
    with pytest.raises(StudyError, match="names the column 'x' twice"):
        read_table(tmp_path / "a.csv", rule, str(where))
    (tmp_path / "b.csv").write_text("player,other,move,reply,,\na,b,C,D,1,1\n")
    assert read_table(tmp_path / "b.csv", rule, str(where)).lines[0]["move"] == "C"


def test_a_record_without_a_column_has_an_empty_cell_and_long_names_are_refused(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MAPPING)
    rule, where = load_mapping(str(tmp_path / "m.yaml"))[:2]
    rows = [{"player": "a", "other": "b", "move": "C", "reply": "D"}, {"player": "a", "other": "b", "move": "D"}]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    table = read_table(tmp_path / "a.json", rule, str(where))
    assert [line["reply"] for line in table.lines] == ["D", ""] and table.columns == tuple(rows[0])
    (tmp_path / "a.json").write_text(json.dumps([{**rows[0], "x" * LONGEST_NAME: [1, 2]}]))
    with pytest.raises(StudyError, match="record 1: has a column whose name has more than 1000"):
        read_table(tmp_path / "a.json", rule, str(where))


def test_lists_are_cells_and_lists_of_records_are_columns(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MAPPING)
    rule, where = load_mapping(str(tmp_path / "m.yaml"))[:2]
    rows = [{"player": "a", "other": "b", "move": "C", "reply": "D", "plain": [1, 2], "nested": [{"x": 1}, [2]]}]
    (tmp_path / "a.json").write_text(json.dumps(rows))
    table = read_table(tmp_path / "a.json", rule, str(where))
    assert table.columns[4:] == ("plain.0", "plain.1", "plain", "nested.0.x", "nested.1.0", "nested.1")
