"""Chart types shared by panels: dots with whiskers, curves with bands, bars, scatters and heat maps.

A row may hold ``points``: the values of its matches, where they are too few for an interval. They are drawn as small
rings with the mean as a tick.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ostrom.reports.canvas import SHARES, Canvas, Drawing, Spec, Ticks, drawing, share_ticks, ticks_for, whole_ticks
from ostrom.reports.theme import DASHES, GAP, INK, LINE, MAIN, ON_DARK, ON_LIGHT, RULE, SHAPES, colours, shades
from ostrom.reports.words import is_bare

Row = Mapping[str, Any]
MOST_PANELS = 24
"""The most small multiples in a figure; with more, a heat map is easier to read."""
NARROWEST, WIDEST = 190, 620
"""The narrowest and widest scale, in pixels."""
PANEL, WIDEST_PANEL = 165, 560
"""The width of a panel in pixels: the least with its axis, and the most without."""


def marks(
    kind: str, encoding: Mapping[str, Any], rows: Iterable[Row] | None = None, *, where: str = "", **look: Any
) -> Spec:
    """Return a layer of marks; without rows it uses the view's data, filtered by ``where``."""
    return {
        "mark": {"type": kind, **look},
        "encoding": {channel: of for channel, of in encoding.items() if of is not None},
        **({} if rows is None else {"data": {"values": list(rows)}}),
        **({"transform": [{"filter": where}]} if where else {}),
    }


def quantity(field: str, **look: Any) -> Spec:
    """Return a quantitative channel."""
    return {"field": field, "type": "quantitative", **look}


def nominal(field: str, **look: Any) -> Spec:
    """Return a nominal channel."""
    return {"field": field, "type": "nominal", **look}


def tinted(field: str, tones: Mapping[str, Any], legend: Spec | None, **look: Any) -> Spec:
    """Return a channel that maps names to colours (or another look)."""
    return nominal(field, scale={"domain": [*tones], "range": [*tones.values()]}, legend=legend, **look)


def view(
    layers: Sequence[Spec], width: float, height: float, title: Any = None, rows: Iterable[Row] | None = None
) -> Spec:
    """Return layers of marks on shared scales."""
    return {
        **({"title": title} if title else {}),
        **({} if rows is None else {"data": {"values": list(rows)}}),
        "layer": list(layers), "width": round(width), "height": round(height),
    }  # fmt: skip


def grid(views: Sequence[Spec], columns: int = 1, **look: Any) -> Spec:
    """One chart specification that shows several views in a grid."""
    return views[0] if len(views) == 1 else {"concat": list(views), "columns": columns, **look}


def above(canvas: Canvas, title: str, width: float) -> Spec | None:
    """Return the title of a panel, wrapped to its width."""
    return {"text": canvas.title(title, width, bold=True), "frame": "group"} if title else None


def _height(width: float) -> float:
    """Return the height of a panel by its width."""
    return max(110, min(260, 75 + width / 3))


