"""Stated and revealed strategy are the same."""

from __future__ import annotations

from ostrom.analysis.measure import Measure
from ostrom.features.inference.said import said_values

MEASURE = Measure(
    name="said_same_strategy",
    title="Stated and revealed strategy are the same",
    scale="share",
    definition=(
        "Whether a strategy of the catalog that fits the statement best, in the situations that occurred, is "
        "one that fits the moves best."
    ),
    values=lambda data: said_values(data, "same_strategy"),
    needs=("decisions.answer",),
    columns=("stated",),
)
