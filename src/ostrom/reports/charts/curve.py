"""A curve with a band along the levels of a column, in small multiples."""

from collections.abc import Sequence
from typing import Any

from ostrom.analysis.estimate import Estimate
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UsageError
from ostrom.reports.cells import drawn_values, legend_note, levels_met
from ostrom.reports.chart import Chart
from ostrom.reports.layout import tones
from ostrom.reports.marks import curves, drawn_as_bands
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import is_bare, labels, pretty

MOST_FACETS = 36


class Curve(Chart):
    """Levels of ``x`` stand at equal distances in the order of the study, as history lengths usually do."""

    draws_spreads = True

    def __init__(self, measure: Any, x: str, **rest: Any) -> None:
        super().__init__(measure, x, **rest)
        if self.y:
            raise ValueError("a curve takes x, colour and facet; its height is the measure")

    def drawn_as(self, cells: Sequence[Estimate]) -> str:
        """How value and interval are drawn; what stands for numbers says that distances are equal."""
        (x,) = self.x
        even = all(is_bare(e.key[x]) for e in cells) and x != "round"
        places = (
            (e.key.get(self.facet or ""), e.key.get(self.colour or ""))
            for e in cells
            if drawn_values(e)["low"] is not None
        )
        if self.bands != "sd" and drawn_as_bands(places):
            caption = legend_note(cells, interval="bands 95 % intervals")
        else:
            caption = super().drawn_as(cells)
        return caption + (" Levels stand at equal distances." if even else "")

    def chart(self, data: RunData, cells: Sequence[Estimate]) -> Any:
        """Curves with bands."""
        (x,) = self.x
        across = labels(levels_met(data, x, cells))
        beside = labels(levels_met(data, self.facet, cells)) if self.facet else {None: ""}
        if len(beside) > MOST_FACETS:
            raise UsageError(f"facet {self.facet}: has {len(beside)} levels, at most {MOST_FACETS} can be drawn")
        values = levels_met(data, self.colour, cells) if self.colour else [None]
        ordered = self.colour is not None and all(is_bare(v) for v in values)
        if len(values) > MOST_COLOURS and not ordered:
            raise UsageError(
                f"colour {self.colour}: has {len(values)} levels, at most {MOST_COLOURS} can be told apart"
            )
        named = labels(values)
        return curves(
            self.placed(cells, across, named, beside),
            x=pretty(x),
            y=self.measure.title.lower(),
            facets=list(beside.values()),
            series=tones(data, self.colour, named),
            legend=pretty(self.colour) if self.colour else None,
            levels=list(across.values()),
            domain=(0, 1) if self.shows_shares else None,
        )


CHART = Curve
