"""A curve with a band along the levels of a column, in small multiples."""

from collections.abc import Sequence
from typing import Any

from ostrom.analysis.estimate import Estimate
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UsageError
from ostrom.reports.cells import drawn_values, legend_note
from ostrom.reports.chart import Chart
from ostrom.reports.layout import tones
from ostrom.reports.marks import curves, drawn_as_bands
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import is_bare


class Curve(Chart):
    """Levels of ``x`` stand at equal distances in the order of the study, as history lengths usually do."""

    draws_spreads = True

    def __init__(self, measure: Any, x: str, **rest: Any) -> None:
        super().__init__(measure, x, **rest)
        if self.y:
            raise ValueError("a curve takes x, colour and facet; its height is the measure")

    def drawn_as(self, cells: Sequence[Estimate]) -> str:
        """Describe how value and interval are drawn; for numeric levels, that distances are equal."""
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
        across, named, beside = (self.levels(data, column, cells) for column in (x, self.colour, self.facet))
        if len(named) > MOST_COLOURS and not all(is_bare(value) for value in named):
            raise UsageError(f"colour {self.colour}: has {len(named)} levels, at most {MOST_COLOURS} can be told apart")
        return curves(
            self.chart_rows(cells, across, named, beside),
            x=self.worded(x),
            y=self.axis,
            facets=list(beside.values()),
            series=tones(data, self.colour, named),
            legend=self.worded(self.colour) if self.colour else None,
            levels=list(across.values()),
            domain=(0, 1) if self.shows_shares else None,
        )


CHART = Curve
