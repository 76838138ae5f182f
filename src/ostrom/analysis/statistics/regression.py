"""The tidy table that every regression returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from ostrom.analysis.statistics.errors import BadSample, Undefined
from ostrom.analysis.statistics.means import t_p_value, t_quantile
from ostrom.analysis.statistics.result import Interval, StatisticsResult

NO_ERROR = "no standard error: no cluster varies from the estimate, so nothing says how uncertain it is"


@dataclass(frozen=True)
class Coefficient(StatisticsResult):
    """One line of the table; `df` is None where the statistic is a z.

    Where the standard error does not exist, so do neither statistic, p-value nor interval: they are None, and
    `note` says why.
    """

    term: str
    estimate: float
    se: float | None
    statistic: float | None
    df: float | None
    p: float | None
    ci: Interval | None
    note: str | None = None

    @property
    def odds_ratio(self) -> float:
        """The estimate of a logistic model on the odds scale."""
        return math.exp(self.estimate)

    @property
    def odds_ratio_ci(self) -> Interval | None:
        """The interval of a logistic model on the odds scale, where there is one."""
        if self.ci is None:
            return None
        return Interval(math.exp(self.ci.low), math.exp(self.ci.high), self.ci.level)


@dataclass(frozen=True)
class FittedRegression(StatisticsResult):
    """A fitted model: its coefficients and what was taken as independent (`unit`)."""

    model: str
    coefficients: tuple[Coefficient, ...]
    n: int
    n_clusters: int | None
    unit: str
    details: dict[str, float | bool | str]

    def __getitem__(self, term: str) -> Coefficient:
        for line in self.coefficients:
            if line.term == term:
                return line
        raise BadSample(f"no term {term!r} (found: {', '.join(line.term for line in self.coefficients)})")

    def rows(self) -> list[dict[str, Any]]:
        """One plain row per coefficient."""
        shared = {"model": self.model, "n": self.n, "n_clusters": self.n_clusters, "unit": self.unit}
        return [line.as_dict() | shared for line in self.coefficients]


def coefficient_table(
    terms: Sequence[str],
    estimates: Sequence[float],
    errors: Sequence[float | None],
    df: Sequence[float | None],
    level: float,
) -> tuple[Coefficient, ...]:
    """Estimates and standard errors as lines with statistic, p-value and interval.

    An error of None is one that does not exist; any other that is not a positive number is refused.
    """
    lines = []
    for term, estimate, se, freedom in zip(terms, estimates, errors, df, strict=True):
        if se is None and math.isfinite(estimate):
            lines.append(Coefficient(term, float(estimate), None, None, freedom, None, None, NO_ERROR))
            continue
        if se is None or not (math.isfinite(estimate) and math.isfinite(se) and se > 0):
            raise Undefined(f"the standard error of {term} is undefined: the data do not determine it")
        ratio = estimate / se
        if freedom is None:
            p, quantile = 2 * NormalDist().cdf(-abs(ratio)), NormalDist().inv_cdf(0.5 + level / 2)
        else:
            p, quantile = t_p_value(ratio, freedom, "two-sided"), t_quantile(0.5 + level / 2, freedom)
        ci = Interval(estimate - quantile * se, estimate + quantile * se, level)
        lines.append(Coefficient(term, float(estimate), float(se), float(ratio), freedom, float(p), ci))
    return tuple(lines)
