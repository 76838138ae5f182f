"""Linear mixed model with a random intercept per group, fitted by REML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ostrom.analysis.statistics.regression import Columns, FittedRegression, coefficient_table, design_matrix
from ostrom.analysis.statistics.samples import (
    BadSample,
    Floats,
    Ints,
    Labels,
    NotConverged,
    Numbers,
    Undefined,
    checked_level,
    checked_option,
    checked_unit,
    is_constant,
    label_codes,
    sample,
)

LOWEST, HIGHEST = -18.0, 18.0
"""Range of the log variance ratio that is searched."""


def linear_mixed_model(
    outcome: Numbers,
    predictors: Columns,
    *,
    groups: Labels,
    unit: str,
    interactions: Sequence[tuple[str, ...]] = (),
    reference: Mapping[str, Any] | None = None,
    df: Literal["between-within", "normal"] = "between-within",
    level: float = 0.95,
) -> FittedRegression:
    """outcome ~ predictors + (1 | group), REML.

    Degrees of freedom by the between-within rule (Schluchter & Elashoff 1990): a term that is constant within
    groups is tested on groups minus such terms, one that varies within groups on what the rows have left.
    With df="normal" the tests are z tests. `details` holds the variances, the intraclass correlation and
    `boundary`, true when the variance between groups was estimated as zero.
    """
    checked_unit(unit), checked_level(level), checked_option("df", df, ("between-within", "normal"))
    y = sample(outcome, "outcome", at_least=3)
    if is_constant(y):
        raise Undefined(f"mixed model is undefined: the outcome is constant at {y[0]:g}")
    design = design_matrix(predictors, y.size, interactions=interactions, reference=reference)
    codes, levels = label_codes(groups, y.size, "groups")
    if len(levels) < 2:
        raise BadSample(f"a random intercept needs at least 2 groups (found {len(levels)})")
    if len(levels) == y.size:
        raise Undefined(
            "a random intercept needs groups with more than one row (every group has exactly one)"
        )
    left = y - design.matrix @ np.linalg.lstsq(design.matrix, y, rcond=None)[0]
    if float(left @ left) <= 1e-20 * float((y - y.mean()) @ (y - y.mean())):
        raise Undefined("mixed model is undefined: the predictors fit every row exactly")
    # Centred and scaled, so that the search and its tolerances mean the same for every outcome.
    scale = float(y.std())
    fit = _fit((y - y.mean()) / scale, design.matrix, codes)
    estimates, errors = fit.estimates * scale, fit.errors * scale
    estimates[0] += y.mean()
    between, within = fit.between * scale**2, fit.within * scale**2
    freedom = _between_within(design.matrix, codes, len(levels)) if df != "normal" else [None] * len(errors)
    return FittedRegression(
        model="linear mixed model (random intercept, REML)",
        coefficients=coefficient_table(design.terms, estimates.tolist(), errors.tolist(), freedom, level),
        n=int(y.size),
        n_clusters=len(levels),
        unit=unit,
        details={
            "variance_between": between,
            "variance_within": within,
            "intraclass_correlation": between / (between + within),
            "boundary": fit.boundary,
            "df": df,
        },
    )


@dataclass(frozen=True)
class _Fit:
    estimates: Floats
    errors: Floats
    between: float
    within: float
    boundary: bool


def _fit(y: Floats, x: Floats, codes: Ints) -> _Fit:
    from scipy.optimize import minimize_scalar

    profile = _Profile(y, x, codes)
    grid = np.linspace(LOWEST, HIGHEST, 181)
    heights = [profile.deviance(math.exp(u)) for u in grid]
    best = int(np.argmin(heights))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    refined = minimize_scalar(
        lambda u: profile.deviance(math.exp(u)),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-10},
    )
    if not refined.success:
        raise NotConverged("the variance between groups of the mixed model was not found")
    if refined.x > HIGHEST - 0.5:
        raise Undefined("mixed model is undefined: rows of the same group do not vary beyond the predictors")
    boundary = bool(profile.deviance(0.0) <= refined.fun + 1e-9)
    ratio = 0.0 if boundary else math.exp(refined.x)
    estimates, covariance, within, _ = profile.solve(ratio)
    return _Fit(estimates, np.sqrt(np.diag(covariance)), ratio * within, within, boundary)


class _Profile:
    """The restricted likelihood as a function of one number, the variance ratio between / within groups.

    For a random intercept everything else follows from sums per group, so one dimension is searched on a
    grid and refined: no start values, no false convergence.
    """

    def __init__(self, y: Floats, x: Floats, codes: Ints) -> None:
        self.freedom = int(len(y) - x.shape[1])
        self.sizes = np.bincount(codes).astype(np.float64)
        z = np.column_stack([x, y])
        self.squares = z.T @ z
        self.sums = np.stack([np.bincount(codes, weights=column) for column in z.T], axis=1)

    def solve(self, ratio: float) -> tuple[Floats, Floats, float, float]:
        """Estimates, their covariance, the variance within groups and log det of X'V^-1 X."""
        shrink = ratio / (1 + self.sizes * ratio)
        inner = self.squares - (self.sums * shrink[:, None]).T @ self.sums
        xx, xy, yy = inner[:-1, :-1], inner[:-1, -1], float(inner[-1, -1])
        try:
            inverse: Floats = np.linalg.inv(xx).astype(np.float64)
            estimates: Floats = np.linalg.solve(xx, xy).astype(np.float64)
        except np.linalg.LinAlgError:
            raise Undefined("mixed model is singular: the groups determine a term") from None
        within = max(float(yy - xy @ estimates), 1e-300) / float(self.freedom)
        return estimates, inverse * within, within, float(np.linalg.slogdet(xx)[1])

    def deviance(self, ratio: float) -> float:
        """Minus two restricted log-likelihoods, up to a constant."""
        _, _, within, log_det = self.solve(ratio)
        return self.freedom * math.log(within) + float(np.sum(np.log1p(self.sizes * ratio))) + log_det


def _between_within(x: Floats, codes: Ints, groups: int) -> list[float | None]:
    sizes = np.bincount(codes, minlength=groups)
    constant = []
    for column in x.T:
        means = np.bincount(codes, weights=column, minlength=groups) / sizes
        constant.append(bool(np.allclose(means[codes], column, rtol=1e-10, atol=1e-12)))
    between = groups - sum(constant)
    within = len(codes) - groups - (len(constant) - sum(constant))
    if between < 1 or (within < 1 and not all(constant)):
        raise BadSample(f"{groups} groups and {len(codes)} rows leave no degrees of freedom for the terms")
    return [float(between if flag else within) for flag in constant]
