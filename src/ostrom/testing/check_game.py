"""Conformance check for games: run it on a game of your own, or on the function that builds it."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any

import numpy as np

from ostrom.games import build_game
from ostrom.games.comparison import differences
from ostrom.games.describe import describe, describe_counts
from ostrom.games.game import Game
from ostrom.games.nfg import parse_nfg, write_nfg
from ostrom.games.tensor import interchangeable
from ostrom.games.yaml_file import parse_yaml, write_yaml
from ostrom.testing.check_rule import check_rule, played


def check_game(game: str | Mapping[str, Any] | Game | Callable[..., Game]) -> None:
    """Raise AssertionError with what is wrong with a game, or with what a factory builds by default.

    ``game`` is a name, a specification, the object, or the function that builds it.

    >>> check_game("prisoners_dilemma")
    """
    if isinstance(game, Game):
        part = game
    elif isinstance(game, str | Mapping):
        part = build_game(game)
    else:
        part = game()
        assert isinstance(part, Game), f"the factory returned {type(part).__name__}, not a Game"
        _check_factory(game, part)
    if not part.has_table:
        check_rule(part)
        return
    _check_names(part)
    _check_payoffs(part)
    _check_marked_actions(part)
    _check_roles(part)
    _check_description(part)
    _check_counts(part)
    _check_files(part)


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
        same = played(game, 0) == played(again, 0) and game.actions == again.actions
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
        assert good is None or good != bad, (
            f"{game.name}: seat {seat + 1} cooperates and defects with one action"
        )
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
    """What a seat is told about an outcome is what is scored there, for every seat and outcome."""
    for seat in range(game.seats):
        told = Counter(line.profile for line in describe(game, seat))
        assert told == Counter(game.profiles()), (
            f"{game.name}: seat {seat + 1} is not told every outcome once"
        )
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
        told = {(line.own, line.counts): line for line in lines}
        assert len(told) == len(lines), f"{game.name}: seat {seat + 1} is told the same numbers twice"
        for profile in game.profiles():
            others = [action for other, action in enumerate(profile) if other != seat]
            width = len(game.actions[0 if seat else 1])
            line = told[profile[seat], tuple(others.count(action) for action in range(width))]
            scored = game.payoff(profile)
            where = f"{game.name}: seat {seat + 1} at {profile}"
            assert line.payoff == scored[seat], (
                f"{where} is told {line.payoff} by numbers, gets {scored[seat]}"
            )
            for other, action in enumerate(profile):
                if other != seat:
                    said = line.other_payoffs[action]
                    assert said == scored[other], (
                        f"{where} is told {said} for seat {other + 1}, not {scored[other]}"
                    )


def _check_files(game: Game) -> None:
    changed = differences(game, parse_yaml(write_yaml(game)))
    assert not changed, f"{game.name}: written to YAML and read back it differs: {changed[0]}"
    back = parse_nfg(write_nfg(game), name=game.name)
    assert back.actions == game.actions, f"{game.name}: written to .nfg and read back the actions differ"
    assert back.roles == game.roles, (
        f"{game.name}: written to .nfg and read back the roles differ: {back.roles}"
    )
    assert back.title == game.title, f"{game.name}: written to .nfg and read back the title differs"
    assert np.array_equal(back.payoffs, game.payoffs), (
        f"{game.name}: written to .nfg and read back the payoffs differ"
    )
