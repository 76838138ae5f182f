"""Cooperation: how often a player takes the cooperative action."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="cooperation",
    title="Cooperation",
    scale="share",
    definition="The share of a player's actions in a match that are cooperative; none in games without one.",
    needs=("matches.cooperation",),
    values="SELECT match, player, cooperation AS value FROM matches WHERE cooperation IS NOT NULL",
)
