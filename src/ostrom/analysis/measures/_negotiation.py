"""What a negotiation comes to: agreements, the surplus and its shares, and words that were not kept."""

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
    """The finished matches with a negotiation, and what came to pass in them."""
    rows = data.records(
        "SELECT match, any_value(facts) AS facts FROM matches "
        "WHERE mechanism = 'negotiation' AND state = 'done' AND facts IS NOT NULL GROUP BY match ORDER BY match"
    )
    for row in rows:
        facts = orjson.loads(row["facts"])
        if "agreements" in facts:
            yield row["match"], facts


def agreement(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Whether at least one agreement was signed."""
    for match, facts in _negotiations(data):
        yield {"match": match, "value": float(bool(facts["agreements"]))}


def offers_to_agreement(data: RunData) -> Iterator[Mapping[str, Any]]:
    """How many offers were made until the first one was signed."""
    for match, facts in _negotiations(data):
        signed = [i for i, entry in enumerate(facts["said"], 1) if entry["outcome"] == "signed"]
        if signed:
            yield {"match": match, "value": float(signed[0])}


@cache
def _sure(game: Game) -> tuple[float, ...] | None:
    """What each seat has if nothing is agreed: what it can be sure of by a pure action."""
    return tuple(maximin(game, seat).value for seat in range(game.seats)) if game.has_table else None


def _surpluses(data: RunData) -> Iterator[tuple[int, dict[int, float], float]]:
    """By match: what each player has per round above what it is sure of, and the most of it for all together."""
    rows = data.records("SELECT match, player, score FROM matches WHERE score IS NOT NULL ORDER BY match, player")
    scores = grouped((row["match"], (row["player"], row["score"])) for row in rows)  # of who was bound as well
    for match, _ in _negotiations(data):
        game = data.game(match)
        sure, best = _sure(game), game.best_total
        if sure is not None and best is not None and match in scores:
            yield (match, {player: score - sure[player - 1] for player, score in scores[match]}, best - fsum(sure))


def surplus_taken(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Of what agreement can add to what players are sure of, the share that they have together."""
    for match, own, most in _surpluses(data):
        if most > WIDTH:
            yield {"match": match, "value": fsum(own.values()) / most}


def surplus_share(data: RunData) -> Iterator[Mapping[str, Any]]:
    """A player's part of what the players of its match have above what they are sure of."""
    for match, own, _ in _surpluses(data):
        together = fsum(own.values())
        if together > WIDTH:
            for player, part in own.items():
                yield {"match": match, "player": player, "value": part / together}


def broken_words(data: RunData) -> Iterator[Mapping[str, Any]]:
    """Of the rounds for which a player said what it would do and was not bound: in how many it did otherwise."""
    acts: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for row in data.records(
        "SELECT match, player, round, coalesce(action, answer) AS act FROM decisions "
        "WHERE mechanism = 'negotiation' AND kind = 'act' AND state = 'done' ORDER BY match, player, round, step"
    ):
        acts.setdefault((row["match"], row["player"]), []).append((row["round"], str(row["act"])))
    for match, facts in _negotiations(data):
        words: dict[int, list[tuple[int, str]]] = {}
        for entry in facts["said"]:
            for statement in (entry, *entry["replies"]):
                if statement["intends"] is not None:
                    words.setdefault(statement["from"] + 1, []).append((entry["round"], str(statement["intends"])))
        for player, statement in words.items():
            true_words = [
                act == [word for when, word in statement if when <= number][-1]
                for number, act in acts.get((match, player), ())
                if any(when <= number for when, _ in statement)
            ]
            if true_words:
                yield {"match": match, "player": player, "value": 1 - sum(true_words) / len(true_words)}
