"""Numbers, marks and tables as pages draw them, by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ostrom.engine.folder import Folder
from ostrom.ground.errors import UsageError
from ostrom.view.beside import first_difference
from ostrom.view.calls import changes, folded
from ostrom.view.states import StatusPoller
from ostrom.view.viewer import parse_integer


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
def test_what_is_new_in_a_text_is_told_by_lines_and_words(old: str, new: str, parts: list[tuple[str, bool]]) -> None:
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
def test_an_address_names_whole_numbers_within_bounds(text: str, least: int, most: int, found: int | None) -> None:
    if found is None:
        with pytest.raises(UsageError, match=rf"^round: '.*' must be a whole number of at least {least}$"):
            parse_integer(text, "round", least, most)
    else:
        assert parse_integer(text, "round", least, most) == found


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
    gauge = StatusPoller(Folder(tmp_path))
    gauge.status = replace(gauge.status, most_decisions=most)
    gauge._pace.extend(pace)
    assert (gauge._rate(), gauge._left(missing)) == (rate, pytest.approx(left) if left else left)


@pytest.mark.parametrize(
    ("left", "right", "place"),
    [
        (["CCD", "CCC"], ["CCD", "CCC"], None), (["CC"], ["CCD"], 2), (["CCD"], ["CC"], 2), (["CD"], ["DD"], 0),
        (["C"], ["C", "D"], 0), (None, None, None), (None, ["C"], 0),
    ],
)  # fmt: skip
def test_the_first_action_that_differs_between_two_matches(left: Any, right: Any, place: int | None) -> None:
    assert first_difference({"strips": left}, {"strips": right}) == place
