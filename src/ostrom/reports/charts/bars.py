"""Bars from zero with whiskers, one per level of a column."""

from collections.abc import Sequence
from typing import Any

from ostrom.analysis.estimate import Estimate
from ostrom.data.rundata import RunData
from ostrom.reports.chart import Chart
from ostrom.reports.layout import tones
from ostrom.reports.marks import bars_with_whiskers


class Bars(Chart):
    """Bars along ``x``, side by side for the levels of ``colour``."""

    draws_spreads = True

    def __init__(self, measure: Any, x: str, **rest: Any) -> None:
        super().__init__(measure, x, **rest)

    def chart(self, data: RunData, cells: Sequence[Estimate]) -> Any:
        """Grouped bars in small multiples."""
        (x,) = self.x
        across, named, beside = (self.levels(data, column, cells) for column in (x, self.colour, self.facet))
        return bars_with_whiskers(
            self.chart_rows(cells, across, named, beside),
            x=self.worded(x),
            y=self.axis,
            levels=list(across.values()),
            facets=list(beside.values()),
            series=tones(data, self.colour, named),
            shares=self.shows_shares,
        )


CHART = Bars
