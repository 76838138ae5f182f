"""Payoff by round: what a player is paid in each round."""

from ostrom.analysis.measure import Measure

MEASURE = Measure(
    name="payoff_by_round",
    title="Payoff",
    scale="points",
    definition="What a player is paid in a round (column round); 0 in a round that is void.",
    unit="decision",
    needs=("decisions.payoff",),
    values=(
        "SELECT match, player, round, payoff AS value FROM decisions "
        "WHERE kind = 'act' AND payoff IS NOT NULL ORDER BY round, match, player"
    ),
)
