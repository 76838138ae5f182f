"""Agreement of word and deed."""

from __future__ import annotations

from ostrom.analysis.measure import Measure
from ostrom.features.inference.said import said_values

MEASURE = Measure(
    name="said_agreement",
    title="Agreement of word and deed",
    scale="share",
    definition="The mean chance that the stated strategy gives to what the player did, over all rounds of the match.",
    values=lambda data: said_values(data, "agreement"),
    needs=("decisions.answer",),
    columns=("stated",),
)
