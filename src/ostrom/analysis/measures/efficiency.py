"""Efficiency: how much of what could be earned together is earned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum
from typing import Any

from ostrom.analysis.early_ends import OVER, UNPLAYED
from ostrom.analysis.measure import Measure
from ostrom.analysis.totals import totals
from ostrom.data.rundata import RunData
from ostrom.games.function import FunctionGame
from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame


def _best(game: Game) -> float | None:
    """The most that all seats together are paid in a round; of a stock, what a round yields for ever."""
    if isinstance(game, FunctionGame):
        return game.best_total
    return float(game.payoffs.sum(axis=-1).max()) if isinstance(game, TensorGame) else None


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    played = data.records(
        f"SELECT match, max(rounds_played) AS rounds, {OVER} IS NOT NULL AS over, {UNPLAYED} AS unplayed "
        "FROM matches GROUP BY match"
    )
    lasted = {row["match"]: row for row in played}
    for match, paid in totals(data).items():
        unit, row = data.unit(match), lasted[match]
        best = None if unit.mechanism.society else _best(unit.game)
        rounds = row["rounds"]
        if row["over"]:
            known = row["unplayed"] is not None
            rounds = rounds + row["unplayed"] if known else unit.mechanism.most_rounds(unit.game)
        if best is not None and best > 0 and rounds:
            yield {"match": match, "value": min(1.0, max(0.0, fsum(paid.values()) / (best * rounds)))}


MEASURE = Measure(
    name="efficiency",
    title="Efficiency",
    scale="share",
    definition=(
        "What the players of a match are paid together, as a share of the most that they could have been "
        "paid (of a stock: the most that can be taken every round for ever). Rounds that a collapse took "
        "away count as rounds without pay. At least 0 and at most 1; games without gains, and societies, "
        "have no value."
    ),
    needs=("decisions.payoff", "matches.facts"),
    source="Piatti et al. (2024), Cooperate or Collapse",
    values=_values,
)
