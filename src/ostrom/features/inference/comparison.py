"""Which candidates the data need: leave one out, and whole candidate sets side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostrom.analysis.statistics.errors import BadSample
from ostrom.analysis.statistics.result import StatisticsResult
from ostrom.features.inference.choices import PlayedMatch, choice_table
from ostrom.features.inference.frequencies import Unit, aic, bic, fit_groups


@dataclass(frozen=True)
class LeftOut(StatisticsResult):
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
