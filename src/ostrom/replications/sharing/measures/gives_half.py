"""Gives half: whether a dictator splits equally."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="gives_half",
    title="Gives half",
    scale="share",
    definition="The share of a player's amounts in a match that are half of what it can name.",
    needs=("decisions.amount",),
    source="Engel (2011), Dictator games: a meta study",
    values=(
        "SELECT match, player, avg((abs(2 * amount - least - most) < 1e-9)::INTEGER) AS value FROM decisions "
        "WHERE amount IS NOT NULL AND most > least GROUP BY match, player ORDER BY match, player"
    ),
)
