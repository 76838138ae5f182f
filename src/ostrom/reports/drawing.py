"""The kinds of drawings that a declared panel has, each from rows that say where their values belong."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.reports.marks import bars, curves, dots, import_altair, inline, tile_maps
from ostrom.reports.theme import MOST_COLOURS, PALETTE, colours
from ostrom.reports.words import pretty

Row = Mapping[str, Any]
"""A value (mean, low, high, points) and its place: series, facet, label, x, y, and the part of a bar.

Every kind takes ``tints``: a colour for each series, where a declaration does not state its own.
"""


@dataclass(frozen=True)
class Kind:
    """How rows are drawn, and whether series that are too many for colours can stand in the labels."""

    draw: Callable[..., Any]
    joins_label: bool = False


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
    groups = {name: list[Row]() for name in blocks}
    for row in rows:
        groups.setdefault(row["facet"], []).append(row)
    coloured = {name: tone for name, tone in tones.items() if name in series} if tones else tints
    return dots(groups, axis=axis, series=coloured, domain=domain)


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
    """Curves with bands; ``levels`` says which values of x there are, where they are no numbers."""
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
    stacked: bool = False,
    met: bool = False,
    parts: Sequence[str] | None = None,
    labels: Sequence[str] | None = None,
) -> Any:
    """Stacked bars, one for each label; blocks one below the other for each facet.

    ``met`` leaves parts that no bar has out of the legend; ``labels`` is the order of bars.
    """
    if parts is None:
        parts = list(tones or dict.fromkeys(row["part_of"] for row in rows))
    if tones is None:
        looks = colours(parts, ordered=True) if len(parts) > MOST_COLOURS else PALETTE
        tones = dict(zip((pretty(part) for part in parts), looks, strict=False))
    facets: dict[str, list[Row]] = {}
    for row in rows:
        place = parts.index(row["part_of"])
        drawn = {"label": row["label"], "part": list(tones)[place], "value": row["mean"], "place": place}
        facets.setdefault(row["facet"], []).append(drawn)
    charts = []
    for facet, of in facets.items():
        order = list(labels or dict.fromkeys(row["label"] for row in of))
        seen = {row["part"] for row in of}
        used_tones = {part: tone for part, tone in tones.items() if part in seen or not met}
        chart = bars(of, x=axis, parts=used_tones, labels=order, shares=shares)
        charts.append(chart.properties(title=facet) if facet else chart)
    return charts[0] if len(charts) == 1 and not stacked else import_altair().vconcat(*charts)


def _points(
    rows: Sequence[Row], series: Sequence[str], *, axis: str, x_title: str, legend: str, shapes: str = "",
    tints: Mapping[str, str],
) -> Any:  # fmt: skip
    """Dots of one share against another; ``facet`` is their shape, where there are several."""
    alt, tones = import_altair(), {name: tints[name] for name in series}
    values = [{legend: row["series"], shapes: row["facet"], "x": row["x"], "y": row["mean"]} for row in rows]
    several = len({row["facet"] for row in rows}) > 1
    share = alt.Scale(domain=[0, 1])
    return (
        alt.Chart(inline(values))
        .mark_point(filled=True, size=60, opacity=0.85)
        .encode(
            x=alt.X("x:Q", title=x_title, scale=share),
            y=alt.Y("y:Q", title=axis, scale=share),
            color=alt.Color(
                f"{legend}:N",
                scale=alt.Scale(domain=list(tones), range=list(tones.values())),
                legend=alt.Legend(title=legend) if len(tones) > 1 else None,
            ),
            shape=alt.Shape(f"{shapes}:N", legend=alt.Legend(title=shapes)) if several else alt.value("circle"),
        )
        .properties(width=420, height=280)
    )


KINDS: Mapping[str, Kind] = {
    "dots": Kind(_dots, joins_label=True),
    "curve": Kind(_curve),
    "tiles": Kind(lambda rows, _, *, tints, **how: tile_maps(rows, **how)),  # noqa: ARG005
    "bars": Kind(_bars),
    "points": Kind(_points),
}
