"""Charts as data: a study file declares the measure, the x axis and the splits.

``{chart: curve, measure: cooperation, x: history_length, colour: style, facet: game}`` is a curve of estimates.
A kind of chart is a class in ``ostrom.reports.charts`` (those of estimates share a module, another has its own, with
the constant ``CHART``) or an entry point of the group ``ostrom.charts``. What cannot be declared is a panel in
Python (``ostrom.reports.panel``).
"""

import inspect
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Literal, Self

from ostrom.analysis.estimate import Estimate, contrast, estimate, fixed, split_by, trend
from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.population import ALL, agents_in_question, averaged_words
from ostrom.analysis.units import Observations, observations
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.ground.registry import Registry
from ostrom.ground.values import grouped
from ostrom.ground.words import PLURALS, how_many
from ostrom.reports.canvas import WIDE, Canvas
from ostrom.reports.cells import drawn_values, legend_note, levels_met, why_nothing
from ostrom.reports.files import file_name
from ostrom.reports.layout import cell_label
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import join_labels, labels, pretty, upper, written

Spec = str | Mapping[str, Any]
Columns = str | Sequence[str] | None
MOST_FACETS, MOST_LEVELS, MOST_ESTIMATES = 36, 200, 20_000
"""Limits beyond which a chart is unreadable and slow to draw."""


