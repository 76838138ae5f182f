"""The charts that panels share: dots with whiskers, curves with bands, and a map for very many cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.reports.axes import SHARES, Ticks, ticks_for, whole_ticks
from ostrom.reports.theme import DASHES, INK, MAIN, SEQUENCE, SHAPES, colours

Row = Mapping[str, Any]
PAGE = 960
"""The width of the page's column in pixels: charts fill it where they have something to fill it with."""
MOST_PANELS = 24
"""More small multiples than this are a wallpaper; a map reads better."""


NARROWEST, WIDEST = 190, 620
"""The width of one scale in pixels."""


def import_altair() -> Any:
    """Altair, imported when a chart is drawn."""
    import altair as alt

    return alt


def text_width(text: str) -> int:
    """About how many pixels a label takes."""
    return round(6.2 * len(text))


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
            axis=alt.Axis(grid=False, labelOverlap=True),
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
        """Bands, lines and points on one scale."""
        scale = alt.Scale(domain=list(held.domain), nice=False)
        ticks = alt.Axis(values=list(held.values), format=held.format)
        base = alt.Chart(**source).encode(**encoded)
        line = base.mark_line().encode(y=alt.Y("mean:Q", scale=scale, axis=ticks, title=y))
        if told_apart:
            # Dashes and shapes repeat what colours say, for print in grey and for every eye.
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
    """A look for every series, in order."""
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
    shared: dict[str, Any] = {
        "x": alt.X("x:N", sort=list(levels), title=x, axis=alt.Axis(grid=False, labelOverlap=True)),
    }
    if len(names) > 1:
        shared["xOffset"] = alt.XOffset("series:N", sort=names)
    colour = alt.Color(
        "series:N",
        scale=alt.Scale(domain=names, range=list(series.values())),
        legend=alt.Legend(title=None) if len(names) > 1 else None,
    )
    width = {1: 520, 2: 330, 3: 220, 4: 165}[columns]
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
