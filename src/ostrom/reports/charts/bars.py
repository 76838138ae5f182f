"""Bars from zero with whiskers, one per level of a column."""

from collections.abc import Sequence
from typing import Any

from ostrom.analysis.estimate import Estimate
from ostrom.data.rundata import RunData
from ostrom.reports.cells import levels_met
from ostrom.reports.chart import Chart
from ostrom.reports.layout import tones
from ostrom.reports.marks import bars_with_whiskers
from ostrom.reports.words import labels, pretty


class Bars(Chart):
    """Bars along ``x``, side by side for the levels of ``colour``."""

    draws_spreads = True

    def __init__(self, measure: Any, x: str, **rest: Any) -> None:
        super().__init__(measure, x, **rest)

    def chart(self, data: RunData, cells: Sequence[Estimate]) -> Any:
        """Grouped bars in small multiples."""
        (x,) = self.x
        across = labels(levels_met(data, x, cells))
        named = labels(levels_met(data, self.colour, cells)) if self.colour else {None: ""}
        beside = labels(levels_met(data, self.facet, cells)) if self.facet else {None: ""}
        return bars_with_whiskers(
            self.placed(cells, across, named, beside),
            x=pretty(x),
            y=self.measure.title.lower(),
            levels=list(across.values()),
            facets=list(beside.values()),
            series=tones(data, self.colour, named),
            shares=self.shows_shares,
        )


CHART = Bars
