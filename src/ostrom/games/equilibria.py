"""Solution concepts for games in normal form.

Best responses and pure equilibria, security levels, the social optimum, dominance between pure actions (domination by
a mixture is not looked at; for seats with two actions it adds nothing), all equilibria of 2x2 games, and bargaining.
Payoffs that differ by the rounding of sums alone count as ties.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostrom.games.game import Game, Profile
from ostrom.ground.errors import GameError


def best_responses(game: Game, seat: int, others: Sequence[int]) -> tuple[int, ...]:
    """Return a seat's best actions against the others' actions (in seat order, without the own seat).

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> best_responses(build(), 0, (0,))
    (1,)
    """
    if not 0 <= seat < game.seats or len(others) != game.seats - 1:
        raise GameError(f"game {game.name}: best_responses needs a seat below {game.seats} and all the others' actions")
    at: tuple[Any, ...] = (*others[:seat], slice(None), *others[seat:], seat)
    paid = game.payoffs[at]
    return tuple(int(i) for i in np.flatnonzero(paid >= paid.max() - tie_width(game.payoffs)))


def best_response_masks(game: Game) -> list[NDArray[np.bool_]]:
    """For each seat, at which profiles its action is a best response to the others'."""
    width = tie_width(game.payoffs)
    paid = [game.payoffs[..., seat] for seat in range(game.seats)]
    return [p >= p.max(axis=seat, keepdims=True) - width for seat, p in enumerate(paid)]


RELATIVE = 1e-12


def tie_width(payoffs: NDArray[np.float64]) -> float:
    """Return the difference up to which payoffs tie: 1e-12 of the largest absolute payoff.

    >>> import numpy as np
    >>> bool(abs((0.1 + 0.2) - 0.3) <= tie_width(np.array([0.3, 1.0])))
    True
    """
    return RELATIVE * float(np.abs(payoffs).max())


@dataclass(frozen=True)
class PureEquilibrium:
    """A profile from which nobody gains by deviating alone."""

    profile: Profile
    payoffs: tuple[float, ...]
    strict: bool
    """Whether everybody would lose by deviating; False if somebody is indifferent."""


def pure_equilibria(game: Game) -> tuple[PureEquilibrium, ...]:
    """All pure Nash equilibria, in profile order.

    >>> from ostrom.games import games
    >>> build = games.get("stag_hunt")
    >>> [(e.profile, e.strict) for e in pure_equilibria(build())]
    [((0, 0), True), ((1, 1), True)]
    """
    masks = best_response_masks(game)
    stable = np.logical_and.reduce(masks)
    alone = stable.copy()
    for seat, mask in enumerate(masks):
        alone &= mask.sum(axis=seat, keepdims=True) == 1
    return tuple(
        PureEquilibrium(profile, game.payoff(profile), bool(alone[profile]))
        for profile in (tuple(int(i) for i in index) for index in np.argwhere(stable))
    )


@dataclass(frozen=True)
class Security:
    """The payoff that a seat can guarantee with a pure action, and all actions that do so."""

    value: float
    actions: tuple[int, ...]


@dataclass(frozen=True)
class MixedSecurity:
    """The payoff that a seat of a 2x2 game can guarantee in expectation, and such a mixture."""

    value: float
    mixture: tuple[float, float]


def maximin(game: Game, seat: int) -> Security:
    """The best guaranteed payoff of a seat in pure actions.

    >>> from ostrom.games import games
    >>> build = games.get("matching_pennies")
    >>> maximin(build(), 0)
    Security(value=-1.0, actions=(0, 1))
    """
    worst = np.moveaxis(game.payoffs[..., seat], seat, 0).reshape(len(game.actions[seat]), -1).min(axis=1)
    return Security(
        float(worst.max()), tuple(int(i) for i in np.flatnonzero(worst >= worst.max() - tie_width(game.payoffs)))
    )


