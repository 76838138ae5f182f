"""Immune or cursed: the verdict on every agent and game, and how far it is from the border."""

from __future__ import annotations

from ostrom.analysis.rundata import RunData
from ostrom.replications.memory_curse.panels._shared import NO_WINDOW, by_policy, why_empty
from ostrom.replications.memory_curse.regimes import SHORTEST, THRESHOLD, regimes
from ostrom.reports.panel import Drawn, Panel, Table


class MemoryRegimes(Panel):
    """A pair is immune if it cooperates in at least 95 % of actions at every history length from 2 on."""

    title = "Immune or cursed"

    def draw(self, data: RunData) -> Drawn:
        """One row per agent, game and style."""
        found = regimes(data)
        if not found.by_rates:
            return Drawn(notes=[why_empty(data, NO_WINDOW)])
        rows = [
            [agent, game, style, found.decided[key], r.name, r.lowest, r.at, r.margin,
             ", ".join(map(str, r.lengths))]
            for key, r in found.by_rates.items()
            for game, style, agent in [key]
        ]  # fmt: skip
        columns = [
            "agent", "game", "style", "regime", "by_observed_rates", "lowest", "at_history_length", "margin",
            "history_lengths",
        ]  # fmt: skip
        caption = (
            f"Regimes: immune means a cooperation rate of at least {THRESHOLD:.0%} at every history length "
            f"from {SHORTEST} on. A regime is named where the intervals decide it ({found.control}); the next "
            "column applies the rule to the observed rates alone, as the paper does. The margin is the lowest "
            "such rate minus the border."
        )
        notes = by_policy(data)
        decided = list(found.decided.values())
        notes.append(
            f"Of {len(decided)} pairs {decided.count('immune')} are immune, {decided.count('cursed')} cursed, "
            f"{decided.count('undecided')} undecided at this size ({found.control})."
        )
        if unknown := sum(r.name is None for r in found.by_rates.values()):
            notes.append(
                f"{unknown} pairs have no history length from {SHORTEST} on, so there is no verdict."
            )
        notes.append(
            "A verdict speaks of the lengths that were played; a longer memory may still break an immune pair."
        )
        return Drawn(tables=[Table("memory_regimes", columns, rows, caption)], notes=notes)


PANEL = MemoryRegimes
