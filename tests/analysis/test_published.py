"""Published figures beside an own one: which cells are picked, differences between partners, slopes within lines."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.analysis import published
from ostrom.analysis.published import PublishedCells, _once, _picked, _slope, _value, published_beside
from ostrom.analysis.references import Published
from ostrom.ground.errors import UnknownName

COLUMNS = ("game", "memory", "k")


def cell(game: str, memory: str, k: str, value: float, model: str | None = "M") -> Published:
    return Published((game, memory, k), model, value, None, "Table 1", "verified")


CELLS = [
    cell("stag-hunt", "window", "1", 10.0), cell("stag-hunt", "window", "3", 30.0),
    cell("stag-hunt", "none", "1", 4.0), cell("chicken", "window", "1", 50.0), cell("chicken", "window", "all", 90.0),
]  # fmt: skip


@pytest.mark.parametrize(
    ("pick", "where", "levels", "value"),
    [
        ({}, {"game": "Stag_Hunt", "memory": "window"}, None, 20.0),
        ({}, {"game": ["chicken", "stag_hunt"], "k": "1", "memory": "window"}, None, 30.0),
        ({}, {"game": "lost"}, None, None),
        ({"minus": {"memory": "none"}}, {"game": "stag_hunt", "memory": "window"}, None, 6.0),  # k = 3 has no partner
        ({"minus": {"memory": "none"}}, {"game": "chicken", "memory": "window"}, None, None),
        ({"over": "k"}, {"game": "stag_hunt", "memory": "window"}, None, 10.0),
        ({"over": "k"}, {"memory": "window"}, None, 10.0),  # "all" is no number
        ({"over": "k"}, {"game": "stag_hunt", "memory": "window"}, {1.0}, None),
        ({"over": "k", "log": True}, {"game": "stag_hunt", "memory": "window"}, {1.0, 3.0}, 20 / math.log(3)),
        ({"over": "k", "log": "1+x"}, {"game": "stag_hunt", "memory": "window"}, None, 20 / math.log(2)),
    ],
)
def test_the_figure_of_a_paper(
    pick: dict[str, Any], where: dict[str, Any], levels: set[float] | None, value: float | None
) -> None:
    made = _value(PublishedCells(reference="r", **pick), COLUMNS, CELLS, where, levels)
    assert made == (None if value is None else pytest.approx(value))


def test_a_cell_that_several_tables_print_counts_once() -> None:
    once = _once([CELLS[0], CELLS[0], cell("stag-hunt", "window", "1", 20.0), cell("stag-hunt", "window", "1", 9, "N")])
    assert [(one.model, one.value) for one in once] == [("M", 15.0), ("N", 9)]
    assert _picked(COLUMNS, CELLS, {}) == CELLS and _slope([[(1.0, 5.0)]], False) is None


class Papers(dict[str, Any]):
    """References by name."""

    def build(self, name: str) -> Any:
        return self[name]


def test_figures_stand_beside_a_group_by_its_name_and_none_that_is_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = [replace(CELLS[0], value=99.0, doubts=("x",)), replace(CELLS[0], value=1.0, word="high")]
    pooled = cell("chicken", "window", "1", 70.0, None)
    paper = SimpleNamespace(columns=COLUMNS, citation="A (2026)", published=lambda: [*CELLS, *odd, pooled])
    monkeypatch.setattr(published, "references", Papers(r=paper))
    pick = PublishedCells(
        reference="r", where={"memory": "window", "k": "1"}, by={"of": "game"}, names={"hunt": "stag_hunt"},
        scale=0.1,
    )  # fmt: skip
    found = published_beside(pick, [{"of": "hunt"}, {"of": "chicken"}])
    assert [(one.name, one.value, one.group) for one in found] == [
        ("M", 1.0, ("hunt",)), ("M", 5.0, ("chicken",)),
    ]  # fmt: skip
    marked = published_beside(pick, [{"of": "hunt"}], doubted=True)
    assert [(one.name, one.doubts) for one in marked] == [("M", "x")]
    paper.published = lambda: [pooled]  # the paper's own mean stands alone where it prints nothing else
    (mean,) = published_beside(pick, [{"of": "chicken"}])
    assert (mean.name, mean.value) == ("mean of the paper's models", 7.0)
    with pytest.raises(UnknownName, match="column of reference r 'games'"):
        published_beside(pick.model_copy(update={"by": {"of": "games"}}), [])
    with pytest.raises(UnknownName, match="unknown reference 's'"):
        published_beside(pick.model_copy(update={"reference": "s"}), [])
