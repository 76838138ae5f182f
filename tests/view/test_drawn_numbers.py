"""Numbers, marks and tables as pages draw them, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request

from ostrom.engine.folder import Folder
from ostrom.ground.errors import UsageError
from ostrom.view import runs
from ostrom.view.beside import _first_place, _prompts, aligned, first_difference
from ostrom.view.calls import changes, folded
from ostrom.view.render import compact, duration, lanes, money, odds, payment, query, size, spark
from ostrom.view.states import RunGauge, in_flight
from ostrom.view.viewer import whole_number


@pytest.mark.parametrize(
    ("drawn", "value", "text"),
    [
        (duration, 0.01, "0.01 s"), (duration, 10, "10 s"), (duration, 59.9, "59 s"), (duration, 60, "1 min 00 s"),
        (duration, 3599, "59 min 59 s"), (duration, 3600, "1 h 00 min"), (duration, 86399, "23 h 59 min"),
        (duration, 86400, "1 d 0 h"), (size, 999, "999 B"), (size, 1000, "1.0 kB"), (size, 1_500_000, "1.5 MB"),
        (compact, 999, "999"), (compact, 1000, "1.0 k"), (compact, 10**6, "1.00 M"), (compact, 10**9, "1.00 G"),
        (money, 0.1, "$0.10"), (money, 0.05, "$0.05"), (money, 1234.5, "$1,234.50"), (payment, 0.1, "0.10"),
        (payment, 0.099, "0.099"), (payment, float("inf"), "inf"), (payment, -2.0, "-2"), (odds, "[1]", "odds [1]"),
        (odds, "no", "odds no"), (odds, '{"a": "b"}', 'odds {"a": "b"}'),
        (odds, '{"a":0.1,"b":0.1,"c":0.1,"d":0.1,"e":0.1,"f":0.5}',
         "f 50.0 %, a 10.0 %, b 10.0 %, c 10.0 %, d 10.0 %, e 10.0 %"),
        (odds, '{"a":0.1,"b":0.1,"c":0.1,"d":0.1,"e":0.1,"f":0.1,"g":0.4}',
         "g 40.0 %, a 10.0 %, b 10.0 %, c 10.0 %, d 10.0 %, e 10.0 % and 1 more"),
        (spark, (3,), "0.0,1.0"), (spark, (), ""), (spark, (0, 0), "0.0,23.0 96.0,23.0"),
        (lanes, "·C", [("c", "M1 0h.9v10h-.9z")]), (lanes, "·", []), (lanes, "X", [("o", "M0 3h.9v7h-.9z")]),
        (lanes, "f", [("o", "M0 3h.9v7h-.9z")]), (lanes, "d", [("o", "M0 1h.9v9h-.9z")]),
        (lanes, "D" * 60, [("d", "".join(f"M{i} 6h.9v4h-.9z" for i in range(60)))]),
        (lanes, "D" * 60 + "C", [("c", "M60 0h1v10h-1z"), ("d", "M0 6h60v4h-60z")]),
    ],
)  # fmt: skip
def test_what_is_drawn_of_a_value(drawn: Callable[[Any], Any], value: Any, text: Any) -> None:
    assert drawn(value) == text


def test_a_query_is_changed_in_place_of_what_it_said() -> None:
    assert query([("a", "1"), ("b", "2")], b=3, c=None) == "?a=1&b=3"
    assert query({"a": "x y"}, a=None, d=0) == "?d=0"


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("a b\n", "a c\n", [("a ", False), ("c\n", True)]),
        ("x y\n", "z w\n", [("z w\n", True)]),
        ("", "n\n", [("n\n", True)]),
        ("same\n", "same\n", [("same\n", False)]),
        ("a\nb\n", "a\nb\nc\n", [("a\nb\n", False), ("c\n", True)]),
        ("a\nb\nc\n", "a\nc\n", [("a\nc\n", False)]),
        ("a b c", "a c", [("a c", False)]),
        ("a c", "a b c", [("a ", False), ("b", True), (" c", False)]),
        ("x 1\ny 1\n", "x 2\ny 2\n", [("x ", False), ("2\n", True), ("y ", False), ("2\n", True)]),
        ("a\n" * 400 + "z\n", "b\n" * 401 + "z\n", [("b\n" * 401, True), ("z\n", False)]),
    ],
)
def test_what_is_new_in_a_text_is_told_by_lines_and_words(
    old: str, new: str, parts: list[tuple[str, bool]]
) -> None:
    assert list(changes(old, new)) == parts


def test_long_stretches_that_stayed_are_folded_but_for_two_lines_at_a_change() -> None:
    def kinds(*parts: tuple[str, bool]) -> list[tuple[int, str]]:
        return [(text.count("a"), kind) for text, kind in folded(list(parts))]

    new = ("b", True)
    assert kinds(("a\n" * 6, False), new) == [(6, "same"), (0, "new")]
    assert kinds(("a\n" * 7, False), new) == [(5, "fold"), (2, "same"), (0, "new")]
    assert kinds(new, ("a\n" * 7, False)) == [(0, "new"), (2, "same"), (5, "fold")]
    assert kinds(new, ("a\n" * 8, False), new) == [(0, "new"), (8, "same"), (0, "new")]
    assert kinds(new, ("a\n" * 9, False), new) == [
        (0, "new"), (2, "same"), (5, "fold"), (2, "same"), (0, "new")
    ]  # fmt: skip
    assert kinds(("a\n" * 9, True)) == [(9, "new")] and kinds(("a\n" * 5, False)) == [(5, "fold")]


@pytest.mark.parametrize(
    ("text", "least", "most", "found"),
    [
        ("0", 0, 9, 0), ("9", 0, 9, 9), ("10", 0, 9, None), ("0", 1, 9, None), ("1", 1, 9, 1), ("-1", 0, 9, None),
        ("", 0, 9, None), ("1.0", 0, 9, None), ("²", 0, 9, None), ("٣", 0, 9, None), ("0" * 13 + "7", 0, 9, 7),
        ("0" * 14 + "7", 0, 9, None),
    ],
)  # fmt: skip
def test_an_address_names_whole_numbers_within_bounds(
    text: str, least: int, most: int, found: int | None
) -> None:
    if found is None:
        with pytest.raises(UsageError, match=rf"^round: '.*' must be a whole number of at least {least}$"):
            whole_number(text, "round", least, most)
    else:
        assert whole_number(text, "round", least, most) == found


def test_calls_under_way_are_averaged_over_the_last_minutes() -> None:
    assert in_flight([], 10.0) == ()
    assert set(in_flight([(0.0, None)], 10.0)) == {0.0}, "a call without an end took no time"
    assert in_flight([(0.0, 2.5)], None)[-1] == 1.0 == in_flight([(0.0, 2.5)], 2.5)[-1]
    assert set(in_flight([(0.0, 2.5)], 1e6)) == {0.0}, "long ago"


@pytest.mark.parametrize(
    ("pace", "most", "missing", "rate", "left"),
    [
        ([(0.0, 0, 0), (10.0, 5, 40)], 100.0, 15, 4.0, 30.0),
        ([(0.0, 0, 0), (10.0, 5, 40)], 100.0, -1, 4.0, 0.0),
        ([(0.0, 0, 0), (10.0, 4, 40)], 100.0, 16, 4.0, 15.0),
        ([(0.0, 0, 0), (10.0, 4, 40)], 40.0, 16, 4.0, None),
        ([(0.0, 0, 7), (1.0, 0, 7)], 40.0, 20, None, None),
        ([(0.0, 0, 0), (70.0, 10, 70), (100.0, 15, 130)], 500.0, 5, 2.0, 100 / 3),
        ([(0.0, 0, 0), (69.9, 10, 70), (100.0, 15, 130)], 500.0, 5, None, 100 / 3),
        ([(0.0, 0, 0), (400.0, 0, 0), (1000.0, 6, 60)], 500.0, 5, None, 500.0),
        ([(0.0, 9, 0), (399.0, 9, 0), (1000.0, 14, 60)], 500.0, 5, None, None),
    ],
)
def test_pace_and_time_left_are_those_of_late(
    tmp_path: Path,
    pace: list[tuple[float, int, int]],
    most: float,
    missing: int,
    rate: float | None,
    left: float | None,
) -> None:
    gauge = RunGauge(Folder(tmp_path))
    gauge.status = replace(gauge.status, most_decisions=most)
    gauge._pace.extend(pace)
    assert (gauge._rate(), gauge._left(missing)) == (rate, pytest.approx(left) if left else left)


def cell(key: list[Any], value: float, low: float | None = None) -> dict[str, Any]:
    return {
        "key": key, "value": value, "n": 4, "unit": "matches", "low": low, "high": None if low is None else 0.75,
        "method": "m", "note": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("scale", "cells", "tones", "texts"),
    [
        ("share", [cell(["x", 1], 0.25, 0.125), cell(["y", 2], 1.0)], [2, None, None, 10], ["25.0 %", "100.0 %"]),
        ("payoff", [cell(["x", 1], 2.0), cell(["x", 2], 3.0), cell(["y", 1], 4.0)], [0, 5, 10, None],
         ["2.000", "3.000", "4.000"]),
        ("payoff", [cell(["x", 1], 2.0), cell(["y", 2], 2.0)], [5, None, None, 5], ["2.000", "2.000"]),
        ("share", [cell(["x", 1], 1.5), cell(["y", 2], -0.5)], [10, None, None, 0], ["150.0 %", "-50.0 %"]),
    ],
)  # fmt: skip
def test_a_heat_table_has_a_cell_for_each_pair_of_levels(
    scale: str, cells: list[dict[str, Any]], tones: list[int | None], texts: list[str]
) -> None:
    found = {
        "scale": scale,
        "cells": cells,
        "down": ["x", "y"],
        "across": [1, 2],
        "factors": ["dose", "model"],
    }
    table = runs._table(found, ["dose", "agent"], {"model": ["m"], "game": ["g"]})
    shown = [one for row in table for one in row["cells"]]
    assert [row["label"] for row in table] == ["x", "y"]
    assert [one and one["tone"] for one in shown] == tones
    assert [one["text"] for one in shown if one] == texts
    assert shown[0]["matches"] == "level.model=m&game=g&level.dose=x&agent=1"
    assert shown[0]["label"] == "model m, game g, dose x, agent 1"
    assert shown[0]["interval"] == ("12.5 % to 75.0 %" if cells[0]["low"] else None)


@pytest.mark.parametrize(
    ("by", "down", "across", "key"),
    [(["dose"], ["x"], [None], ["x"]), (["dose"], [None], ["x"], ["x"]), ([], [None], [None], [])],
)
def test_a_heat_table_of_one_column_or_none(
    by: list[str], down: list[Any], across: list[Any], key: list[str]
) -> None:
    found = {"scale": "share", "cells": [cell(key, 0.5)], "down": down, "across": across, "factors": ["dose"]}
    ((one,),) = [row["cells"] for row in runs._table(found, by, {})]
    assert one["tone"] == 5 and one["label"] == ("dose x" if by else "all matches")


@pytest.mark.parametrize(
    ("address", "measure", "rows", "columns", "dose"),
    [
        (b"", "score", "dose", "agent", ""),
        (b"measure=cooperation&where.dose=3", "cooperation", "dose", "agent", "3"),
        (b"rows=agent", "score", "agent", "", ""),
        (b"columns=dose", "score", "", "dose", ""),
        (b"rows=&columns=", "score", "", "", ""),
    ],
)
def test_the_address_of_a_run_chooses_its_heat_table(
    address: bytes, measure: str, rows: str, columns: str, dose: str
) -> None:
    request = Request({"type": "http", "headers": [], "query_string": address})
    found = {
        "columns": {"arm": ["a"], "dose": [3, 4], "agent": ["x", "y"]},
        "measures": [{"name": "first"}],
        "measure": "score",
    }
    choice = runs._choice(request, found)
    assert choice == {
        "measure": measure, "rows": rows, "columns": columns, "where": {"arm": "", "dose": dose, "agent": ""}
    }  # fmt: skip
    where = [("where.dose", dose)] if dose else []
    assert runs._pairs(choice) == [("measure", measure), ("rows", rows), ("columns", columns), *where]
    alone = {**found, "columns": {"arm": ["a"]}, "measure": None}
    plain = runs._choice(Request({"type": "http", "headers": [], "query_string": b""}), alone)
    assert (plain["measure"], plain["rows"], plain["columns"]) == ("first", "arm", "")


@pytest.mark.parametrize(
    ("left", "right", "place"),
    [
        (["CCD", "CCC"], ["CCD", "CCC"], None), (["CC"], ["CCD"], 2), (["CCD"], ["CC"], 2), (["CD"], ["DD"], 0),
        (["C"], ["C", "D"], 0), (None, None, None), (None, ["C"], 0),
    ],
)  # fmt: skip
def test_the_first_action_that_differs_between_two_matches(left: Any, right: Any, place: int | None) -> None:
    assert first_difference({"strips": left}, {"strips": right}) == place


def test_steps_stand_beside_each_other_with_the_first_player_who_answered_otherwise() -> None:
    def step(number: int, *answers: str) -> dict[str, Any]:
        told = [[{"kind": "act", "answer": answer, "action": answer, "note": object()}] for answer in answers]
        return {"step": number, "players": dict(enumerate(told, 1))}

    left, right = [step(0, "C", "D"), step(1, "C", "C")], [step(1, "C", "D"), step(0, "C", "D"), step(2, "D")]
    rows = list(aligned(left, right))
    assert [differs for _, _, differs in rows] == [False, True, True]
    assert rows[1][0]["step"] == rows[1][1]["step"] == 1 and rows[2][0] is None
    assert _first_place({"left": rows[1][0], "right": rows[1][1]}) == (1, 2)
    assert _first_place({"left": None, "right": rows[2][1]}) == (2, 1)


def test_prompts_are_told_apart_by_what_the_other_side_was_not_told() -> None:
    def said(*texts: str) -> Any:
        sent = [SimpleNamespace(role="user", content=SimpleNamespace(text=text)) for text in texts]
        return [SimpleNamespace(messages=sent)]

    left, right = _prompts([said("a b\n", "more"), said("a c\n")])
    assert left == [("user", [("a ", False), ("b\n", True)]), ("user", [("more", False)])]
    assert right == [("user", [("a ", False), ("c\n", True)])]
    assert _prompts([[], said("a")]) == [[], [("user", [("a", False)])]]
