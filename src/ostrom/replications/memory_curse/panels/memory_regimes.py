"""Immune or cursed: the verdict on every agent and game, and how far it is from the border."""

from __future__ import annotations

from ostrom.analysis.rundata import RunData
from ostrom.replications.memory_curse.episodes import grouped
from ostrom.replications.memory_curse.estimates import estimate
from ostrom.replications.memory_curse.panels._shared import (
    NO_WINDOW,
    by_policy,
    played,
    same_window,
    why_empty,
)
from ostrom.replications.memory_curse.regimes import SHORTEST, THRESHOLD, regime
from ostrom.reports.panel import Drawn, Panel, Table


class MemoryRegimes(Panel):
    """A pair is immune if it cooperates in at least 95 % of actions at every history length from 2 on."""

    title = "Immune or cursed"

    def draw(self, data: RunData) -> Drawn:
        """One row per agent, game and style."""
        found = played(data)
        plain = same_window(found)
        if not plain:
            return Drawn(notes=[why_empty(data, found, NO_WINDOW)])
        rows = []
        undecided = 0
        for (agent, game, style), of in grouped(plain, lambda e: (e.agent, e.game, e.style)).items():
            rates = {
                int(length or 0): point.value
                for length, at in grouped(of, lambda e: e.length).items()
                if (point := estimate(at)) is not None
            }
            verdict = regime(rates)
            undecided += verdict.name is None
            lengths = ", ".join(map(str, verdict.lengths))
            rows.append(
                [agent, game, style, verdict.name, verdict.lowest, verdict.at, verdict.margin, lengths]
            )
        columns = [
            "agent",
            "game",
            "style",
            "regime",
            "lowest",
            "at_history_length",
            "margin",
            "history_lengths",
        ]
        caption = (
            f"Regimes: immune means a cooperation rate of at least {THRESHOLD:.0%} at every history length "
            f"from {SHORTEST} on. The margin is the lowest such rate minus the border."
        )
        notes = by_policy(plain)
        if undecided:
            notes.append(
                f"{undecided} pairs have no history length from {SHORTEST} on, so there is no verdict."
            )
        notes.append(
            "A verdict speaks of the lengths that were played; a longer memory may still break an immune "
            "pair."
        )
        return Drawn(tables=[Table("memory_regimes", columns, rows, caption)], notes=notes)


PANEL = MemoryRegimes