class Chart(Panel):
    """A chart of estimates of one measure. Subclasses declare their columns and draw.

    ``contrast`` is ``{factor: "a - b"}``, or ``"* - b"`` for every other level, and shows differences; ``trend``
    is ``{over: column, log: true}`` and shows slopes; without either the chart shows means. ``where`` picks
    matches, ``balance`` names columns whose levels count the same, ``file`` is the name of the files. ``bands: sd``
    draws one standard deviation over matches to either side of a mean, as papers do, instead of its interval.
    ``agents`` is ``all`` or names agents (otherwise those that are studied); where there are several they are drawn
    apart, unless ``mean_over_agents`` is true. ``labels`` maps a level, a column or the measure to how the chart writes
    it; ``width`` and ``font_size`` are pixels of the picture and of its letters.
    """

    draws_spreads: ClassVar[bool] = False
    """Whether ``bands: sd`` can be drawn."""
    agents_at: ClassVar[tuple[str, ...]] = ("colour", "facet")
    """Where agents are drawn apart: at the first of these places that is free; rows (``y``) always are."""

    def __init__(
        self,
        measure: Spec | Measure,
        x: Columns = None,
        y: Columns = None,
        colour: str | None = None,
        facet: str | None = None,
        contrast: Mapping[str, str] | None = None,
        trend: Mapping[str, Any] | None = None,
        where: Mapping[str, Any] | str | None = None,
        balance: Sequence[str] = (),
        title: str | None = None,
        caption: str | None = None,
        file: str | None = None,
        bands: Literal["interval", "sd"] = "interval",
        agents: str | Sequence[str] | None = None,
        mean_over_agents: bool = False,
        labels: Mapping[str, str] | None = None,
        width: float = WIDE.width,
        font_size: float = WIDE.size,
    ) -> None:
        texts = labels is None or (isinstance(labels, Mapping) and all(isinstance(v, str) for v in labels.values()))
        _refuse(
            (not texts, "labels must map names to texts, for example {alpha: GPT-4o, history_length: memory}"),
            (
                file is not None and (not isinstance(file, str) or file_name(file, set()) != file),
                f"file must be a name of letters, digits, _, . and -, without a folder (found {file!r})",
            ),
            *(
                (
                    isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high,
                    f"{key} must be a number of pixels from {low} to {high} (found {value!r})",
                )
                for key, value, low, high in (("width", width, 200, 4000), ("font_size", font_size, 5, 60))
            ),
        )
        self.labels = {str(name): text for name, text in (labels or {}).items()}
        self.canvas = Canvas(width, font_size)
        self.agents, self.mean_over_agents = agents, mean_over_agents
        self.measure = measures.named(measure)
        self.x, self.y = _columns(x), _columns(y)
        self.colour, self.facet, self.where, self.balance = colour, facet, where, tuple(balance)
        self.contrast, self.trend, self.caption, self.file = contrast, trend, caption, file
        self.bands = bands
        _refuse(
            (
                bands != "interval" and (bands != "sd" or contrast or trend or not self.draws_spreads),
                f"bands must be interval or, for curves and bars of means, sd (found {bands!r})",
            ),
            *(
                (column is not None and not isinstance(column, str), f"{key} must be one column (found {column!r})")
                for key, column in (("colour", colour), ("facet", facet))
            ),
            (
                contrast is not None and trend is not None,
                "a chart shows differences (contrast) or slopes (trend), not both",
            ),
            (
                contrast is not None and (not isinstance(contrast, Mapping) or len(contrast) != 1),
                "contrast must map one factor to two of its levels, for example {style: 'a - b'}",
            ),
            (
                trend is not None and (not isinstance(trend, Mapping) or not {"over"} <= {*trend} <= {"over", "log"}),
                "trend must name a column, for example {over: history_length, log: true}",
            ),
        )
        if len({*self.used}) != len(self.used):
            raise ValueError(f"x, y, colour and facet must be different columns (found {', '.join(self.used)})")
        self.title = title or self._named()

    @property
    def used(self) -> list[str]:
        """Return the columns that split the results."""
        return [*self.x, *self.y, *(name for name in (self.colour, self.facet) if name is not None)]

    @property
    def shows_shares(self) -> bool:
        """Return whether the figures lie between 0 and 1; differences and slopes of shares need not."""
        return self.measure.scale == "share" and self.contrast is None and self.trend is None

    def chart_rows(
        self, cells: Sequence[Estimate], across: Mapping[Any, str], series: Mapping[Any, str], beside: Mapping[Any, str]
    ) -> list[dict[str, Any]]:
        """Return a row for every estimate, with its labels for x, series and facet."""
        (x,) = self.x
        return [
            {
                "x": across[e.key[x]], **self.interval_values(e),
                "series": series[e.key[self.colour] if self.colour else None],
                "facet": beside[e.key[self.facet] if self.facet else None],
            }
            for e in cells
        ]  # fmt: skip

    def interval_values(self, e: Estimate) -> dict[str, Any]:
        """Return an estimate's value and the ends of its band or whisker, or its single matches."""
        if self.bands == "interval":
            return drawn_values(e)
        low, high = (None, None) if e.sd is None else (e.value - e.sd, e.value + e.sd)
        return {"mean": e.value, "low": low, "high": high, "points": None}

    def named(self, values: Iterable[Any]) -> dict[Any, str]:
        """Return the labels of levels: by ``labels``, else short."""
        return labels(values, own=self.labels)

    def worded(self, name: str, otherwise: str | None = None) -> str:
        """Return the label of a column or a measure."""
        return self.labels.get(name) or otherwise or pretty(name)

    @property
    def axis(self) -> str:
        """Return the title of the measure's axis."""
        return self.worded(self.measure.name, self.measure.title.lower())

    def levels(self, data: RunData, column: str | None, cells: Sequence[Estimate]) -> dict[Any, str]:
        """Return the levels of a column in the estimates, with labels; one empty level without a column."""
        if column is None:
            return {None: ""}
        levels = levels_met(data, column, cells)
        most = MOST_FACETS if column == self.facet else MOST_LEVELS
        if len(levels) > most:
            raise UsageError(f"{column}: has {len(levels)} levels, at most {most} can be drawn; pick some with where")
        return self.named(levels)

    def by(self, data: RunData) -> list[str]:  # noqa: ARG002
        """The columns that results are split by in this run."""
        return self.used

    @property
    def compared_columns(self) -> list[str]:
        """The column whose levels are compared, or that slopes are taken over."""
        return [*self.contrast] if self.contrast else [self.trend["over"]] if self.trend else []

    def values(self, data: RunData, measure: Measure | None = None) -> Observations:
        """The values that the chart shows."""
        return observations(
            data, measure or self.measure, self.where, agents_in_question(self.agents, self.used, self.compared_columns)
        )

    def estimates(self, data: RunData) -> list[Estimate]:
        """The estimates that the chart shows."""
        by, values = self.by(data), self.values(data)
        if self.contrast is not None:
            ((factor, pair),) = self.contrast.items()
            by = [name for name in by if name != factor]
            return contrast(values, self.measure, factor, pair, by)
        if self.trend is not None:
            return trend(values, self.measure, self.trend["over"], by, log=self.trend.get("log", False))
        return estimate(values, self.measure, by, balance=self.balance)

    def split_by_agent(self, data: RunData) -> Self:
        """Return the chart with agents separated, if it would average over several and has room for them."""
        by = self.by(data)
        values = self.values(data)
        free = next((at for at in self.agents_at if at == "y" or getattr(self, at) is None), None)
        plain = len({row["agent"] for row in values.rows}) < 2 or not {*by, *self.compared_columns} <= values.columns
        if plain or free is None or "agent" in self.balance:
            return self
        if split_by(values, by, self.compared_columns, self.agents, mean=self.mean_over_agents) == tuple(by):
            return self
        other = copy(self)
        other.file = self.file_name
        setattr(other, free, (*self.y, "agent") if free == "y" else "agent")
        return other

    @property
    def file_name(self) -> str:
        """The name of its files."""
        return self.file or "_".join([self.measure.name, *(["by", *self.used] if self.used else [])])

    def draw(self, data: RunData) -> Drawn:
        """Return the chart with its table, or the reason for none."""
        return self.split_by_agent(data).drawn(data)

    def drawn(self, data: RunData) -> Drawn:
        """Return figure and table of this chart; ``draw`` may split it by agent first."""
        cells = self.estimates(data)
        if not cells:
            return Drawn(notes=[self._why_empty(data)])
        if len(cells) > MOST_ESTIMATES:
            raise UsageError(f"{self.title}: {len(cells)} estimates, at most {MOST_ESTIMATES}; pick some with where")
        by = self.by(data)
        name = self.file_name
        figures = []
        if (chart := self.chart(data, cells)) is not None:
            caption = " ".join(filter(None, (self.drawn_as(cells), sample_sizes_text(cells), averages(cells))))
            values = [e.value for e in cells]
            figures.append(
                Figure(
                    name,
                    chart,
                    caption,
                    f"{self.title}: {how_many(len(cells), 'estimate')} from {min(values):.3g} to {max(values):.3g}.",
                    self.canvas,
                )
            )
        sd = self.bands == "sd"
        columns = [
            *by,
            PLURALS.get(cells[0].unit, f"{cells[0].unit}s"),
            "difference" if self.contrast else "slope" if self.trend else self.measure.name,
            *(["sd"] if sd else []),
            "low",
            "high",
            "interval",
        ]
        table = Table(
            name,
            columns,
            [
                [*(e.key.get(c) for c in by), e.n, e.value, *([e.sd] if sd else []), e.low, e.high, e.method]
                for e in cells
            ],
            f"{self.title}: 95 % intervals.",
        )
        return Drawn(figures, [table], [*self.notes(cells), *filter(None, [] if figures else [averages(cells)])])

    @abstractmethod
    def chart(self, data: RunData, cells: Sequence[Estimate]) -> Any:
        """Return the drawing of the estimates; None if a table is enough."""

    def headline(self, cells: Sequence[Estimate]) -> str:
        """Describe in one sentence what the chart shows."""
        if self.contrast is not None or self.trend is not None:
            tested = [e for e in cells if e.low is not None]
            clear, what = sum(0 not in e for e in tested), "differences" if self.contrast else "slopes"
            chance = f"; if there were none, chance would show about {len(tested) / 20:.2g}" if len(tested) > 1 else ""
            return f"{clear} of {len(cells)} {what} are clear, each at 95 %{chance}."
        if len(cells) == 1:
            return f"{self.measure.title}: {cells[0]}."
        low, high = (pick(cells, key=lambda e: e.value) for pick in (min, max))
        if low.value == high.value:
            return f"{self.measure.title}: {fixed(low.value)} everywhere."
        columns = [name for name in low.key if len({e.key[name] for e in cells}) > 1]
        ends = [f"{fixed(e.value)} ({cell_label(e.key, columns)})" for e in (low, high)]
        return f"{self.measure.title} from {ends[0]} to {ends[1]}."

    def drawn_as(self, cells: Sequence[Estimate]) -> str:
        """Describe in one sentence how value and interval are drawn."""
        return (
            "Marks are means, bands and whiskers one standard deviation over matches."
            if self.bands == "sd"
            else legend_note(cells)
        )

    def notes(self, cells: Sequence[Estimate]) -> list[str]:
        """Return notes for readers: the measure's definition, and notes of the estimates."""
        return [
            self.headline(cells),
            self.caption or self.measure.definition,
            *dict.fromkeys(f"{upper(e.note)}." for e in cells if e.note and e.method != "exact"),
        ][:6]

    def _why_empty(self, data: RunData) -> str:
        for name, wanted in self.where.items() if isinstance(self.where, Mapping) else ():
            values = observations(data, self.measure, agents=ALL)
            if values.rows and not observations(data, self.measure, {name: wanted}, ALL).rows:
                # A match's value has the levels of all its players: "1 + 2" for the seats of two.
                levels = join_labels([str(level) for level in dict.fromkeys(row[name] for row in values.rows)])
                return f"No value of {pretty(self.measure.name)} has {pretty(name)} {wanted} (there are: {levels})."
        return (
            why_nothing(data, self.measure.name)
            if self.measure.name in ("cooperation", "score")
            else f"No finished match has a value of {pretty(self.measure.name)}."
        )

    def _named(self) -> str:
        what = self.measure.title
        if self.contrast is not None:
            ((factor, pair),) = self.contrast.items()
            what = f"{what}: {written(pair)} ({pretty(factor)})"
        elif self.trend is not None:
            what = f"{what}: slope over {pretty(self.trend['over'])}"
        return f"{what} by {join_labels(self.used)}" if self.used else what


