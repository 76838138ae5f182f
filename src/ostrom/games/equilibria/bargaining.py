"""Bargaining between two seats: the solutions of Nash (1950) and of Kalai and Smorodinsky (1975).

What two seats can agree on is any lottery over the outcomes of their game. Where they do not agree, each has at least
what it can be sure of by a pure action, unless another point of disagreement is given.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ostrom.games.equilibria.best_responses import tie_width
from ostrom.games.equilibria.maximin import maximin
from ostrom.games.game import Game

Point = tuple[float, float]


@dataclass(frozen=True)
class BargainingPoints:
    """Where two seats end by either solution, and where they are if they do not agree."""

    disagreement: Point
    nash: Point
    kalai_smorodinsky: Point


def bargaining_points(game: Game, disagreement: Sequence[float] | None = None) -> BargainingPoints | None:
    """Both solutions; None for other than two seats, or where no agreement is better for both.

    >>> from ostrom.games import build_game
    >>> bargaining_points(build_game("prisoners_dilemma"))
    BargainingPoints(disagreement=(1.0, 1.0), nash=(3.0, 3.0), kalai_smorodinsky=(3.0, 3.0))
    """
    if game.seats != 2 or not game.has_table:
        return None
    low = tuple(disagreement) if disagreement is not None else tuple(maximin(game, s).value for s in (0, 1))
    origin, width = (float(low[0]), float(low[1])), tie_width(game.payoffs)
    points = [(float(x) - origin[0], float(y) - origin[1]) for x, y in game.payoffs.reshape(-1, 2)]
    frontier = _better(_frontier(points))
    if not frontier or max(min(x, y) for edge in frontier for x, y in (edge[0], edge[1], _middle(edge))) <= width:
        return None
    best = max((_nash(edge) for edge in frontier), key=lambda point: point[0] * point[1])
    ideal = max(x for edge in frontier for x, _ in edge), max(y for edge in frontier for _, y in edge)
    even = max((s for edge in frontier if (s := _reached(edge, ideal)) is not None), default=0.0)
    return BargainingPoints(origin, _moved(best, origin), _moved((even * ideal[0], even * ideal[1]), origin))


Edge = tuple[Point, Point]


def _frontier(points: Sequence[Point]) -> list[Edge]:
    """The edges of the hull of the points that face up and right, from the highest point to the one furthest right."""
    upper: list[Point] = []
    for point in sorted(set(points)):
        while len(upper) > 1 and _turn(upper[-2], upper[-1], point) >= 0:
            upper.pop()
        upper.append(point)
    highest = max(range(len(upper)), key=lambda i: (upper[i][1], upper[i][0]))
    falling = upper[highest:]
    return list(itertools.pairwise(falling)) or [(falling[0], falling[0])]


def _turn(a: Point, b: Point, c: Point) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _better(edges: Sequence[Edge]) -> list[Edge]:
    """The parts of edges on which neither coordinate is below 0; each falls from left to right."""
    parts = []
    for (x0, y0), (x1, y1) in edges:
        first, last = 0.0, 1.0
        if x0 < 0:
            first = -x0 / (x1 - x0) if x1 > x0 else 2.0
        if y1 < 0:
            last = y0 / (y0 - y1) if y0 > y1 else -1.0
        if first <= last:
            ends = [(x0 + t * (x1 - x0), y0 + t * (y1 - y0)) for t in (first, last)]
            parts.append((ends[0], ends[1]))
    return parts


def _middle(edge: Edge) -> Point:
    return (edge[0][0] + edge[1][0]) / 2, (edge[0][1] + edge[1][1]) / 2


def _nash(edge: Edge) -> Point:
    """The point of an edge at which the product of both coordinates is largest."""
    (x0, y0), (x1, y1) = edge
    dx, dy = x1 - x0, y1 - y0
    peak = -(dx * y0 + dy * x0) / (2 * dx * dy) if dx * dy else float(x1 * y1 > x0 * y0)
    t = min(1.0, max(0.0, peak))
    return x0 + t * dx, y0 + t * dy


def _reached(edge: Edge, towards: Point) -> float | None:
    """How far the ray from 0 towards a point goes until it meets an edge; None where it does not."""
    (x0, y0), (x1, y1) = edge
    cross = (x1 - x0) * towards[1] - (y1 - y0) * towards[0]
    if abs(cross) < 1e-12:
        return min(x0 / towards[0], y0 / towards[1]) if abs(x0 * towards[1] - y0 * towards[0]) < 1e-9 else None
    t = (y0 * towards[0] - x0 * towards[1]) / cross
    if not -1e-9 <= t <= 1 + 1e-9:
        return None
    return (x0 + t * (x1 - x0)) / towards[0] if towards[0] else (y0 + t * (y1 - y0)) / towards[1]


def _moved(point: Point, by: Point) -> Point:
    return round(point[0] + by[0], 12), round(point[1] + by[1], 12)
