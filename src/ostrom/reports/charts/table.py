"""A table of estimates without a drawing; with ``x`` in the layout of papers."""

from collections.abc import Sequence
from typing import Any, Literal

from ostrom.analysis.estimate import Estimate, fixed
from ostrom.data.rundata import RunData
from ostrom.ground.values import grouped
from ostrom.reports.cells import levels_met
from ostrom.reports.chart import Chart
from ostrom.reports.panel import Drawn, Table
from ostrom.reports.words import pretty, written


class EstimateTable(Chart):
    """One row per combination of the columns ``y``; without them every cell and agent has one.

    With ``x`` the levels of that column stand side by side, and a cell is a text: ``show: sd`` is mean ± standard
    deviation over matches, ``show: interval`` mean [interval]. ``scale: 100`` writes shares in per cent.
    """

    agents_at = ("y",)

    def __init__(
        self, measure: Any, y: Any = None, x: str | None = None, show: Literal["sd", "interval"] = "sd",
        scale: float = 1.0, digits: int = 2, **rest: Any,
    ) -> None:  # fmt: skip
        super().__init__(measure, x, y, **rest)
        if show not in ("sd", "interval"):
            raise ValueError(f"show must be sd or interval (found {show!r})")
        if show == "sd" and (self.contrast or self.trend):
            raise ValueError("a difference or slope has no standard deviation over matches; write show: interval")
        self.show, self.scale, self.digits = show, scale, digits

    def by(self, data: RunData) -> list[str]:
        """Return the requested columns, or all factors and the agent."""
        return self.used or [*data.factors, "agent"]

    def chart(self, data: RunData, cells: Sequence[Estimate]) -> Any:  # noqa: ARG002
        """No drawing."""
        return None

    def drawn(self, data: RunData) -> Drawn:
        """Return the long table, and the wide one if levels are side by side."""
        drawn = super().drawn(data)
        if not self.x or not drawn.tables:
            return drawn
        (long,) = drawn.tables
        return Drawn(tables=[self._wide(data, self.estimates(data), f"{long.name}_wide"), long], notes=drawn.notes)

    def _wide(self, data: RunData, estimates: Sequence[Estimate], name: str) -> Table:
        (x,) = self.x
        rows = [c for c in self.used if c != x]
        across = levels_met(data, x, estimates)
        cells = grouped((tuple(e.key[c] for c in rows), (e.key[x], self._cell(e))) for e in estimates)
        heads = [written(level) for level in across]
        what = "mean ± standard deviation over matches (n - 1)" if self.show == "sd" else "mean [95 % interval]"
        return Table(
            name,
            [*rows, *heads],
            [[*key, *(dict(of).get(level) for level in across)] for key, of in cells.items()],
            f"{self.title}: {what}; columns are levels of {pretty(x)}.",
            levels=heads,
        )

    def _cell(self, e: Estimate) -> str:
        ends = (e.sd,) if self.show == "sd" else (e.low, e.high)
        value, *around = (None if n is None else fixed(n * self.scale, self.digits) for n in (e.value, *ends))
        if None in around:
            return str(value)
        return f"{value} ± {around[0]}" if self.show == "sd" else f"{value} [{around[0]}, {around[1]}]"


CHART = EstimateTable
