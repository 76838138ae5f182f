"""First divergence of word and deed."""

from __future__ import annotations

from ostrom.analysis.measure import Measure
from ostrom.features.inference.said import said_values

MEASURE = Measure(
    name="said_divergence",
    title="First divergence of word and deed",
    scale="count",
    definition=(
        "The first round in which a player did what its stated strategy makes less likely than the other "
        "action; one after the last round where there is none."
    ),
    values=lambda data: said_values(data, "divergence"),
    bounds=(1.0, None),
    needs=("decisions.answer",),
    columns=("stated",),
)
