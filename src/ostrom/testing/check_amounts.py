"""Conformance of strategies about amounts: part of ``check_strategy``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategy import Strategy
from ostrom.answers import Answer, Choice
from ostrom.games import build_game
from ostrom.ground.errors import StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.protocol import Decision

GAMES = ("public_goods_amounts:3", "common_pool", "ultimatum")
MATCHES = 4


def check_amounts(make: Callable[[], Strategy]) -> None:
    """A rule about amounts names allowed ones, the same every time and for every instance, whatever the past."""
    for spec in GAMES:
        for seed in range(MATCHES):
            _play(make, spec, Streams(seed, 1))


def _play(make: Callable[[], Strategy], spec: str, streams: Streams) -> None:
    """One match in which it sits at every seat."""
    game, veteran = build_game(spec), make()

    def decide(decision: Decision, step: int) -> Answer:
        def said(strategy: Strategy) -> Answer:
            return ScriptedAgent(strategy).decide(decision, lambda: streams.chance(step, decision.player))

        where = f"{veteran.name} in {game.name}, seat {decision.view.seat + 1}, step {step}"
        try:
            answer = said(veteran)
        except StudyError as error:
            assert isinstance(decision.form, Choice) and veteran.name in str(error), f"{where}: {error}"
            return Answer(decision.form.options[0])
        assert said(veteran) == answer, f"{where}: asked again it answers otherwise"
        assert said(make()) == answer, f"{where}: another instance answers otherwise"
        return answer

    play = mechanisms.build({"name": "repetition", "rounds": 4}).play(game, streams)
    due, step = next(play), 0
    with suppress(StopIteration):
        while True:
            due = play.send([decide(decision, step) for decision in due])
            step += 1
