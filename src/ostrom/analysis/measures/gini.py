"""Inequality: the Gini coefficient of what the players of a match earn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.features.societies.networks import gini
from ostrom.games.function import FunctionGame


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    scores: dict[int, list[float]] = {}
    for row in data.records(
        "SELECT match, score FROM matches WHERE score IS NOT NULL AND seat IS NOT NULL ORDER BY match, player"
    ):
        scores.setdefault(row["match"], []).append(row["score"])
    rows = []
    for match, earned in scores.items():
        game = data.game(match)
        lowest = 0.0 if isinstance(game, FunctionGame) else float(game.payoffs.min())
        least = min(lowest, *earned)
        rows.append({"match": match, "value": gini(score - least for score in earned)})
    return rows


MEASURE = Measure(
    name="gini",
    title="Inequality of scores",
    scale="share",
    definition=(
        "The Gini coefficient of the scores of a match's players, each counted from the lowest payoff of the game, or "
        "from 0 where payoffs follow from a rule: 0 where all earn the same. Matches in which nobody earns more than "
        "that have no value."
    ),
    needs=("matches.score",),
    values=_values,
)
