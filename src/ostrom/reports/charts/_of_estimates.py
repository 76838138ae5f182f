"""The charts that draw estimates: bars, curves, dots, maps, scatters, and a table without a drawing."""

from collections.abc import Sequence
from typing import Any, Literal

from ostrom.analysis.estimate import Estimate, against_all, estimate, fixed
from ostrom.analysis.measure import measures
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UsageError
from ostrom.ground.values import grouped
from ostrom.reports.canvas import ticks_for
from ostrom.reports.cells import drawn_values, legend_note, levels_met
from ostrom.reports.chart import Chart, averages, sample_sizes_text
from ostrom.reports.layout import Layout, dot_chart, lay_out, tones
from ostrom.reports.marks import bars_with_whiskers, curves, drawn_as_bands, scatter, tile_maps
from ostrom.reports.panel import Drawn, Figure, Table
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import is_bare, pretty, written


class Bars(Chart):
    """Bars along ``x``, side by side for the levels of ``colour``."""

    draws_spreads = True

    def __init__(self, measure: Any, x: str, **rest: Any) -> None:
        super().__init__(measure, x, **rest)

    def chart(self, data: RunData, cells: Sequence[Estimate]) -> Any:
        """Grouped bars in small multiples."""
        across, named, beside = (self.levels(data, column, cells) for column in (*self.x, self.colour, self.facet))
        return bars_with_whiskers(
            self.chart_rows(cells, across, named, beside), x=self.worded(*self.x), y=self.axis,
            levels=list(across.values()), facets=list(beside.values()), series=tones(data, self.colour, named),
            shares=self.shows_shares,
        )  # fmt: skip


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
        bands = self.bands != "sd" and drawn_as_bands(places)
        caption = legend_note(cells, interval="bands 95 % intervals") if bands else super().drawn_as(cells)
        return caption + (" Levels stand at equal distances." if even else "")

    def chart(self, data: RunData, cells: Sequence[Estimate]) -> Any:
        """Curves with bands."""
        across, named, beside = (self.levels(data, column, cells) for column in (*self.x, self.colour, self.facet))
        if len(named) > MOST_COLOURS and not all(is_bare(value) for value in named):
            raise UsageError(f"colour {self.colour}: has {len(named)} levels, at most {MOST_COLOURS} can be told apart")
        return curves(
            self.chart_rows(cells, across, named, beside), x=self.worded(*self.x), y=self.axis,
            facets=list(beside.values()), series=tones(data, self.colour, named),
            legend=self.worded(self.colour) if self.colour else None, levels=list(across.values()),
            domain=(0, 1) if self.shows_shares else None,
        )  # fmt: skip


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
        return self.used or [name for name in [*data.factors, "agent"] if name not in self.compared_columns]

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
        more = f"The chart shows the first {MOST_ROWS} of {len(cells)} rows; the table has all."
        return [*([more] if len(cells) > MOST_ROWS else []), *super().notes(cells)]


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
        rows = [
            {
                "x": across[e.key[x]], "y": down[e.key[y]], "mean": e.value,
                "facet": beside[e.key[self.facet] if self.facet else None],
            }
            for e in cells
        ]  # fmt: skip
        return tile_maps(
            rows, across=list(across.values()), down=list(down.values()), facets=list(beside.values()),
            domain=(0.0, 1.0) if self.shows_shares else ticks_for(e.value for e in cells).domain,
            legend=self.axis, titles=(self.worded(x), self.worded(y)),
        )  # fmt: skip


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
        by, cells = list(self.y), self.estimates(data)
        across = {
            tuple(e.key.values()): e
            for e in estimate(self.values(data, self.against), self.against, by, balance=self.balance)
        }
        both = [(e, across[tuple(e.key.values())]) for e in cells if tuple(e.key.values()) in across]
        if not both:
            return Drawn(notes=[f"No {' and '.join(map(pretty, by))} has both {self.measure.title.lower()} and "
                                f"{self.against.title.lower()}."])  # fmt: skip
        name, drawn = self.file or f"{self.measure.name}_against_{self.against.name}", [e for e, _ in both]
        columns = [*by, self.against.name, "against_low", "against_high", self.measure.name, "low", "high"]
        rows = [[*e.key.values(), x.value, x.low, x.high, e.value, e.low, e.high] for e, x in both]
        caption = (
            f"{self.caption or self.measure.definition} One dot for each {' and '.join(map(pretty, by))}; intervals "
            f"are in the table. {sample_sizes_text(drawn)} {averages(drawn)}".rstrip()
        )
        chart = self.chart(data, drawn, [x.value for _, x in both])
        return Drawn(
            [Figure(name, chart, caption, f"{self.title}: {len(both)} dots.", self.canvas)],
            [Table(name, columns, rows, f"{self.title}: 95 % intervals.")],
        )

    def chart(self, data: RunData, cells: Sequence[Estimate], across: Sequence[float] = ()) -> Any:
        """Dots, coloured where there are few enough levels."""
        levels = self.levels(data, self.tint, cells)
        named = dict.fromkeys(levels, "") if len(levels) > MOST_COLOURS else levels
        rows = [
            {"x": x, "y": e.value, "series": named[e.key[self.tint] if self.tint else None]}
            for e, x in zip(cells, across, strict=True)
        ]
        return scatter(
            rows, x=self.worded(self.against.name, self.against.title.lower()), y=self.axis,
            series=tones(data, self.tint, named), legend=self.worded(self.tint or ""),
            shares=(self.against.scale == "share", self.measure.scale == "share"),
        )  # fmt: skip


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
        rows, across = [c for c in self.used if c != x], levels_met(data, x, estimates)
        cells = grouped((tuple(e.key[c] for c in rows), (e.key[x], self._cell(e))) for e in estimates)
        heads = [written(level) for level in across]
        what = "mean ± standard deviation over matches (n - 1)" if self.show == "sd" else "mean [95 % interval]"
        return Table(
            name,
            [*rows, *heads],
            [[*key, *map(dict(of).get, across)] for key, of in cells.items()],
            f"{self.title}: {what}; columns are levels of {pretty(x)}.",
            levels=heads,
        )

    def _cell(self, e: Estimate) -> str:
        ends = (e.sd,) if self.show == "sd" else (e.low, e.high)
        value, *around = (None if n is None else fixed(n * self.scale, self.digits) for n in (e.value, *ends))
        if None in around:
            return str(value)
        return f"{value} ± {around[0]}" if self.show == "sd" else f"{value} [{around[0]}, {around[1]}]"