def mixed_maximin(game: Game, seat: int) -> MixedSecurity:
    """The best guaranteed expectation of a seat of a 2x2 game, in closed form.

    >>> from ostrom.games import games
    >>> build = games.get("matching_pennies")
    >>> mixed_maximin(build(), 0)
    MixedSecurity(value=0.0, mixture=(0.5, 0.5))
    """
    if tuple(map(len, game.actions)) != (2, 2):
        raise GameError(f"game {game.name}: mixed maximin in closed form needs two seats with two actions each")
    (a, b), (c, d) = np.moveaxis(game.payoffs[..., seat], seat, 0).tolist()
    # Against the other's first action a mixture p pays p a + (1 - p) c, against the second p b + (1 - p) d.
    # The minimum of two lines is largest at an end or where they cross.
    slope = (a - c) - (b - d)
    candidates = [1.0, 0.0]
    width = tie_width(game.payoffs)
    if abs(slope) > width and 0 < (crossing := (d - c) / slope) < 1:
        candidates.append(crossing)
    values = [min(p * a + (1 - p) * c, p * b + (1 - p) * d) for p in candidates]
    # Of equally good mixtures the first: a pure action before a mixture.
    best = next(i for i, value in enumerate(values) if value >= max(values) - width)
    return MixedSecurity(max(values), (candidates[best], 1 - candidates[best]))


@dataclass(frozen=True)
class SocialOptimum:
    """The largest sum of payoffs and every profile that reaches it."""

    total: float
    profiles: tuple[Profile, ...]


def social_optimum(game: Game) -> SocialOptimum:
    """All profiles with the largest sum of payoffs.

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> social_optimum(build("coopeval"))
    SocialOptimum(total=4.0, profiles=((0, 0),))
    """
    totals = game.payoffs.sum(axis=-1)
    return SocialOptimum(
        float(totals.max()),
        tuple(
            tuple(int(i) for i in at)
            for at in np.argwhere(totals >= totals.max() - game.seats * tie_width(game.payoffs))
        ),
    )


def pareto_frontier(game: Game) -> tuple[Profile, ...]:
    """Return the profiles that no other profile improves for somebody without harming anybody.

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> pareto_frontier(build())
    ((0, 0), (0, 1), (1, 0))
    """
    width = tie_width(game.payoffs)
    # Profiles of equal payoffs are kept or dropped together. Time is quadratic in the distinct payoff
    # vectors.
    vectors, where = np.unique(game.payoffs.reshape(-1, game.seats), axis=0, return_inverse=True)
    efficient = np.array(
        [not bool(((vectors >= v - width).all(axis=1) & (vectors > v + width).any(axis=1)).any()) for v in vectors]
    )
    return tuple(profile for profile, keep in zip(game.profiles(), efficient[where.reshape(-1)], strict=True) if keep)


TOLERANCE = 1e-9


def least_continuation(game: Game, punished: int | None = None) -> float | None:
    """Return the smallest chance of another round with which no single deviation from cooperation pays; None if none.

    After a deviation all defect, for ever or for ``punished`` rounds. All defecting must itself be an equilibrium
    of the game. A gain of g against a loss of l per punished round needs g <= l (d + d^2 + ...).

    >>> from ostrom.games import build_game
    >>> games = ("prisoners_dilemma:coopeval", "public_goods", "travelers_dilemma", "trust")
    >>> [least_continuation(build_game(name)) for name in games]
    [0.5, 0.5, 0.25, 0.625]
    >>> round(least_continuation(build_game("prisoners_dilemma:coopeval"), punished=3), 3)
    0.544
    """
    cooperate = tuple(a for a in game.cooperative if a is not None)
    defect = tuple(a for a in game.defective if a is not None)
    if len(cooperate) < game.seats or len(defect) < game.seats:
        return None
    needed = 0.0
    for seat in range(game.seats):
        if _best(game, seat, defect) > game.payoff(defect)[seat] + TOLERANCE:
            return None
        together = game.payoff(cooperate)[seat]
        gain, loss = _best(game, seat, cooperate) - together, together - game.payoff(defect)[seat]
        if gain <= TOLERANCE:
            continue
        if loss <= TOLERANCE or (punished is not None and loss * punished < gain - TOLERANCE):
            return None
        needed = max(needed, gain / (gain + loss) if punished is None else _solved(gain / loss, punished))
    return needed


def _best(game: Game, seat: int, profile: tuple[int, ...]) -> float:
    at: tuple[Any, ...] = (*profile[:seat], slice(None), *profile[seat + 1 :], seat)
    return float(game.payoffs[at].max())


