"""A measure against one factor, with small multiples and colours for two more: the workhorse of sweeps."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.rundata import RunData
from ostrom.errors import UsageError
from ostrom.reports.cells import Mean, levels, means, varied, why_nothing
from ostrom.reports.marks import curves, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import is_bare, labels, listed, pretty

MOST_FACETS = 36


class CooperationBy(Panel):
    """Means and bands along the levels of ``x``; one small multiple per level of ``panel``, one colour per
    level of ``color``. Levels stand at equal distances in the order of the study, as history lengths
    (1, 2, 5, 10, 80) are usually drawn."""

    def __init__(
        self,
        x: str,
        panel: str | None = None,
        color: str | None = None,
        measure: str = "cooperation",
        title: str | None = None,
    ) -> None:
        used = [name for name in (x, panel, color) if name is not None]
        if len(set(used)) != len(used):
            raise ValueError("x, panel and color must be three different columns")
        self.x, self.panel, self.color, self.measure, self.used = x, panel, color, measure, used
        self.title = title or f"{pretty(measure).capitalize()} by {pretty(x)}"

    def draw(self, data: RunData) -> Drawn:
        """Curves with bands, or the reason why there are none."""
        found = means(data, self.used, self.measure)
        if not found:
            return Drawn(notes=[why_nothing(data, self.measure)])
        notes = [note] if (note := self._pooled(data)) else []
        columns = [*self.used, "matches", self.measure, "low", "high"]
        name = "_".join([self.measure, "by", *self.used])
        rows = [[*m.key.values(), m.matches, m.mean, m.low, m.high] for m in found]
        table = Table(name, columns, rows, f"{self.title}: means over matches with 95 % intervals.")
        figure = Figure(name, self._chart(data, found), self._caption(), self._alt())
        return Drawn([figure], [table], notes)

    def _pooled(self, data: RunData) -> str | None:
        over = [f for f in [*varied(data), "agent"] if f not in self.used and len(levels(data, f)) > 1]
        return f"Every point pools all levels of {listed(over)}." if over else None

    def _chart(self, data: RunData, found: list[Mean]) -> Any:
        across = labels(levels(data, self.x))
        beside = labels(levels(data, self.panel)) if self.panel else {None: ""}
        if len(beside) > MOST_FACETS:
            raise UsageError(
                f"panel {self.panel}: has {len(beside)} levels, at most {MOST_FACETS} can be drawn"
            )
        values = levels(data, self.color) if self.color else [None]
        ordered = self.color is not None and all(is_bare(v) for v in values)
        if len(values) > MOST_COLOURS and not ordered:
            raise UsageError(
                f"color {self.color}: has {len(values)} levels, at most {MOST_COLOURS} can be told apart"
            )
        named = labels(values)
        rows = [
            {
                "x": across[m.key[self.x]],
                "mean": m.mean,
                "low": m.low,
                "high": m.high,
                "series": named[m.key[self.color] if self.color else None],
                "facet": beside[m.key[self.panel] if self.panel else None],
            }
            for m in found
        ]
        present = {row["facet"] for row in rows}
        return curves(
            rows,
            x=pretty(self.x),
            y=pretty(self.measure),
            facets=[name for name in beside.values() if name in present],
            series=series_colours(list(named.values()), ordered=ordered),
            legend=pretty(self.color) if self.color else None,
            levels=list(across.values()),
            domain=(0, 1) if self.measure == "cooperation" else None,
        )

    def _caption(self) -> str:
        what = "share of cooperative actions" if self.measure == "cooperation" else pretty(self.measure)
        each = f", one panel per {pretty(self.panel)}" if self.panel else ""
        return (
            f"Mean {what} against {pretty(self.x)}{each}. The match is the unit: points are means over "
            f"matches, bands 95 % percentile bootstrap intervals. Levels of {pretty(self.x)} stand at equal "
            "distances."
        )

    def _alt(self) -> str:
        by = listed([name for name in (self.panel, self.color) if name])
        return f"Curves of {pretty(self.measure)} against {pretty(self.x)}, split by {by}."


PANEL = CooperationBy
