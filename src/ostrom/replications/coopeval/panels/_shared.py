"""What the panels about mechanisms share: rows of matches, labels, and charts that no other panel needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.reports.cells import why_nothing
from ostrom.reports.marks import import_altair
from ostrom.reports.theme import INK, MOST_COLOURS, PALETTE, QUIET, RULE

REST = "others"
REST_COLOUR = "#b8bfc6"


def match_rows(data: RunData) -> list[dict[str, Any]]:
    """All rows of the matches table, in the order of matches."""
    return data.records("SELECT * FROM matches ORDER BY match, player")


def nothing_yet(data: RunData) -> str | None:
    """Why there is nothing to show at all, or None."""
    done = data.records("SELECT count(*) AS n FROM matches WHERE state = 'done' AND unit = 'match'")
    return None if done[0]["n"] else why_nothing(data, "score")


def type_colours(types: Sequence[str]) -> dict[str, str]:
    """A colour per type; with more types than colours the last ones share grey as "others"."""
    if len(types) <= MOST_COLOURS:
        return dict(zip(types, PALETTE, strict=False))
    kept = dict(zip(types[: MOST_COLOURS - 1], PALETTE, strict=False))
    return {**kept, REST: REST_COLOUR}


def streams(rows: Sequence[Mapping[str, Any]], facets: Sequence[str], colours: Mapping[str, str]) -> Any:
    """Stacked shares over steps in small multiples: rows need step, type, share, place, facet."""
    alt = import_altair()
    columns = min(len(facets), 3)
    area = (
        alt.Chart()
        .mark_area(interpolate="monotone", line=False)
        .encode(
            x=alt.X(
                "step:Q",
                title="step (square-root scale)",
                scale=alt.Scale(type="sqrt", nice=False),
                axis=alt.Axis(grid=False, tickCount=4),
            ),
            y=alt.Y(
                "share:Q",
                stack="zero",
                title="share of population",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(values=[0, 0.5, 1]),
            ),
            color=alt.Color(
                "type:N",
                scale=alt.Scale(domain=list(colours), range=list(colours.values())),
                legend=alt.Legend(title=None),
            ),
            order=alt.Order("place:Q"),
        )
        .properties(width={1: 480, 2: 320}.get(columns, 215), height=150)
    )
    data = alt.Data(values=[dict(row) for row in rows])
    return area.facet(facet=alt.Facet("facet:N", sort=list(facets)), columns=columns, data=data)


def corner_place(shares: Sequence[float]) -> tuple[float, float]:
    """Where a population of three types lies in the triangle: first left, second right, third on top.

    >>> corner_place([0.0, 1.0, 0.0]), corner_place([0.5, 0.5, 0.0])
    ((1.0, 0.0), (0.5, 0.0))
    """
    return shares[1] + shares[2] / 2, shares[2] * sqrt(3) / 2


def triangles(
    paths: Mapping[str, Sequence[Sequence[Sequence[float]]]], types: Sequence[str], colours: Sequence[str]
) -> Any:
    """Paths of populations in a triangle per facet; a dot marks where each path ends."""
    alt = import_altair()
    corners = [corner_place([float(i == k) for i in range(3)]) for k in range(3)]
    hidden = {"axis": None, "scale": alt.Scale(domain=[-0.12, 1.12])}
    upright = {"axis": None, "scale": alt.Scale(domain=[-0.14, 1.0])}
    frame = alt.Data(values=[{"x": x, "y": y, "order": i} for i, (x, y) in enumerate([*corners, corners[0]])])
    names = alt.Data(
        values=[
            {"x": x, "y": y + (0.06 if i == 2 else -0.07), "name": types[i], "colour": colours[i]}
            for i, (x, y) in enumerate(corners)
        ]
    )
    charts = []
    for title, lines in paths.items():
        drawn = [
            {"x": place[0], "y": place[1], "path": number, "order": step}
            for number, line in enumerate(lines)
            for step, place in enumerate(map(corner_place, line))
        ]
        ends = [{"x": x, "y": y} for x, y in (corner_place(line[-1]) for line in lines)]
        outline = (
            alt.Chart(frame)
            .mark_line(color=RULE, strokeWidth=1.5)
            .encode(x=alt.X("x:Q", **hidden), y=alt.Y("y:Q", **upright), order="order:Q")
        )
        flow = (
            alt.Chart(alt.Data(values=drawn))
            .mark_line(color=QUIET, strokeWidth=1.1, opacity=0.8)
            .encode(x=alt.X("x:Q", **hidden), y=alt.Y("y:Q", **upright), detail="path:N", order="order:Q")
        )
        dots = (
            alt.Chart(alt.Data(values=ends))
            .mark_point(filled=True, color=INK, size=42, opacity=1)
            .encode(x=alt.X("x:Q", **hidden), y=alt.Y("y:Q", **upright))
        )
        words = (
            alt.Chart(names)
            .mark_text(fontSize=11, fontWeight="bold")
            .encode(
                x=alt.X("x:Q", **hidden),
                y=alt.Y("y:Q", **upright),
                text="name:N",
                color=alt.Color("colour:N", scale=None),
            )
        )
        charts.append(alt.layer(outline, flow, dots, words).properties(width=230, height=205, title=title))
    return charts[0] if len(charts) == 1 else alt.concat(*charts, columns=3)
