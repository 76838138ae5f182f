"""Foreign tables cell by cell: numbers of lines, nested records, encodings, and what is refused where."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.features.importing.moves import number_in, span
from ostrom.features.importing.reader import _by_action, _levels, _place
from ostrom.features.importing.table import DEEPEST, LONGEST_NAME, _cells, _flat, decoded, json_rows
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


def test_depth_and_names_of_columns_are_bounded() -> None:
    def nested(depth: int) -> Any:
        return 1 if depth == 0 else {"a": nested(depth - 1)}

    assert list(_flat(nested(DEEPEST), "f", "record 1").values()) == ["1"]
    assert len(_flat({"a" * LONGEST_NAME: 1}, "f", "record 1")) == 1
    for record, says in (
        (nested(DEEPEST + 1), "nested too deeply"),
        ({"a" * (LONGEST_NAME + 1): 1}, "more than 1000"),
    ):
        with pytest.raises(StudyError, match=f"record 7: .*{says}"):
            _flat(record, "f", "record 7")


@pytest.mark.parametrize(
    ("data", "encoding", "text"),
    [
        (b"a\xc3\xa9", None, "a\u00e9"), (b"\xef\xbb\xbfa", None, "a"), ("a".encode("utf-16"), None, "a"),
        (b"\xe9", "latin-1", "\u00e9"), (b"\xef\xbb\xbfa", "latin-1", "a"), (b"a\0", "utf-16-le", "a"),
    ],
)  # fmt: skip
def test_bytes_are_read_by_their_mark_or_the_encoding_that_is_named(
    data: bytes, encoding: str | None, text: str
) -> None:
    assert decoded(data, "f", encoding) == text


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"a\0b\0", r"line 1: holds a NUL .*utf-16-le"),
        (b"abcd\n\0", r"line 2: holds a NUL character$"),
        (b"a\nb\n\xe9", r"line 3: is not utf-8 text"),
    ],
)
def test_the_line_of_what_is_no_text_is_named(data: bytes, says: str) -> None:
    with pytest.raises(StudyError, match=says):
        decoded(data, "f")


def test_rows_are_numbered_by_the_line_they_begin_on() -> None:
    assert list(_cells("f", 'a,b\n"x\ny",1\n2,3', ",")) == [
        (1, ["a", "b"]),
        (2, ["x\ny", "1"]),
        (4, ["2", "3"]),
    ]
    with pytest.raises(StudyError, match="line 2: is not a table"):
        list(_cells("f", 'a,b\n"x,1', ","))
    assert [number_in(text) for text in ("1e3", "inf", "", "-0.5")] == [1000.0, None, None, -0.5]
    assert (span("line", [2, 2]), span("record", [4, 2, 3])) == ("line 2", "records 2-4")


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("line 7", (7, "")), ("lines 7-9", (7, "")), ("record 2, column a, b", (2, "a, b")), ("records 3-4", (3, "")),
        ("game", (5, "")), ("", (5, "")), ("line 7 or so", (5, "")),
    ],
)  # fmt: skip
def test_an_error_names_its_row_and_its_column(key: str, place: tuple[int, str]) -> None:
    assert _place(key, 5) == place


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
