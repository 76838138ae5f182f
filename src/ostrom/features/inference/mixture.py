"""Maximum likelihood of the mixture of strategies with trembles (Dal Bo & Frechette 2011).

A unit follows candidate k with probability w[k] and does what k prescribes with probability 1 - e in each
round, the opposite otherwise, e at most one half. EM climbs from several starts for many weightings of the
units at once; the single fit is polished by sequential quadratic programming and must meet the conditions
of an optimum.

Candidates that the data cannot tell apart are grouped, so that no weight is ever split between them by accident.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ostrom.analysis.statistics.samples import (
    BadSample,
    Floats,
    Ints,
    NotConverged,
    Numbers,
    binary,
    checked_option,
    label_codes,
    sample,
)
from ostrom.ground.values import grouped

UNITS = ("match", "player")


@dataclass(frozen=True)
class PlayedMatch:
    """One player's moves in one match (1 = cooperate), and per candidate what it prescribes after the history
    that was really played: 0, 1, or a probability to cooperate."""

    match: Hashable
    player: Hashable
    moves: Numbers
    prescribed: Mapping[str, Numbers]


@dataclass(frozen=True)
class ChoiceTable:
    """How often each unit did what each candidate prescribes.

    counts[i, k, q] is the number of choices of unit i to which candidate k, playing without error, gives the
    probability chances[q]. With deterministic candidates, chances are 0 and 1: disagreements and agreements.
    """

    candidates: tuple[str, ...]
    chances: Floats
    counts: Floats
    cluster: Ints
    n_clusters: int
    unit: str
    resampled: str

    @property
    def n_units(self) -> int:
        """Number of strategies drawn: matches of a player, or players."""
        return len(self.counts)

    @property
    def n_choices(self) -> int:
        """Number of single moves."""
        return int(self.counts[:, 0, :].sum())

    def only(self, candidates: Sequence[str]) -> ChoiceTable:
        """Return the table restricted to these candidates, in this order."""
        unknown = [name for name in candidates if name not in self.candidates]
        if unknown or not candidates:
            named = repr(unknown[0]) if unknown else "none"
            raise BadSample(f"candidates: {named} (known: {', '.join(self.candidates)})")
        if len(set(candidates)) < len(candidates):
            raise BadSample("candidates: the same strategy is named twice")
        return ChoiceTable(
            tuple(candidates),
            self.chances,
            self.counts[:, [self.candidates.index(name) for name in candidates], :],
            self.cluster,
            self.n_clusters,
            self.unit,
            self.resampled,
        )


def choice_table(
    played: Sequence[PlayedMatch], *, unit: str, resample: str, candidates: Sequence[str] | None = None
) -> ChoiceTable:
    """Count agreements; `unit` is the match (a strategy per match) or the player (one strategy for all matches).

    The table has all candidates of the matches, or those that are named.
    """
    checked_option("unit", unit, UNITS)
    checked_option("resample", resample, UNITS)
    if unit == "player" and resample == "match":
        raise BadSample("a player who keeps one strategy is resampled as a whole: use resample='player'")
    if not played:
        raise BadSample("strategy inference needs at least one match (found none)")
    names = tuple(played[0].prescribed)
    if not names:
        raise BadSample("strategy inference needs at least one candidate strategy")
    agreement = [agreement_of(item, names) for item in played]
    # Rounded, so that probabilities that differ by rounding alone count as one chance.
    everything: Floats = np.concatenate(agreement, axis=1).round(12)
    chances, inverse = np.unique(everything, return_inverse=True)
    codes = inverse.reshape(len(names), -1)
    seats = [(item.match, item.player) for item in played]
    if unit == "match" and len(set(seats)) < len(seats):
        twice = next(seat for seat in seats if seats.count(seat) > 1)
        raise BadSample(f"match {twice[0]!r} of player {twice[1]!r} is given twice")
    unit_of, levels = label_codes(seats if unit == "match" else [player for _, player in seats], len(played), unit)
    rows = np.repeat(unit_of, [part.shape[1] for part in agreement])
    counts = np.zeros((len(levels), len(names), chances.size))
    for k in range(len(names)):
        np.add.at(counts[:, k, :], (rows, codes[k]), 1.0)
    owner_of, owner_levels = label_codes(
        [item.match if resample == "match" else item.player for item in played], len(played), resample
    )
    cluster = np.zeros(len(levels), dtype=np.int64)
    cluster[unit_of] = owner_of
    table = ChoiceTable(names, chances, counts, cluster, len(owner_levels), unit, resample)
    return table if candidates is None else table.only(candidates)


def agreement_of(item: PlayedMatch, names: tuple[str, ...]) -> Floats:
    """Probability that each candidate gives to each move really made, shape (candidates, rounds)."""
    where = f"match {item.match!r}, player {item.player!r}"
    moves = binary(item.moves, f"{where}: moves")
    if set(item.prescribed) != set(names):
        odd = sorted(set(item.prescribed) ^ set(names))
        raise BadSample(f"{where}: candidates differ between matches ({', '.join(odd)})")
    rows = []
    for name in names:
        cooperate = sample(item.prescribed[name], f"{where}: prescribed by {name}")
        if cooperate.size != moves.size:
            raise BadSample(f"{where}: {name} prescribes {cooperate.size} moves, {moves.size} were made")
        if cooperate.min() < 0 or cooperate.max() > 1:
            raise BadSample(f"{where}: {name} must prescribe probabilities between 0 and 1")
        rows.append(np.where(moves == 1.0, cooperate, 1.0 - cooperate))
    return np.stack(rows)


SURE = 1.0 - 1e-10
STARTS = (0.55, 0.75, 0.95)
BATCH = 150_000
"""The number of values processed at a time, so that a batch fits the processor's cache."""
LONGEST = 64.0
"""The longest extrapolation, in EM steps."""


