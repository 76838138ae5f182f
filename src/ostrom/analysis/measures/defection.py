"""Defection: how often a player does not take the cooperative action."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="defection",
    title="Defection",
    scale="share",
    definition="The share of a player's actions in a match that are not cooperative; none in games without one.",
    needs=("matches.cooperation",),
    values="SELECT match, player, 1 - cooperation AS value FROM matches WHERE cooperation IS NOT NULL",
)
