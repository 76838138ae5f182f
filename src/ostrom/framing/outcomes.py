"""The outcomes of a game as one reader sees them: structure for the files in payoffs/.

Everything is read off the payoff tensor by the profile in seat order, so what a seat is told is what is
scored: the own action comes first in the words, never in the profile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

from ostrom.errors import StudyError
from ostrom.games.game import Game
from ostrom.games.parameters import shown

ORDINALS = ("", "second-", "third-", "fourth-", "fifth-", "sixth-", "seventh-", "eighth-", "ninth-")


def cells(
    game: Game,
    seat: int,
    orders: Sequence[Sequence[int]],
    labels: Sequence[Sequence[str]],
    names: Sequence[str],
    amount: Callable[[float], str],
) -> list[dict[str, Any]]:
    """Every outcome from a seat's own side: own action first, then the others by seat.

    ``orders`` is the order in which the actions of each seat are named. A cell also lists all ``players`` by seat, for
    readers who have no seat.
    """
    told = []
    for profile in _profiles(game, seat, orders):
        pay = game.payoff(profile)
        players = [
            {
                "name": names[s],
                "label": labels[s][profile[s]],
                "amount": amount(pay[s]),
                "payoff": shown(pay[s]),
                "standing": standing(game, s, pay[s]),
            }
            for s in range(game.seats)
        ]
        told.append(
            {
                "own": players[seat]["label"],
                "value": float(pay[seat]),
                "amount": players[seat]["amount"],
                "standing": players[seat]["standing"],
                "others": [p for s, p in enumerate(players) if s != seat],
                "players": players,
            }
        )
    return told


def by_payoff(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows by own action in the order of naming, then the highest own payoff first; ties stay as they are.

    >>> [r["value"] for r in by_payoff([{"own": a, "value": v} for a, v in [("B", 1), ("B", 2), ("A", 5)]])]
    [2, 1, 5]
    """
    if any("value" not in row for row in rows):
        raise StudyError(
            "needs a presentation of payoffs with one outcome per row, such as rows, profiles or own_sentences",
            key="agent.framing.rows", found="sorted",
        )  # fmt: skip
    place = {own: i for i, own in enumerate(dict.fromkeys(row["own"] for row in rows))}
    return sorted(rows, key=lambda row: (place[row["own"]], -row["value"]))


def _profiles(game: Game, seat: int, orders: Sequence[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    others = [s for s in range(game.seats) if s != seat]
    for own, rest in product(orders[seat], product(*(orders[s] for s in others))):
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
