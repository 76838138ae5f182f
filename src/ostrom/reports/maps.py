"""Heat maps with their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.reports.marks import import_altair
from ostrom.reports.theme import INK, SEQUENCE


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
) -> Any:
    """A heat map with its numbers: rows need x, y, value; what never met stays white."""
    alt = import_altair()
    low, high = domain if domain[1] > domain[0] else (domain[0], domain[0] + 1)
    data = [{**row, "dark": row["value"] > low + 0.55 * (high - low)} for row in rows]
    steep = max(map(len, across)) > 6
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
        legend=alt.Legend(title=legend, gradientLength=140, gradientThickness=10, tickCount=3),
    )
    tone = alt.condition("datum.dark", alt.value("white"), alt.value(INK))
    drawn = alt.layer(
        base.mark_rect(stroke="white", strokeWidth=1).encode(color=shades),
        base.mark_text(fontSize=10).encode(text=alt.Text("value:Q", format=f".{digits}f"), color=tone),
    ).properties(width=max(90, 38 * len(across)), height=24 * len(down))
    return drawn.properties(title=title) if title else drawn


def side_by_side(charts: Sequence[Any], wide: int) -> Any:
    """Maps in a grid; every map keeps its own scale of colours."""
    alt = import_altair()
    if len(charts) == 1:
        return charts[0]
    columns = 1 if wide > 8 else 2 if wide > 4 else 3
    return alt.concat(*charts, columns=columns).resolve_scale(color="independent")


def share_map(
    rows: Sequence[Mapping[str, Any]], *, across: Sequence[str], down: Sequence[str], legend: str
) -> Any:
    """A heat map with its numbers: rows need x, y, value (0 to 1)."""
    alt = import_altair()
    wide = max(52, 7 * max(len(name) for name in across))
    base = alt.Chart(alt.Data(values=[dict(row) for row in rows])).encode(
        x=alt.X("x:N", sort=list(across), title=None, axis=alt.Axis(orient="top", labelAngle=0, ticks=False)),
        y=alt.Y("y:N", sort=list(down), title=None),
    )
    tiles = base.mark_rect().encode(
        color=alt.Color(
            "value:Q",
            scale=alt.Scale(domain=[0, 1], range=["#f7fafc", *SEQUENCE[1:]], interpolate="rgb"),
            legend=alt.Legend(title=legend, format="%", values=[0, 0.5, 1], gradientLength=160),
        )
    )
    numbers = base.mark_text(fontSize=10).encode(
        text=alt.Text("value:Q", format=".0%"),
        color=alt.condition("datum.value > 0.55", alt.value("white"), alt.value(INK)),
    )
    return alt.layer(tiles, numbers).properties(width=min(wide, 120) * len(across), height=19 * len(down))
