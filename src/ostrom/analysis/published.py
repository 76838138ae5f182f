"""Published figures next to a run's own: cells of a reference, their difference, or their slope."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from pydantic import Field

from ostrom.analysis.claims import references
from ostrom.analysis.references import Published
from ostrom.ground.errors import UnknownName
from ostrom.ground.validation import Declared
from ostrom.ground.values import grouped

POOLED = "mean of the paper's models"
"""The name of a figure that the paper prints for all of its models together."""


class PublishedCells(Declared):
    """Selected cells of a reference, scaled to the unit of the measure."""

    reference: str
    where: dict[str, str | list[str]] = Field(default_factory=dict)
    minus: dict[str, str] = Field(
        default_factory=dict, description="columns of a second cell, whose value is subtracted"
    )
    over: str = Field(default="", description="a column of numbers: the slope over it is taken")
    log: bool | Literal["1+x"] = False
    by: dict[str, str] = Field(
        default_factory=dict, description="columns of the figure's groups, with the reference's columns for them"
    )
    names: dict[str, str] = Field(
        default_factory=dict, description="levels of the figure's groups that the reference calls otherwise"
    )
    levels: dict[str, dict[str, str]] = Field(
        default_factory=dict, description="of an order: the columns of the cell of each level"
    )
    spread: bool = Field(default=False, description="what is printed after the ± is the figure")
    scale: float = Field(default=1.0, allow_inf_nan=False)

    def between(self, first: str, second: str) -> "PublishedCells | None":
        """Return the difference of two levels of an order; None if one of them is not printed."""
        if not {first, second} <= {*self.levels}:
            return None
        return self.model_copy(update={"where": {**self.where, **self.levels[first]}, "minus": self.levels[second]})


@dataclass(frozen=True)
class Other:
    """A figure of another model, or of people."""

    name: str
    value: float
    source: str
    group: tuple[str, ...] = ()
    doubts: str = ""
    people: bool = False


def published_beside(
    pick: PublishedCells,
    groups: Sequence[Mapping[str, str]],
    levels: Collection[float] | None = None,
    *,
    doubted: bool = False,
    pooled: bool = False,
) -> list[Other]:
    """Return the published figures of every group; doubtful ones are left out, or marked with ``doubted``.

    The paper's mean over its own models is none of them: it stands alone where the paper prints nothing else, and where
    it is what is compared (``pooled``).

    A slope is taken over ``levels``, those of the run: papers have others too, and a slope depends on which.
    """
    if pick.reference not in references:
        raise UnknownName("reference", pick.reference, references)
    paper = references.build(pick.reference)
    cells_of_levels = [column for of in pick.levels.values() for column in of]
    named_columns = (*pick.where, *pick.minus, *pick.by.values(), *cells_of_levels, *filter(None, [pick.over]))
    UnknownName.refuse(f"column of reference {pick.reference}", named_columns, paper.columns)
    printed = [one for one in paper.published() if not one.word and (doubted or not one.doubts)]
    if pick.spread:
        printed = [replace(one, value=one.spread) for one in printed if one.spread is not None]
    cells = _once(printed)
    others = []
    for group in groups or [{}]:
        named = {own: pick.names.get(level, level) for own, level in group.items()}
        wanted = {**pick.where, **{column: named[own] for own, column in pick.by.items() if own in named}}
        beside = []
        for model in dict.fromkeys(one.model for one in cells):
            of = [one for one in cells if one.model == model]
            value = _value(pick, paper.columns, of, wanted, levels)
            if value is not None:
                who, place = model or POOLED, tuple(group.values())
                doubts = "; ".join(dict.fromkeys(d for one in _picked(paper.columns, of, wanted) for d in one.doubts))
                beside.append((model, Other(who, value * pick.scale, paper.citation, place, doubts)))
        preferred = [other for model, other in beside if (model is None) == pooled]
        others += preferred or [other for _, other in beside]
    return others


def _once(figures: Sequence[Published]) -> list[Published]:
    """Return each cell of a model once: a value printed in several tables must not count several times."""
    cells = grouped(((one.model, one.cell), one) for one in figures)
    return [
        replace(of[0], value=fmean({one.value for one in of}), doubts=tuple(d for one in of for d in one.doubts))
        for of in cells.values()
    ]


def _value(
    pick: PublishedCells,
    columns: Sequence[str],
    cells: Sequence[Published],
    conditions: Mapping[str, str | list[str]],
    levels: Collection[float] | None,
) -> float | None:
    first = _picked(columns, cells, conditions)
    if not first:
        return None
    if pick.over:
        place = columns.index(pick.over)
        lines = grouped(
            ((*one.cell[:place], *one.cell[place + 1 :]), (float(one.cell[place]), one.value))
            for one in first
            if _is_number(one.cell[place]) and (levels is None or float(one.cell[place]) in levels)
        )
        return _slope(list(lines.values()), pick.log)
    value = math.fsum(one.value for one in first) / len(first)
    if not pick.minus:
        return value
    second = _picked(columns, cells, {**conditions, **pick.minus})
    # A difference pairs cells that differ only in the columns of ``minus``.
    left, right = (_by_rest(pick, columns, side) for side in (first, second))
    both = [left[key] - right[key] for key in left if key in right]
    return math.fsum(both) / len(both) if both else None


def _by_rest(pick: PublishedCells, columns: Sequence[str], cells: Sequence[Published]) -> dict[tuple[str, ...], float]:
    """Return the mean of cells, grouped by the columns that ``minus`` does not name."""
    kept_places = [place for place, name in enumerate(columns) if name not in pick.minus]
    by_rest = grouped((tuple(one.cell[place] for place in kept_places), one.value) for one in cells)
    return {rest: math.fsum(of) / len(of) for rest, of in by_rest.items()}


def _picked(
    columns: Sequence[str], cells: Sequence[Published], wanted: Mapping[str, str | list[str]]
) -> list[Published]:
    """Return the cells that have the wanted texts; case and hyphens do not matter."""
    return [
        one
        for one in cells
        if all(
            _plain(text) in _plain_all(wanted[name])
            for name, text in zip(columns, one.cell, strict=True)
            if name in wanted
        )
    ]


def _plain(text: str) -> str:
    return text.replace("-", "_").lower()


def _plain_all(wanted: str | list[str]) -> set[str]:
    return {_plain(text) for text in ([wanted] if isinstance(wanted, str) else wanted)}


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _slope(lines: Sequence[Sequence[tuple[float, float]]], log: object) -> float | None:
    """Return the least-squares slope within lines, as ``trend`` computes it for a balanced design.

    Where a paper prints some games at some levels only, differences between games are no slope.

    >>> _slope([[(0, 0.1), (1, 0.2)], [(1, 0.9), (3, 1.1)]], False)
    0.1
    """
    pull = square = 0.0
    for points in lines:
        scaled = [(math.log1p(x) if log == "1+x" else math.log(x) if log else x, y) for x, y in points]
        middle = math.fsum(x for x, _ in scaled) / len(scaled)
        pull += math.fsum((x - middle) * y for x, y in scaled)
        square += math.fsum((x - middle) ** 2 for x, _ in scaled)
    return round(pull / square, 12) if square > 0 else None
