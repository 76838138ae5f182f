"""What each adapter changed: gain, decay, regime, collapsed matches and invalid replies, game by game."""

from __future__ import annotations

from ostrom.data.rundata import RunData
from ostrom.replications.memory_curse.adapted import BASE, COLLAPSED, HEALTHY, arms, changes
from ostrom.replications.memory_curse.panels._shared import by_policy, triple, why_empty
from ostrom.reports.panel import Drawn, Panel, Table

LACKING = f"The probe needs a type named {BASE} and types with an adapter that played the same games."


class ProbeArms(Panel):
    """Adapters against the base model (Liu et al. 2026, section 4.2, with the placebo that it lacks)."""

    title = "What training changed"

    def draw(self, data: RunData) -> Drawn:
        """One row per adapter and game."""
        found = changes(data)
        if not found:
            return Drawn(notes=[why_empty(data, LACKING)])
        rows = [
            [c.agent, c.game, *triple(c.gain), c.gain.n,
             None if c.slope is None else c.slope.value, None if c.base_slope is None else c.base_slope.value,
             None if c.slope is None or c.base_slope is None else c.slope.value - c.base_slope.value,
             c.base_regime, c.regime, c.collapsed, c.by_policy]
            for c in found
        ]  # fmt: skip
        columns = [
            "arm", "game", "gain", "low", "high", "pairs", "slope", "base_slope", "slope_change", "base_regime",
            "regime", "collapsed_matches", "by_policy",
        ]  # fmt: skip
        flips = [c for c in found if c.base_regime == "cursed" and c.regime == "immune"]
        notes = [*by_policy(data)]
        for arm in arms(data):
            of = [c for c in found if c.agent == arm]
            flipped = [c.game for c in flips if c.agent == arm]
            notes.append(
                f"{arm}: {len(flipped)} of {len(of)} games turn from cursed to immune by the observed rates"
                + (f" ({', '.join(flipped)})." if flipped else ".")
            )
        notes.append(
            "A gain over the base model shows that training changed behaviour. That looking forward is the cause needs "
            "the forward adapter to gain more than the placebo and the shuffled one, over several training seeds."
        )
        caption = (
            "Gain: cooperation minus that of the base model, paired by history length and seed, with its 95 % "
            "interval. Slopes are of cooperation over log(1 + history length). A match has collapsed if it cooperates "
            f"in less than {COLLAPSED:.0%} of its actions where half of its cell does in {HEALTHY:.0%} or more."
        )
        return Drawn(tables=[Table("probe_arms", columns, rows, caption)], notes=notes)


PANEL = ProbeArms
