"""What a round of a game by a rule may ask, found by playing: who decides at the same time, and among which options."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import lru_cache

from ostrom.games.amounts import Amounts, Options, Value
from ostrom.games.function import Due, FunctionGame

MOST_ROUNDS = 256
"""Rounds that are played to find out what a game asks."""


@lru_cache(maxsize=64)
def steps_of(game: FunctionGame) -> tuple[tuple[Due, ...], ...]:
    """The steps that first rounds come to in which all take their first or all their last option at every step.

    >>> from ostrom.games import build_game
    >>> [[(turn.seat, turn.stage) for turn in step] for step in steps_of(build_game("ultimatum"))]
    [[(0, 'offer')], [(1, 'reply')]]
    """
    found: dict[tuple[tuple[int, str, Options], ...], tuple[Due, ...]] = {}
    todo: deque[tuple[int, ...]] = deque([()])
    for _ in range(MOST_ROUNDS):
        if not todo:
            break
        taken = todo.popleft()
        due = _after(game, taken)
        if due is not None:
            key = tuple((turn.seat, turn.stage, _kind(turn.options)) for turn in due)
            found.setdefault(key, tuple(due))
            todo += [(*taken, 0), (*taken, -1)]
    return tuple(found.values())


def named_sets(game: FunctionGame) -> dict[tuple[str, ...], str]:
    """The sets of named options that a game asks for, each with a stage that asks among them."""
    return {
        tuple(turn.options): turn.stage
        for step in steps_of(game)
        for turn in step
        if not isinstance(turn.options, Amounts)
    }


def _after(game: FunctionGame, taken: Sequence[int]) -> Sequence[Due] | None:
    """What is due after these steps, in each of which all took their first (0) or their last option (-1)."""
    stages = game.begin()
    due = next(stages)
    try:
        for which in taken:
            due = stages.send([_end(turn.options, which) for turn in due])
    except StopIteration:
        return None
    return due


def _end(options: Options, which: int) -> Value:
    if isinstance(options, Amounts):
        return options.high if which else options.low
    return options[which]


def _kind(options: Options) -> Options:
    """Amounts are alike whatever their bounds are; named options are told apart."""
    return () if isinstance(options, Amounts) else tuple(options)
