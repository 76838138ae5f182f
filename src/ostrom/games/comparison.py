"""Comparison of two games: their differences, and equality up to the order of actions."""

from itertools import permutations, product

import numpy as np

from ostrom.games.game import Game


def differences(one: Game, other: Game) -> list[str]:
    """What differs between two games, payoff by payoff; empty when they are the same game.

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> differences(build("axelrod"), build(T=6, strict=False))[1]
    'payoffs at (0, 1): (0.0, 5.0) and (0.0, 6.0)'
    """
    lines = [
        f"{what}: {getattr(one, what)!r} and {getattr(other, what)!r}"
        for what in ("name", "title", "citation", "actions", "roles", "cooperative", "defective")
        if getattr(one, what) != getattr(other, what)
    ]
    if dict(one.params) != dict(other.params):
        lines.append(f"params: {dict(one.params)} and {dict(other.params)}")
    if one.payoffs.shape != other.payoffs.shape:
        lines.append(f"payoffs: shapes {one.payoffs.shape} and {other.payoffs.shape}")
    else:
        for at in np.argwhere((one.payoffs != other.payoffs).any(axis=-1)):
            profile = tuple(int(i) for i in at)
            lines.append(f"payoffs at {profile}: {one.payoff(profile)} and {other.payoff(profile)}")
    return lines


MOST_TRIED = 5_000
"""The most orders of actions that are tried. If a seat has more than 6 actions, only the given order is compared."""


def same_payoffs(game: Game, other: Game) -> tuple[tuple[int, ...], ...] | None:
    """Return for every seat the order of ``game``'s actions that equals ``other``'s; None if payoffs differ.

    The given order is tried first, so that games that are equal as they stand are taken as they stand.

    >>> from ostrom.games import build_game
    >>> one = build_game("prisoners_dilemma")
    >>> same_payoffs(one, one), same_payoffs(one, build_game("chicken"))
    (((0, 1), (0, 1)), None)
    """
    if game.payoffs.shape != other.payoffs.shape:
        return None
    orders = [list(permutations(range(len(names)))) for names in game.actions if len(names) <= 6]
    for number, order in enumerate(product(*orders) if len(orders) == game.seats else iter(())):
        if number >= MOST_TRIED:
            break
        if np.array_equal(game.payoffs[np.ix_(*order, range(game.seats))], other.payoffs):
            return order
    identity = tuple(tuple(range(len(names))) for names in game.actions)
    return identity if np.array_equal(game.payoffs, other.payoffs) else None
