"""Dots with whiskers, one row per combination of columns."""

from collections.abc import Sequence
from typing import Any

from ostrom.analysis.estimate import Estimate, against_all
from ostrom.data.rundata import RunData
from ostrom.reports.chart import Chart
from ostrom.reports.layout import Layout, dot_chart, lay_out
from ostrom.reports.theme import MOST_COLOURS

MOST_ROWS = 400


class Dots(Chart):
    """``y`` names the columns of the rows; without it every cell and agent has one.

    ``block`` is a factor that makes blocks of the cells if it varies.
    """

    agents_at = ("y",)

    def __init__(self, measure: Any, y: Any = None, block: str | None = None, **rest: Any) -> None:
        super().__init__(measure, None, y, **rest)
        self.block = block

    def by(self, data: RunData) -> list[str]:
        """Return the requested columns, or all factors and the agent."""
        if self.used:
            return self.used
        over = [*self.contrast] if self.contrast else [self.trend["over"]] if self.trend else []
        return [name for name in [*data.factors, "agent"] if name not in over]

    def chart(self, data: RunData, cells: Sequence[Estimate]) -> Any:
        """Draw rows of dots; of very many only the first."""
        layout = (
            lay_out(data, self.block, self.labels)
            if not self.used and self.contrast is self.trend is None
            else self._layout(cells)
        )
        axis = self.axis
        if self.contrast is not None:
            axis = f"difference in {axis}"
        elif self.trend is not None:
            over, log = self.worded(self.trend["over"]), self.trend.get("log", False)
            axis = f"slope of {axis} over {f'log({over})' if log is True else f'log(1 + {over})' if log else over}"
        return dot_chart(
            data,
            cells[:MOST_ROWS],
            layout,
            axis=axis,
            domain=(0.0, 1.0) if self.shows_shares else None,
            own=self.labels,
        )

    def _layout(self, cells: Sequence[Estimate]) -> Layout:
        rows = list(self.y) or [c for c in cells[0].key if c not in (self.colour, self.facet, "over")]
        one = [factor for factor, levels in (self.contrast or {}).items() if not against_all(levels)]
        rows = [c for c in rows if c not in one]  # a single difference is the same in every row
        met = list(dict.fromkeys(e.key[self.colour] for e in cells)) if self.colour else []
        return Layout(
            self.facet, tuple(rows), 1 < len(met) <= MOST_COLOURS, tuple(met), self.named(met), self.colour or "agent"
        )

    def notes(self, cells: Sequence[Estimate]) -> list[str]:
        """The notes below the chart, with how many rows are not drawn."""
        more = super().notes(cells)
        if len(cells) > MOST_ROWS:
            return [f"The chart shows the first {MOST_ROWS} of {len(cells)} rows; the table has all.", *more]
        return more


CHART = Dots