def _singles(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return a row for every match that is drawn by itself."""
    return [{**row, "points": None, "at": value} for row in rows for value in row.get("points") or ()]


def _plain(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows with the flag ``few`` instead of their list of matches."""
    return [{**row, "points": None, "few": bool(row.get("points"))} for row in rows]


def _drawn_values(rows: Sequence[Row]) -> Iterator[float | None]:
    """Yield all values that an axis must cover."""
    for row in rows:
        yield from (row["mean"], row["low"], row["high"], row.get("bound_low"), row.get("bound_high"))
        yield from row.get("points") or ()


def _has(rows: Sequence[Row], field: str) -> bool:
    return any(row.get(field) is not None for row in rows)


def _upward(ticks: Ticks, title: Any) -> Spec:
    """Return the settings of a vertical channel: its scale, its ticks and its title."""
    return {
        "scale": {"domain": list(ticks.domain), "nice": False},
        "axis": {"values": list(ticks.values), "format": ticks.format},
        "title": title,
    }


def _whiskers(side: str, encoding: Spec, scale: Spec, rows: Sequence[Row], **look: Any) -> list[Spec]:
    """Return layers of bounds (thin, if any row has them) and intervals along a side, ``x`` or ``y``."""
    return [
        marks("rule", {**encoding, side: quantity(low, **scale), f"{side}2": {"field": high}},
              where=f"isValid(datum.{low})", strokeWidth=thick, **look)
        for low, high, thick in (("bound_low", "bound_high", 0.6), ("low", "high", 1.6))
        if low == "low" or _has(rows, low)
    ]  # fmt: skip


def _rings(encoding: Spec, rows: Sequence[Row] | None = None, **look: Any) -> Spec:
    """Return a layer of small rings: single matches."""
    return marks("point", encoding, rows, **{"size": 30, "strokeWidth": 1.3, "opacity": 0.75, **look})


@drawing
def dots(
    canvas: Canvas,
    groups: Mapping[str, Sequence[Row]],
    *,
    axis: str,
    series: Mapping[str, str],
    domain: Sequence[float] | None,
    zero: bool = False,
    legend: bool = True,
) -> Spec:
    """Dots with whiskers, one block per group: rows need label, series, mean, low, high.

    ``series`` gives a colour to each name; with one name there is no legend. Without a domain every block has
    a scale of its own, which holds 0 if ``zero``.
    """
    total = sum(len({row["label"] for row in rows}) for rows in groups.values())
    beside = canvas.row_labels(dict.fromkeys(row["label"] for rows in groups.values() for row in rows))
    # Blocks share rows of the page as long as their scales are readable.
    columns, room = canvas.panels(min(len(groups), 3), beside.width + NARROWEST)
    width = max(60, min(WIDEST, room - beside.width - canvas.size))
    shares, cut = share_ticks(v for rows in groups.values() for v in _drawn_values(rows))
    names = list(series)
    key = canvas.legend(names, beside.width, title=None) if legend and len(names) > 1 else None
    shapes = dict(zip(names, SHAPES, strict=False)) if 1 < len(names) <= len(SHAPES) else None
    blocks = []
    for place, (title, rows) in enumerate(groups.items()):
        labels = list(dict.fromkeys(row["label"] for row in rows))
        lanes = max(len({row["series"] for row in rows if row["label"] == label}) for label in labels)
        step = max(14 + 8 * lanes if total <= 60 else 10 + 6 * lanes, beside.height)
        ticks = shares if domain else ticks_for(_drawn_values(rows), zero=zero)
        # Blocks with one scale have its title once, below them.
        named = axis + cut if domain else axis
        scale: Spec = {
            "scale": {"domain": list(ticks.domain), "nice": False},
            "title": canvas.title(named, width) if not domain or place + columns >= len(groups) else None,
            "axis": {"values": list(ticks.values), "format": ticks.format},
        }
        shared = {
            "y": nominal("label", sort=labels, title=None,
                      axis={"grid": lanes > 1, "tickBand": "extent", **beside.axis}),
            "yOffset": nominal("series", sort=names) if lanes > 1 else None,
        }  # fmt: skip
        toned = {**shared, "color": tinted("series", series, key)}
        mean = quantity("mean", **scale)
        shaped = {**toned, "x": mean, "shape": tinted("series", shapes, key) if shapes else None}
        at, singles, across_zero = quantity("at", **scale), _singles(rows), ticks.domain[0] < 0 < ticks.domain[1]
        layers = [
            *([marks("rule", {"x": at}, [{"at": 0}], color=LINE)] if not domain and across_zero else []),
            *_whiskers("x", toned, scale, rows),
            marks("point", shaped, where="!datum.few", filled=True, size=44, opacity=1),
            marks("point", {**shared, "x": quantity("mean")}, where="!isValid(datum.low) && !datum.few", filled=True,
                  size=14, color="white"),
            *([_rings({**toned, "x": at}, singles),
               marks("tick", {**toned, "x": mean}, where="datum.few", thickness=2.5,
                     size=min(18, step - 4, max(8, 36 / lanes)))] if singles else []),
        ]  # fmt: skip
        head = canvas.title(title, room, bold=True) if title else None
        blocks.append(view(layers, width, step * len(labels), head, _plain(rows)))
    return grid(blocks, columns)


MOST_BANDS = 2
"""The most overlapping bands; for more series the intervals are whiskers."""
MOST_NAMED = 4
"""The most lines that are labelled at their ends; beyond this there is a legend."""
LONGEST_NAME = 130
"""The longest label at the end of a line, in pixels."""


@drawing
def curves(
    canvas: Canvas,
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
) -> Spec:
    """Curves with bands in small multiples: rows need x, mean, low, high, series, facet.

    With ``levels`` the axis is a row of levels at equal distances, else a scale of numbers. ``target`` is a value that
    the curves are read against, drawn as a line across. Without a domain every multiple has a scale of its own; with
    ``zero`` all have the same, which holds 0.
    """
    names, facets = list(series), list(facets) or [""]
    shares, cut = share_ticks([*_drawn_values(rows), target])
    common = shares if domain else ticks_for(_drawn_values(rows), zero=True) if zero else None
    ends = canvas.text(*names) + 14
    named = len(facets) == 1 < len(names) <= MOST_NAMED and ends <= min(LONGEST_NAME, canvas.width / 4)
    columns, width = _panel_width(canvas, facets, common or ticks_for(_drawn_values(rows)), ends if named else 0)
    # The legend symbol of a line is a line, whatever its dashes.
    mark: Spec = {} if points else {"symbolType": "stroke", "symbolSize": 220}
    key = None if named or len(names) < 2 else canvas.legend(names, 60, title=legend, symbolOpacity=1, **mark)
    by_shape = 1 < len(names) <= len(SHAPES)
    dashes = dict(zip(names, DASHES, strict=False))
    rows = _banded(rows, points)
    if levels is None:
        places = {row["x"] for row in rows}
        reach = 0 if len(places) > 1 else 0.5  # a single place is in the middle
        along = quantity(
            "x", scale={"nice": False, "zero": False, "domain": [min(places) - reach, max(places) + reach]},
            axis={"grid": False, "values": list(whole_ticks([*places])), "format": ",d"},
        )  # fmt: skip
    else:
        fit = {"labelOverlap": True} if all(map(is_bare, levels)) else canvas.below(levels, width)
        along = {"field": "x", "type": "ordinal", "sort": list(levels), "scale": {"type": "point", "padding": 0.35},
                 "axis": {"grid": False, **fit}}  # fmt: skip

    def panel(place: int, facet: str) -> Spec:
        """Return one panel: bands, lines and points on one y scale."""
        of = [row for row in rows if row["facet"] == facet]
        ticks = common or ticks_for(_drawn_values(of))
        first, last, height = place % columns == 0, place + columns >= len(facets), _height(width)
        scale = _upward(ticks, canvas.title(y + (cut if domain else ""), height) if first else None)
        across, tone = {**along, "title": canvas.title(x, width) if last else None}, tinted("series", series, key)
        shared = {"x": across, "color": tone}
        mean = {**shared, "y": quantity("mean", **scale)}
        span = {**shared, "y": quantity("low", **scale), "y2": {"field": "high"}}
        bounds = {**shared, "y": quantity("bound_low", **scale), "y2": {"field": "bound_high"}}
        # Dashes and shapes repeat the colours, for grey print and colour-blind readers.
        dash = (_dashes(dashes) if points else tinted("series", dashes, key)) if by_shape else None
        shape = tinted("series", dict(zip(names, SHAPES, strict=False)), key) if points and by_shape else None
        where = "!datum.few && !isValid(datum.at)" if points else "datum.alone"  # a single round has no line
        singles = _singles(of) if points else []  # along many rounds single matches would be a blur
        ends = _ends(of, levels, ticks, height, canvas.size) if named else []
        texts = {"x": across, "y": quantity("end", **scale), "text": nominal("series")}
        layers = [
            (target is not None, marks("rule", {"y": quantity("goal", **scale)}, [{"goal": target}],
                                       strokeDash=[4, 3], color=INK)),
            # The edges separate two overlapping bands.
            (any(row["drawn"] == "band" for row in of),
             marks("area", {**span, "stroke": {**tone, "legend": None}}, where="datum.drawn == 'band'",
                   fillOpacity=0.16, strokeOpacity=0.55, strokeWidth=0.8)),
            (True, marks("line", {**mean, "strokeDash": dash}, where="!isValid(datum.at)")),
            (any(row["drawn"] == "whisker" for row in of),
             marks("rule", span, where="datum.drawn == 'whisker'", strokeWidth=1.6)),
            (points and _has(of, "bound_low"),
             marks("rule", bounds, where="isValid(datum.bound_low)", strokeWidth=0.6)),
            (points or any(row["alone"] for row in of),
             marks("point", {**mean, "shape": shape}, where=where, filled=True, size=46, opacity=1)),
            (singles, _rings({**shared, "y": quantity("at", **scale)}, where="isValid(datum.at)")),
            (singles, marks("tick", mean, where="datum.few && !isValid(datum.at)", orient="horizontal",
                            thickness=2.5, size=14)),
            (named, marks("text", texts, ends, align="left", dx=9, color=INK)),
        ]  # fmt: skip
        shown = [layer for applies, layer in layers if applies]
        return view(shown, width, height, above(canvas, facet, width), [*_plain(of), *singles])

    return grid([panel(place, facet) for place, facet in enumerate(facets)], columns, align="each")


def _panel_width(
    canvas: Canvas, titles: Sequence[str], ticks: Ticks, more: float = 0, least: float = PANEL
) -> tuple[int, float]:
    """Return how many panels fit side by side, and the width of their scales beside an axis and ``more``."""
    left = canvas.axis(ticks.values) + more
    columns, room = canvas.panels(len(titles), least, titles, left)
    return columns, max(60, min(WIDEST_PANEL, room - left))


def drawn_as_bands(places: Iterable[tuple[Any, Any]]) -> bool:
    """Whether intervals at these (facet, series) places are bands: only if no facet has more than two series.

    >>> drawn_as_bands([("g", "a"), ("g", "b"), ("h", "c")]), drawn_as_bands([("g", "a"), ("g", "b"), ("g", "c")])
    (True, False)
    """
    return max(Counter(facet for facet, _ in set(places)).values(), default=0) <= MOST_BANDS


def _banded(rows: Sequence[Row], points: bool) -> list[dict[str, Any]]:
    """Return rows with the form of their interval: a band if at most two overlap, else a whisker.

    A label, which no curve shows, is left out: the same curves are then the same specification.
    """
    bands = drawn_as_bands((row["facet"], row["series"]) for row in rows if row["low"] is not None)
    drawn = "band" if bands else "whisker" if points else ""
    lengths = Counter((row["facet"], row["series"]) for row in rows)
    bounded = Counter((row["facet"], row["series"]) for row in rows if row["low"] is not None)
    return [
        {
            **{key: row[key] for key in row if key != "label"},
            # An interval at a single place has no band, since that would be a line without width.
            "drawn": "" if row["low"] is None else drawn if bounded[row["facet"], row["series"]] > 1 else "whisker",
            "alone": lengths[row["facet"], row["series"]] == 1,
        }
        for row in rows
    ]  # fmt: skip


def _ends(
    rows: Sequence[Row], levels: Sequence[str] | None, ticks: Ticks, height: float, size: float
) -> list[dict[str, Any]]:
    """Return the positions of line labels: at the last point, a line height apart."""
    place = (lambda row: row["x"]) if levels is None else (lambda row: list(levels).index(row["x"]))
    last = {row["series"]: row for row in sorted(rows, key=place)}
    low, high = ticks.domain
    apart = (high - low) * (size + 2) / height
    ends: list[dict[str, Any]] = []
    for row in sorted(last.values(), key=lambda row: (row["mean"], row["series"])):
        end = max(row["mean"], ends[-1]["end"] + apart) if ends else row["mean"]
        ends.append({"x": row["x"], "series": row["series"], "end": end})
    over = max(0.0, ends[-1]["end"] - high) if ends else 0.0
    for end in reversed(ends):  # labels pushed over the top move down together
        end["end"] -= over
    return ends


def _dashes(dashes: Mapping[str, Any]) -> Spec:
    """Return the dashes of lines as conditions: a scale would also dash the legend's shapes."""
    return {
        "value": [1, 0],
        "condition": [{"test": f"datum.series === {json.dumps(key)}", "value": dash} for key, dash in dashes.items()],
    }


@drawing
def heat(canvas: Canvas, rows: Sequence[Row], *, labels: Sequence[str], x: str, legend: str) -> Spec:
    """Draw a heat map: one line per label; rows need label, start, end, mean."""
    beside = canvas.row_labels(labels)
    encoding = {
        "x": quantity("start", title=x, scale={"nice": False, "zero": False}, axis={"grid": False}),
        "x2": {"field": "end"},
        "y": nominal("label", sort=list(labels), title=None, scale={"paddingInner": 0.12}, axis={**beside.axis}),
        "color": quantity("mean", scale={"domain": [0, 1], "range": shades()},
                        legend=_scale_of_shades(canvas, beside.width, legend, ticks_for([0, 1], 5))),
    }  # fmt: skip
    return view(
        [marks("rect", encoding)],
        max(60, min(520, canvas.width - beside.width - canvas.size)),
        max(15, beside.height) * len(labels),
        rows=rows,
    )


def _scale_of_shades(canvas: Canvas, left: float, title: str, ticks: Ticks, *, percent: bool = False) -> Spec:
    """Return the legend of a heat map, with a number at every step."""
    form, room = "%" if percent else ticks.format, canvas.width - left
    return {
        "title": canvas.title(title, room), "gradientLength": max(80, min(220, room - 30)),
        "gradientThickness": 12, "values": list(ticks.values), "format": form,
    }  # fmt: skip


@drawing
def bars_with_whiskers(
    canvas: Canvas,
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    levels: Sequence[str],
    facets: Sequence[str],
    series: Mapping[str, str],
    shares: bool,
) -> Spec:
    """Bars from zero, side by side for each series: rows need x, mean, low, high, series, facet."""
    names = list(series)
    ticks = SHARES if shares else ticks_for(_drawn_values(rows), zero=True)
    columns, width = _panel_width(canvas, facets, ticks, least=max(PANEL, 6 * len(levels) * len(names)))
    fit = {"labelOverlap": True} if all(map(is_bare, levels)) else canvas.below(levels, width)
    key = canvas.legend(names, 60, title=None) if len(names) > 1 else None
    panels = []
    for place, facet in enumerate(facets):
        of, height = [row for row in rows if row["facet"] == facet], _height(width)
        scale = _upward(ticks, canvas.title(y, height) if place % columns == 0 else None)
        title = canvas.title(x, width) if place + columns >= len(facets) else None
        shared = {
            "x": nominal("x", sort=list(levels), title=title, axis={"grid": False, **fit}),
            "xOffset": nominal("series", sort=names) if len(names) > 1 else None,
        }
        layers = [
            marks("bar", {**shared, "y": quantity("mean", **scale), "color": tinted("series", series, key)}),
            *_whiskers("y", shared, scale, of, color=INK),
            _rings({**shared, "y": quantity("at", **scale)}, _singles(of), color=INK),
        ]
        panels.append(view(layers, width, height, above(canvas, facet, width), _plain(of)))
    return grid(panels, columns, align="each")


@drawing
def bars(
    canvas: Canvas,
    groups: Mapping[str, Sequence[Row]],
    *,
    x: str,
    parts: Mapping[str, str],
    labels: Sequence[str] | None,
    shares: bool,
    met: bool,
) -> Spec:
    """Stacked bars, one per label, a block per group: rows need label, part, value, place (of the part in the stack).

    ``met`` leaves parts that no bar of a block has out of its legend.
    """
    beside = canvas.row_labels(dict.fromkeys(row["label"] for rows in groups.values() for row in rows))
    width = max(60, min(440, canvas.width - beside.width - 2 * canvas.size))
    blocks = []
    for title, rows in groups.items():
        order, seen = list(labels or dict.fromkeys(row["label"] for row in rows)), {row["part"] for row in rows}
        used_tones = {part: tone for part, tone in parts.items() if part in seen or not met}
        encoding = {
            "x": quantity("value", title=canvas.title(x, width), stack="normalize" if shares else "zero",
                        axis={"format": "%", "values": list(SHARES.values)} if shares
                        else {"format": "~s", "tickCount": 5}),
            "y": nominal("label", sort=order, title=None, axis={"grid": False, **beside.axis}),
            "color": tinted("part", used_tones, canvas.legend(used_tones, beside.width, title=None)),
            "order": quantity("place"),
        }  # fmt: skip
        head = canvas.title(title, canvas.width, bold=True) if title else None
        blocks.append(view([marks("bar", encoding)], width, max(22, beside.height) * len(order), head, rows))
    return grid(blocks)


@drawing
def scatter(
    canvas: Canvas,
    rows: Sequence[Row],
    *,
    x: str,
    y: str,
    series: Mapping[str, str],
    legend: str | None = None,
    shapes: str | None = None,
    shares: tuple[bool, bool] = (True, True),
) -> Spec:
    """Dots of one value against another: rows need x, y, series; ``facet`` is their shape, where there are several."""
    sides = {
        side: share_ticks([])[0] if share else ticks_for(row[side] for row in rows)
        for side, share in zip("xy", shares, strict=True)
    }
    _, width = _panel_width(canvas, [""], sides["y"])
    width, height = min(420, width), _height(min(420, width)) + 40
    facets = list(dict.fromkeys(row.get("facet", "") for row in rows))
    several = 1 < len(facets) <= len(SHAPES)
    left = canvas.axis(sides["y"].values) + (canvas.width / 2 if several else 0)  # two legends are side by side
    encoding = {
        **{
            side: quantity(side, title=canvas.title(title, room), scale={"domain": list(sides[side].domain)},
                         axis={"values": list(sides[side].values), "format": sides[side].format})
            for side, title, room in (("x", x, width), ("y", y, height))
        },
        "color": tinted("series", series, canvas.legend(series, left, title=legend) if len(series) > 1 else None),
        "shape": tinted("facet", dict(zip(facets, SHAPES, strict=False)), canvas.legend(facets, left, title=shapes))
        if several else None,
    }  # fmt: skip
    return view([marks("point", encoding, filled=True, size=60, opacity=0.85)], width, height, rows=rows)


def series_colours(names: Sequence[str], *, ordered: bool = False) -> dict[str, str]:
    """Return a colour for each name; a single name has the main colour."""
    return (
        dict.fromkeys(names, MAIN) if len(names) < 2 else dict(zip(names, colours(names, ordered=ordered), strict=True))
    )


WIDEST_TILE, NARROWEST_TILE = 120, 38
Map = Mapping[str, Any]
"""A heat map: rows (x, y, value), across, down, domain, title; missing values are grey."""


@drawing
def tiles(
    canvas: Canvas,
    maps: Sequence[Map],
    *,
    legend: str,
    titles: tuple[str | None, str | None] = (None, None),
    digits: int = 2,
    percent: bool = False,
) -> Spec:
    """Draw heat maps with numbers in a grid; maps with the same colour scale share a legend."""
    beside = canvas.row_labels(dict.fromkeys(label for one in maps for label in one["down"]))
    left = beside.width + (canvas.size + 12 if titles[1] else 0)
    many = max(len(one["across"]) for one in maps)
    columns = max(1, min(len(maps), int((canvas.width + GAP) // (left + GAP + (NARROWEST_TILE + 8) * many)), 4))
    room = (canvas.width - GAP * (columns - 1)) / columns - left
    tile = max(5, min(WIDEST_TILE, room / many))
    form = ".0%" if percent else f".{digits}f"
    views = []
    for one in maps:
        low, high = one["domain"]
        high = high if high > low else low + 1
        rows = [{**row, "dark": row["value"] > low + 0.55 * (high - low)} for row in one["rows"]]
        width = tile * len(one["across"])
        shared = {
            "x": nominal("x", sort=list(one["across"]), title=titles[0],
                      axis={"grid": False, "ticks": False, **canvas.below(one["across"], width)}),
            "y": nominal("y", sort=list(one["down"]), title=titles[1], axis={"grid": False, **beside.axis}),
        }  # fmt: skip
        key = _scale_of_shades(canvas, left, legend, ticks_for([low, high], 5), percent=percent)
        tone = quantity("value", scale={"domain": [low, high], "range": shades()}, legend=key)
        layers = [marks("rect", {**shared, "color": tone}, stroke="white", strokeWidth=1)]
        # A number wider than its tile is only in the table.
        if canvas.text(*(f"{row['value']:.{0 if percent else digits}f}" + "%" * percent for row in rows)) < tile:
            ink = {"condition": {"test": "datum.dark", "value": ON_DARK}, "value": ON_LIGHT}
            layers.append(marks("text", {**shared, "text": quantity("value", format=form), "color": ink}))
        head = above(canvas, one.get("title") or "", max(width, room))
        height = max(26, beside.height) * len(one["down"])
        views.append({**view(layers, width, height, head, rows), "view": {"fill": RULE}})
    scales = {str(one["domain"]) for one in maps}
    return grid(views, columns, resolve={"scale": {"color": "shared" if len(scales) == 1 else "independent"}})


def tile_maps(
    rows: Sequence[Row],
    *,
    legend: str,
    domain: tuple[float, float] = (0.0, 1.0),
    across: Sequence[str] | None = None,
    down: Sequence[str] | None = None,
    facets: Sequence[str] | None = None,
    **look: Any,
) -> Drawing:
    """Draw a heat map for each facet: rows need x, y, facet, mean; labels keep the order of the rows."""
    across = list(dict.fromkeys(row["x"] for row in rows)) if across is None else across
    down = list(dict.fromkeys(row["y"] for row in rows)) if down is None else down
    facets = list(dict.fromkeys(row["facet"] for row in rows)) if facets is None else facets
    maps = [
        {
            "rows": [{"x": r["x"], "y": r["y"], "value": r["mean"]} for r in rows if r["facet"] == facet],
            "across": across, "down": down, "domain": domain, "title": facet,
        }
        for facet in facets
    ]  # fmt: skip
    return tiles(maps, legend=legend, **look)
