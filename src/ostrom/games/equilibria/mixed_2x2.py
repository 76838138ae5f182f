"""All equilibria of a 2x2 game, pure and mixed, in closed form, degenerate games included.

Let p and q be the probabilities with which seat 1 and seat 2 play their first action. What seat 1 gains by
its first action is a straight line in q, so its best responses form up to three axis-parallel pieces of the
unit square: p = 1 where the gain is positive, p = 0 where it is negative, any p where it is zero. The same
holds for seat 2 with p. The equilibria are where the two sets meet: points, edges, or the whole square. A
game is degenerate when something other than points appears; then the pieces are given as they are, with their
corners (the extreme equilibria).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from ostrom.games.equilibria.best_responses import tie_width
from ostrom.games.game import Game
from ostrom.ground.errors import GameError

Interval = tuple[float, float]
MixedProfile = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Piece:
    """A largest rectangle of equilibria: the ranges of both seats' probability of their first action.

    Every p in ``first`` together with every q in ``second`` is an equilibrium.
    """

    first: Interval
    second: Interval

    @property
    def kind(self) -> str:
        """``point``, ``edge`` (one seat free within its range) or ``square`` (both free)."""
        free = (self.first[0] < self.first[1]) + (self.second[0] < self.second[1])
        return ("point", "edge", "square")[free]

    @property
    def pure(self) -> bool:
        """Whether it is one equilibrium in pure actions."""
        return self.kind == "point" and self.first[0] in (0, 1) and self.second[0] in (0, 1)

    @property
    def corners(self) -> tuple[MixedProfile, ...]:
        """The corners as mixed strategies of both seats."""
        ends = product(sorted(set(self.first), reverse=True), sorted(set(self.second), reverse=True))
        return tuple(((p, 1 - p), (q, 1 - q)) for p, q in ends)

    def touches(self, other: Piece) -> bool:
        """Whether two pieces have a point in common."""
        return _meet(self.first, other.first) is not None and _meet(self.second, other.second) is not None


@dataclass(frozen=True)
class MixedEquilibria:
    """The whole set of equilibria: its pieces, and which of them hang together."""

    pieces: tuple[Piece, ...]

    @property
    def degenerate(self) -> bool:
        """Whether the game has infinitely many equilibria, or an even number of them because of a tie."""
        return any(piece.kind != "point" for piece in self.pieces) or len(self.pieces) % 2 == 0

    @property
    def extreme(self) -> tuple[MixedProfile, ...]:
        """All corners of all pieces, each once: every equilibrium is between some of them."""
        return tuple(dict.fromkeys(corner for piece in self.pieces for corner in piece.corners))

    @property
    def components(self) -> tuple[tuple[int, ...], ...]:
        """Connected sets of equilibria, as indices of pieces."""
        groups: list[list[int]] = []
        for i, piece in enumerate(self.pieces):
            near = [g for g in groups if any(piece.touches(self.pieces[j]) for j in g)]
            groups = [g for g in groups if g not in near] + [sorted(sum(near, [i]))]
        return tuple(tuple(g) for g in sorted(groups))


def mixed_equilibria_2x2(game: Game) -> MixedEquilibria:
    """All Nash equilibria of a game with two seats and two actions each.

    >>> from ostrom.games import games
    >>> build = games.get("stag_hunt")
    >>> [piece.corners[0][0] for piece in mixed_equilibria_2x2(build()).pieces]
    [(1.0, 0.0), (0.6, 0.4), (0.0, 1.0)]
    """
    if tuple(map(len, game.actions)) != (2, 2):
        raise GameError(f"game {game.name}: closed form needs two seats with two actions each")
    own, other = game.payoffs[..., 0], game.payoffs[..., 1]
    width = tie_width(game.payoffs)
    # Seat 1's gain of the first action when seat 2 plays its first (alpha) or second (beta) action; likewise
    # seat 2.
    one = _responses(float(own[0, 0] - own[1, 0]), float(own[0, 1] - own[1, 1]), width)
    two = _responses(float(other[0, 0] - other[0, 1]), float(other[1, 0] - other[1, 1]), width)
    found = set()
    for (p1, q1), (q2, p2) in product(one, two):
        p, q = _meet(p1, p2), _meet(q1, q2)
        if p is not None and q is not None:
            found.add(Piece(p, q))
    whole = [a for a in found if not any(a != b and _inside(a, b) for b in found)]
    return MixedEquilibria(tuple(sorted(whole, key=lambda a: (a.first, a.second), reverse=True)))


def _responses(alpha: float, beta: float, width: float) -> list[tuple[Interval, Interval]]:
    """Best responses as (range of own probability, range of the other's probability)."""
    up, down = _sign(alpha, width), _sign(beta, width)
    if up == down == 0:
        return [((0.0, 1.0), (0.0, 1.0))]
    if up == down:
        return [(_all_or_none(up), (0.0, 1.0))]
    if up == 0:  # indifferent only when the other surely plays its first action
        return [(_all_or_none(down), (0.0, 1.0)), ((0.0, 1.0), (1.0, 1.0))]
    if down == 0:  # indifferent only when the other surely plays its second action
        return [(_all_or_none(up), (0.0, 1.0)), ((0.0, 1.0), (0.0, 0.0))]
    turn = beta / (beta - alpha)
    return [(_all_or_none(down), (0.0, turn)), ((0.0, 1.0), (turn, turn)), (_all_or_none(up), (turn, 1.0))]


def _sign(value: float, width: float) -> int:
    return 0 if abs(value) <= width else (1 if value > 0 else -1)


def _all_or_none(sign: int) -> Interval:
    return (1.0, 1.0) if sign > 0 else (0.0, 0.0)


def _meet(a: Interval, b: Interval) -> Interval | None:
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else None


def _inside(a: Piece, b: Piece) -> bool:
    return _meet(a.first, b.first) == a.first and _meet(a.second, b.second) == a.second
