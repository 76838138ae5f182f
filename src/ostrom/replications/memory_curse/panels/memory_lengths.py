"""Cooperation against history length: one small chart per game, with and without reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.data.rundata import RunData
from ostrom.replications.memory_curse.panels._shared import NO_WINDOW, by_policy, triple, why_empty
from ostrom.replications.memory_curse.played import WINDOW, keyed
from ostrom.reports.cells import agents
from ostrom.reports.chart import rests_on
from ostrom.reports.layout import lines_by, named, splits
from ostrom.reports.panel import Drawn, Figure, Panel, Table

MOST_FACETS = 24
CELL = ("game", "style", "history_length", "agent")
Points = dict[tuple[Any, ...], Estimate]


class MemoryLengths(Panel):
    """Homogeneous tables with a window memory, as Liu et al. (2026, Figure 2) draw them."""

    title = "Cooperation and the length of memory"

    def draw(self, data: RunData) -> Drawn:
        """Curves by game, and one table with rewards."""
        points = keyed(estimate(data, "memory_cooperation", CELL, where=WINDOW), CELL)
        if not points:
            return Drawn(notes=[why_empty(data, NO_WINDOW)])
        met, styles = (
            [a for a in agents(data) if any(k[3] == a for k in points)],
            list(dict.fromkeys(k[1] for k in points)),
        )
        figures, notes = [], by_policy(data)
        for style in styles if len(met) > 1 else ():
            for n, some in enumerate(splits(met)):
                of = {k: p for k, p in points.items() if k[1] == style and k[3] in some}
                if of:
                    name = f"memory_lengths_{style or 'all'}" + (f"_{n + 1}" if n else "")
                    rows = [_row(p, k[2], k[3], named(k[0])) for k, p in of.items()]
                    figures.append(_figure(name, rows, of, f"{style or 'all'} answers", "agent"))
        if len(met) == 1 or len(styles) > 1:
            rows = [
                _row(p, k[2], str(k[1] or "all"), named(k[0], k[3] if len(met) > 1 else None))
                for k, p in points.items()
            ]
            if len({row["facet"] for row in rows}) <= MOST_FACETS:
                figures.append(_figure("memory_lengths_by_style", rows, points, "all conditions", "answers"))
            else:
                notes.append(
                    "There are too many agents and games to draw the styles of each; the table has all."
                )
        return Drawn(figures, [_table(data, points)], notes)


def _row(point: Estimate, length: int, series: str, facet: str) -> dict[str, Any]:
    return {
        "x": length,
        "mean": point.value,
        "low": point.low,
        "high": point.high,
        "series": series,
        "facet": facet,
    }


def _figure(name: str, rows: Sequence[dict[str, Any]], of: Points, what: str, legend: str) -> Figure:
    chart = lines_by(rows, x="history length", y="cooperation", domain=(0, 1), legend=legend)
    return Figure(
        name,
        chart,
        f"Share of cooperative actions against history length, {what}. Points are estimates, bands 95 % "
        f"intervals. {rests_on(list(of.values()))}",
        f"Curves of cooperation from 0 to 1 against history length by game, {what}.",
    )


def _table(data: RunData, points: Points) -> Table:
    reward, discounted = (
        keyed(estimate(data, name, CELL, where=WINDOW), CELL)
        for name in ("memory_reward", "memory_discounted_reward")
    )
    rows = [
        [agent, game, style, length, p.n, *triple(p), p.sd, *triple(reward.get(key)),
         *triple(discounted.get(key))]
        for key, p in points.items()
        for game, style, length, agent in [key]
    ]  # fmt: skip
    columns = [
        "agent", "game", "style", "history_length", "matches", "cooperation", "low", "high", "sd_over_seeds",
        "mean_reward", "reward_low", "reward_high", "discounted_reward", "discounted_low", "discounted_high",
    ]  # fmt: skip
    caption = "Cooperation and rewards per round by history length (discount 0.99; SD over seeds with n - 1)."
    return Table("memory_lengths", columns, rows, caption)


PANEL = MemoryLengths
