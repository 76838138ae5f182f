"""Measures of what players are paid: in whole matches, together, and how evenly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from math import fsum
from typing import Any

from ostrom.analysis.intervals import Bounds
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UsageError

ACTED = (
    "SELECT match, player, sum(payoff) AS total FROM decisions WHERE kind = 'act' AND payoff IS NOT NULL "
    "GROUP BY match, player ORDER BY match, player"
)
PAID = "SELECT match, player, total FROM matches WHERE total IS NOT NULL AND seat IS NOT NULL ORDER BY match, player"
OVER = "json_extract_string(any_value(facts), '$.over')"
"""Why the game ended a match (``End.over``), in SQL over the rows of a match; NULL where it did not."""

UNPLAYED = "TRY_CAST(json_extract_string(any_value(facts), '$.unplayed') AS INTEGER)"
"""How many rounds the game took away where chance ends matches; NULL: all up to the last one."""


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


def totals(data: RunData) -> dict[int, dict[int, float]]:
    """The sum of payoffs over all rounds, by match and player; also of players who had nothing to decide."""
    paid: dict[int, dict[int, float]] = {}
    for row in data.records(PAID if "total" in data.columns("matches") else ACTED):
        paid.setdefault(row["match"], {})[row["player"]] = row["total"]
    return paid


def total_gain(data: RunData) -> Iterable[Mapping[str, Any]]:
    """What each player is paid in a whole match."""
    for match, paid in totals(data).items():
        for player, total in paid.items():
            yield {"match": match, "player": player, "value": total}


def efficiency(data: RunData) -> Iterable[Mapping[str, Any]]:
    """What all players of a match are paid, as a share of the most that they could have been paid."""
    played = data.records(
        f"SELECT match, max(rounds_played) AS rounds, {OVER} IS NOT NULL AS over, {UNPLAYED} AS unplayed "
        "FROM matches GROUP BY match"
    )
    lasted = {row["match"]: row for row in played}
    for match, paid in totals(data).items():
        unit, row = data.unit(match), lasted[match]
        best = None if unit.mechanism.society else unit.game.best_total
        rounds = row["rounds"]
        if row["over"]:
            known = row["unplayed"] is not None
            rounds = rounds + row["unplayed"] if known else unit.mechanism.most_rounds(unit.game)
        if best is not None and best > 0 and rounds:
            yield {"match": match, "value": min(1.0, max(0.0, fsum(paid.values()) / (best * rounds)))}


def gini(amounts: Iterable[float]) -> float | None:
    """The Gini coefficient of amounts that are not negative; None where there is nothing to share.

    >>> gini([1.0, 1.0]), gini([0.0, 0.0, 0.0, 4.0]), gini([0.0])
    (0.0, 0.75, None)
    """
    ordered = sorted(amounts)
    total, count = sum(ordered), len(ordered)
    if total <= 0:
        return None
    return sum((2 * place - count + 1) * amount for place, amount in enumerate(ordered)) / (count * total)


def equality(data: RunData) -> Iterable[Mapping[str, Any]]:
    """One less the Gini coefficient of what the players of a match are paid in all."""
    for match, paid in totals(data).items():
        earned = list(paid.values())
        unequal = gini(earned) if min(earned) >= 0 else None
        if unequal is not None and len(earned) > 1:
            yield {"match": match, "value": 1.0 - unequal}


def inequality(data: RunData) -> Iterable[Mapping[str, Any]]:
    """The Gini coefficient of the scores of a match, counted from the lowest payoff of its game."""
    scores: dict[int, list[float]] = {}
    for row in data.records(
        "SELECT match, score FROM matches WHERE score IS NOT NULL AND seat IS NOT NULL ORDER BY match, player"
    ):
        scores.setdefault(row["match"], []).append(row["score"])
    rows = []
    for match, earned in scores.items():
        game = data.game(match)
        lowest = float(game.payoffs.min()) if game.has_table else 0.0
        least = min(lowest, *earned)
        rows.append({"match": match, "value": gini(score - least for score in earned)})
    return rows
