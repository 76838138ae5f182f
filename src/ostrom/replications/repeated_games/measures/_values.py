"""Measures that only this paper has: against scripts, of the own favourite, and of the 144 ordinal games."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from statistics import fmean
from typing import Any

from ostrom.analysis.intervals import Bounds
from ostrom.analysis.measures._payments import paid_by_the_game
from ostrom.data.rundata import RunData
from ostrom.games.game import Game
from ostrom.replications.repeated_games.moves import BOS, PD, Side, always, matches, together


def with_alternation(data: RunData) -> Iterator[dict[str, Any]]:
    """One row for each player without a strategy, asked plainly, who meets a script that alternates."""
    found = matches(data)
    alternating = always(found, BOS, Side.alternates)
    for match in found:
        for me, other in match.against():
            asked = me.strategy is None and me.style != "social"
            if match.game == BOS and asked and other.agent in alternating:
                yield {"match": match.number, "player": me.seat, "value": fmean(together(me, other))}


def forgiveness(data: RunData) -> Iterator[dict[str, Any]]:
    """One row for each player without a strategy who meets a script that defects once."""
    found = matches(data)
    once = always(found, PD, Side.defects_once)
    for match in found:
        for me, other in match.against():
            if match.game == PD and me.strategy is None and other.agent in once:
                cooperated = sum(map(bool, me.cooperative[1:]))
                yield {"match": match.number, "player": me.seat, "value": cooperated}


def rounds_after_the_first(data: RunData) -> Callable[[int], Bounds]:
    """Every round but the first; how many those are is known once the match was played."""
    lengths = {
        row["match"]: row["n"]
        for row in data.records("SELECT match, max(rounds_played) AS n FROM matches GROUP BY match")
    }
    return lambda match: (0.0, max(float(lengths[match] or 0) - 1, 1.0) if match in lengths else None)


def favourite_of(game: Game, seat: int) -> str | None:
    """The action of a seat's own best outcome; None where its best outcomes need different actions of it.

    >>> from ostrom.games import build_game
    >>> favourite_of(build_game("battle_of_the_sexes"), 2)
    'match'
    """
    best = max(game.payoff(profile)[seat - 1] for profile in game.profiles())
    actions = {p[seat - 1] for p in game.profiles() if game.payoff(p)[seat - 1] == best}
    return game.actions[seat - 1][actions.pop()] if len(actions) == 1 else None


def favourite(data: RunData) -> Iterator[dict[str, Any]]:
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


def score_ratio(data: RunData) -> Iterator[dict[str, Any]]:
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


def ratio_bounds(data: RunData) -> Callable[[int], Bounds]:
    """At most 1, at least 0 where nothing is paid below 0; none where a mechanism adds payments."""
    paid = paid_by_the_game(data)

    def of(match: int) -> Bounds:
        low, high = paid(match)
        return (None, None) if low is None or high is None else (0.0 if low >= 0 else None, 1.0)

    return of
