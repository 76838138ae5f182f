"""The outcomes of a game as one reader sees them: structure for the files in payoffs/.

Everything is read off the payoff tensor by the profile in seat order, so what a seat is told is what is
scored (but for games that are declared to tell something else about the others, ``Game.told``): the own action
comes first in the words, never in the profile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

from ostrom.games.game import Game
from ostrom.ground.errors import StudyError


def cells(
    game: Game,
    seat: int,
    orders: Sequence[Sequence[int]],
    labels: Sequence[Sequence[str]],
    names: Sequence[str],
    words: Callable[[Game, int, float], dict[str, Any]],
    reader: Callable[[Sequence[dict[str, Any]], int], list[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Every outcome from a seat's own side: own action first, then the others by seat.

    ``orders`` is the order in which the actions of each seat are named, ``words`` says what a seat is paid. A cell also
    lists all ``players`` by seat, and as its ``reader`` is told of them (``told``).
    """
    told = []
    for profile in _profiles(game, seat, orders):
        pay = game.payoff_told(seat, profile)
        players = [
            {
                "name": names[s],
                "label": labels[s][profile[s]],
                **words(game, s, pay[s]),
            }
            for s in range(game.seats)
        ]
        told.append(
            {
                **{name: value for name, value in players[seat].items() if name not in ("name", "label")},
                "own": players[seat]["label"],
                "others": [p for s, p in enumerate(players) if s != seat],
                "players": players,
                "told": reader(players, seat),
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


def standing(game: Game, seat: int, payoff: float) -> tuple[int, int]:
    """How many payoffs of a seat are better than this one, and how many different ones there are.

    >>> from ostrom.games import build_game
    >>> [standing(build_game("prisoners_dilemma"), 0, x) for x in (5, 3, 1, 0)]
    [(0, 4), (1, 4), (2, 4), (3, 4)]
    """
    values = _payoffs(game, seat)
    return sum(value > payoff for value in values), len(values)
