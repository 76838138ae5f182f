"""Favourite: how often a player plays the action of its own best outcome."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.games.game import Game


def favourite_of(game: Game, seat: int) -> str | None:
    """The action of a seat's own best outcome; None where its best outcomes need different actions of it.

    >>> from ostrom.games import build_game
    >>> favourite_of(build_game("battle_of_the_sexes"), 2)
    'match'
    """
    best = max(game.payoff(profile)[seat - 1] for profile in game.profiles())
    actions = {p[seat - 1] for p in game.profiles() if game.payoff(p)[seat - 1] == best}
    return game.actions[seat - 1][actions.pop()] if len(actions) == 1 else None


def values(data: RunData) -> Iterator[dict[str, Any]]:
    """One row per player; seats without a favourite have none."""
    played: dict[tuple[int, int, int], dict[str, int]] = {}
    for row in data.records(
        "SELECT match, player, seat, action, count(*) AS n FROM decisions "
        "WHERE kind = 'act' AND action IS NOT NULL AND seat IS NOT NULL GROUP BY ALL ORDER BY match, player"
    ):
        played.setdefault((row["match"], row["player"], row["seat"]), {})[row["action"]] = row["n"]
    for (match, player, seat), counts in played.items():
        action = favourite_of(data.game(match), seat)
        if action is not None:
            yield {"match": match, "player": player, "value": counts.get(action, 0) / sum(counts.values())}


MEASURE = Measure(
    name="favourite",
    title="Own favourite",
    scale="share",
    definition="The share of a player's actions in a match that are the one of its own best outcome.",
    needs=("decisions.action",),
    values=values,
    source="Akata et al. (2025), Figure 5",
)
