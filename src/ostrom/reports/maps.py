"""Heat maps with their numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.reports.marks import PAGE, import_altair, text_width
from ostrom.reports.theme import INK, SEQUENCE

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
    width = _tile(across, down, _columns(across, down, beside))
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


def side_by_side(charts: Sequence[Any], across: Sequence[str], down: Sequence[str]) -> Any:
    """Maps in a grid; maps with the same scale of colours share one legend."""
    alt = import_altair()
    if len(charts) == 1:
        return charts[0]
    scales = {str(chart.layer[0].encoding.color.to_dict()) for chart in charts}
    return alt.concat(*charts, columns=_columns(across, down, len(charts))).resolve_scale(
        color="shared" if len(scales) == 1 else "independent"
    )


def _tile(across: Sequence[str], down: Sequence[str], columns: int) -> int:
    """How wide a tile is, in pixels."""
    room = PAGE // columns - SPACING - min(190, max(map(text_width, down))) - 30
    return max(NARROWEST_TILE, min(WIDEST_TILE, room // len(across)))


def _columns(across: Sequence[str], down: Sequence[str], many: int) -> int:
    """How many maps stand side by side without their tiles getting too narrow for their numbers.

    >>> [_columns(["a", "b", "c"], ["a"], n) for n in (1, 2, 7)], _columns(["a"] * 20, ["a"], 5)
    ([1, 2, 4], 1)
    """
    label = min(190, max(map(text_width, down))) + 30
    fitting = PAGE // (label + SPACING + (NARROWEST_TILE + 8) * len(across))
    return max(1, min(many, fitting, 4))
