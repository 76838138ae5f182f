"""The tidy table that every regression returns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from ostrom.analysis.statistics.errors import BadSample, Undefined
from ostrom.analysis.statistics.means import t_p_value, t_quantile
from ostrom.analysis.statistics.result import Interval, Result


@dataclass(frozen=True)
class Coefficient(Result):
    """One line of the table; `df` is None where the statistic is a z."""

    term: str
    estimate: float
    se: float
    statistic: float
    df: float | None
    p: float
    ci: Interval

    @property
    def odds_ratio(self) -> float:
        """The estimate of a logistic model on the odds scale."""
        return math.exp(self.estimate)

    @property
    def odds_ratio_ci(self) -> Interval:
        """The interval of a logistic model on the odds scale."""
        return Interval(math.exp(self.ci.low), math.exp(self.ci.high), self.ci.level)


@dataclass(frozen=True)
class Regression(Result):
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
    errors: Sequence[float],
    df: Sequence[float | None],
    level: float,
) -> tuple[Coefficient, ...]:
    """Estimates and standard errors as lines with statistic, p-value and interval."""
    lines = []
    for term, estimate, se, freedom in zip(terms, estimates, errors, df, strict=True):
        if not (math.isfinite(estimate) and math.isfinite(se) and se > 0):
            raise Undefined(f"the standard error of {term} is undefined: the data do not determine it")
        ratio = estimate / se
        if freedom is None:
            p, quantile = 2 * NormalDist().cdf(-abs(ratio)), NormalDist().inv_cdf(0.5 + level / 2)
        else:
            p, quantile = t_p_value(ratio, freedom, "two-sided"), t_quantile(0.5 + level / 2, freedom)
        ci = Interval(estimate - quantile * se, estimate + quantile * se, level)
        lines.append(Coefficient(term, float(estimate), float(se), float(ratio), freedom, float(p), ci))
    return tuple(lines)
