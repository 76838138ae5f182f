"""Which candidates the data need: leave one out, and whole candidate sets side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostrom.analysis.inference.choices import PlayedMatch, choice_table
from ostrom.analysis.inference.frequencies import Unit, aic, bic, error_rate, fit_groups
from ostrom.analysis.statistics.errors import BadSample
from ostrom.analysis.statistics.result import Result


@dataclass(frozen=True)
class LeftOut(Result):
    """What is lost without one group of candidates; positive `bic_loss` speaks for keeping it.

    The p-value takes the weight of zero as the edge of its range: half a chi-square with one degree of
    freedom (Self & Liang 1987). It is a guide only where few units or many candidates make the likelihood
    uneven.
    """

    strategies: tuple[str, ...]
    likelihood_ratio: float
    p: float
    aic_loss: float
    bic_loss: float
    unit: str


@dataclass(frozen=True)
class CandidateSet(Result):
    """One candidate set; `bic_weight` is its share of the evidence among the sets compared."""

    name: str
    candidates: tuple[str, ...]
    groups: int
    log_likelihood: float
    aic: float
    bic: float
    bic_above_best: float
    bic_weight: float
    error: float
    unit: str


def leave_one_out(
    played: Sequence[PlayedMatch], *, unit: Unit, candidates: Sequence[str] | None = None
) -> tuple[LeftOut, ...]:
    """Refit without each group of indistinguishable candidates in turn."""
    from scipy.special import chdtrc

    table = choice_table(played, unit=unit, resample=unit)
    if candidates is not None:
        table = table.only(candidates)
    groups, full = fit_groups(table)
    if len(groups) < 2:
        raise BadSample("leaving one out needs at least 2 candidates that the data can tell apart")
    lines = []
    for j, group in enumerate(groups):
        kept = [table.candidates[k] for i, other in enumerate(groups) if i != j for k in other]
        smaller = table.only(kept)
        # Groups are classes of equal columns, so leaving one out leaves the others as they are. A group without
        # weight is left out like any other: its loss is zero only if the full fit is the highest of all optima,
        # and a refit that climbs higher shows (as a negative loss) that it was not.
        _, fit = fit_groups(smaller)
        ratio = max(0.0, 2 * (full.log_likelihood - fit.log_likelihood))
        count = len(groups)
        lines.append(
            LeftOut(
                strategies=tuple(table.candidates[k] for k in group),
                likelihood_ratio=ratio,
                p=float(chdtrc(1, ratio)) / 2 if ratio > 1e-8 else 1.0,
                aic_loss=aic(fit, count - 1) - aic(full, count),
                bic_loss=bic(fit, count - 1, table.n_units) - bic(full, count, table.n_units),
                unit=table.unit,
            )
        )
    return tuple(lines)


def compare_candidate_sets(
    played: Sequence[PlayedMatch], sets: Mapping[str, Sequence[str]], *, unit: Unit
) -> tuple[CandidateSet, ...]:
    """Fit each named set of candidates to the same choices; best BIC first."""
    if not sets:
        raise BadSample("a comparison needs at least one candidate set")
    whole = choice_table(played, unit=unit, resample=unit)
    fitted = []
    for name, candidates in sets.items():
        table = whole.only(candidates)
        groups, fit = fit_groups(table)
        fitted.append((bic(fit, len(groups), table.n_units), name, table.candidates, len(groups), fit))
    best = min(item[0] for item in fitted)
    total = sum(math.exp(-(item[0] - best) / 2) for item in fitted)
    return tuple(
        CandidateSet(
            name=name,
            candidates=candidates,
            groups=count,
            log_likelihood=fit.log_likelihood,
            aic=aic(fit, count),
            bic=score,
            bic_above_best=score - best,
            bic_weight=math.exp(-(score - best) / 2) / total,
            error=error_rate(fit.faithful),
            unit=whole.unit,
        )
        for score, name, candidates, count, fit in sorted(fitted, key=lambda item: item[0])
    )