def _solved(ratio: float, rounds: int) -> float:
    """The d in [0, 1] with d + d^2 + ... + d^rounds = ratio; the sum grows with d."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(middle**k for k in range(1, rounds + 1)) < ratio else (low, middle)
    return high


@dataclass(frozen=True)
class Dominated:
    """An action dominated by another one: always (strict), or sometimes and never the reverse (weak)."""

    seat: int
    action: int
    by: int
    strict: bool


@dataclass(frozen=True)
class Elimination:
    """The actions left by iterated elimination, and those removed in each pass."""

    surviving: tuple[tuple[int, ...], ...]
    passes: tuple[tuple[Dominated, ...], ...]

    @property
    def solved(self) -> bool:
        """Whether a single profile is left."""
        return all(len(actions) == 1 for actions in self.surviving)


def dominated_actions(game: Game) -> tuple[Dominated, ...]:
    """Every pair of actions of which one dominates the other, strictly or weakly.

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> dominated_actions(build())[0]
    Dominated(seat=0, action=0, by=1, strict=True)
    """
    return tuple(_dominated(game, tuple(tuple(range(len(names))) for names in game.actions)))


def dominant_action(game: Game, seat: int) -> tuple[int, bool] | None:
    """The action that dominates all others of a seat and whether strictly so; None when there is none."""
    pairs = [d for d in dominated_actions(game) if d.seat == seat]
    for action in range(len(game.actions[seat])):
        beaten = {d.action: d.strict for d in pairs if d.by == action}
        if beaten and len(beaten) == len(game.actions[seat]) - 1:
            return action, all(beaten.values())
    return None


def iterated_elimination(game: Game, *, weak: bool = False) -> Elimination:
    """Remove all dominated actions of all seats at once, repeatedly, until none is left.

    Strict elimination ends the same in any order. Weak elimination does not: removing everything at once, as
    here, is one order among several, so its result is a statement about this order only.
    """
    left = tuple(tuple(range(len(names))) for names in game.actions)
    passes: list[tuple[Dominated, ...]] = []
    while True:
        dominated = tuple(d for d in _dominated(game, left) if weak or d.strict)
        first = tuple({(d.seat, d.action): d for d in reversed(dominated)}.values())[::-1]
        if not first:
            return Elimination(left, tuple(passes))
        gone = {(d.seat, d.action) for d in first}
        left = tuple(tuple(a for a in actions if (seat, a) not in gone) for seat, actions in enumerate(left))
        passes.append(first)


def _dominated(game: Game, left: tuple[tuple[int, ...], ...]) -> Iterator[Dominated]:
    width = tie_width(game.payoffs)
    block = game.payoffs[np.ix_(*left)]
    for seat, actions in enumerate(left):
        # One row per action of this seat, one column per profile of the others.
        paid: NDArray[np.float64] = np.moveaxis(block[..., seat], seat, 0).reshape(len(actions), -1)
        for i, action in enumerate(actions):
            for j, by in enumerate(actions):
                gain = paid[j] - paid[i]
                if i != j and bool((gain >= -width).all()) and bool((gain > width).any()):
                    yield Dominated(seat, action, by, bool((gain > width).all()))


Interval = tuple[float, float]
MixedProfile = tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Piece:
    """A maximal rectangle of equilibria: the ranges of both seats' probability of their first action.

    Every p in ``first`` together with every q in ``second`` is an equilibrium.
    """

    first: Interval
    second: Interval

    @property
    def kind(self) -> str:
        """``point``, ``edge`` (one seat free within its range) or ``square`` (both free)."""
        return ("point", "edge", "square")[(self.first[0] < self.first[1]) + (self.second[0] < self.second[1])]

    @property
    def pure(self) -> bool:
        """Whether the piece is a single equilibrium in pure actions."""
        return self.kind == "point" and self.first[0] in (0, 1) and self.second[0] in (0, 1)

    @property
    def corners(self) -> tuple[MixedProfile, ...]:
        """The corners as mixed strategies of both seats."""
        return tuple(
            ((p, 1 - p), (q, 1 - q))
            for p, q in product(sorted(set(self.first), reverse=True), sorted(set(self.second), reverse=True))
        )

    def touches(self, other: Piece) -> bool:
        """Whether two pieces have a point in common."""
        return _meet(self.first, other.first) is not None and _meet(self.second, other.second) is not None


@dataclass(frozen=True)
class MixedEquilibria:
    """The set of equilibria: its pieces, and how they are connected."""

    pieces: tuple[Piece, ...]

    @property
    def degenerate(self) -> bool:
        """Return whether there are infinitely many equilibria, or an even number because of a tie."""
        return any(piece.kind != "point" for piece in self.pieces) or len(self.pieces) % 2 == 0

    @property
    def extreme(self) -> tuple[MixedProfile, ...]:
        """Return all distinct corners of all pieces: every equilibrium lies between some of them."""
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
    pieces = {
        Piece(p, q)
        for (p1, q1), (q2, p2) in product(one, two)
        if (p := _meet(p1, p2)) is not None and (q := _meet(q1, q2)) is not None
    }
    maximal = [a for a in pieces if not any(a != b and _inside(a, b) for b in pieces)]
    return MixedEquilibria(tuple(sorted(maximal, key=lambda a: (a.first, a.second), reverse=True)))


def _responses(alpha: float, beta: float, width: float) -> list[tuple[Interval, Interval]]:
    """Return best responses as (range of own probability, range of the other's probability)."""
    up, down = _sign(alpha, width), _sign(beta, width)
    if up == down == 0:
        return [((0.0, 1.0), (0.0, 1.0))]
    if up == down:
        return [(_all_or_none(up), (0.0, 1.0))]
    if up == 0:  # indifferent only if the other surely plays its first action
        return [(_all_or_none(down), (0.0, 1.0)), ((0.0, 1.0), (1.0, 1.0))]
    if down == 0:  # indifferent only if the other surely plays its second action
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


Point = tuple[float, float]


@dataclass(frozen=True)
class BargainingPoints:
    """The payoffs of two seats under both bargaining solutions, and without agreement."""

    disagreement: Point
    nash: Point
    kalai_smorodinsky: Point


def bargaining_points(game: Game, disagreement: Sequence[float] | None = None) -> BargainingPoints | None:
    """Return the Nash and Kalai-Smorodinsky solutions; None unless two seats can both gain by agreeing.

    >>> from ostrom.games import build_game
    >>> bargaining_points(build_game("prisoners_dilemma"))
    BargainingPoints(disagreement=(1.0, 1.0), nash=(3.0, 3.0), kalai_smorodinsky=(3.0, 3.0))
    """
    if game.seats != 2 or not game.has_table:
        return None
    low = tuple(disagreement) if disagreement is not None else tuple(maximin(game, s).value for s in (0, 1))
    origin, width = (float(low[0]), float(low[1])), tie_width(game.payoffs)
    points = [(float(x) - origin[0], float(y) - origin[1]) for x, y in game.payoffs.reshape(-1, 2)]
    frontier = list(_better(_frontier(points)))
    if not frontier or max(min(x, y) for edge in frontier for x, y in (edge[0], edge[1], _middle(edge))) <= width:
        return None
    best = max((_nash(edge) for edge in frontier), key=lambda point: point[0] * point[1])
    ideal = max(x for edge in frontier for x, _ in edge), max(y for edge in frontier for _, y in edge)
    even = max((s for edge in frontier if (s := _reached(edge, ideal)) is not None), default=0.0)
    return BargainingPoints(origin, _moved(best, origin), _moved((even * ideal[0], even * ideal[1]), origin))


Edge = tuple[Point, Point]


def _frontier(points: Sequence[Point]) -> list[Edge]:
    """Return the upper-right edges of the convex hull, from the highest point to the rightmost."""
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


def _better(edges: Sequence[Edge]) -> Iterator[Edge]:
    """Yield the parts of edges with non-negative coordinates; each falls from left to right."""
    for (x0, y0), (x1, y1) in edges:
        first, last = 0.0, 1.0
        if x0 < 0:
            first = -x0 / (x1 - x0) if x1 > x0 else 2.0
        if y1 < 0:
            last = y0 / (y0 - y1) if y0 > y1 else -1.0
        if first <= last:
            begin, end = ((x0 + t * (x1 - x0), y0 + t * (y1 - y0)) for t in (first, last))
            yield begin, end


def _middle(edge: Edge) -> Point:
    return (edge[0][0] + edge[1][0]) / 2, (edge[0][1] + edge[1][1]) / 2


def _nash(edge: Edge) -> Point:
    """Return the point of an edge with the largest product of coordinates."""
    (x0, y0), (x1, y1) = edge
    dx, dy = x1 - x0, y1 - y0
    peak = -(dx * y0 + dy * x0) / (2 * dx * dy) if dx * dy else float(x1 * y1 > x0 * y0)
    t = min(1.0, max(0.0, peak))
    return x0 + t * dx, y0 + t * dy


def _reached(edge: Edge, towards: Point) -> float | None:
    """Return the multiple of ``towards`` at which the ray from 0 meets an edge; None if it does not."""
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
