"""The charts that panels share, and their axes: dots with whiskers, curves with bands, bars and heat maps.

An axis has a domain that holds the values, ticks at round numbers and enough digits.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.reports.theme import DASHES, INK, MAIN, SEQUENCE, SHAPES, colours
from ostrom.reports.words import is_bare

Row = Mapping[str, Any]
PAGE = 960
"""The width of the page's column in pixels: charts fill it where they have something to fill it with."""
MOST_PANELS = 24
"""The most small multiples in a figure; with more, a heat map is easier to read."""


NARROWEST, WIDEST = 190, 620
"""The width of one scale in pixels."""


def import_altair() -> Any:
    """Altair, imported when a chart is drawn."""
    import altair as alt

    return alt


def text_width(text: str) -> int:
    """About how many pixels a label takes."""
    return round(6.2 * len(text))


def _named_axis(levels: Sequence[str], width: float) -> Any:
    """The axis of a row of levels: numbers may leave some labels out, names keep all, tilted where they are long."""
    alt = import_altair()
    if all(is_bare(level) for level in levels):
        return alt.Axis(grid=False, labelOverlap=True)
    steep = max(map(text_width, levels)) > width / len(levels)
    return alt.Axis(grid=False, labelOverlap=False, labelAngle=-40 if steep else 0, labelLimit=250)


