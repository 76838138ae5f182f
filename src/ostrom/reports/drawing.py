"""The kinds of drawings of a declared panel, each from rows with values and places."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ostrom.ground.values import grouped
from ostrom.reports.marks import bars, curves, dots, scatter, tile_maps
from ostrom.reports.theme import MOST_COLOURS, PALETTE, colours
from ostrom.reports.words import pretty

Row = Mapping[str, Any]
"""A value (mean, low, high, points) and its place: series, facet, label, x, y, and part of a bar.

Every kind takes ``tints``: a colour for each series, where a declaration does not state its own.
"""


def _dots(
    rows: Sequence[Row],
    series: Sequence[str],
    *,
    axis: str,
    domain: Sequence[float] | None = None,
    tones: Mapping[str, str] | None = None,
    blocks: Sequence[str] = (),
    tints: Mapping[str, str],
) -> Any:
    """Dots with whiskers: a block for each facet, a line for each label."""
    groups = {**{name: list[Row]() for name in blocks}, **grouped((row["facet"], row) for row in rows)}
    return dots(
        groups,
        axis=axis,
        series={name: tone for name, tone in tones.items() if name in series} if tones else tints,
        domain=domain,
    )


def _curve(
    rows: Sequence[Row],
    series: Sequence[str],
    *,
    axis: str,
    x_title: str,
    legend: str | None = None,
    domain: Sequence[float] | None = None,
    levels: Sequence[Any] | None = None,
    zero: bool = False,
    tints: Mapping[str, str],
) -> Any:
    """Draw curves with bands; ``levels`` are the values of x if they are no numbers."""
    if levels is None:
        series, legend = list(dict.fromkeys(row["series"] for row in rows)), legend or ""
        levels = sorted({row["x"] for row in rows})
        rows = [{**row, "x": str(row["x"])} for row in rows]
    else:
        domain = (0, 1)
    facets = list(dict.fromkeys(row["facet"] for row in rows))
    return curves(
        rows, x=x_title, y=axis, facets=facets, series={name: tints[name] for name in series}, legend=legend,
        levels=[str(level) for level in levels], domain=domain, zero=zero,
    )  # fmt: skip


def _bars(
    rows: Sequence[Row],
    series: Sequence[str],  # noqa: ARG001
    *,
    axis: str,
    tints: Mapping[str, str],  # noqa: ARG001
    tones: Mapping[str, str] | None = None,
    shares: bool = True,
    met: bool = False,
    parts: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
) -> Any:
    """Draw stacked bars, one for each label; facets are blocks below each other.

    ``met`` leaves parts that no bar has out of the legend; ``labels`` is the order of bars.
    """
    if parts is None:
        parts = list(tones or dict.fromkeys(row["part_of"] for row in rows))
    if tones is None:
        looks = colours(parts, ordered=True) if len(parts) > MOST_COLOURS else PALETTE
        tones = dict(zip(map(pretty, parts), looks, strict=False))
    facets: dict[str, list[Row]] = {}
    for row in rows:
        place = parts.index(row["part_of"])
        facets.setdefault(row["facet"], []).append(
            {"label": row["label"], "part": list(tones)[place], "value": row["mean"], "place": place}
        )
    return bars(facets, x=axis, parts=tones, labels=labels, shares=shares, met=met)


def _points(
    rows: Sequence[Row], series: Sequence[str], *, axis: str, x_title: str, legend: str, shapes: str = "",
    tints: Mapping[str, str],
) -> Any:  # fmt: skip
    """Draw dots of one share against another; ``facet`` is their shape, if there are several."""
    return scatter(
        [{"x": row["x"], "y": row["mean"], "series": row["series"], "facet": row["facet"]} for row in rows],
        x=x_title,
        y=axis,
        series={name: tints[name] for name in series},
        legend=legend,
        shapes=shapes,
    )


KINDS: Mapping[str, Callable[..., Any]] = {
    "dots": _dots,
    "curve": _curve,
    "tiles": lambda rows, _, *, tints, **how: tile_maps(rows, **how),  # noqa: ARG005
    "bars": _bars,
    "points": _points,
}
"""The functions that draw, by the kind that a declaration names."""
JOINING = ("dots",)
"""The kinds in which series beyond the colours can move into the labels."""
