"""Conformance checks for games: run them on your own game, or on its factory."""

import inspect
import json
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import combinations, count
from math import fsum
from typing import Any

import numpy as np

from ostrom.answers.random_answers import random_answer
from ostrom.games import build_game
from ostrom.games.amounts import Amounts, Value
from ostrom.games.comparison import differences
from ostrom.games.describe import describe, describe_counts
from ostrom.games.game import Due, End, Game, Now
from ostrom.games.nfg import parse_nfg, write_nfg
from ostrom.games.tensor import interchangeable
from ostrom.games.yaml_file import parse_yaml, write_yaml
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.catalog.repetition import Repetition
from ostrom.mechanisms.settlement import breach

ROUNDS, MATCHES = 4, 12
"""The rounds of a trial match, and the number of trial matches."""
NEAR = 1e-9


def check_game(game: str | Mapping[str, Any] | Game | Callable[..., Game]) -> None:
    """Raise AssertionError for an invalid game, or for what a factory builds by default.

    ``game`` is a name, a specification, the object, or the function that builds it.

    >>> check_game("prisoners_dilemma")
    """
    if isinstance(game, Game | str | Mapping):
        part = game if isinstance(game, Game) else build_game(game)
    else:
        part = game()
        assert isinstance(part, Game), f"the factory returned {type(part).__name__}, not a Game"
        _check_factory(game, part)
    _check_settled(part)
    if not part.has_table:
        check_rule(part)
        return
    for check in (
        _check_names, _check_payoffs, _check_marked_actions, _check_roles, _check_description, _check_counts,
        _check_files,
    ):  # fmt: skip
        check(part)


def _check_settled(game: Game) -> None:
    """Check that every seat has one entry per round, and that its payoffs sum to its score."""
    rules = Repetition(rounds=ROUNDS)
    for seed in range(MATCHES):
        streams = Streams(seed, 1)
        play = rules.play(game, streams)
        try:
            due = next(play)
            for step in count():
                due = play.send([random_answer(d.form, streams.generator(step, d.player, "check")) for d in due])
        except StopIteration as stop:
            why = breach(rules, game, stop.value)
            assert why is None, f"{game.name}: the law of settlement is broken: {why}"
        except (GameError, ValueError, LookupError, TypeError) as error:
            raise AssertionError(f"{game.name}: a round cannot be settled: {error}") from None


def _check_factory(factory: Callable[..., Game], game: Game) -> None:
    parameters = inspect.signature(factory).parameters
    docs = inspect.getdoc(factory) or ""
    assert docs, f"{game.name}: the factory needs a docstring"
    for name in parameters:
        assert f"``{name}``" in docs, f"{game.name}: parameter {name!r} is not documented (write ``{name}``)"
        assert name in game.params, f"{game.name}: parameter {name!r} is not in the game's params"
    assert game.citation, f"{game.name}: a game of a catalog cites where it comes from"
    again = factory(**{name: game.params[name] for name in parameters})
    if not game.has_table and not again.has_table:
        same = play_rounds(game, 0) == play_rounds(again, 0) and game.actions == again.actions
        changed = [] if same else ["the same moves give another course"]
    else:
        changed = differences(game, again)
    assert not changed, f"{game.name}: built again from its own params it differs: {changed[0]}"


def _check_names(game: Game) -> None:
    assert game.name.isidentifier(), f"the game's name {game.name!r} is not an identifier"
    for seat, names in enumerate(game.actions, 1):
        for name in names:
            assert name.isidentifier(), f"{game.name}: action {name!r} of seat {seat} is not an identifier"
    for role in game.roles:
        assert role.isidentifier(), f"{game.name}: role {role!r} is not an identifier"
    assert game.title.strip(), f"{game.name}: the title is empty"


def _check_payoffs(game: Game) -> None:
    assert game.payoffs.dtype == np.float64, f"{game.name}: payoffs are {game.payoffs.dtype}, not float64"
    assert not game.payoffs.flags.writeable, f"{game.name}: payoffs can be changed after the fact"
    assert np.isfinite(game.payoffs).all(), f"{game.name}: a payoff is not finite"
    for profile in game.profiles():
        paid = game.payoff(profile)
        assert len(paid) == game.seats and all(type(x) is float for x in paid), (
            f"{game.name}: payoff{profile} must be {game.seats} floats, is {paid!r}"
        )
        assert paid == tuple(game.payoffs[profile].tolist()), (
            f"{game.name}: payoff{profile} is {paid}, the tensor says {game.payoffs[profile].tolist()}"
        )


