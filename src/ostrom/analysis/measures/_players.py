"""Measures of what single players do that SQL alone cannot say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.games.equilibria.best_responses import best_responses

PREDICTED = (
    "SELECT a.match, a.player, a.seat, a.round, a.action, list(p.target ORDER BY p.target) AS targets, "
    "list(p.answer ORDER BY p.target) AS expected FROM decisions a JOIN decisions p "
    "ON p.match = a.match AND p.player = a.player AND p.round = a.round AND starts_with(p.kind, 'predict') "
    "WHERE a.kind = 'act' AND a.action IS NOT NULL AND p.answer IS NOT NULL AND a.seat IS NOT NULL "
    "GROUP BY ALL ORDER BY a.match, a.player, a.round"
)


def best_replies(data: RunData) -> Iterator[dict[str, Any]]:
    """One row per player that predicted every other one in some round of a game with a payoff table."""
    replies: dict[tuple[int, int], list[bool]] = {}
    for row in data.records(PREDICTED):
        game, seat = data.game(row["match"]), int(row["seat"]) - 1
        if not game.has_table:
            continue
        others = [s for s in range(game.seats) if s != seat]
        if [target - 1 for target in row["targets"]] != others:
            continue
        rest = tuple(game.index(s, name) for s, name in zip(others, row["expected"], strict=True))
        best = best_responses(game, seat, rest)
        reply = game.index(seat, row["action"]) in best
        replies.setdefault((row["match"], row["player"]), []).append(reply)
    for (match, player), of in replies.items():
        yield {"match": match, "player": player, "value": sum(of) / len(of)}


def response(data: RunData) -> Iterable[Mapping[str, Any]]:
    """Cooperation in the last quarter of a match, of all members but those who were planted."""
    rows = data.records(
        "WITH acts AS (SELECT match, player, round, cooperative, max(round) OVER (PARTITION BY match) AS rounds "
        "FROM decisions WHERE kind = 'act' AND cooperative IS NOT NULL) "
        "SELECT a.match, m.agent, avg(a.cooperative::INTEGER) AS value, count(*) AS weight FROM acts a "
        "JOIN matches m ON m.match = a.match AND m.player = a.player WHERE a.round > a.rounds - ceil(a.rounds / 4.0) "
        "GROUP BY a.match, m.agent ORDER BY a.match, m.agent"
    )
    planted: dict[int, str | None] = {}
    for row in rows:
        match = row["match"]
        if match not in planted:
            plant = getattr(data.unit(match).mechanism, "plant", None)
            planted[match] = None if plant is None else plant.type
    return [row for row in rows if row["agent"] != planted[row["match"]]]
