"""Whether choices follow payoffs."""

from __future__ import annotations

from ostrom.analysis.measure import Measure
from ostrom.replications.personas.measures._shared import NEEDS, SOURCE, averaged, per_player

MEASURE = Measure(
    name="best_reply",
    title="Best replies",
    scale="share",
    definition="Whether no other action would have paid a player more against what the others did.",
    values=lambda data: averaged(per_player(data, lambda p: [float(r <= 0) for r in p.regrets])),
    unit="scenario",
    needs=NEEDS,
    source=SOURCE,
    columns=("role", "actor", "condition"),
)