def dots(
    groups: Mapping[str, Sequence[Row]],
    *,
    axis: str,
    series: Mapping[str, str],
    domain: Sequence[float] | None,
    zero: bool = False,
    legend: bool = True,
) -> Any:
    """Dots with whiskers, one block per group: rows need label, series, mean, low, high.

    ``series`` gives a colour to each name; with one name there is no legend. Without a domain every block has
    a scale of its own, which holds 0 if ``zero``.
    """
    alt = import_altair()
    total = sum(len({row["label"] for row in rows}) for rows in groups.values())
    label = min(300, max(text_width(row["label"]) for rows in groups.values() for row in rows)) + 20
    # Blocks share rows of the page as long as their scales can be read.
    columns = max(1, min(len(groups), 3, PAGE // (label + NARROWEST)))
    width = min(WIDEST, PAGE // columns - label - 22)
    charts = []
    for title, rows in groups.items():
        labels = list(dict.fromkeys(row["label"] for row in rows))
        lanes = max(len({row["series"] for row in rows if row["label"] == label}) for label in labels)
        step = 12 + 8 * lanes if total <= 60 else 8 + 6 * lanes
        ticks = (
            SHARES
            if domain
            else ticks_for((v for row in rows for v in (row["mean"], row["low"], row["high"])), zero=zero)
        )
        scale = alt.Scale(domain=list(ticks.domain), nice=False)
        shown = alt.Axis(values=list(ticks.values), format=ticks.format)
        y = alt.Y("label:N", sort=labels, title=None, axis=alt.Axis(grid=lanes > 1, tickBand="extent"))
        colour = alt.Color(
            "series:N",
            scale=alt.Scale(domain=list(series), range=list(series.values())),
            legend=alt.Legend(title=None) if legend and len(series) > 1 else None,
        )
        base = alt.Chart(alt.Data(values=[dict(row) for row in rows]))
        shared: dict[str, Any] = {"y": y, "color": colour}
        if lanes > 1:
            shared["yOffset"] = alt.YOffset("series:N", sort=list(series))
        whiskers = (
            base.transform_filter("isValid(datum.low)")
            .mark_rule(strokeWidth=1.6)
            .encode(x=alt.X("low:Q", scale=scale, title=axis, axis=shown), x2="high:Q", **shared)
        )
        points = base.mark_point(filled=True, size=44, opacity=1).encode(
            x=alt.X("mean:Q", scale=scale, title=axis, axis=shown), **shared
        )
        hollow = (
            base.transform_filter("!isValid(datum.low)")
            .mark_point(filled=True, size=14, color="white")
            .encode(x="mean:Q", y=y, **({"yOffset": shared["yOffset"]} if lanes > 1 else {}))
        )
        drawn = alt.layer(whiskers, points, hollow).properties(width=width, height=step * len(labels))
        charts.append(drawn.properties(title=title) if title else drawn)
    if len(charts) == 1:
        return charts[0]
    return alt.concat(*charts, columns=columns)


def curves(
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    facets: Sequence[str],
    series: Mapping[str, str],
    legend: str | None,
    levels: Sequence[str] | None = None,
    domain: Sequence[float] | None = (0, 1),
    points: bool = True,
) -> Any:
    """Curves with bands in small multiples: rows need x, mean, low, high, series, facet.

    With ``levels`` the axis is a row of levels at equal distances, else a scale of numbers.
    """
    alt = import_altair()
    columns = _columns(len(facets))
    width = {1: 560, 2: 350, 3: 235, 4: 172}[max(columns, 1)]
    height = {1: 260, 2: 190, 3: 150, 4: 120}[max(columns, 1)]
    if levels is None:
        across = alt.X(
            "x:Q",
            title=x,
            scale=alt.Scale(nice=False, zero=False),
            axis=alt.Axis(grid=False, values=list(whole_ticks([row["x"] for row in rows]))),
        )
    else:
        across = alt.X(
            "x:O", title=x, sort=list(levels), scale=alt.Scale(type="point", padding=0.35),
            axis=_named_axis(levels, width),
        )  # fmt: skip
    names = list(series)
    # A line of its own for what the colours mean; short names stand closer together.
    key = alt.Legend(title=legend, symbolOpacity=1, columns=8 if max(map(len, names)) <= 12 else 4)
    several = len(names) > 1
    encoded = {
        "x": across,
        "color": alt.Color(
            "series:N",
            scale=alt.Scale(domain=names, range=list(series.values())),
            legend=key if several else None,
        ),
    }
    told_apart = 1 < len(names) <= len(SHAPES)

    def layered(held: Ticks, **source: Any) -> Any:
        """Layer bands, lines and points on one y scale."""
        scale = alt.Scale(domain=list(held.domain), nice=False)
        ticks = alt.Axis(values=list(held.values), format=held.format)
        base = alt.Chart(**source).encode(**encoded)
        line = base.mark_line().encode(y=alt.Y("mean:Q", scale=scale, axis=ticks, title=y))
        if told_apart:
            # Dashes and shapes repeat the colours, for grey print and for colour-blind readers.
            line = line.encode(strokeDash=_by_name(alt.StrokeDash, names, DASHES, None if points else key))
        layers = [
            base.transform_filter("isValid(datum.low)")
            .mark_area(opacity=0.16 if len(names) <= 3 else 0.08)
            .encode(y=alt.Y("low:Q", scale=scale, axis=ticks, title=y), y2="high:Q"),
            line,
        ]
        if points:
            dots = base.mark_point(filled=True, size=46, opacity=1).encode(y=alt.Y("mean:Q"))
            layers.append(dots.encode(shape=_by_name(alt.Shape, names, SHAPES, key)) if told_apart else dots)
        return alt.layer(*layers).properties(width=width, height=height)

    def values(of: Sequence[Row]) -> Ticks:
        if domain:
            return SHARES
        return ticks_for(v for row in of for v in (row["mean"], row["low"], row["high"]))

    if len(facets) <= 1:
        only = facets[0] if facets and facets[0] else None
        chart = layered(values(rows), data=alt.Data(values=[dict(row) for row in rows]))
        return chart.properties(title=only) if only else chart
    if domain:
        data = alt.Data(values=[dict(row) for row in rows])
        return layered(SHARES).facet(
            facet=alt.Facet("facet:N", sort=list(facets)), columns=columns, data=data
        )
    apart = []
    for facet in facets:
        of = [dict(row) for row in rows if row["facet"] == facet]
        apart.append(layered(values(of), data=alt.Data(values=of)).properties(title=facet))
    return alt.concat(*apart, columns=columns)


def _by_name(channel: Any, names: Sequence[str], looks: Sequence[Any], legend: Any) -> Any:
    """An encoding that gives each series a dash or shape, in order."""
    alt = import_altair()
    scale = alt.Scale(domain=list(names), range=list(looks[: len(names)]))
    return channel("series:N", scale=scale, legend=legend)


def _columns(panels: int) -> int:
    """How many small multiples stand side by side: few, and without holes where it can be helped.

    >>> [_columns(n) for n in (1, 2, 3, 4, 5, 6, 8, 9, 10, 18)]
    [1, 2, 3, 2, 3, 3, 4, 3, 3, 3]
    """
    if panels <= 2 or panels == 4:
        return min(max(panels, 1), 2)
    return min((3, 4), key=lambda n: (-panels % n, n))


def heat(rows: Sequence[Row], *, labels: Sequence[str], x: str, legend: str) -> Any:
    """A map: one line per label, dark where the value is high; rows need label, start, end, mean."""
    alt = import_altair()
    step = 15 if len(labels) <= 60 else 11
    return (
        alt.Chart(alt.Data(values=[dict(row) for row in rows]))
        .mark_rect()
        .encode(
            x=alt.X("start:Q", title=x, scale=alt.Scale(nice=False, zero=False), axis=alt.Axis(grid=False)),
            x2="end:Q",
            y=alt.Y(
                "label:N", sort=list(labels), title=None,
                axis=alt.Axis(labelFontSize=11 if step > 12 else 9), scale=alt.Scale(paddingInner=0.12),
            ),
            color=alt.Color(
                "mean:Q",
                scale=alt.Scale(domain=[0, 1], range=list(SEQUENCE)),
                legend=alt.Legend(
                    title=legend, gradientLength=160, gradientThickness=10, values=[0, 0.5, 1], format=".2~f"
                ),
            ),
        )
        .properties(width=520, height=step * len(labels))
    )  # fmt: skip


def bars_with_whiskers(
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    levels: Sequence[str],
    facets: Sequence[str],
    series: Mapping[str, str],
    shares: bool,
) -> Any:
    """Bars from zero, side by side for each series: rows need x, mean, low, high, series, facet."""
    alt = import_altair()
    names, columns = list(series), _columns(len(facets))
    held = (
        SHARES
        if shares
        else ticks_for((v for r in rows for v in (r["mean"], r["low"], r["high"])), zero=True)
    )
    scale = alt.Scale(domain=list(held.domain), nice=False)
    axis = alt.Axis(values=list(held.values), format=held.format)
    width = {1: 520, 2: 330, 3: 220, 4: 165}[columns]
    shared: dict[str, Any] = {
        "x": alt.X("x:N", sort=list(levels), title=x, axis=_named_axis(levels, width)),
    }
    if len(names) > 1:
        shared["xOffset"] = alt.XOffset("series:N", sort=names)
    colour = alt.Color(
        "series:N",
        scale=alt.Scale(domain=names, range=list(series.values())),
        legend=alt.Legend(title=None) if len(names) > 1 else None,
    )
    charts = []
    for facet in facets:
        of = [dict(row) for row in rows if row["facet"] == facet]
        base = alt.Chart(alt.Data(values=of))
        bodies = base.mark_bar().encode(
            y=alt.Y("mean:Q", scale=scale, axis=axis, title=y), color=colour, **shared
        )
        whiskers = (
            base.transform_filter("isValid(datum.low)")
            .mark_rule(strokeWidth=1.6, color=INK)
            .encode(y=alt.Y("low:Q", scale=scale), y2="high:Q", **shared)
        )
        drawn = alt.layer(bodies, whiskers).properties(width=width, height=190)
        charts.append(drawn.properties(title=facet) if facet else drawn)
    return charts[0] if len(charts) == 1 else alt.concat(*charts, columns=columns)


def bars(
    rows: Sequence[Row], *, x: str, parts: Mapping[str, str], labels: Sequence[str], shares: bool
) -> Any:
    """Stacked bars, one per label: rows need label, part, value, place (the part's place in the stack)."""
    alt = import_altair()
    axis = alt.Axis(format="%", tickCount=5) if shares else alt.Axis(format="~s", tickCount=5)
    return (
        alt.Chart(alt.Data(values=[dict(row) for row in rows]))
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title=x, stack="normalize" if shares else "zero", axis=axis),
            y=alt.Y("label:N", sort=list(labels), title=None, axis=alt.Axis(grid=False)),
            color=alt.Color(
                "part:N",
                scale=alt.Scale(domain=list(parts), range=list(parts.values())),
                legend=alt.Legend(title=None),
            ),
            order=alt.Order("place:Q"),
        )
        .properties(width=440, height=alt.Step(22))
    )


def series_colours(names: Sequence[str], *, ordered: bool = False) -> dict[str, str]:
    """Names and their colours; a single name has the main colour."""
    if len(names) < 2:
        return dict.fromkeys(names, MAIN)
    return dict(zip(names, colours(names, ordered=ordered), strict=True))


SAME = 1e-9
"""Values that differ by less than this share of their size are one value on an axis."""


@dataclass(frozen=True)
class Ticks:
    """The range of an axis, where its ticks stand, and how they are written."""

    domain: tuple[float, float]
    values: tuple[float, ...]
    format: str


SHARES = Ticks((0.0, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0), ".2~f")


def ticks_for(values: Iterable[float | None], most: int = 6, *, zero: bool = False) -> Ticks:
    """An axis for some values: one value stands in the middle, and every tick is written in full.

    >>> ticks_for([2.5, 3.0]).values, ticks_for([2.5, 3.0]).format
    ((2.5, 2.6, 2.7, 2.8, 2.9, 3.0), '.1f')
    >>> ticks_for([8 / 3, 8 / 3 + 1e-16]).values
    (2.0, 2.5, 3.0, 3.5)
    >>> ticks_for([0.0, 10.0], 5).format, ticks_for([0.0, 10.0], 5).values
    ('.1f', (0.0, 2.5, 5.0, 7.5, 10.0))
    >>> ticks_for([0.0, 0.0]).domain
    (0.0, 1.0)
    """
    known = [v for v in values if v is not None and math.isfinite(v)]
    low, high = (min(known), max(known)) if known else (0.0, 0.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    size = max(abs(low), abs(high))
    if high - low <= SAME * size or size == 0:
        reach = 0.25 * size or 0.5
        low, high = (low - reach, high + reach) if size else (0.0, 1.0)
    step = _round_step((high - low) / max(most - 1, 1))
    first, last = math.floor(low / step + SAME), math.ceil(high / step - SAME)
    if last == first:
        last += 1
    places = next((p for p in range(12) if abs(round(step, p) - step) <= SAME * step), 12)
    marks = tuple(round(i * step, places + 2) for i in range(first, last + 1))
    return Ticks((marks[0], marks[-1]), marks, f",.{places}f" if marks[-1] >= 1000 else f".{places}f")


def whole_ticks(values: Sequence[float], most: int = 8) -> tuple[int, ...]:
    """Ticks at whole numbers only, for rounds and other counts.

    >>> whole_ticks([1, 2, 3]), whole_ticks([1, 500])
    ((1, 2, 3), (1, 100, 200, 300, 400, 500))
    """
    low, high = math.ceil(min(values)), math.floor(max(values))
    step = max(1, round(_round_step((high - low) / max(most - 1, 1)))) if high > low else 1
    marks = [i for i in range(0, high + 1, step) if i >= low]
    return tuple(dict.fromkeys([low, *(m for m in marks if m - low >= step / 2)]))


def _round_step(raw: float) -> float:
    """The next larger step of 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(raw))
    return next(power * k for k in (1.0, 2.0, 2.5, 5.0, 10.0) if power * k >= raw * (1 - SAME))


SPACING = 22
WIDEST_TILE, NARROWEST_TILE = 120, 38


def tiles(
    rows: Sequence[Mapping[str, Any]],
    *,
    across: Sequence[str],
    down: Sequence[str],
    legend: str,
    domain: tuple[float, float],
    titles: tuple[str | None, str | None] = (None, None),
    title: str = "",
    digits: int = 2,
    percent: bool = False,
    beside: int = 1,
) -> Any:
    """A heat map with its numbers: rows need x, y, value; what never met stays white.

    ``beside`` is how many maps the figure has: tiles are as wide as the page lets them be.
    """
    alt = import_altair()
    low, high = domain if domain[1] > domain[0] else (domain[0], domain[0] + 1)
    data = [{**row, "dark": row["value"] > low + 0.55 * (high - low)} for row in rows]
    width = _tile_width(across, down, _map_columns(across, down, beside))
    steep = max(map(text_width, across)) > width
    base = alt.Chart(alt.Data(values=data)).encode(
        x=alt.X(
            "x:N", sort=list(across), title=titles[0],
            axis=alt.Axis(labelAngle=-40 if steep else 0, labelLimit=150, grid=False, ticks=False),
        ),
        y=alt.Y("y:N", sort=list(down), title=titles[1], axis=alt.Axis(labelLimit=190, grid=False)),
    )  # fmt: skip
    shades = alt.Color(
        "value:Q",
        scale=alt.Scale(domain=[low, high], range=list(SEQUENCE)),
        legend=alt.Legend(
            title=legend, gradientLength=140, gradientThickness=10, tickCount=3, format="%" if percent else ""
        ),
    )
    tone = alt.condition("datum.dark", alt.value("white"), alt.value(INK))
    number = ".0%" if percent else f".{digits}f"
    drawn = alt.layer(
        base.mark_rect(stroke="white", strokeWidth=1).encode(color=shades),
        base.mark_text(fontSize=10).encode(text=alt.Text("value:Q", format=number), color=tone),
    ).properties(width=width * len(across), height=24 * len(down))
    return drawn.properties(title=title) if title else drawn


def tile_maps(
    rows: Sequence[Row],
    *,
    legend: str,
    domain: tuple[float, float] = (0.0, 1.0),
    across: Sequence[str] | None = None,
    down: Sequence[str] | None = None,
    facets: Sequence[str] | None = None,
    **look: Any,
) -> Any:
    """A map for each facet: rows need x, y, facet, mean; labels stand in the order of the rows unless stated."""
    across = list(dict.fromkeys(row["x"] for row in rows)) if across is None else across
    down = list(dict.fromkeys(row["y"] for row in rows)) if down is None else down
    facets = list(dict.fromkeys(row["facet"] for row in rows)) if facets is None else facets
    maps = [
        tiles(
            [{"x": r["x"], "y": r["y"], "value": r["mean"]} for r in rows if r["facet"] == facet],
            across=across, down=down, legend=legend, domain=domain, title=facet, beside=len(facets), **look,
        )
        for facet in facets
    ]  # fmt: skip
    return side_by_side(maps, across, down)


def side_by_side(charts: Sequence[Any], across: Sequence[str], down: Sequence[str]) -> Any:
    """Maps in a grid; maps with the same scale of colours share one legend."""
    alt = import_altair()
    if len(charts) == 1:
        return charts[0]
    scales = {str(chart.layer[0].encoding.color.to_dict()) for chart in charts}
    return alt.concat(*charts, columns=_map_columns(across, down, len(charts))).resolve_scale(
        color="shared" if len(scales) == 1 else "independent"
    )


def _tile_width(across: Sequence[str], down: Sequence[str], columns: int) -> int:
    """How wide a tile is, in pixels."""
    room = PAGE // columns - SPACING - min(190, max(map(text_width, down))) - 30
    return max(NARROWEST_TILE, min(WIDEST_TILE, room // len(across)))


def _map_columns(across: Sequence[str], down: Sequence[str], many: int) -> int:
    """How many heat maps fit side by side, at most 4, with tiles wide enough for their numbers.

    >>> [_map_columns(["a", "b", "c"], ["a"], n) for n in (1, 2, 7)], _map_columns(["a"] * 20, ["a"], 5)
    ([1, 2, 4], 1)
    """
    label = min(190, max(map(text_width, down))) + 30
    fitting = PAGE // (label + SPACING + (NARROWEST_TILE + 8) * len(across))
    return max(1, min(many, fitting, 4))
