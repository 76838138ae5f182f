"""The strategy frequency estimation method: shares of strategies and the error rate, with intervals.

Dal Bo & Frechette (2011), "The evolution of cooperation in infinitely repeated games". Standard errors and
percentile intervals come from a bootstrap over whole matches (both seats together) or over players.

A refit without each candidate in turn shows which candidates the data need.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np

from ostrom.analysis.statistics.resampling import clusters_of, percentiles
from ostrom.analysis.statistics.result import Estimate, holm
from ostrom.analysis.statistics.samples import BadSample, Floats, checked_level, checked_resamples
from ostrom.features.inference.mixture import (
    ChoiceTable,
    MixtureFit,
    PlayedMatch,
    agreement_of,
    choice_table,
    equivalent_groups,
    fit_mixture,
    maximise,
    undetermined,
)

Unit = Literal["match", "player"]


@dataclass(frozen=True)
class StrategyWeight:
    """The share of one group of candidate strategies; strategies in a group are indistinguishable in these data."""

    strategies: tuple[str, ...]
    share: Estimate
    determined: bool

    @property
    def name(self) -> str:
        """Return the names of the strategies of this group, joined by `|`."""
        return " | ".join(self.strategies)

    @property
    def weight(self) -> float:
        """The share as a number."""
        return self.share.value

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        share = self.share
        return {
            "strategies": list(self.strategies), "weight": share.value, "se": share.se, "ci_low": share.low,
            "ci_high": share.high, "level": share.level, "determined": self.determined, "name": self.name,
        }  # fmt: skip


FIT = ("log_likelihood", "aic", "bic", "n_parameters", "n_units", "n_choices", "n_clusters", "unit", "resampled")


@dataclass(frozen=True)
class StrategyFrequencies:
    """Shares of strategies (they add up to 1), the error rate per move, and the fit.

    A weight with `determined` False can be traded against others without loss: read only their sum. AIC and
    BIC count the weights less one plus the error rate; BIC takes the number of units as the sample size.
    """

    weights: tuple[StrategyWeight, ...]
    error: Estimate
    log_likelihood: float
    aic: float
    bic: float
    n_parameters: int
    n_units: int
    n_choices: int
    n_clusters: int
    unit: str
    resampled: str
    resamples: int

    def __getitem__(self, strategy: str) -> StrategyWeight:
        for line in self.weights:
            if strategy in line.strategies:
                return line
        raise BadSample(f"no candidate {strategy!r} (found: {', '.join(line.name for line in self.weights)})")

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        error = self.error
        return {
            "weights": [line.as_dict() for line in self.weights],
            "error": error.value, "error_se": error.se, "error_ci_low": error.low, "error_ci_high": error.high,
            "level": error.level, **{name: getattr(self, name) for name in FIT}, "resamples": self.resamples,
        }  # fmt: skip


def strategy_frequencies(
    played: Sequence[PlayedMatch],
    *,
    unit: Unit,
    rng: np.random.Generator,
    resample: Unit | None = None,
    candidates: Sequence[str] | None = None,
    resamples: int = 1_000,
    level: float = 0.95,
) -> StrategyFrequencies:
    """Return the maximum likelihood shares of the candidate strategies.

    unit="match": each player of each match holds one strategy for that match. unit="player": a player keeps
    one strategy through all matches, as in the original paper. `resample` is what the bootstrap draws, the
    unit itself unless named.

    >>> copy = {"defector": [0, 0, 0], "cooperator": [1, 1, 1]}
    >>> matches = [PlayedMatch(m, "p", [m % 2] * 3, copy) for m in range(20)]
    >>> result = strategy_frequencies(matches, unit="match", rng=np.random.default_rng(0), resamples=100)
    >>> round(result["cooperator"].share.value, 3), round(result.error.value, 3)
    (0.5, 0.0)
    """
    checked_level(level), checked_resamples(resamples)
    table = choice_table(played, unit=unit, resample=resample or unit, candidates=candidates)
    groups, fit = fit_groups(table)
    weights, faithful = _bootstrap(table, groups, fit, rng, resamples)
    loose = undetermined(fit)

    def bootstrapped(value: float, draws: Floats, ends: Floats) -> Estimate:
        # A fit of a resample that converges slowly ends a little elsewhere on another processor.
        low, high, se = (round(end, 4) for end in (*percentiles(ends, level), float(draws.std(ddof=1))))
        return Estimate({}, value, low, high, table.n_units, table.unit, "bootstrap", level=level, se=se)

    lines = tuple(
        StrategyWeight(
            tuple(table.candidates[k] for k in group),
            bootstrapped(float(fit.weights[j]), weights[:, j], weights[:, j]),
            j not in loose,
        )
        for j, group in enumerate(groups)
    )
    return StrategyFrequencies(
        weights=lines,
        error=bootstrapped(error_rate(fit.faithful), faithful, np.maximum(1 - faithful - 1e-10, 0.0)),
        log_likelihood=fit.log_likelihood,
        aic=aic(fit, len(groups)),
        bic=bic(fit, len(groups), table.n_units),
        n_parameters=len(groups),
        n_units=table.n_units,
        n_choices=table.n_choices,
        n_clusters=table.n_clusters,
        unit=table.unit,
        resampled=table.resampled,
        resamples=resamples,
    )


def fit_groups(table: ChoiceTable) -> tuple[tuple[tuple[int, ...], ...], MixtureFit]:
    """Return the groups of equivalent candidates, and the fit with one member of each."""
    groups = equivalent_groups(table)
    return groups, fit_mixture(table.counts[:, [group[0] for group in groups], :], table.chances)


def aic(fit: MixtureFit, parameters: int) -> float:
    """Akaike's criterion: the weights less one, plus the error rate, make as many parameters as groups."""
    return 2 * parameters - 2 * fit.log_likelihood


