"""Log-loss of the stated strategy."""

from __future__ import annotations

import math

from ostrom.analysis.measure import Measure
from ostrom.features.inference.said import LEAST_CHANCE, said_values

MEASURE = Measure(
    name="said_log_loss",
    title="Log-loss of the stated strategy",
    scale="number",
    definition=(
        "The mean over rounds of minus the logarithm of the chance that the stated strategy gives to what was "
        "done; a chance below 0.01 counts as 0.01."
    ),
    values=lambda data: said_values(data, "log_loss"),
    bounds=(0.0, -math.log(LEAST_CHANCE)),
    needs=("decisions.answer",),
    columns=("stated",),
)
