"""Best replies to an own prediction: whether players act on what they expect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.games.equilibria.best_responses import best_responses
from ostrom.games.tensor import TensorGame

ROWS = (
    "SELECT a.match, a.player, a.seat, a.round, a.action, list(p.target ORDER BY p.target) AS targets, "
    "list(p.answer ORDER BY p.target) AS expected FROM decisions a JOIN decisions p "
    "ON p.match = a.match AND p.player = a.player AND p.round = a.round AND starts_with(p.kind, 'predict') "
    "WHERE a.kind = 'act' AND a.action IS NOT NULL AND p.answer IS NOT NULL AND a.seat IS NOT NULL "
    "GROUP BY ALL ORDER BY a.match, a.player, a.round"
)


def values(data: RunData) -> Iterator[dict[str, Any]]:
    """One row per player that predicted every other one in some round of a game with a payoff table."""
    found: dict[tuple[int, int], list[bool]] = {}
    for row in data.records(ROWS):
        game, seat = data.game(row["match"]), int(row["seat"]) - 1
        if not isinstance(game, TensorGame):
            continue
        others = [s for s in range(game.seats) if s != seat]
        if [target - 1 for target in row["targets"]] != others:
            continue
        rest = tuple(game.index(s, name) for s, name in zip(others, row["expected"], strict=True))
        best = best_responses(game, seat, rest)
        reply = game.index(seat, row["action"]) in best
        found.setdefault((row["match"], row["player"]), []).append(reply)
    for (match, player), replies in found.items():
        yield {"match": match, "player": player, "value": sum(replies) / len(replies)}


MEASURE = Measure(
    name="best_reply_to_prediction",
    title="Best replies to the own prediction",
    scale="share",
    definition=(
        "The share of a player's actions that are a best reply, within the round, to what it predicted the others "
        "would do in that round; rounds in which it did not predict all of them, and games by a rule, are left out."
    ),
    needs=("decisions.target",),
    values=values,
    source="Akata et al. (2025)",
)
