"""The checks of panels and charts pass ours and refuse what breaks the contract."""

from typing import Any

import pytest

from ostrom.agents.strategies import strategies
from ostrom.data.rundata import RunData
from ostrom.games import build_game
from ostrom.reports.charts._of_estimates import Dots
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.testing import check_chart, check_game, check_panel, check_strategy
from ostrom.testing.small_run import small_run


class Fixed(Panel):
    """A panel that says what it is told to."""

    title = "Fixed"

    def __init__(self, *drawn: Any) -> None:
        self.drawn = list(drawn)

    def draw(self, data: RunData) -> Any:
        """The next answer; the last one again and again."""
        return self.drawn.pop(0) if len(self.drawn) > 1 else self.drawn[0]


@pytest.mark.slow
def test_panels_and_charts_pass_by_name_specification_object_and_class() -> None:
    with small_run() as runs:
        check_panel("cooperation", data=runs)
        check_panel({"name": "cooperation"}, data=runs)
        check_panel({"chart": "dots", "measure": "cooperation"}, data=runs)
        check_chart({"chart": "bars", "measure": "cooperation", "x": "game"}, data=runs)
        check_chart(Dots("score"), data=runs)
    check_panel(lambda: Fixed(Drawn(notes=["Nothing."])))


@pytest.mark.parametrize(
    ("drawn", "problem"),
    [
        ([Drawn()], "says nothing"),
        ([{"tables": []}], "not Drawn"),
        ([Drawn(tables=[Table("t", ["a", "a"], [])])], "a column twice"),
        ([Drawn(tables=[Table("t", ["a"], [[1, 2]])])], "1 columns and a row of 2"),
        ([Drawn(tables=[Table("t", ["a"], [[float("nan")]])])], "holds NaN"),
        ([Drawn(tables=[Table("../t", ["a"], [[1]])])], "name of a file"),
        ([Drawn(figures=[Figure("f", None, " ", "words")])], "has no caption"),
        ([Drawn(figures=[Figure("f", None, "words", " ")])], "has no text alternative"),
        ([Drawn(figures=[Figure("a/f", None, "words", "words")])], "name of a file"),
        ([Drawn(notes=["a", " "])], "an empty note"),
        ([Drawn(notes=["a"]), Drawn(notes=["b"])], "says something else"),
    ],
)
def test_what_breaks_the_contract_is_named(drawn: list[Any], problem: str) -> None:
    with small_run() as runs, pytest.raises(AssertionError, match=problem):
        check_panel(Fixed(*drawn), data=runs)


def test_other_checks_take_names_and_objects_too() -> None:
    check_game("stag_hunt")
    check_game({"name": "stag_hunt"})
    check_game(build_game("stag_hunt"))
    check_strategy("tit_for_tat")
    check_strategy(strategies.build("tit_for_tat"))
