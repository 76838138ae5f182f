"""Who acts green."""

from __future__ import annotations

from ostrom.analysis.measure import Measure
from ostrom.replications.personas.measures._shared import NEEDS, SOURCE, averaged, per_player

MEASURE = Measure(
    name="green_action",
    title="Share of green actions",
    scale="share",
    definition="The share of actions that are green (cooperative), by role or by actor: economic ones (industrialist, "
    "government) and social ones (activist, citizen).",
    values=lambda data: averaged(per_player(data, lambda p: p.greens)),
    unit="scenario",
    needs=NEEDS,
    source=SOURCE,
    columns=("role", "actor", "condition"),
)