@dataclass(frozen=True)
class MixtureFit:
    """The fitted weights, probability to follow the prescription, log-likelihood, and distance from an optimum."""

    weights: Floats
    faithful: float
    log_likelihood: float
    slack: Floats
    likelihood: Floats


def fit_mixture(counts: Floats, chances: Floats) -> MixtureFit:
    """The maximum likelihood mixture of one table of counts (units, candidates, chances)."""
    patterns, sizes = np.unique(counts.reshape(len(counts), -1), axis=0, return_counts=True)
    table = patterns.reshape(-1, *counts.shape[1:])
    load = np.tile(sizes.astype(np.float64), (len(STARTS), 1))
    weights, faithful, height = maximise(
        table,
        chances,
        load,
        np.full((len(STARTS), counts.shape[1]), 1.0 / counts.shape[1]),
        np.array(STARTS),
        tolerance=1e-8,
        most=5_000,
    )
    # Among starts with equal likelihood within tolerance, the first is used.
    best = int(np.flatnonzero(height >= height.max() - 1e-9 * max(1.0, abs(float(height.max()))))[0])
    return _polished(table, chances, load[0], weights[best], float(faithful[best]))


def maximise(
    table: Floats,
    chances: Floats,
    load: Floats,
    weights: Floats,
    faithful: Floats,
    *,
    tolerance: float = 1e-7,
    most: int = 2_000,
) -> tuple[Floats, Floats, Floats]:
    """EM for many weightings at once: load has shape (weightings, patterns of units)."""
    weights, faithful = weights.copy(), faithful.copy()
    height = np.full(len(load), -np.inf)
    step = max(1, BATCH // (table.shape[0] * table.shape[1]))
    # A weight of zero is meant; no other division here has a zero to divide by.
    with np.errstate(divide="ignore"):
        for start in range(0, len(load), step):
            active = np.arange(start, min(start + step, len(load)))
            climbing = EmFit(table, chances, load[active], weights[active], faithful[active])
            for left in reversed(range(most)):
                stay = climbing.cycle() > tolerance
                if left and stay.all():
                    continue
                weights[active], faithful[active] = climbing.weights, climbing.faithful
                height[active] = climbing.reached
                active = active[stay]
                if not active.size:
                    break
                climbing = EmFit(table, chances, load[active], weights[active], faithful[active])
    return weights, faithful, height


def log_likelihoods(table: Floats, chances: Floats, faithful: Floats) -> Floats:
    """Log-likelihood of each pattern under each candidate, shape (weightings, patterns, candidates)."""
    return _by_weighting(
        table.reshape(-1, chances.size),
        table.shape[:2],
        np.outer(faithful, chances) + np.outer(1 - faithful, 1 - chances),
    )


def _by_weighting(flat: Floats, shape: tuple[int, ...], chance: Floats) -> Floats:
    """The result of ``log_likelihoods``, from a flat table and the chance of each prescription under each weighting."""
    return (flat @ np.log(chance).T).reshape(*shape, len(chance)).transpose(2, 0, 1)


class EmFit:
    """EM for several weightings at once, with their shared constant arrays."""

    def __init__(self, table: Floats, chances: Floats, load: Floats, weights: Floats, faithful: Floats) -> None:
        self.weights, self.faithful = weights, faithful
        self._shape, self._table = table.shape[:2], table.reshape(-1, chances.size)
        self._chances, self._opposite = chances, 1 - chances
        self._load, self._units = load, load.sum(axis=1, keepdims=True)
        # A prescribed coin toss carries no information about errors; leaving it out only saves time.
        self._telling = np.abs(chances - 0.5) > 1e-9

    def step(self) -> Floats:
        """Make one EM step; return how far each weighting moved."""
        load, faithful = self._load, self.faithful
        follows = faithful[:, None] * self._chances
        chance = follows + (1 - faithful)[:, None] * self._opposite
        joint = _by_weighting(self._table, self._shape, chance) + np.log(self.weights)[:, None, :]
        self._top = joint.max(axis=2, keepdims=True)
        joint -= self._top
        np.exp(joint, out=joint)
        self._total = total = joint.sum(axis=2, keepdims=True)
        joint *= load[:, :, None] / total
        weights = joint.sum(axis=1) / self._units
        expected = joint.reshape(len(load), -1) @ self._table
        follow = expected * follows / chance
        moves = expected[:, self._telling].sum(axis=1)
        rate = np.where(moves > 0, follow[:, self._telling].sum(axis=1) / np.maximum(moves, 1e-300), faithful)
        rate = np.minimum(np.maximum(rate, 0.5), SURE)
        moved: Floats = np.maximum(np.abs(weights - self.weights).max(axis=1), np.abs(rate - faithful))
        self.weights, self.faithful = weights, rate
        return moved

    def cycle(self) -> Floats:
        """Make two EM steps, extrapolate them (SQUAREM: Varadhan & Roland 2008), and make a step from there.

        Where the jump lowers the likelihood, the two plain steps stand. What is returned is how far the last
        step moved each weighting, so that converged means the same as without jumps.
        """
        w0, f0 = self.weights, self.faithful
        self.step()
        w1, f1 = self.weights, self.faithful
        plain = self.step()
        w2, f2, likelihood = self.weights, self.faithful, self._likelihood()
        first = np.column_stack([w1 - w0, f1 - f0])
        bend = np.column_stack([w2 - w1, f2 - f1]) - first
        length = np.sqrt((first**2).sum(axis=1) / np.maximum((bend**2).sum(axis=1), 1e-300))
        length = np.clip(length, 1.0, LONGEST)[:, None]
        jump = np.column_stack([w0, f0]) + 2 * length * first + length**2 * bend
        # EM can never raise a weight of exactly zero, so the extrapolation keeps all weights positive.
        weights = np.maximum(jump[:, :-1], 0.01 * w2)
        self.weights = weights / weights.sum(axis=1, keepdims=True)
        self.faithful = np.clip(jump[:, -1], 0.5, SURE)
        moved = self.step()
        jumped = self._likelihood()
        lower = ~(jumped >= likelihood)
        self.weights[lower], self.faithful[lower] = w2[lower], f2[lower]
        self.reached: Floats = np.where(lower, likelihood, jumped)
        """The log-likelihoods of the last cycle before its final step."""
        return np.where(lower, plain, moved)

    def _likelihood(self) -> Floats:
        """Return the log-likelihoods before the last step."""
        height: Floats = np.sum(self._load * (self._top + np.log(self._total))[:, :, 0], axis=1)
        return height


def _polished(table: Floats, chances: Floats, load: Floats, weights: Floats, faithful: float) -> MixtureFit:
    from scipy import optimize

    minimize: Any = optimize.minimize

    n, k = float(load.sum()), weights.size

    def evaluate(x: Floats) -> tuple[float, Floats, Floats]:
        likelihood = log_likelihoods(table, chances, np.array([x[-1]]))[0]
        top = likelihood.max(axis=1, keepdims=True)
        relative = np.exp(likelihood - top)
        mixed = np.maximum(relative @ x[:-1], 1e-300)
        slope = table @ ((2 * chances - 1) / (x[-1] * chances + (1 - x[-1]) * (1 - chances)))
        share = relative * x[:-1] / mixed[:, None]
        gradient = np.append((load / mixed) @ relative, float(load @ (share * slope).sum(axis=1)))
        return float(load @ (top[:, 0] + np.log(mixed))), gradient, relative / mixed[:, None]

    here = np.append(weights, faithful)
    height, gradient, likelihood = evaluate(here)
    if k > 1 or faithful < SURE:
        sum_to_one = {"type": "eq", "fun": lambda x: x[:-1].sum() - 1, "jac": lambda _: np.append(np.ones(k), 0)}
        answer = minimize(
            lambda x: -evaluate(x)[0] / n,
            here,
            jac=lambda x: -evaluate(x)[1] / n,
            bounds=[(0.0, 1.0)] * k + [(0.5, SURE)],
            constraints=sum_to_one,
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-13},
        )
        moved = np.append(np.clip(answer.x[:-1], 0, 1), np.clip(answer.x[-1], 0.5, SURE))
        moved[:-1] /= moved[:-1].sum()
        tried = evaluate(moved)
        if tried[0] > height:
            here, (height, gradient, likelihood) = moved, tried
    # At the optimum no candidate would gain likelihood from more weight: gradient / n is at most 1.
    slack = gradient[:-1] / n - 1.0
    if slack.max() > 1e-3:
        raise NotConverged("the strategy frequencies did not reach an optimum")
    # What the optimiser leaves of a weight of zero differs between processors.
    return MixtureFit(np.where(here[:-1] < 1e-9, 0.0, here[:-1]), float(here[-1]), height, slack, likelihood)


def equivalent_groups(table: ChoiceTable) -> tuple[tuple[int, ...], ...]:
    """Candidates that fit every unit equally well whatever the error rate, in order of first appearance."""
    counts = (np.ascontiguousarray(table.counts[:, k, :]).tobytes() for k in range(len(table.candidates)))
    return tuple(tuple(members) for members in grouped((of, k) for k, of in enumerate(counts)).values())


def undetermined(fit: MixtureFit) -> tuple[int, ...]:
    """Groups whose weights can be traded against each other without any loss of likelihood.

    Such a trade needs candidates that an optimum may use at all (no loss from a little weight) and a
    combination of them that leaves the likelihood of every unit unchanged.
    """
    usable = np.flatnonzero(fit.slack > -1e-6)
    _, sizes, rows = np.linalg.svd(fit.likelihood[:, usable], full_matrices=True)
    free = rows[int(np.sum(sizes > 1e-9 * sizes.max())) :]
    return tuple(usable[np.flatnonzero(np.abs(free).max(axis=0) > 1e-6)].tolist()) if free.size else ()
