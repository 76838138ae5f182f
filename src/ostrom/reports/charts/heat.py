"""A map with its numbers: one tile per combination of two columns."""

from collections.abc import Sequence
from typing import Any

from ostrom.analysis.estimate import Estimate
from ostrom.data.rundata import RunData
from ostrom.reports.axes import ticks_for
from ostrom.reports.chart import Chart
from ostrom.reports.marks import tile_maps


class Heat(Chart):
    """Tiles of ``x`` by ``y``, one map per level of ``facet``; intervals are in the table."""

    agents_at = ("facet",)

    def __init__(self, measure: Any, x: str, y: str, **rest: Any) -> None:
        super().__init__(measure, x, y, **rest)
        if self.colour is not None:
            raise ValueError("the colour of a tile is the measure; split by x, y and facet")

    def drawn_as(self, cells: Sequence[Estimate]) -> str:  # noqa: ARG002
        """How value and interval are drawn."""
        return "Tiles are estimates; their 95 % intervals are in the table."

    def chart(self, data: RunData, cells: Sequence[Estimate]) -> Any:
        """One map, or several side by side."""
        (x,), (y,) = self.x, self.y
        across, down, beside = (self.levels(data, column, cells) for column in (x, y, self.facet))
        domain = (0.0, 1.0) if self.shows_shares else ticks_for(e.value for e in cells).domain
        rows = [
            {
                "x": across[e.key[x]], "y": down[e.key[y]], "mean": e.value,
                "facet": beside[e.key[self.facet] if self.facet else None],
            }
            for e in cells
        ]  # fmt: skip
        return tile_maps(
            rows, across=list(across.values()), down=list(down.values()), facets=list(beside.values()), domain=domain,
            legend=self.axis, titles=(self.worded(x), self.worded(y)),
        )  # fmt: skip


CHART = Heat
