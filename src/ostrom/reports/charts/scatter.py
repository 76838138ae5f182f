"""Dots of one measure against another, one per combination of columns."""

from collections.abc import Sequence
from typing import Any

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.analysis.measure import measures
from ostrom.data.rundata import RunData
from ostrom.reports.chart import Chart, averages, sample_sizes_text
from ostrom.reports.layout import tones
from ostrom.reports.marks import scatter
from ostrom.reports.panel import Drawn, Figure, Table
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import pretty


class Scatter(Chart):
    """``measure`` upwards, ``against`` along; the columns ``y`` make the dots, ``colour`` is one of them."""

    agents_at = ("y",)

    def __init__(self, measure: Any, against: Any, y: Any, colour: str | None = None, **rest: Any) -> None:
        super().__init__(measure, None, y, **rest)
        self.against, self.tint = measures.named(against), colour
        if self.contrast or self.trend or self.facet:
            raise ValueError("a scatter takes measure, against, y and colour")
        if colour is not None and colour not in self.y:
            raise ValueError(f"colour {colour} must be one of the columns y ({', '.join(self.y)})")

    def drawn(self, data: RunData) -> Drawn:
        """The dots that have both values, and their table."""
        by = list(self.y)
        cells = self.estimates(data)
        across = {
            tuple(e.key.values()): e
            for e in estimate(self.values(data, self.against), self.against, by, balance=self.balance)
        }
        both = [(e, across[tuple(e.key.values())]) for e in cells if tuple(e.key.values()) in across]
        if not both:
            return Drawn(notes=[f"No {' and '.join(map(pretty, by))} has both {self.measure.title.lower()} and "
                                f"{self.against.title.lower()}."])  # fmt: skip
        name = self.file or f"{self.measure.name}_against_{self.against.name}"
        columns = [*by, self.against.name, "against_low", "against_high", self.measure.name, "low", "high"]
        table = Table(
            name,
            columns,
            [[*e.key.values(), x.value, x.low, x.high, e.value, e.low, e.high] for e, x in both],
            f"{self.title}: 95 % intervals.",
        )
        chart = self.chart(data, [e for e, _ in both], [x.value for _, x in both])
        caption = (
            f"{self.caption or self.measure.definition} One dot for each {' and '.join(map(pretty, by))}; intervals "
            f"are in the table. {sample_sizes_text([e for e, _ in both])} {averages([e for e, _ in both])}".rstrip()
        )
        return Drawn([Figure(name, chart, caption, f"{self.title}: {len(both)} dots.", self.canvas)], [table], [])

    def chart(self, data: RunData, cells: Sequence[Estimate], across: Sequence[float] = ()) -> Any:
        """Dots, coloured where there are few enough levels."""
        named = self.levels(data, self.tint, cells)
        if len(named) > MOST_COLOURS:
            named = dict.fromkeys(named, "")
        rows = [
            {"x": x, "y": e.value, "series": named[e.key[self.tint] if self.tint else None]}
            for e, x in zip(cells, across, strict=True)
        ]
        return scatter(
            rows, x=self.worded(self.against.name, self.against.title.lower()), y=self.axis,
            series=tones(data, self.tint, named), legend=self.worded(self.tint or ""),
            shares=(self.against.scale == "share", self.measure.scale == "share"),
        )  # fmt: skip


CHART = Scatter