def _check_marked_actions(game: Game) -> None:
    for seat in range(game.seats):
        good, bad = game.cooperative[seat], game.defective[seat]
        for what, index in (("cooperative", good), ("defective", bad)):
            assert index is None or 0 <= index < len(game.actions[seat]), (
                f"{game.name}: the {what} action of seat {seat + 1} is {index}, not an action"
            )
        assert good is None or good != bad, f"{game.name}: seat {seat + 1} cooperates and defects with one action"
        assert good is not None or bad is None, f"{game.name}: seat {seat + 1} can defect but not cooperate"
    good_ones = [c for c in game.cooperative if c is not None]
    bad_ones = [d for d in game.defective if d is not None]
    if len(good_ones) == len(bad_ones) == game.seats > 1:
        all_good, all_bad = game.payoff(good_ones), game.payoff(bad_ones)
        assert sum(all_good) > sum(all_bad), (
            f"{game.name}: all cooperating pays {all_good}, in sum no more than {all_bad} for all defecting"
        )


def _check_roles(game: Game) -> None:
    for a, b in combinations(range(game.seats), 2):
        if game.roles[a] == game.roles[b]:
            assert interchangeable(game.actions, game.payoffs, a, b), (
                f"{game.name}: seats {a + 1} and {b + 1} are both {game.roles[a]!r} but not interchangeable; "
                "give them different roles"
            )
            assert game.cooperative[a] == game.cooperative[b], (
                f"{game.name}: seats {a + 1} and {b + 1} share a role but not the cooperative action"
            )


def _check_description(game: Game) -> None:
    """Check that every seat is told the scored payoffs of every outcome."""
    for seat in range(game.seats):
        described = Counter(line.profile for line in describe(game, seat))
        assert described == Counter(game.profiles()), f"{game.name}: seat {seat + 1} is not told every outcome once"
        for line in describe(game, seat):
            where = f"{game.name}: seat {seat + 1} at {line.profile}"
            assert line.own == line.profile[seat], f"{where} is told the wrong own action {line.own}"
            scored = game.payoff(line.profile)
            assert line.payoffs == scored, f"{where} is told {line.payoffs}, scored is {scored}"
            assert line.payoff == scored[seat], f"{where} is told to get {line.payoff}, gets {scored[seat]}"


def _check_counts(game: Game) -> None:
    for seat in range(game.seats):
        lines = describe_counts(game, seat)
        if lines is None:
            continue
        by_counts = {(line.own, line.counts): line for line in lines}
        assert len(by_counts) == len(lines), f"{game.name}: seat {seat + 1} is told the same numbers twice"
        for profile in game.profiles():
            others = [action for other, action in enumerate(profile) if other != seat]
            width = len(game.actions[0 if seat else 1])
            line = by_counts[profile[seat], tuple(others.count(action) for action in range(width))]
            scored = game.payoff(profile)
            where = f"{game.name}: seat {seat + 1} at {profile}"
            assert line.payoff == scored[seat], f"{where} is told {line.payoff} by numbers, gets {scored[seat]}"
            for other, action in enumerate(profile):
                if other != seat:
                    stated = line.other_payoffs[action]
                    assert stated == scored[other], (
                        f"{where} is told {stated} for seat {other + 1}, not {scored[other]}"
                    )


def _check_files(game: Game) -> None:
    changed = differences(game, parse_yaml(write_yaml(game)))
    assert not changed, f"{game.name}: written to YAML and read back it differs: {changed[0]}"
    back = parse_nfg(write_nfg(game), name=game.name)
    assert back.actions == game.actions, f"{game.name}: written to .nfg and read back the actions differ"
    assert back.roles == game.roles, f"{game.name}: written to .nfg and read back the roles differ: {back.roles}"
    assert back.title == game.title, f"{game.name}: written to .nfg and read back the title differs"
    assert np.array_equal(back.payoffs, game.payoffs), f"{game.name}: written to .nfg and read back the payoffs differ"


