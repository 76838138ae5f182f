"""Cooperation against history length: one small chart per game, with and without reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.analysis.rundata import RunData
from ostrom.replications.memory_curse.episodes import Episode, grouped
from ostrom.replications.memory_curse.estimates import Estimate, estimate
from ostrom.replications.memory_curse.panels._shared import (
    NO_WINDOW,
    agent_order,
    by_policy,
    distinct,
    played,
    rough,
    same_window,
    triple,
    why_empty,
)
from ostrom.reports.layout import lines_by, named, splits
from ostrom.reports.panel import Drawn, Figure, Panel, Table

BAND = "Points are means over matches, bands 95 % intervals that resample matches; one match has no band."
MOST_FACETS = 24
Key = tuple[str, str, str | None, int]


class MemoryLengths(Panel):
    """Homogeneous tables with a window memory, as Liu et al. (2026, Figure 2) draw them."""

    title = "Cooperation and the length of memory"

    def draw(self, data: RunData) -> Drawn:
        """Curves by game, and one table with rewards."""
        found = played(data)
        plain = same_window(found)
        if not plain:
            return Drawn(notes=[why_empty(data, found, NO_WINDOW)])
        cells = grouped(plain, lambda e: (e.agent, e.game, e.style, int(e.length or 0)))
        agents, styles = agent_order(data, plain), distinct(plain, lambda e: e.style)
        figures = []
        points = {key: made for key, of in cells.items() if (made := estimate(of)) is not None}
        for style in styles if len(agents) > 1 else ():
            for n, some in enumerate(splits(agents)):
                rows = [
                    _row(p, k[3], k[0], named(k[1]))
                    for k, p in points.items()
                    if k[2] == style and k[0] in some
                ]
                if rows:
                    name = f"memory_lengths_{style or 'all'}" + (f"_{n + 1}" if n else "")
                    figures.append(_figure(name, rows, f"{style or 'all'} answers", "agent"))
        rows = [
            _row(p, k[3], str(k[2] or "all"), named(k[1], k[0] if len(agents) > 1 else None))
            for k, p in points.items()
        ]
        notes = [*by_policy(plain), *rough(points.values())]
        if len(agents) == 1 or len(styles) > 1:
            if len({row["facet"] for row in rows}) <= MOST_FACETS:
                figures.append(_figure("memory_lengths_by_style", rows, "all conditions", "answers"))
            else:
                notes.append(
                    "There are too many agents and games to draw the styles of each; the table has all."
                )
        return Drawn(figures, [_table(cells)], notes)


def _row(point: Estimate, length: int, series: str, facet: str) -> dict[str, Any]:
    return {
        "x": length,
        "mean": point.value,
        "low": point.low,
        "high": point.high,
        "series": series,
        "facet": facet,
    }


def _figure(name: str, rows: Sequence[dict[str, Any]], what: str, legend: str) -> Figure:
    chart = lines_by(rows, x="history length", y="cooperation", domain=(0, 1), legend=legend)
    return Figure(
        name,
        chart,
        f"Share of cooperative actions against history length, {what}. {BAND}",
        f"Curves of cooperation from 0 to 1 against history length by game, {what}.",
    )


def _table(cells: dict[Key, list[Episode]]) -> Table:
    rows = []
    for (agent, game, style, length), of in cells.items():
        rate = estimate(of)
        assert rate is not None
        reward, discounted = estimate(of, "reward"), estimate(of, "discounted")
        rows.append(
            [
                agent,
                game,
                style,
                length,
                rate.matches,
                *triple(rate),
                rate.sd,
                *triple(reward),
                *triple(discounted),
            ]
        )
    columns = [
        "agent", "game", "style", "history_length", "matches", "cooperation", "low", "high", "sd_over_seeds",
        "mean_reward", "reward_low", "reward_high", "discounted_reward", "discounted_low", "discounted_high",
    ]  # fmt: skip
    caption = "Cooperation and rewards per round by history length (discount 0.99; SD over seeds with n - 1)."
    return Table("memory_lengths", columns, rows, caption)


PANEL = MemoryLengths
