"""The charts that panels share: dots with whiskers, curves with bands, bars and heat maps.

A row may hold ``points``: the values of its matches, where they are too few for an interval. They are drawn as small
rings with the mean as a tick.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from ostrom.reports.axes import SHARES, Ticks, share_ticks, ticks_for, whole_ticks
from ostrom.reports.theme import DASHES, INK, LINE, MAIN, ON_DARK, ON_LIGHT, RULE, SHAPES, SIZE, colours, shades
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


class InlineRows:
    """Rows, or names, that Altair takes as they are: it walks through a list again for every layer and checks it."""

    _schema: ClassVar[dict[str, str]] = {"type": "array"}

    def __init__(self, rows: Iterable[Any]) -> None:
        self._rows = list(rows)

    def to_dict(self) -> list[Any]:
        """The rows, for the specification of the chart."""
        return self._rows


def inline(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Rows as the data of a chart."""
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):
        return import_altair().Data(values=InlineRows(rows))


def text_width(text: str) -> int:
    """About how many pixels a label takes."""
    return round(6.7 * len(text))


def _named_axis(levels: Sequence[str], width: float) -> Any:
    """The axis of a row of levels: numbers may leave some labels out, names keep all, tilted where they are long."""
    if all(is_bare(level) for level in levels):
        return {"grid": False, "labelOverlap": True}
    steep = max(map(text_width, levels)) > width / len(levels)
    return {"grid": False, "labelOverlap": False, "labelAngle": -40 if steep else 0, "labelLimit": 250}


