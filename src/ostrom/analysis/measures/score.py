"""Score: what a match is worth to a player by the study's own rule."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="score",
    title="Score",
    scale="points",
    definition="The score of a player in a match, as the mechanism counts it (per round, total or discounted).",
    needs=("matches.score",),
    values="SELECT match, player, score AS value FROM matches WHERE score IS NOT NULL",
)
