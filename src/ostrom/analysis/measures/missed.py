"""Missed: how often a player does not decide in time."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="missed",
    title="Missed decisions",
    scale="share",
    definition="The share of a player's decisions in a match that were not answered in time.",
    needs=("decisions.missed",),
    values="SELECT match, player, avg(missed::INTEGER) AS value FROM decisions GROUP BY match, player",
)
