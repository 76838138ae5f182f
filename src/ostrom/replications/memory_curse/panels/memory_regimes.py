"""What memory does to every agent in every game, and how far it is from the border of immunity."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.replications.memory_curse.panels._shared import NO_WINDOW, by_policy, why_empty
from ostrom.replications.memory_curse.regimes import BAND, NAMES, SHORTEST, STEP, THRESHOLD, regimes
from ostrom.reports.panel import Drawn, Panel, Table


class MemoryRegimes(Panel):
    """Immune, decaying, flat-low, rising, memory-bounded or undecided, and the paper's rule beside it."""

    title = "Regimes: immune, decaying, flat, rising, memory-bounded"

    def draw(self, data: RunData) -> Drawn:
        """One row per agent, game and style."""
        found = regimes(data)
        if not found.by_rates:
            return Drawn(notes=[why_empty(data, NO_WINDOW)])
        rows = [
            [agent, game, style, found.decided[key], r.name, r.printed, r.lowest, r.at, r.margin,
             ", ".join(map(str, r.lengths))]
            for key, r in found.by_rates.items()
            for game, style, agent in [key]
        ]  # fmt: skip
        columns = [
            "agent", "game", "style", "regime", "by_observed_rates", "papers_rule", "lowest", "at_history_length",
            "margin", "history_lengths",
        ]  # fmt: skip
        caption = (
            f"Regimes: immune means a cooperation rate of at least {THRESHOLD:.0%} at every history length "
            f"from {SHORTEST} on; of the others decaying and rising compare the longest with the shortest such length, "
            f"memory-bounded is low at 0 with its peak at a length of at most {BAND}, and flat-low is neither. A "
            f"regime is named where the intervals decide it ({found.control}); the next column applies the rules to "
            f"the observed rates alone (changes of up to {STEP:.0%} are none), and the paper's rule calls cursed what "
            "is not immune. The margin is the lowest such rate minus the border."
        )
        notes = by_policy(data)
        decided = list(found.decided.values())
        told = ", ".join(f"{decided.count(name)} {name}" for name in NAMES)
        notes.append(f"Of {len(decided)} pairs: {told} at this size ({found.control}).")
        if unknown := sum(not r.lengths for r in found.by_rates.values()):
            notes.append(
                f"{unknown} pairs have no history length from {SHORTEST} on, so there is no verdict."
            )
        notes.append(
            "A verdict speaks of the lengths that were played; a longer memory may still break an immune pair."
        )
        return Drawn(tables=[Table("memory_regimes", columns, rows, caption)], notes=notes)


PANEL = MemoryRegimes