def _singles(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """A row for every match that is drawn by itself."""
    return [{**row, "points": None, "at": value} for row in rows for value in row.get("points") or ()]


def _plain(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Rows as the chart holds them: whether the matches stand for the interval instead of their list."""
    return [{**row, "points": None, "few": bool(row.get("points"))} for row in rows]


def _drawn_values(rows: Sequence[Row]) -> Iterator[float | None]:
    """Everything that an axis must hold."""
    for row in rows:
        ends = (row.get("bound_low"), row.get("bound_high"))
        yield from (row["mean"], row["low"], row["high"], *ends, *(row.get("points") or ()))


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
    columns = max(1, min(_columns(len(groups)), 3, PAGE // (label + NARROWEST)))
    width = min(WIDEST, PAGE // columns - label - 22)
    shares, cut = share_ticks(v for rows in groups.values() for v in _drawn_values(rows))
    names = list(series)
    charts = []
    for place, (title, rows) in enumerate(groups.items()):
        labels = list(dict.fromkeys(row["label"] for row in rows))
        lanes = max(len({row["series"] for row in rows if row["label"] == label}) for label in labels)
        step = 14 + 8 * lanes if total <= 60 else 10 + 6 * lanes
        ticks = shares if domain else ticks_for(_drawn_values(rows), zero=zero)
        across: dict[str, Any] = {
            "scale": {"domain": list(ticks.domain), "nice": False},
            # Blocks with one scale have its name once, below them.
            "title": axis + cut if domain and place + columns >= len(groups) else None if domain else axis,
            "axis": {"values": list(ticks.values), "format": ticks.format},
        }
        y = alt.Y("label:N", sort=InlineRows(labels), title=None, axis={"grid": lanes > 1, "tickBand": "extent"})
        key = {"title": None} if legend and len(names) > 1 else None
        colour = alt.Color("series:N", scale={"domain": names, "range": list(series.values())}, legend=key)
        base = alt.Chart(inline(_plain(rows)))
        shared: dict[str, Any] = {"y": y, "color": colour}
        if lanes > 1:
            shared["yOffset"] = alt.YOffset("series:N", sort=names)
        mean = alt.X("mean:Q", **across)
        whiskers = (
            base.transform_filter("isValid(datum.low)")
            .mark_rule(strokeWidth=1.6)
            .encode(x=alt.X("low:Q", **across), x2="high:Q", **shared)
        )
        thin = [
            base.transform_filter("isValid(datum.bound_low)")
            .mark_rule(strokeWidth=0.6)
            .encode(x=alt.X("bound_low:Q", **across), x2="bound_high:Q", **shared)
            for wide in [any(row.get("bound_low") is not None for row in rows)]
            if wide
        ]
        points = base.transform_filter("!datum.few").mark_point(filled=True, size=44, opacity=1)
        points = points.encode(x=mean, **shared)
        if 1 < len(names) <= len(SHAPES):
            points = points.encode(shape=_by_name(alt.Shape, names, SHAPES, key))
        hollow = (
            base.transform_filter("!isValid(datum.low) && !datum.few")
            .mark_point(filled=True, size=14, color="white")
            .encode(x="mean:Q", y=y, **({"yOffset": shared["yOffset"]} if lanes > 1 else {}))
        )
        layers = [*thin, whiskers, points, hollow]
        if singles := _singles(rows):
            rings = alt.Chart(inline(singles)).mark_point(size=30, strokeWidth=1.3, opacity=0.75)
            ticked = base.transform_filter("datum.few").mark_tick(thickness=2.5, size=min(18, step - 4))
            layers += [rings.encode(x=alt.X("at:Q", **across), **shared), ticked.encode(x=mean, **shared)]
        if not domain and ticks.domain[0] < 0 < ticks.domain[1]:
            nought = alt.Chart(inline([{"at": 0}])).mark_rule(color=LINE)
            layers.insert(0, nought.encode(x=alt.X("at:Q", **across)))
        drawn = alt.layer(*layers).properties(width=width, height=step * len(labels))
        charts.append(drawn.properties(title=title) if title else drawn)
    if len(charts) == 1:
        return charts[0]
    return alt.concat(*charts, columns=columns)


MOST_BANDS = 2
"""So many bands can lie over each other; of more series the intervals are whiskers."""
MOST_NAMED = 4
"""So many lines are named at their ends; of more there is a legend."""
LONGEST_NAME = 130
"""A name at the end of a line has at most so many pixels."""


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
    target: float | None = None,
    zero: bool = False,
) -> Any:
    """Curves with bands in small multiples: rows need x, mean, low, high, series, facet.

    With ``levels`` the axis is a row of levels at equal distances, else a scale of numbers. ``target`` is a value that
    the curves are read against, drawn as a line across. Without a domain every multiple has a scale of its own; with
    ``zero`` all have the same, which holds 0.
    """
    alt = import_altair()
    columns = _columns(len(facets))
    width = {1: 560, 2: 350, 3: 235, 4: 172}[max(columns, 1)]
    height = {1: 260, 2: 190, 3: 150, 4: 120}[max(columns, 1)]
    if levels is None:
        across = alt.X(
            "x:Q",
            title=x,
            scale={"nice": False, "zero": False},
            axis={"grid": False, "values": list(whole_ticks([row["x"] for row in rows])), "format": ",d"},
        )
    else:
        across = alt.X(
            "x:O", title=x, sort=list(levels), scale={"type": "point", "padding": 0.35},
            axis=_named_axis(levels, width),
        )  # fmt: skip
    names = list(series)
    named = len(facets) <= 1 < len(names) <= MOST_NAMED and max(map(text_width, names), default=0) <= LONGEST_NAME
    # A line of its own for what the colours mean; a line has a line as its mark, whatever its dashes.
    mark: dict[str, Any] = {} if points else {"symbolType": "stroke", "symbolSize": 220}
    key = None if named or len(names) < 2 else dict(title=legend, symbolOpacity=1, **mark)
    encoded = {
        "x": across,
        "color": alt.Color("series:N", scale={"domain": names, "range": list(series.values())}, legend=key),
    }
    by_shape = 1 < len(names) <= len(SHAPES)
    shares, cut = share_ticks([*_drawn_values(rows), target])
    common = shares if domain else ticks_for(_drawn_values(rows), zero=True) if zero else None
    order = {facet: place for place, facet in enumerate(facets)}
    rows = _banded(sorted(rows, key=lambda row: order.get(row["facet"], 0)), points)

    def layered(of: Sequence[Row], ticks: Ticks, **source: Any) -> Any:
        """Layer bands, lines and points on one y scale."""
        up: dict[str, Any] = {
            "scale": {"domain": list(ticks.domain), "nice": False},
            "axis": {"values": list(ticks.values), "format": ticks.format},
            "title": y + (cut if domain else ""),
        }
        base = alt.Chart(**source).transform_filter("!isValid(datum.at)").encode(**encoded)
        line = base.mark_line().encode(y=alt.Y("mean:Q", **up))
        if by_shape:
            # Dashes and shapes repeat the colours, for grey print and for colour-blind readers.
            line = line.encode(strokeDash=_dashes(names) if points else _by_name(alt.StrokeDash, names, DASHES, key))
        layers = [line]
        bounded = base.transform_filter("isValid(datum.low)")
        if any(row["drawn"] == "band" for row in of):
            bands = bounded.transform_filter("datum.drawn == 'band'").mark_area(opacity=0.16)
            layers.insert(0, bands.encode(y=alt.Y("low:Q", **up), y2="high:Q"))
        if any(row["drawn"] == "whisker" for row in of):
            whiskers = bounded.transform_filter("datum.drawn == 'whisker'").mark_rule(strokeWidth=1.6)
            layers.append(whiskers.encode(y=alt.Y("low:Q", **up), y2="high:Q"))
        if points and any(row.get("bound_low") is not None for row in of):
            thin = base.transform_filter("isValid(datum.bound_low)").mark_rule(strokeWidth=0.6)
            layers.append(thin.encode(y=alt.Y("bound_low:Q", **up), y2="bound_high:Q"))
        if points:
            dots = base.transform_filter("!datum.few").mark_point(filled=True, size=46, opacity=1)
            dots = dots.encode(y=alt.Y("mean:Q", **up))
            layers.append(dots.encode(shape=_by_name(alt.Shape, names, SHAPES, key)) if by_shape else dots)
        elif any(row["alone"] for row in of):  # one round has no line
            lone = base.transform_filter("datum.alone").mark_point(filled=True, size=46, opacity=1)
            layers.append(lone.encode(y=alt.Y("mean:Q", **up)))
        if any(row["few"] for row in of) and points:
            ticked = base.transform_filter("datum.few").mark_tick(orient="horizontal", thickness=2.5, size=14)
            rings = alt.Chart(**source).transform_filter("isValid(datum.at)").encode(**encoded)
            rings = rings.mark_point(size=30, strokeWidth=1.3, opacity=0.75)
            layers += [rings.encode(y=alt.Y("at:Q", **up)), ticked.encode(y=alt.Y("mean:Q", **up))]
        if target is not None:
            across_all = alt.Chart(inline([{"goal": target}])).mark_rule(strokeDash=[4, 3], color=INK)
            layers.insert(0, across_all.encode(y=alt.Y("goal:Q", **up)))
        if named:
            ends = alt.Chart(inline(_ends(of, levels, ticks, height)))
            ends = ends.mark_text(align="left", dx=9, fontSize=SIZE, color=INK)
            layers.append(ends.encode(x=across, y=alt.Y("end:Q", **up), text="series:N"))
        return alt.layer(*layers).properties(width=width, height=height)

    def data(of: Sequence[Row]) -> Any:
        # Along many rounds single matches would only make a fog.
        return inline([*_plain(of), *(_singles(of) if points else ())])

    def values(of: Sequence[Row]) -> Ticks:
        return common or ticks_for(_drawn_values(of))

    if len(facets) <= 1:
        only = facets[0] if facets and facets[0] else None
        chart = layered(rows, values(rows), data=data(rows))
        return chart.properties(title=only) if only else chart
    if common:
        return layered(rows, common).facet(
            facet=alt.Facet("facet:N", sort=list(facets)), columns=columns, data=data(rows)
        )
    apart = []
    for facet in facets:
        of = [row for row in rows if row["facet"] == facet]
        apart.append(layered(of, values(of), data=data(of)).properties(title=facet))
    return alt.concat(*apart, columns=columns)


def drawn_as_bands(places: Iterable[tuple[Any, Any]]) -> bool:
    """Whether intervals at these (facet, series) are bands: where at most two overlap.

    >>> drawn_as_bands([("g", "a"), ("g", "b"), ("h", "c")]), drawn_as_bands([("g", "a"), ("g", "b"), ("g", "c")])
    (True, False)
    """
    return max(Counter(facet for facet, _ in set(places)).values(), default=0) <= MOST_BANDS


def _banded(rows: Sequence[Row], points: bool) -> list[dict[str, Any]]:
    """Rows with how their interval is drawn: as a band where at most two overlap, else as a whisker at its point.

    A label, which no curve shows, is left out: the same curves are then the same specification.
    """
    bands = drawn_as_bands((row["facet"], row["series"]) for row in rows if row["low"] is not None)
    drawn = "band" if bands else "whisker" if points else ""
    lengths = Counter((row["facet"], row["series"]) for row in rows)
    return [
        {
            **{name: row[name] for name in row if name != "label"},
            "few": bool(row.get("points")), "drawn": drawn if row["low"] is not None else "",
            "alone": lengths[row["facet"], row["series"]] == 1,
        }
        for row in rows
    ]  # fmt: skip


def _ends(rows: Sequence[Row], levels: Sequence[str] | None, ticks: Ticks, height: float) -> list[dict[str, Any]]:
    """Where the name of each line stands: at its last point, as far from the others as a line of text is high."""
    place = (lambda row: row["x"]) if levels is None else (lambda row: list(levels).index(row["x"]))
    last: dict[str, Row] = {}
    for row in rows:
        if row["series"] not in last or place(row) >= place(last[row["series"]]):
            last[row["series"]] = row
    low, high = ticks.domain
    apart = (high - low) * (SIZE + 2) / height
    ends: list[dict[str, Any]] = []
    for row in sorted(last.values(), key=lambda row: (row["mean"], row["series"])):
        end = max(row["mean"], ends[-1]["end"] + apart) if ends else row["mean"]
        ends.append({"x": row["x"], "series": row["series"], "end": end})
    over = max(0.0, ends[-1]["end"] - high) if ends else 0.0
    for end in reversed(ends):  # names that were pushed over the top move down together
        end["end"] -= over
    return ends


def _dashes(names: Sequence[str]) -> Any:
    """Dashes of lines alone: those of a scale would also cut the outlines of the legend's shapes."""
    tests = [
        {"test": f"datum.series === {json.dumps(name)}", "value": dash}
        for name, dash in zip(names, DASHES, strict=False)
    ]
    return import_altair().StrokeDashValue([1, 0], condition=tests)


def _by_name(channel: Any, names: Sequence[str], looks: Sequence[Any], legend: Any) -> Any:
    """An encoding that gives each series a dash or shape, in order."""
    scale = {"domain": list(names), "range": list(looks[: len(names)])}
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
        alt.Chart(inline([dict(row) for row in rows]))
        .mark_rect()
        .encode(
            x=alt.X("start:Q", title=x, scale={"nice": False, "zero": False}, axis={"grid": False}),
            x2="end:Q",
            y=alt.Y(
                "label:N", sort=list(labels), title=None,
                axis={"labelFontSize": SIZE if step > 12 else 9}, scale={"paddingInner": 0.12},
            ),
            color=alt.Color(
                "mean:Q",
                scale={"domain": [0, 1], "range": shades()},
                legend=_scale_of_shades(legend, ticks_for([0, 1])),
            ),
        )
        .properties(width=520, height=step * len(labels))
    )  # fmt: skip


def _scale_of_shades(title: str, ticks: Ticks, *, percent: bool = False) -> Any:
    """The legend of a heat map, with a number at every step of its scale."""
    form = "%" if percent else ticks.format
    return import_altair().Legend(
        title=title, gradientLength=220, gradientThickness=12, values=list(ticks.values), format=form
    )


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
    ticks = SHARES if shares else ticks_for(_drawn_values(rows), zero=True)
    scale = {"domain": list(ticks.domain), "nice": False}
    axis = {"values": list(ticks.values), "format": ticks.format}
    width = {1: 520, 2: 330, 3: 220, 4: 165}[columns]
    shared: dict[str, Any] = {"x": alt.X("x:N", sort=list(levels), title=x, axis=_named_axis(levels, width))}
    if len(names) > 1:
        shared["xOffset"] = alt.XOffset("series:N", sort=names)
    colour = alt.Color(
        "series:N",
        scale={"domain": names, "range": list(series.values())},
        legend={"title": None} if len(names) > 1 else None,
    )
    charts = []
    for facet in facets:
        inside = [row for row in rows if row["facet"] == facet]
        base = alt.Chart(inline(_plain(inside)))
        bodies = base.mark_bar().encode(y=alt.Y("mean:Q", scale=scale, axis=axis, title=y), color=colour, **shared)
        whiskers = [
            base.transform_filter(f"isValid(datum.{low})")
            .mark_rule(strokeWidth=thick, color=INK)
            .encode(y=alt.Y(f"{low}:Q", scale=scale), y2=high, **shared)
            for low, high, thick in (("bound_low", "bound_high", 0.6), ("low", "high", 1.6))
            if low == "low" or any(row.get(low) is not None for row in inside)
        ]
        rings = (
            alt.Chart(inline(_singles(inside)))
            .mark_point(size=30, strokeWidth=1.3, color=INK, opacity=0.75)
            .encode(y=alt.Y("at:Q", scale=scale), **shared)
        )
        drawn = alt.layer(bodies, *whiskers, rings).properties(width=width, height=190)
        charts.append(drawn.properties(title=facet) if facet else drawn)
    return charts[0] if len(charts) == 1 else alt.concat(*charts, columns=columns)


def bars(rows: Sequence[Row], *, x: str, parts: Mapping[str, str], labels: Sequence[str], shares: bool) -> Any:
    """Stacked bars, one per label: rows need label, part, value, place (the part's place in the stack)."""
    alt = import_altair()
    axis = {"format": "%", "tickCount": 5} if shares else {"format": "~s", "tickCount": 5}
    return (
        alt.Chart(inline([dict(row) for row in rows]))
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title=x, stack="normalize" if shares else "zero", axis=axis),
            y=alt.Y("label:N", sort=list(labels), title=None, axis={"grid": False}),
            color=alt.Color(
                "part:N", scale={"domain": list(parts), "range": list(parts.values())}, legend={"title": None}
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
    """A heat map with its numbers: rows need x, y, value; what has no value is grey.

    ``beside`` is how many maps the figure has: tiles are as wide as the page lets them be.
    """
    alt = import_altair()
    low, high = domain if domain[1] > domain[0] else (domain[0], domain[0] + 1)
    data = [{**row, "dark": row["value"] > low + 0.55 * (high - low)} for row in rows]
    width = _tile_width(across, down, _map_columns(across, down, beside))
    steep = max(map(text_width, across)) > width
    base = alt.Chart(inline(data)).encode(
        x=alt.X(
            "x:N", sort=list(across), title=titles[0],
            axis={"labelAngle": -40 if steep else 0, "labelLimit": 250, "grid": False, "ticks": False},
        ),
        y=alt.Y("y:N", sort=list(down), title=titles[1], axis={"labelLimit": 250, "grid": False}),
    )  # fmt: skip
    tone_of = alt.Color(
        "value:Q",
        scale={"domain": [low, high], "range": shades()},
        legend=_scale_of_shades(legend, ticks_for([low, high]), percent=percent),
    )
    tone = alt.condition("datum.dark", alt.value(ON_DARK), alt.value(ON_LIGHT))
    number = ".0%" if percent else f".{digits}f"
    drawn = alt.layer(
        base.mark_rect(stroke="white", strokeWidth=1).encode(color=tone_of),
        base.mark_text(fontSize=SIZE).encode(text=alt.Text("value:Q", format=number), color=tone),
    ).properties(width=width * len(across), height=26 * len(down), view=alt.ViewBackground(fill=RULE))
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
