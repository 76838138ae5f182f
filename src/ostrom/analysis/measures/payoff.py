"""Payoff: what a player earns per round."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from ostrom.analysis.intervals import Bounds
from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UsageError


def paid_by_the_game(data: RunData) -> Callable[[int], Bounds]:
    """The least and the largest payoff of each match's game.

    Payments that a mechanism adds (a contract, a fine) can leave that range; then no bound is known. Of a match that
    has not been played nothing was paid yet: its bounds are those of its game.
    """
    paid = {
        row["match"]: (row["game"], row["mechanism"], row["low"], row["high"])
        for row in data.records(
            "SELECT match, any_value(game) AS game, any_value(mechanism) AS mechanism, "
            "min(payoff) AS low, max(payoff) AS high FROM decisions "
            "WHERE kind = 'act' AND payoff IS NOT NULL GROUP BY match"
        )
    }

    @cache
    def of_game(match: int) -> Bounds:
        try:
            payoffs = data.game(match).payoffs
        except UsageError:  # tables without a study know no game
            return None, None
        return float(payoffs.min()), float(payoffs.max())

    def within(match: int) -> bool:
        low, high = of_game(match)
        _, _, least, most = paid[match]
        return low is not None and high is not None and low <= least and most <= high and low < high

    added = {(game, mechanism) for match, (game, mechanism, *_) in paid.items() if not within(match)}

    def bounds(match: int) -> Bounds:
        return (None, None) if match in paid and paid[match][:2] in added else of_game(match)

    return bounds


MEASURE = Measure(
    name="payoff",
    title="Payoff per round",
    scale="points",
    definition="What a player is paid in a round, averaged over the rounds of a match.",
    needs=("decisions.payoff",),
    bounds=paid_by_the_game,
    values=(
        "SELECT match, player, avg(payoff) AS value FROM decisions "
        "WHERE kind = 'act' AND payoff IS NOT NULL GROUP BY match, player"
    ),
)