def _refuse(*conditions: tuple[Any, str]) -> None:
    """Raise ValueError with the text of the first condition that applies."""
    for applies, why in conditions:
        if applies:
            raise ValueError(why)


def _columns(columns: Columns) -> tuple[str, ...]:
    return () if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)


def averages(estimates: Sequence[Estimate]) -> str:
    """Say in one sentence what the estimates average over; empty if nothing."""
    levels = grouped(pair for e in estimates for pair in e.averaged_over.items())
    words = averaged_words({name: max(many) for name, many in levels.items()})
    alike = all(e.averaged_over.keys() == levels.keys() for e in estimates)
    return f"{upper(words if alike else f'some are {words}')}." if words else ""


def sample_sizes_text(estimates: Sequence[Estimate]) -> str:
    """Say how many units each estimate of a chart has, and how many estimates are exact."""
    sizes = sorted({e.n for e in estimates})
    unit = estimates[0].unit if sizes == [1] else PLURALS.get(estimates[0].unit, f"{estimates[0].unit}s")
    many = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]} to {sizes[-1]}"
    exact = sum(e.method == "exact" for e in estimates)
    tail = f" {exact} of {len(estimates)} are exact: deterministic players have no sampling error." if exact else ""
    return f"{many} {unit} each.{tail}"


