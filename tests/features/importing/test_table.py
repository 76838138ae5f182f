"""Foreign tables cell by cell: numbers of lines, nested records, encodings, and what is refused where."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.features.importing.table import json_rows
from ostrom.features.importing.write import _by_action, _levels
from ostrom.games import build_game
from ostrom.ground.errors import StudyError

NESTED = {"run": 1, "list": [9], "matches": [{"run": 2, "x": "a"}, {"x": None, "y": [True, 1.5]}]}


@pytest.mark.parametrize(
    ("text", "path", "columns", "rows", "unit"),
    [
        ('[{"a": 1}, {"b": false}]', None, ("a", "b"), [(1, {"a": "1"}), (2, {"b": "False"})], "record"),
        ('{"a": 1}\n\n{"a": 2}', None, ("a",), [(1, {"a": "1"}), (3, {"a": "2"})], "line"),
        (
            '{"r": [{"a": 1}]}\n{"r": [{"a": 2}, {"a": 3}]}', "r", ("a",),
            [(1, {"a": "1"}), (2, {"a": "2"}), (2, {"a": "3"})], "line",
        ),
        (
            json.dumps(NESTED), "matches", ("above.run", "run", "x", "y.0", "y.1", "y"),
            [(1, {"above.run": "1", "run": "2", "x": "a"}),
             (2, {"run": "1", "x": "", "y.0": "True", "y.1": "1.5", "y": "[true, 1.5]"})],
            "record",
        ),
    ],
)  # fmt: skip
def test_records_are_rows_with_the_fields_around_them(
    text: str, path: str | None, columns: tuple[str, ...], rows: list[Any], unit: str
) -> None:
    assert json_rows(text, "f.json", path) == (columns, rows, unit)


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        ("[]", None, "has no records"),
        ('{"a": 1, "rows": []}', None, "for example records: rows"),
        ('{"a": 1}', None, "for example records: results"),
        ("3", None, "is no list of records"),
        ("[1]", None, r"record 1: must be an object"),
        ('[{"a": 1}, 2]', None, r"record 2: must be an object"),
        ('{"a": {"b": []}}', "a.c", r"there is no 'c' here .*b"),
        ('{"a": 3}', "a", "must be objects"),
        ('[{"a": {"b": 1}, "a.b": 2}]', None, "has the column 'a.b' twice"),
    ],
)
def test_what_is_no_table_of_records_is_named(text: str, path: str | None, says: str) -> None:
    with pytest.raises(StudyError, match=says):
        json_rows(text, "f.json", path)


@pytest.mark.parametrize(
    ("actions", "labels", "ordered"),
    [
        ({"J": "cooperate", "F": "defect"}, ("F", "J"), ("J", "F")),
        ({"J": 2, "F": 1}, ("J", "F"), ("F", "J")),
        ({"J": "cooperate"}, ("F", "J"), ("F", "J")),
        ({"J": "cooperate", "F": "fly"}, ("F", "J"), ("F", "J")),
        ({"1": "defect", "0.5": "cooperate"}, ("1.0", " 0.50"), (" 0.50", "1.0")),
    ],
)
def test_labels_stand_in_the_order_of_the_actions_that_they_mean(
    actions: dict[str, Any], labels: tuple[str, ...], ordered: tuple[str, ...]
) -> None:
    mapping: Any = SimpleNamespace(actions=actions)
    assert _by_action(labels, build_game("prisoners_dilemma"), mapping) == ordered
    assert _levels({"labels": ["J", "F"], "words": 3}) == {"labels": "J F", "words": "3"}
