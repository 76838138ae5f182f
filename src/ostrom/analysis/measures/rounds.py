"""Rounds: how long a match lasts."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="rounds",
    title="Rounds played",
    scale="count",
    definition="The number of rounds of a match.",
    needs=("matches.rounds_played",),
    values="SELECT match, max(rounds_played) AS value FROM matches GROUP BY match",
)