OF_ESTIMATES = {
    "bars": "Bars", "curve": "Curve", "dots": "Dots", "heat": "Heat", "scatter": "Scatter", "table": "EstimateTable",
}  # fmt: skip
"""The kinds of charts that share the module ``_of_estimates``, with their classes."""

charts: Registry[Panel] = Registry(
    "chart",
    "ostrom.reports.charts",
    "CHART",
    "ostrom.charts",
    folder="charts",
    table={name: f"ostrom.reports.charts._of_estimates:{kind}" for name, kind in OF_ESTIMATES.items()},
)


def is_chart(spec: Spec) -> bool:
    """Whether an entry of ``report.panels`` declares a chart."""
    return isinstance(spec, Mapping) and "chart" in spec


def chart_spec(spec: Spec) -> dict[str, Any]:
    """Convert a chart's declaration to the specification of its kind."""
    if not isinstance(spec, Mapping) or "name" in spec:
        raise UsageError("report.panels: write either name (a panel) or chart (a declared chart), not both")
    declaration = {"name": spec["chart"], **{k: v for k, v in spec.items() if k != "chart"}}
    keys = (
        {"name", "chart", *chart_parameters(charts.get(declaration["name"]))}
        if declaration["name"] in charts
        else {*declaration}
    )
    for key in declaration:
        if key not in keys:
            raise UnknownName(f"key of chart {spec['chart']}", str(key), sorted(keys - {"name"}))
    return declaration


def chart_parameters(part: Any) -> dict[str, inspect.Parameter]:
    """Return the parameters of a kind of chart, with those that every chart has."""
    return {
        p.name: p
        for of in ((Chart, part) if isinstance(part, type) and issubclass(part, Chart) else (part,))
        for p in inspect.signature(of).parameters.values()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }
