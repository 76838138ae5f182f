"""Replicator dynamics: discrete and exponential (Tewolde et al., 2026; multiplicative weights), and continuous.

The continuous form is dx_i/dt = x_i (f_i - fbar) (Taylor & Jonker, 1978).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ostrom.analysis.intervals import share_of
from ostrom.features.evolution.tensor import Floats, Trajectory, as_population, as_tensor, fitness, uniform_start
from ostrom.ground.errors import UsageError

# exp() of more than this would leave the range of a float64 when multiplied up.
_LARGEST_EXPONENT = 500.0


def exponential_replicator(
    values: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    *,
    eta: float = 0.1,
    steps: int = 1000,
    tolerance: float = 1e-6,
) -> Trajectory:
    """Iterate x_i <- x_i exp(eta (f_i - fbar)) / Z from ``start`` (None: uniform) until max|f_i - fbar| < tolerance.

    The maximum runs over all types, extinct ones included; the rule is checked before each move, so a start
    that satisfies it is returned unmoved.

    >>> exponential_replicator([[2.0, 0.0], [3.0, 1.0]]).final.round(6).tolist()
    [0.0, 1.0]
    """
    table = as_tensor(values)
    if eta <= 0.0 or steps < 0 or tolerance < 0.0:
        raise UsageError(
            f"the replicator needs eta > 0, steps >= 0, tolerance >= 0 (found {eta}, {steps}, {tolerance})"
        )
    states = [uniform_start(len(table)) if start is None else as_population(start, len(table))]
    advantage = _advantage(table, states[0])
    while float(np.max(np.abs(advantage))) >= tolerance and len(states) <= steps:
        states.append(_move(states[-1], eta * advantage))
        advantage = _advantage(table, states[-1])
    settled = float(np.max(np.abs(advantage))) < tolerance
    return Trajectory(np.arange(len(states), dtype=np.float64), np.array(states), settled)


def _advantage(table: Floats, x: Floats) -> Floats:
    f = fitness(table, x)
    return f - float(x @ f)


def _move(x: Floats, exponents: Floats) -> Floats:
    # A common factor cancels in Z; it is taken out only where exp() would overflow.
    excess = float(np.max(exponents[x > 0.0])) - _LARGEST_EXPONENT
    grown = x * np.exp(np.minimum(exponents - max(excess, 0.0), _LARGEST_EXPONENT))
    return np.asarray(grown / grown.sum())


def continuous_replicator(
    values: npt.ArrayLike,
    start: npt.ArrayLike | None = None,
    *,
    duration: float = 100.0,
    points: int = 501,
    precision: float = 1e-10,
    tolerance: float = 1e-6,
) -> Trajectory:
    """Return the path at ``points`` equally spaced times; types that start at zero stay at zero exactly.

    ``settled`` says whether the last population meets max|f_i - fbar| < tolerance over the types present.

    >>> continuous_replicator([[2.0, 0.0], [3.0, 1.0]], duration=40.0).final.round(6).tolist()
    [0.0, 1.0]
    """
    from scipy.integrate import solve_ivp

    table = as_tensor(values)
    if duration <= 0.0 or points < 2 or precision <= 0.0:
        raise UsageError(f"needed: duration > 0, points >= 2, precision > 0 (found {duration}, {points}, {precision})")
    first = uniform_start(len(table)) if start is None else as_population(start, len(table))
    alive = first > 0.0

    def shares(u: Floats) -> Floats:
        x = np.zeros(len(table))
        grown = np.exp(u - u.max())
        x[alive] = grown / grown.sum()
        return x

    def slope(_: float, u: Floats) -> Floats:
        return _advantage(table, shares(u))[alive]

    times = np.linspace(0.0, duration, points)
    # In log shares the flow cannot leave the simplex, and rare types keep their relative precision.
    path = solve_ivp(
        slope, (0.0, duration), np.log(first[alive]), method="DOP853", t_eval=times, rtol=precision, atol=precision
    )
    if not path.success:
        raise UsageError(f"the replicator equation could not be integrated: {path.message}")
    states = np.array([shares(u) for u in path.y.T])
    states[0] = first
    return Trajectory(times, states, bool(np.abs(_advantage(table, states[-1]))[alive].max() < tolerance))


Kind = Literal["point", "continuum", "cycle", "unsettled"]


@dataclass(frozen=True, eq=False)
class Attractor:
    """A type of outcome, with the share of starts that reach it and the interval of that share.

    ``point``: one rest point; ``continuum``: rest points that neutral drift connects; ``cycle``: shares
    that keep turning (closed or spiralling out to the edges); ``unsettled``: still on the way when the
    steps ran out.
    ``centre`` is the mean end point, for cycles the time average over the last steps.
    """

    kind: Kind
    support: tuple[int, ...]
    centre: Floats
    starts: tuple[int, ...]
    share: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Basins:
    """All attractors, most frequent first, and all starting populations."""

    attractors: tuple[Attractor, ...]
    starts: Floats


@dataclass(frozen=True)
class _End:
    kind: Kind
    support: tuple[int, ...]
    centre: Floats


def sample_basins(
    values: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    samples: int = 500,
    concentration: float = 1.0,
    eta: float = 0.1,
    steps: int = 5000,
    window: int = 1000,
    rest: float = 1e-6,
    presence: float = 1e-3,
    radius: float = 0.02,
    confidence: float = 0.95,
) -> Basins:
    """Run the exponential replicator from Dirichlet starts and sort the ends into attractors.

    ``rest``: speed and invasion advantage below which a population counts as at rest; ``presence``: least
    share of a type in the support; ``radius``: rest points closer than this are one; ``window``: last steps
    searched for cycles.
    """
    table = as_tensor(values)
    if samples < 1 or eta <= 0.0 or concentration <= 0.0 or not 8 <= window <= steps:
        raise UsageError(
            "basins need samples >= 1, eta > 0, concentration > 0 and 8 <= window <= steps "
            f"(found {samples}, {eta}, {concentration}, {window}, {steps})"
        )
    starts = rng.dirichlet(np.full(len(table), concentration), size=samples)
    tails = _tails(table, starts, eta, steps, window)
    ends = [_judge(table, tails[:, s], starts[s] > 0.0, rest, presence) for s in range(samples)]
    attractors = [_describe(ends, group, radius, confidence) for group in _group(table, ends, rest, radius)]
    return Basins(tuple(sorted(attractors, key=lambda a: (-len(a.starts), a.starts[0]))), starts)


def _tails(table: Floats, starts: Floats, eta: float, steps: int, window: int) -> Floats:
    """Return the last ``window`` populations of every start, as [time, start, type]."""
    # On log shares, so that a type that was rare for long can still come back: cycles near
    # the edges depend on that.
    with np.errstate(divide="ignore"):
        logs = np.log(starts)
    tail = np.empty((window, *starts.shape))
    for step in range(steps):
        x = np.exp(logs)
        f = fitness(table, x)
        logs = logs + eta * (f - np.sum(x * f, axis=1, keepdims=True))
        top = logs.max(axis=1, keepdims=True)
        logs = logs - top - np.log(np.sum(np.exp(logs - top), axis=1, keepdims=True))
        if step >= steps - window:
            tail[step - steps + window] = np.exp(logs)
    return tail


def _judge(table: Floats, tail: Floats, alive: npt.NDArray[np.bool_], rest: float, presence: float) -> _End:
    final = tail[-1]
    advantage = _advantage(table, final)
    at_rest = float(np.max(final * np.abs(advantage))) < rest
    # Near a saddle a rare type hardly moves, but its payoff advantage shows that the rest point is unstable.
    invadable = bool(np.any(advantage[alive] > rest))
    if at_rest and not invadable:
        return _End("point", _support(final, presence), final)
    if _turns(tail, presence):
        return _End("cycle", _support(tail.max(axis=0), presence), tail.mean(axis=0))
    return _End("unsettled", _support(final, presence), final)


def _support(shares: Floats, presence: float) -> tuple[int, ...]:
    return tuple(np.flatnonzero(shares > presence).tolist())


def _turns(tail: Floats, presence: float) -> bool:
    """Return whether some share keeps oscillating without damping."""
    for path in tail.T:
        low, high = float(path.min()), float(path.max())
        if high - low < presence:
            continue
        above = path > (low + high) / 2.0
        half = len(path) // 2
        early, late = np.ptp(path[:half]), np.ptp(path[half:])
        # The path must cross in both directions, and the swing must not shrink: a damped approach is no cycle.
        if np.count_nonzero(above[1:] != above[:-1]) >= 2 and late > 0.9 * early:
            return True
    return False


def _group(table: Floats, ends: Sequence[_End], rest: float, radius: float) -> list[list[int]]:
    """Group the starts by their end: the same support and, for rest points, nearby or connected ones."""
    groups: list[list[int]] = []
    for number, end in enumerate(ends):
        for group in groups:
            other = ends[group[0]]
            if (end.kind, end.support) == (other.kind, other.support) and (
                end.kind != "point" or _same_rest(table, end.centre, other.centre, rest, radius)
            ):
                group.append(number)
                break
        else:
            groups.append([number])
    return groups


def _same_rest(table: Floats, a: Floats, b: Floats, rest: float, radius: float) -> bool:
    if float(np.max(np.abs(a - b))) < radius:
        return True
    middle = (a + b) / 2.0
    return float(np.max(middle * np.abs(_advantage(table, middle)))) < 2.0 * rest


def _describe(ends: Sequence[_End], group: list[int], radius: float, confidence: float) -> Attractor:
    first = ends[group[0]]
    centres = np.array([ends[number].centre for number in group])
    spread = float(np.max(np.ptp(centres, axis=0)))
    kind: Kind = "continuum" if first.kind == "point" and spread > 2.0 * radius else first.kind
    share = share_of(len(group), len(ends), unit="start").limits(confidence)
    return Attractor(kind, first.support, centres.mean(axis=0), tuple(group), share.value, *share.both)
