"""Basins of attraction by sampling: where do random starts end, and how sure are the shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from ostrom.analysis.intervals import share_of
from ostrom.features.evolution.simplex import Floats
from ostrom.features.evolution.tensor import as_tensor, fitness
from ostrom.ground.errors import UsageError

Kind = Literal["point", "continuum", "cycle", "unsettled"]


@dataclass(frozen=True, eq=False)
class Attractor:
    """An outcome of the dynamics with the share of starts that reach it and its interval.

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
    """All attractors found, most frequent first, and the starts they were found from."""

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
    groups = _group(table, ends, rest, radius)
    attractors = [_describe(ends, group, radius, confidence) for group in groups]
    return Basins(tuple(sorted(attractors, key=lambda a: (-len(a.starts), a.starts[0]))), starts)


def _tails(table: Floats, starts: Floats, eta: float, steps: int, window: int) -> Floats:
    """The last ``window`` populations of every start, [time, start, type]."""
    # On log shares, so that a type that was rare for long can still come back: cycles near the edges live
    # on that.
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
    f = fitness(table, final)
    advantage = f - float(final @ f)
    at_rest = float(np.max(final * np.abs(advantage))) < rest
    # Near a saddle a rare type hardly moves yet; its advantage shows that the stay is not for good.
    invadable = bool(np.any(advantage[alive] > rest))
    if at_rest and not invadable:
        return _End("point", _support(final, presence), final)
    if _turns(tail, presence):
        return _End("cycle", _support(tail.max(axis=0), presence), tail.mean(axis=0))
    return _End("unsettled", _support(final, presence), final)


def _support(shares: Floats, presence: float) -> tuple[int, ...]:
    return tuple(np.flatnonzero(shares > presence).tolist())


def _turns(tail: Floats, presence: float) -> bool:
    """Whether some share keeps rising and falling without dying down."""
    for path in tail.T:
        low, high = float(path.min()), float(path.max())
        if high - low < presence:
            continue
        above = path > (low + high) / 2.0
        half = len(path) // 2
        early, late = np.ptp(path[:half]), np.ptp(path[half:])
        # Both directions must be crossed, and the swing must not shrink: a damped approach is not a cycle.
        if np.count_nonzero(above[1:] != above[:-1]) >= 2 and late > 0.9 * early:
            return True
    return False


def _group(table: Floats, ends: Sequence[_End], rest: float, radius: float) -> list[list[int]]:
    """Starts with the same kind of end: same support, and for rest points near or neutrally connected."""
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
    f = fitness(table, middle)
    return float(np.max(middle * np.abs(f - float(middle @ f)))) < 2.0 * rest


def _describe(ends: Sequence[_End], group: list[int], radius: float, confidence: float) -> Attractor:
    first = ends[group[0]]
    centres = np.array([ends[number].centre for number in group])
    spread = float(np.max(np.ptp(centres, axis=0)))
    kind: Kind = "continuum" if first.kind == "point" and spread > 2.0 * radius else first.kind
    share = share_of(len(group), len(ends), unit="start").limits(confidence)
    return Attractor(kind, first.support, centres.mean(axis=0), tuple(group), share.value, *share.ends)
