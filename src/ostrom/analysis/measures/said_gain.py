"""Gain of the stated strategy."""

from __future__ import annotations

from ostrom.analysis.measure import Measure
from ostrom.features.inference.said import said_values

MEASURE = Measure(
    name="said_gain",
    title="Gain of the stated strategy",
    scale="points",
    definition=(
        "What the stated strategy would have earned per round against the same moves of the other, minus what "
        "was earned."
    ),
    values=lambda data: said_values(data, "gain"),
    needs=("decisions.answer",),
    columns=("stated",),
)
