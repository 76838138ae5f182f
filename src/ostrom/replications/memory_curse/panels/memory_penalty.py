"""What thinking costs: cooperation without reasoning minus with it, at a long memory."""

from __future__ import annotations

from ostrom.analysis.rundata import RunData
from ostrom.replications.memory_curse.panels._shared import by_policy, played, why_empty
from ostrom.replications.memory_curse.penalty import LENGTH, largest, penalties
from ostrom.reports.layout import named
from ostrom.reports.marks import dots, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import labels, pretty


class MemoryPenalty(Panel):
    """The deliberation penalty of every agent and game, and the game where it is largest."""

    title = "Deliberation penalty"

    def draw(self, data: RunData) -> Drawn:
        """Dots with whiskers, and the table."""
        found = played(data)
        costs = penalties([e for e in found if e.memory.name == "window"])
        if not costs:
            lacking = (
                "The penalty needs matches with the styles direct and reasoned at a common history length."
            )
            return Drawn(notes=[why_empty(data, found, lacking)])
        agents = list(dict.fromkeys(c.agent for c in costs))
        short = labels(agents)
        rows = [
            {"label": named(c.game, None if c.length == LENGTH else f"HL {c.length}"),
             "series": short[c.agent], "mean": c.penalty.value, "low": c.penalty.low, "high": c.penalty.high}
            for c in costs
        ]  # fmt: skip
        chart = dots(
            {"": rows}, axis="cooperation without minus with reasoning",
            series=series_colours(list(short.values())), domain=None,
        )  # fmt: skip
        notes = by_policy(found)
        others = sorted({c.length for c in costs} - {LENGTH})
        if others:
            notes.append(
                f"Not every pair was played at history length {LENGTH} in both styles; the longest length "
                f"that both have is taken there ({', '.join(map(str, others))})."
            )
        for agent in agents:
            worst = largest({c.game: c.penalty.value for c in costs if c.agent == agent})
            if worst is not None and worst[1] > 0:
                notes.append(
                    f"{agent}: reasoning costs most in {pretty(worst[0])} ({100 * worst[1]:.1f} points)."
                )
        table = Table(
            "memory_penalty",
            ["agent", "game", "history_length", "penalty", "low", "high", "matches", "note"],
            [
                [c.agent, c.game, c.length, c.penalty.value, c.penalty.low, c.penalty.high, c.penalty.matches,
                 c.penalty.note or None]
                for c in costs
            ],
            "Deliberation penalty: cooperation asked directly minus cooperation after reasoning.",
        )  # fmt: skip
        caption = (
            "Share of cooperative actions when asked directly minus after reasoning; above 0 reasoning costs "
            "cooperation. Whiskers are 95 % intervals that resample matches."
        )
        alt = f"Dot plot of the deliberation penalty for {len(costs)} pairs of agent and game."
        return Drawn([Figure("memory_penalty", chart, caption, alt)], [table], notes)


PANEL = MemoryPenalty
