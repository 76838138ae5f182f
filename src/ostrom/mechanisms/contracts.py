"""Contracts: payments that depend on actions, and the game that they make of a game.

A contract is a list of whole amounts, one per action. Whoever plays an action receives its amount in total
from the others, in equal parts; a negative amount is paid to them (Tewolde et al. 2026). With n players who
play a_1, ..., a_n the transfer to player i is c[a_i] - (sum of c[a_j] over the others) / (n - 1).

The transfers of a profile sum to zero to the last bit, in whatever order they are added. Where n - 1 is a
power of two they are exact. Otherwise thirds and the like have no finite binary form: every transfer is cut
down to a multiple of a tiny power of two, and the units that are then missing go, one each, to the seats that
lost most by the cut (the lower seat among equals).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from math import floor, ulp

import numpy as np

from ostrom.games.game import Game
from ostrom.games.tensor import TensorGame, table_of

RANGES = 10
"""The default bound of an amount, in ranges of the game's payoffs. Two contracts without bound among 972
matches moved a published mean from .867 to .557."""


def default_bound(game: Game) -> int:
    """Ten times the range of the game's payoffs, a whole number of at least 1.

    >>> from ostrom.games import build_game
    >>> default_bound(build_game("prisoners_dilemma:coopeval"))
    30
    """
    return max(1, floor(RANGES * float(game.payoffs.max() - game.payoffs.min())))


def transfers(contract: Sequence[int], profile: Sequence[int]) -> tuple[float, ...]:
    """What every seat receives (or pays, if negative) on top of its payoff; the sum is exactly zero.

    >>> transfers([2, -1], (0, 1)), sum(transfers([1, 0], (0, 1, 1, 1)))
    ((3.0, -3.0), 0.0)
    """
    amounts = [contract[action] for action in profile]
    total, others = sum(amounts), len(amounts) - 1
    exact = [Fraction(a) - Fraction(total - a, others) if others else Fraction(0) for a in amounts]
    # Coarse enough that every partial sum of transfers is a double without rounding.
    bits = 53 - (2 * len(amounts) * max(1, *map(abs, amounts))).bit_length()
    unit = Fraction(1, 2**bits) if bits >= 0 else Fraction(2**-bits)
    units = [floor(t / unit) for t in exact]
    missing = -sum(units)
    by_loss = sorted(range(len(exact)), key=lambda s: (units[s] * unit - exact[s], s))
    for seat in by_loss[:missing]:
        units[seat] += 1
    return tuple(float(u * unit) for u in units)


def contracted_payoffs(game: Game, contract: Sequence[int], profile: Sequence[int]) -> tuple[float, ...]:
    """Payoffs with transfers. Their exact sum is that of the game's payoffs wherever doubles can hold it.

    Adding a transfer to a payoff such as 0.1 may round. What rounding takes or gives in all is handed to the
    seat with the finest double, so that contracts create and destroy nothing.
    """
    base, paid = game.payoff(profile), transfers(contract, profile)
    result = [b + t for b, t in zip(base, paid, strict=True)]
    rest = sum(map(Fraction, base), Fraction()) - sum(map(Fraction, result), Fraction())
    if rest:
        finest = min(range(len(result)), key=lambda s: (ulp(result[s]), s))
        result[finest] = float(Fraction(result[finest]) + rest)
    return tuple(result)


def contracted_game(game: Game, contract: Sequence[int]) -> Game:
    """The game as it pays while a contract is in force.

    >>> from ostrom.games import build_game
    >>> contracted_game(build_game("prisoners_dilemma:coopeval"), [1, -1]).payoff((0, 1))
    (2.0, 1.0)
    """
    return _contracted(game, tuple(contract))


@lru_cache(maxsize=1024)
def _contracted(game: Game, contract: tuple[int, ...]) -> Game:
    payoffs = np.empty_like(game.payoffs)
    for profile in game.profiles():
        payoffs[profile] = contracted_payoffs(game, contract, profile)
    return TensorGame(
        f"{game.name}_contracted", table_of(game).actions, payoffs, game.cooperative, game.defective, game.roles,
        game.title,
    )  # fmt: skip
