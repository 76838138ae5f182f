"""Score ratio: points in an ordinal 2x2 game as a share of the most that could be had (Akata et al. 2025, Table 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ostrom.analysis.intervals import Bounds
from ostrom.analysis.measure import Measure
from ostrom.analysis.measures.payoff import paid_by_the_game
from ostrom.data.rundata import RunData


def values(data: RunData) -> Iterator[dict[str, Any]]:
    """One row per player. A game of a foreign table may pay other amounts in the same order."""
    for row in data.records(
        "SELECT match, player, seat, avg(payoff) AS paid FROM decisions WHERE kind = 'act' "
        "AND payoff IS NOT NULL AND seat IS NOT NULL GROUP BY ALL ORDER BY match, player"
    ):
        game = data.game(row["match"])
        most = float(game.payoffs[..., row["seat"] - 1].max())
        if "family" in game.params and "number" in game.params and most > 0:
            yield {
                "match": row["match"], "player": row["player"], "value": row["paid"] / most, "weight": 1.0,
                "family": str(game.params["family"]), "number": game.params["number"],
            }  # fmt: skip


def bounds(data: RunData) -> Callable[[int], Bounds]:
    """At most 1, at least 0 where nothing is paid below 0; none where a mechanism adds payments."""
    paid = paid_by_the_game(data)

    def of(match: int) -> Bounds:
        low, high = paid(match)
        return (None, None) if low is None or high is None else (0.0 if low >= 0 else None, 1.0)

    return of


MEASURE = Measure(
    name="score_ratio",
    title="Score ratio",
    scale="share",
    definition=(
        "A player's payoff per round over the largest payoff of its seat, in ordinal 2x2 games. Both seats of a "
        "player that meets itself count. Games are the unit: opponents and seats are averaged within a game."
    ),
    unit="scenario",
    needs=("decisions.payoff",),
    values=values,
    bounds=bounds,
    source="Akata et al. (2025), Table 1",
)
