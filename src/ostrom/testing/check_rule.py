"""Conformance of games whose payoffs follow from a rule: part of ``check_game``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any

from ostrom.games.amounts import Amounts, Value
from ostrom.games.game import Due, End, Game, Now
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams

ROUNDS = 4
MATCHES = 12
NEAR = 1e-9


def check_rule(game: Game) -> None:
    """Raise AssertionError with what is wrong with a game by a rule."""
    assert game.name.isidentifier(), f"the game's name {game.name!r} is not an identifier"
    assert game.stages, f"{game.name}: name the stages of a round"
    assert all(stage.isidentifier() and stage != "past" for stage in game.stages), (
        f"{game.name}: the stages {game.stages} must be identifiers other than 'past'"
    )
    for seed in range(MATCHES):
        one, two = played(game, seed), played(game, seed)
        assert one == two, (
            f"{game.name}: the same moves and the same chance give another course (seed {seed})"
        )
        if game.best_total is not None and not game.stateful:
            for _, end in one:
                total = fsum(end.payoffs)
                assert total <= game.best_total + NEAR * max(1.0, abs(game.best_total)), (
                    f"{game.name}: pays {total} in all, best_total says at most {game.best_total}"
                )
    _check_theory(game)


def played(game: Game, seed: int) -> list[tuple[list[tuple[Due, Value]], End]]:
    """Some rounds of random moves: the moves and how each round ended. What breaks the contract is raised."""
    streams, state, rounds = Streams(seed, 0), dict[str, Any](), []
    for number in range(1, ROUNDS + 1):
        now = Now(number, state, lambda seat, purpose, number=number: streams.chance(number, seat, purpose))  # type: ignore[misc]

        def random(turn: Due, step: int, number: int = number) -> Value:
            return _any(turn, streams.chance(100 * number + step, turn.seat, "move"))

        moves, end = one_round(game, now, random)
        rounds.append((moves, end))
        state = json.loads(json.dumps(dict(end.state)))
        if end.over is not None:
            break
    return rounds


def one_round(game: Game, now: Now, choose: Any) -> tuple[list[tuple[Due, Value]], End]:
    """One round by a function that chooses; every turn and the end are held against the contract."""
    where, stages = f"{game.name}, round {now.round}", game.begin(now)
    moves: list[tuple[Due, Value]] = []
    try:
        due, step = next(stages), 0
        while True:
            for turn in due:
                _check_turn(game, turn, where)
            done = [choose(turn, step) for turn in due]
            moves += zip(due, done, strict=True)
            due, step = stages.send(done), step + 1
    except StopIteration as stop:
        _check_end(game, stop.value, where)
        return moves, stop.value
    except GameError as error:  # what is refused in play too
        raise AssertionError(f"{where}: {error}") from None


def _check_turn(game: Game, turn: Due, where: str) -> None:
    where = f"{where}, stage {turn.stage}"
    assert turn.stage in game.stages, f"{where}: is not among the stages {game.stages}"
    ends = [turn.options[0], turn.options[-1]] if len(turn.options) else []
    assert ends, f"{where}: offers seat {turn.seat + 1} nothing"
    for name in ends if isinstance(turn.options, Amounts) else turn.options:
        assert name in game.actions[turn.seat], (
            f"{where}: {name!r} is not among the actions of seat {turn.seat + 1}"
        )
    _check_plain(turn.facts, f"{where}: what the seat is told")


def _check_end(game: Game, end: End, where: str) -> None:
    for what in ("facts", "state", "hidden"):
        _check_plain(getattr(end, what), f"{where}: the {what} of its end")
    assert not {"moves", "state"} & set(end.facts), f"{where}: 'moves' and 'state' are names of the rules"
    assert game.stateful or not end.state, f"{where}: leaves a state behind, and stateful is False"


def _check_theory(game: Game) -> None:
    if game.theory is None:
        assert not game.theory_payoffs, f"{game.name}: theory_payoffs without a theory"
        return
    theory = game.theory

    def rational(turn: Due, step: int) -> Value:  # noqa: ARG001
        said = theory(turn.seat, turn.stage, turn.facts)
        assert said is None or said in turn.options, (
            f"{game.name}: theory says {said!r} at the stage {turn.stage}, which is no option"
        )
        return _any(turn, 0.0) if said is None else said

    _, end = one_round(game, Now(), rational)
    if game.theory_payoffs:
        far = [abs(a - b) for a, b in zip(end.payoffs, game.theory_payoffs, strict=True)]
        assert max(far) <= NEAR * max(1.0, *map(abs, game.theory_payoffs)), (
            f"{game.name}: theory pays {tuple(end.payoffs)}, theory_payoffs says {game.theory_payoffs}"
        )


def _any(turn: Due, chance: float) -> Value:
    options = turn.options
    if isinstance(options, Amounts):
        # Bounds themselves are drawn often: that is where rules break.
        last = options.levels - 1
        return options.value(0 if chance < 0.2 else last if chance > 0.8 else int(chance * (last + 1)))
    return options[int(chance * len(options))]


def _check_plain(facts: Mapping[str, Any] | Sequence[Any], what: str) -> None:
    try:
        same = json.loads(json.dumps(dict(facts), allow_nan=False)) == facts
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{what} is no plain data: {error}") from None
    assert same, f"{what} does not survive being written as JSON (tuples, keys that are no texts?)"
