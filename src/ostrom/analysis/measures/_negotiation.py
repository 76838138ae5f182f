"""Measures of negotiations: agreements, the surplus and its shares, and broken promises."""

from collections.abc import Iterator, Mapping
from functools import cache
from math import fsum
from typing import Any

import orjson

from ostrom.data.rundata import RunData
from ostrom.games.equilibria import maximin
from ostrom.games.game import Game
from ostrom.ground.values import grouped

WIDTH = 1e-9


def _negotiations(data: RunData) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the finished matches with a negotiation, and their facts."""
    rows = data.records(
        "SELECT match, any_value(facts) AS facts FROM matches "
        "WHERE mechanism = 'negotiation' AND state = 'done' AND facts IS NOT NULL GROUP BY match ORDER BY match"
    )
    for row in rows:
        facts = orjson.loads(row["facts"])
        if "agreements" in facts:
            yield row["match"], facts


def agreement(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Yield whether at least one agreement was signed."""
    return ({"match": match, "value": float(bool(facts["agreements"]))} for match, facts in _negotiations(data))


def offers_to_agreement(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Yield the number of offers until the first was signed."""
    for match, facts in _negotiations(data):
        signed = [i for i, entry in enumerate(facts["said"], 1) if entry["outcome"] == "signed"]
        if signed:
            yield {"match": match, "value": float(signed[0])}


@cache
def _sure(game: Game) -> tuple[float, ...] | None:
    """Return the payoff that each seat can guarantee without an agreement, by a pure action."""
    return tuple(maximin(game, seat).value for seat in range(game.seats)) if game.has_table else None


def _surpluses(data: RunData) -> Iterator[tuple[int, dict[int, float], float]]:
    """Yield by match each player's payoff per round above its guaranteed one, and the largest joint surplus."""
    rows = data.records("SELECT match, player, score FROM matches WHERE score IS NOT NULL ORDER BY match, player")
    scores = grouped((row["match"], (row["player"], row["score"])) for row in rows)  # also of bound players
    for match, _ in _negotiations(data):
        game = data.game(match)
        sure, best = _sure(game), game.best_total
        if sure is not None and best is not None and match in scores:
            yield (match, {player: score - sure[player - 1] for player, score in scores[match]}, best - fsum(sure))


def surplus_taken(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Yield the share of the possible joint surplus that the players obtained."""
    rows = ((match, fsum(own.values()), most) for match, own, most in _surpluses(data))
    return ({"match": match, "value": together / most} for match, together, most in rows if most > WIDTH)


def surplus_share(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Yield each player's share of the surplus that the players of its match obtained."""
    for match, own, _ in _surpluses(data):
        together = fsum(own.values())
        if together > WIDTH:
            for player, part in own.items():
                yield {"match": match, "player": player, "value": part / together}


def broken_words(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Yield the share of rounds in which a player, not bound, broke its announcement."""
    rows = data.records(
        "SELECT match, player, round, coalesce(action, answer) AS act FROM decisions "
        "WHERE mechanism = 'negotiation' AND kind = 'act' AND state = 'done' ORDER BY match, player, round, step"
    )
    acts = grouped(((row["match"], row["player"]), (row["round"], str(row["act"]))) for row in rows)
    for match, facts in _negotiations(data):
        words = grouped(
            (statement["from"] + 1, (entry["round"], str(statement["intends"])))
            for entry in facts["said"]
            for statement in (entry, *entry["replies"])
            if statement["intends"] is not None
        )
        for player, announced in words.items():
            true_words = [
                act == [word for when, word in announced if when <= number][-1]
                for number, act in acts.get((match, player), ())
                if any(when <= number for when, _ in announced)
            ]
            if true_words:
                yield {"match": match, "player": player, "value": 1 - sum(true_words) / len(true_words)}