def bic(fit: MixtureFit, parameters: int, units: int) -> float:
    """Schwarz's criterion with units as observations."""
    return parameters * math.log(units) - 2 * fit.log_likelihood


def error_rate(faithful: float) -> float:
    """One minus the probability to follow the prescription."""
    # The likelihood needs an error above zero; a value at the cap means that no error was seen.
    return max(0.0, round(1 - faithful - 1e-10, 12)) if faithful > 1 - 1e-9 else 1 - faithful


def _bootstrap(
    table: ChoiceTable, groups: tuple[tuple[int, ...], ...], fit: MixtureFit, rng: np.random.Generator, resamples: int
) -> tuple[Floats, Floats]:
    drawn = clusters_of(table.cluster, table.n_units)
    counts = table.counts[:, [group[0] for group in groups], :]
    flat, pattern = np.unique(counts.reshape(table.n_units, -1), axis=0, return_inverse=True)
    per_cluster = np.zeros((drawn.count, len(flat)))
    np.add.at(per_cluster, (drawn.of_row, pattern.ravel()), 1.0)
    load = drawn.totals(rng, resamples, per_cluster)
    # Starting weights are all positive: EM can never raise a weight of exactly zero.
    weights, faithful, _ = maximise(
        flat.reshape(-1, *counts.shape[1:]),
        table.chances,
        load,
        np.tile(0.8 * fit.weights + 0.2 / len(groups), (resamples, 1)),
        np.full(resamples, np.clip(fit.faithful, 0.55, 0.999)),
        tolerance=1e-8,
    )
    # EM leaves small weights on candidates that tend to zero; these are set to zero.
    weights[weights < 1e-5] = 0.0
    return weights / weights.sum(axis=1, keepdims=True), faithful


def near_twins(played: Sequence[PlayedMatch], most: float = 0.05) -> list[tuple[str, str, int, int]]:
    """Return pairs of candidates that few moves distinguish: both names, the number of such moves, and of all moves."""
    names = tuple(played[0].prescribed)
    chances = np.concatenate([agreement_of(item, names) for item in played], axis=1).round(12)
    moves = chances.shape[1]
    apart = {(i, j): int((chances[i] != chances[j]).sum()) for i, j in combinations(range(len(names)), 2)}
    return [(names[i], names[j], many, moves) for (i, j), many in apart.items() if 0 < many <= most * moves]


@dataclass(frozen=True)
class LeftOut:
    """The loss of fit without one group of candidates; a positive `bic_loss` favours keeping it.

    The p-value takes the weight of zero as the edge of its range: half a chi-square with one degree of
    freedom (Self & Liang 1987). It is a guide only where few units or many candidates make the likelihood
    uneven. ``p_holm`` is corrected over all candidates that were left out in turn (Holm 1979).
    """

    strategies: tuple[str, ...]
    likelihood_ratio: float
    p: float
    p_holm: float
    aic_loss: float
    bic_loss: float
    unit: str


def leave_one_out(
    played: Sequence[PlayedMatch], *, unit: Unit, candidates: Sequence[str] | None = None
) -> tuple[LeftOut, ...]:
    """Refit without each group of indistinguishable candidates in turn."""
    from scipy.special import chdtrc

    table = choice_table(played, unit=unit, resample=unit, candidates=candidates)
    groups, full = fit_groups(table)
    if len(groups) < 2:
        raise BadSample("leaving one out needs at least 2 candidates that the data can tell apart")
    lines, count = [], len(groups)
    for group in groups:
        # Groups are classes of equal columns, so leaving one out does not change the others. A group without
        # weight is left out as well: its loss is zero only if the full fit is the global optimum,
        # and a refit with a higher likelihood (a negative loss) shows that it was not.
        _, fit = fit_groups(table.only([table.candidates[k] for other in groups if other != group for k in other]))
        ratio = 2 * (full.log_likelihood - fit.log_likelihood)
        ratio = ratio if ratio > 1e-8 else 0.0
        lines.append(
            LeftOut(
                strategies=tuple(table.candidates[k] for k in group),
                likelihood_ratio=ratio,
                p=float(chdtrc(1, ratio)) / 2 if ratio else 1.0,
                p_holm=1.0,
                aic_loss=aic(fit, count - 1) - aic(full, count),
                bic_loss=bic(fit, count - 1, table.n_units) - bic(full, count, table.n_units),
                unit=table.unit,
            )
        )
    return tuple(replace(line, p_holm=p) for line, p in zip(lines, holm([line.p for line in lines]), strict=True))
