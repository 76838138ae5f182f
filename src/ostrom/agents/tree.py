"""A precomputed player: its answers were computed before, one per history of the others' moves."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from ostrom.agents.base import DecisionContext
from ostrom.agents.config import AgentConfig
from ostrom.answers import Answer
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.fork import Moves, moves_of
from ostrom.mechanisms.protocol import Decision

Trees = Mapping[str, Mapping[Moves, Answer]]
"""Answers by ``tree_key`` and by the others' moves."""


def tree_key(config: AgentConfig, game: Game, seat: int, mechanism: str, facts: Mapping[str, Any]) -> str:
    """Return the key of a tree: configuration, game, seat, and facts about the rules."""
    parts = [
        config.identity,
        game.name,
        game.actions,
        [float(x) for x in game.payoffs.ravel()],
        seat,
        mechanism,
        dict(facts),
    ]
    return hashlib.blake2b(orjson.dumps(parts, option=orjson.OPT_SORT_KEYS), digest_size=8).hexdigest()


class TreeAgent:
    """Looks up its answers; the model is never called.

    Rounds that are void because somebody missed them are ignored: the answer is that for the rounds that were played.
    """

    instant = True

    def __init__(self, config: AgentConfig, trees: Trees) -> None:
        self.config, self.trees = config, trees
        self._keys: dict[int, str] = {}

    def reply(self, decision: Decision, context: DecisionContext) -> Answer:  # noqa: ARG002
        """Return the precomputed answer, with the key of its tree among its facts."""
        view = decision.view
        key = self._keys.get(id(view.game))
        if key is None:
            key = self._keys[id(view.game)] = tree_key(self.config, view.game, view.seat, view.mechanism, view.facts)
        moves = moves_of(view.history.played_rounds(), view.seat)
        answer = self.trees.get(key, {}).get(moves) if decision.kind == "act" else None
        if answer is None:
            raise StudyError(
                f"the tree of {self.config.label} has no answer to this {decision.kind!r} decision in game "
                f"{view.game.name}, seat {view.seat + 1}, round {view.round} (`ostrom more tree STUDY` makes it)"
            )
        return replace(answer, facts={**(answer.facts or {}), "tree": key})

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        """The answer of ``reply``, as a coroutine."""
        return self.reply(decision, context)
