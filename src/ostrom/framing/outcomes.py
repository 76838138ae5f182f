"""The outcomes of a game as one reader sees them: structure for the files in payoffs/.

Everything is read off the payoff tensor by the profile in seat order, so what a seat is told is what is
scored: the own action comes first in the words, never in the profile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

from ostrom.games.game import Game

ORDINALS = ("", "second-", "third-", "fourth-", "fifth-", "sixth-", "seventh-", "eighth-", "ninth-")


def cells(
    game: Game,
    seat: int,
    order: Sequence[int],
    labels: Sequence[Sequence[str]],
    names: Sequence[str],
    amount: Callable[[float], str],
) -> list[dict[str, Any]]:
    """Every outcome from a seat's own side: own action first, then the others by seat.

    ``order`` is the order in which the actions are named. A cell also lists all ``players`` by seat, for
    readers who have no seat.
    """
    told = []
    for profile in _profiles(game, seat, order):
        pay = game.payoff(profile)
        players = [
            {
                "name": names[s],
                "label": labels[s][profile[s]],
                "amount": amount(pay[s]),
                "standing": standing(game, s, pay[s]),
            }
            for s in range(game.seats)
        ]
        told.append(
            {
                "own": players[seat]["label"],
                "amount": players[seat]["amount"],
                "standing": players[seat]["standing"],
                "others": [p for s, p in enumerate(players) if s != seat],
                "players": players,
            }
        )
    return told


def _profiles(game: Game, seat: int, order: Sequence[int]) -> Iterator[tuple[int, ...]]:
    others = [s for s in range(game.seats) if s != seat]
    ranges = [order if len(game.actions[s]) == len(order) else range(len(game.actions[s])) for s in others]
    for own, rest in product(order, product(*ranges)):
        profile = dict(zip(others, rest, strict=True)) | {seat: own}
        yield tuple(profile[s] for s in range(game.seats))


@lru_cache(maxsize=4096)
def _payoffs(game: Game, seat: int) -> tuple[float, ...]:
    """The different payoffs of a seat, best first."""
    return tuple(sorted({float(x) for x in game.payoffs[..., seat].ravel()}, reverse=True))


def standing(game: Game, seat: int, payoff: float) -> str:
    """How good a payoff is among all that a seat can be paid, in words.

    >>> from ostrom.games import build_game
    >>> [standing(build_game("prisoners_dilemma"), 0, x) for x in (5, 3, 1, 0)]
    ['best', 'second-best', 'third-best', 'worst']
    """
    values = _payoffs(game, seat)
    better = sum(value > payoff for value in values)
    if better and better >= len(values) - 1:
        return "worst"
    if better >= len(ORDINALS):
        return f"rank-{better + 1}-of-{len(values)}"
    return f"{ORDINALS[better]}best"
