"""Gives nothing: whether a dictator keeps everything."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="gives_nothing",
    title="Gives nothing",
    scale="share",
    definition="The share of a player's amounts in a match that are the least that it can name.",
    needs=("decisions.amount",),
    source="Engel (2011), Dictator games: a meta study",
    values=(
        "SELECT match, player, avg((amount = least)::INTEGER) AS value FROM decisions "
        "WHERE amount IS NOT NULL GROUP BY match, player ORDER BY match, player"
    ),
)
