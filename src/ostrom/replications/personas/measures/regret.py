"""What choices cost."""

from __future__ import annotations

from ostrom.analysis.measure import Measure
from ostrom.replications.personas.measures._shared import NEEDS, SOURCE, averaged, per_player

MEASURE = Measure(
    name="regret",
    title="Regret",
    scale="points",
    definition="What a player's best reply to the others' actual actions would have added to its payoff.",
    values=lambda data: averaged(per_player(data, lambda p: p.regrets)),
    bounds=(0.0, None),
    unit="scenario",
    needs=NEEDS,
    source=SOURCE,
    columns=("role", "actor", "condition"),
)