def check_rule(game: Game) -> None:
    """Raise AssertionError for an invalid game by a rule."""
    assert game.name.isidentifier(), f"the game's name {game.name!r} is not an identifier"
    assert game.stages, f"{game.name}: name the stages of a round"
    assert all(stage.isidentifier() and stage != "past" for stage in game.stages), (
        f"{game.name}: the stages {game.stages} must be identifiers other than 'past'"
    )
    for seed in range(MATCHES):
        one, two = play_rounds(game, seed), play_rounds(game, seed)
        assert one == two, f"{game.name}: the same moves and the same chance give another course (seed {seed})"
        if game.best_total is not None and not game.stateful:
            for _, end in one:
                total = fsum(end.payoffs)
                assert total <= game.best_total + NEAR * max(1.0, abs(game.best_total)), (
                    f"{game.name}: pays {total} in all, best_total says at most {game.best_total}"
                )
    _check_theory(game)


def play_rounds(game: Game, seed: int) -> list[tuple[list[tuple[Due, Value]], End]]:
    """Play rounds of random moves; return moves and ends. Contract violations are raised."""
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
    """Play one round with a choosing function; every turn and the end are checked."""
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
    except GameError as error:  # refused in play, too
        raise AssertionError(f"{where}: {error}") from None


def _check_turn(game: Game, turn: Due, where: str) -> None:
    where = f"{where}, stage {turn.stage}"
    assert turn.stage in game.stages, f"{where}: is not among the stages {game.stages}"
    ends = [turn.options[0], turn.options[-1]] if len(turn.options) else []
    assert ends, f"{where}: offers seat {turn.seat + 1} nothing"
    for name in ends if isinstance(turn.options, Amounts) else turn.options:
        assert name in game.actions[turn.seat], f"{where}: {name!r} is not among the actions of seat {turn.seat + 1}"
    check_plain(turn.facts, f"{where}: the facts that the seat is told")


def _check_end(game: Game, end: End, where: str) -> None:
    for what in ("facts", "state", "hidden"):
        check_plain(getattr(end, what), f"{where}: the entries of {what} at its end")
    assert not {"moves", "state"} & set(end.facts), f"{where}: 'moves' and 'state' are names of the rules"
    assert game.stateful or not end.state, f"{where}: leaves a state behind, and stateful is False"


def _check_theory(game: Game) -> None:
    if game.theory is None:
        assert not game.theory_payoffs, f"{game.name}: theory_payoffs without a theory"
        return
    theory = game.theory

    def rational(turn: Due, step: int) -> Value:  # noqa: ARG001
        predicted = theory(turn.seat, turn.stage, turn.facts)
        assert predicted is None or predicted in turn.options, (
            f"{game.name}: theory says {predicted!r} at the stage {turn.stage}, which is no option"
        )
        return _any(turn, 0.0) if predicted is None else predicted

    _, end = one_round(game, Now(), rational)
    if game.theory_payoffs:
        far = [abs(a - b) for a, b in zip(end.payoffs, game.theory_payoffs, strict=True)]
        assert max(far) <= NEAR * max(1.0, *map(abs, game.theory_payoffs)), (
            f"{game.name}: theory pays {tuple(end.payoffs)}, theory_payoffs says {game.theory_payoffs}"
        )


def _any(turn: Due, chance: float) -> Value:
    options = turn.options
    if isinstance(options, Amounts):
        # Bounds are drawn often: that is where rules break.
        last = options.levels - 1
        return options.value(0 if chance < 0.2 else last if chance > 0.8 else int(chance * (last + 1)))
    return options[int(chance * len(options))]


def check_plain(facts: Mapping[str, Any], what: str) -> None:
    """Check that facts are plain data that round-trip through JSON."""
    try:
        same = json.loads(json.dumps(dict(facts), allow_nan=False)) == dict(facts)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{what} are no plain data: {error}") from None
    assert same, f"{what} do not survive being written as JSON (tuples, keys that are no texts?)"
