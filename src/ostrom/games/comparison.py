"""How two games differ, and whether they pay the same with their actions in another order."""

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
"""Games with more orders of their actions than this are compared in the given order alone."""


def same_payoffs(game: Game, other: Game) -> tuple[tuple[int, ...], ...] | None:
    """For every seat the places of ``game``'s actions that do what those of ``other`` do; None if they pay otherwise.

    The given order is tried first, so that games that are equal as they stand are taken as they stand.

    >>> from ostrom.games import build_game
    >>> one = build_game("prisoners_dilemma")
    >>> same_payoffs(one, one), same_payoffs(one, build_game("chicken"))
    (((0, 1), (0, 1)), None)
    """
    if game.payoffs.shape != other.payoffs.shape:
        return None
    orders = [list(permutations(range(len(names)))) for names in game.actions if len(names) <= 6]
    tried = product(*orders) if len(orders) == game.seats else iter(())
    for number, order in enumerate(tried):
        if number >= MOST_TRIED:
            break
        if np.array_equal(game.payoffs[np.ix_(*order, range(game.seats))], other.payoffs):
            return order
    identity = tuple(tuple(range(len(names))) for names in game.actions)
    return identity if np.array_equal(game.payoffs, other.payoffs) else None
