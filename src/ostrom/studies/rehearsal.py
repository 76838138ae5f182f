"""A match played by scripts alone, to see what its players will be asked. Nothing is called, nothing kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.engine.plan import Plan, Unit
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.protocol import Decision, Outcome

MOST_STEPS = 200


def rehearse(plan: Plan, unit: Unit, enough: int) -> dict[int, list[Decision]]:
    """What each player of a unit is asked when all play at random: its first ``enough`` decisions, or all."""
    asked: dict[int, list[Decision]] = {player: [] for player in range(len(unit.players))}
    for step, decisions in enumerate(_steps(unit, _prepared(plan, unit))):
        if isinstance(decisions, Outcome) or step == MOST_STEPS:
            break
        for decision in decisions:
            by_other = decision.agent is not None and unit.players[decision.agent].observes
            asked[decision.agent if by_other and decision.agent is not None else decision.player].append(
                decision
            )
        if all(len(known) >= enough for known in asked.values()):
            break
    return {player: known[:enough] for player, known in asked.items()}


def every_step(plan: Plan, unit: Unit) -> Iterator[list[Decision]]:
    """What is asked in each step when all play at random, at most so many steps."""
    for step, decisions in enumerate(_steps(unit, _prepared(plan, unit))):
        if isinstance(decisions, Outcome) or step == MOST_STEPS:
            return
        yield decisions


def _prepared(plan: Plan, unit: Unit) -> Mechanism:
    """The rules of a unit, given what its preparations come to when scripts make them."""
    if not unit.needs:
        return unit.mechanism
    return unit.mechanism.given([rehearsed_facts(plan.unit(index)) for index in unit.needs])


def rehearsed_facts(preparation: Unit) -> Mapping[str, Any]:
    """What a preparation comes to when a script makes it."""
    steps = _steps(preparation, preparation.mechanism)
    return next(outcome.facts for outcome in steps if isinstance(outcome, Outcome))


def _steps(unit: Unit, rules: Mechanism) -> Iterator[list[Decision] | Outcome]:
    """The decisions step by step, and the outcome in the end."""
    agents = [ScriptedAgent(strategies.build("random")) for _ in unit.players]
    streams = unit.streams
    play = rules.play(unit.game, streams)
    step = 0
    try:
        decisions = next(play)
        while True:
            yield decisions
            decisions = play.send(
                [agents[d.player].decide(d, partial(streams.chance, step, d.player)) for d in decisions]
            )
            step += 1
    except StopIteration as stop:
        outcome: Outcome = stop.value
        yield outcome
