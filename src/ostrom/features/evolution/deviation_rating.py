"""Deviation rating: how little a type loses to the strictest coarse correlated equilibrium.

Marris et al. (2024), "Deviation Ratings: a general, clone-invariant rating method". A joint distribution over
profiles is sought under which the largest gain from deviating to a type beforehand is as small as possible,
then the next largest, and so on; the gain of deviating to a type is its rating: never above 0, higher is
better.
"""

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt

from ostrom.features.evolution.tensor import Floats, as_tensor
from ostrom.ground.errors import UsageError

# Gains are scaled to order one; a row that an LP can push down by more than this is not final.
_TIGHT = 1e-8
# A solved bound can be missed by rounding; it is loosened step by step, and only where a program needs it.
_SLACKS = (0.0, 1e-10, 1e-9, 1e-8)


@dataclass(frozen=True, eq=False)
class DeviationRating:
    """Rating per type, the stages at which rows became final, and one equilibrium that attains the ratings.

    ``profiles[p]`` are the types of an unordered profile and ``weights[p]`` its probability.
    """

    ratings: Floats
    stages: tuple[tuple[int, ...], ...]
    profiles: tuple[tuple[int, ...], ...]
    weights: Floats

    def ranks(self, tolerance: float = 1e-6) -> Floats:
        """Rank 1 is best; types within ``tolerance`` of the next better one share the mean of their ranks."""
        order = np.argsort(-self.ratings, kind="stable")
        ranks, first = np.empty(len(order)), 0
        for place in range(1, len(order) + 1):
            ends = place == len(order)
            if ends or self.ratings[order[place - 1]] - self.ratings[order[place]] > tolerance:
                ranks[order[first:place]] = (first + 1 + place) / 2.0
                first = place
        return ranks


def deviation_gains(values: npt.ArrayLike) -> tuple[tuple[tuple[int, ...], ...], Floats]:
    """Unordered profiles and the gain [type, profile] of a random seat that had committed to the type.

    Seats are exchangeable: the rating is unique, hence symmetric, and averaging an equilibrium over seat
    orders keeps it; unordered profiles therefore lose nothing and keep the programs small.
    """
    table = as_tensor(values)
    types, players = len(table), table.ndim
    profiles = tuple(combinations_with_replacement(range(types), players))
    gains = np.empty((types, len(profiles)))
    for column, profile in enumerate(profiles):
        others = [profile[:seat] + profile[seat + 1 :] for seat in range(players)]
        stayed = [table[(profile[seat], *others[seat])] for seat in range(players)]
        for kind in range(types):
            moved = [table[(kind, *rest)] for rest in others]
            gains[kind, column] = float(np.mean(np.subtract(moved, stayed)))
    return profiles, gains


def deviation_rating(values: npt.ArrayLike) -> DeviationRating:
    """Exact deviation rating of the types of a symmetric n-player game.

    >>> deviation_rating([[2.0, 0.0], [3.0, 1.0]]).ratings.round(9).tolist()
    [-1.0, 0.0]
    """
    profiles, gains = deviation_gains(values)
    scale = float(np.max(np.abs(gains))) or 1.0
    scaled = gains / scale
    bounds = np.full(len(scaled), np.inf)
    final = np.zeros(len(scaled), dtype=bool)
    stages: list[tuple[int, ...]] = []
    while not final.all():
        level = _lowest_level(scaled, bounds, final)
        capped = np.where(final, bounds, level)
        # A tight row may have slack elsewhere on the optimal face; only a row no optimum can lower is final.
        lowest = {row: _solve(scaled[row], scaled, capped)[0] for row in np.flatnonzero(~final).tolist()}
        stuck = [row for row, least in lowest.items() if least > level - _TIGHT]
        if not stuck:
            raise UsageError("the deviation rating could not be solved: payoffs differ by too many magnitudes")
        bounds[stuck] = level
        final[stuck] = True
        stages.append(tuple(stuck))
    _, weights = _solve(np.zeros(scaled.shape[1]), scaled, bounds)
    # +0.0 turns a negative zero into zero.
    return DeviationRating(bounds * scale + 0.0, tuple(stages), profiles, weights)


def _lowest_level(gains: Floats, bounds: Floats, final: npt.NDArray[np.bool_]) -> float:
    """Least t such that every open row can be kept at or below t while the final rows keep their bounds."""
    rows = np.hstack([gains, np.where(final, 0.0, -1.0)[:, None]])
    limits = np.where(final, bounds, 0.0)
    return _solve(np.append(np.zeros(gains.shape[1]), 1.0), rows, limits, free=1)[0]


def _solve(objective: Floats, rows: Floats, limits: Floats, free: int = 0) -> tuple[float, Floats]:
    """Minimise over distributions (then ``free`` unbounded variables) subject to rows @ v <= limits."""
    from scipy.optimize import linprog

    size = len(objective)
    total = np.append(np.ones(size - free), np.zeros(free))[None, :]
    for slack in _SLACKS:
        answer = linprog(
            objective,
            A_ub=rows,
            b_ub=limits + slack,
            A_eq=total,
            b_eq=[1.0],
            bounds=[(0.0, None)] * (size - free) + [(None, None)] * free,
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if answer.status == 0:
            solution = np.asarray(answer.x, dtype=np.float64)
            return float(objective @ solution), solution
    raise UsageError(f"the deviation rating could not be solved: {answer.message}")
