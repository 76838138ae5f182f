"""How fast cooperation falls as memory grows: one slope per agent, game and style."""

from __future__ import annotations

from ostrom.analysis.rundata import RunData
from ostrom.replications.memory_curse.decay import decay
from ostrom.replications.memory_curse.episodes import grouped
from ostrom.replications.memory_curse.panels._shared import (
    agent_order,
    by_policy,
    played,
    same_window,
    why_empty,
)
from ostrom.reports.layout import named
from ostrom.reports.marks import dots, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table

MOST_ROWS = 80


class MemoryDecay(Panel):
    """Slopes of cooperation over log(1 + history length)."""

    title = "Decay with memory"

    def draw(self, data: RunData) -> Drawn:
        """Dots with whiskers, and the table."""
        found = played(data)
        plain = same_window(found)
        slopes = {
            key: made
            for key, of in grouped(plain, lambda e: (e.agent, e.game, e.style)).items()
            if (made := decay(of)) is not None
        }
        if not slopes:
            lacking = "A slope needs at least two history lengths with the same window for all players."
            return Drawn(notes=[why_empty(data, found, lacking)])
        many = len(agent_order(data, plain)) > 1
        styles = list(dict.fromkeys(str(style or "all") for _, _, style in slopes))
        rows = [
            {"label": named(game, agent if many else None), "series": str(style or "all"), "mean": s.slope,
             "low": s.low, "high": s.high}
            for (agent, game, style), s in slopes.items()
        ]  # fmt: skip
        chart = dots(
            {"": rows[:MOST_ROWS]}, axis="slope of cooperation over log(1 + history length)",
            series=series_colours(styles), domain=None,
        )  # fmt: skip
        caption = (
            "Least-squares slope of the cooperation rate over log(1 + history length); negative is decay. "
            "Whiskers are 95 % intervals: they resample matches within lengths where every length has two "
            "or more, and are those of the regression otherwise; hollow dots have none."
        )
        table = Table(
            "memory_decay",
            [
                "agent",
                "game",
                "style",
                "slope",
                "low",
                "high",
                "interval",
                "history_lengths",
                "matches",
                "note",
            ],
            [
                [
                    *key,
                    s.slope,
                    s.low,
                    s.high,
                    s.method,
                    ", ".join(map(str, s.lengths)),
                    s.matches,
                    s.note or None,
                ]
                for key, s in slopes.items()
            ],
            "Slopes of cooperation over log(1 + history length).",
        )
        notes = by_policy(plain)
        if len(rows) > MOST_ROWS:
            notes.append(f"The chart shows the first {MOST_ROWS} of {len(rows)} slopes; the table has all.")
        alt = f"Dot plot of {min(len(rows), MOST_ROWS)} slopes of cooperation over log history length."
        return Drawn([Figure("memory_decay", chart, caption, alt)], [table], notes)


PANEL = MemoryDecay
