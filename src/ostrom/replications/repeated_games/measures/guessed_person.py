"""Guessed person: whether somebody takes the other player for a person (Akata et al. 2025)."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="guessed_person",
    title="Guesses that the other is a person",
    scale="share",
    definition=(
        "Whether somebody said after a game that the other player was a person (column guess: person, human or 1)."
    ),
    needs=("matches.guess",),
    values=(
        "SELECT match, max((lower(trim(guess)) IN ('person', 'human', '1', '1.0', 'true', 'yes'))::INTEGER) AS value "
        "FROM (SELECT match, guess::VARCHAR AS guess FROM matches) WHERE guess IS NOT NULL AND trim(guess) <> '' "
        "GROUP BY match ORDER BY match"
    ),
    source="Akata et al. (2025)",
)
