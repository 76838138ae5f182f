"""Shared parts of regressions: design matrix with readable terms, table of coefficients, robust errors.

A cluster-robust (sandwich) covariance adds up what each cluster contributes. Two situations leave nothing to add up,
and what a computer then returns is rounding error: a tiny number of either sign that differs between machines.

* Every cluster contributes nothing to a coefficient (each has the same rate in both conditions): its
  variance is zero up to rounding. Criterion: at most `NO_VARIANCE` times its model-based variance.
* One cluster alone determines a combination of coefficients: its residuals there are zero by construction,
  so nothing says how they vary between clusters. Criterion: a leverage of at least 1 - `FULL_LEVERAGE`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, TypeAlias

import numpy as np

from ostrom.analysis.statistics.means import t_p_value, t_quantile
from ostrom.analysis.statistics.result import Estimate
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
    same_length,
    sample,
)

Columns: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class DesignMatrix:
    """A full-rank matrix with an intercept first, and the name of each column."""

    matrix: Floats
    terms: tuple[str, ...]


def design_matrix(
    predictors: Columns,
    size: int,
    *,
    interactions: Sequence[tuple[str, ...]] = (),
    reference: Mapping[str, Any] | None = None,
) -> DesignMatrix:
    """Numbers stay as they are; labels become one column per level other than the reference level.

    The reference is the first level in sorted order unless `reference` names another.

    >>> design_matrix({"model": ["b", "a", "c", "a"]}, 4, reference={"model": "b"}).terms
    ('intercept', 'model[a]', 'model[c]')
    """
    if not predictors:
        raise BadSample("a regression needs at least one predictor")
    chosen = dict(reference or {})
    unknown = [name for name in chosen if name not in predictors]
    if unknown:
        raise BadSample(f"reference: no predictor {unknown[0]!r} (found: {', '.join(predictors)})")
    blocks = {
        name: _columns(name, values, size, chosen.get(name), name in chosen) for name, values in predictors.items()
    }
    terms, columns = ["intercept"], [np.ones(size)]
    for block in blocks.values():
        terms += [term for term, _ in block]
        columns += [column for _, column in block]
    for names in interactions:
        if not set(names) <= set(blocks) or len(names) < 2:
            raise BadSample(f"interaction {names!r} must join at least 2 of: {', '.join(blocks)}")
        product = [("", np.ones(size))]
        for name in names:
            product = [
                (f"{left}:{right}" if left else right, a * b) for left, a in product for right, b in blocks[name]
            ]
        terms += [term for term, _ in product]
        columns += [column for _, column in product]
    matrix = np.column_stack(columns)
    _full_rank(matrix, terms)
    return DesignMatrix(matrix, tuple(terms))


def _columns(name: str, values: Any, size: int, reference: Any, has_reference: bool) -> list[tuple[str, Floats]]:
    if isinstance(values, str | bytes):
        raise BadSample(f"predictor {name}: must be one value per row (found the single text {values!r})")
    listed = values if isinstance(values, np.ndarray) else list(values)
    is_label = has_reference or any(isinstance(item, str | tuple) for item in listed)
    if not is_label:
        numbers = sample(np.asarray(listed), f"predictor {name}")
        same_length(f"predictor {name}", numbers.size, "outcome", size)
        return [(name, numbers)]
    codes, levels = label_codes(listed, size, f"predictor {name}")
    if has_reference and reference not in levels:
        raise BadSample(f"reference: {name} has no level {reference!r} (found: {', '.join(map(str, levels))})")
    base = levels.index(reference) if has_reference else 0
    return [(f"{name}[{lv}]", (codes == k).astype(np.float64)) for k, lv in enumerate(levels) if k != base]


def _full_rank(matrix: Floats, terms: Sequence[str]) -> None:
    if matrix.shape[0] <= matrix.shape[1]:
        raise BadSample(f"{matrix.shape[0]} rows cannot carry {matrix.shape[1]} coefficients")
    scale = np.linalg.norm(matrix, axis=0)
    if np.any(scale == 0):
        raise Undefined(f"singular design: {terms[int(np.argmin(scale))]} is zero in every row")
    # Columns in order: the first one that is a combination of earlier ones is named.
    thin = np.flatnonzero(np.abs(np.diag(np.linalg.qr(matrix / scale, mode="r"))) < 1e-9)
    if thin.size:
        raise Undefined(f"singular design: {terms[int(thin[0])]} is determined by the other terms")


NO_ERROR = "no standard error: no cluster varies from the estimate, so nothing says how uncertain it is"


@dataclass(frozen=True)
class FittedRegression:
    """A fitted model: its coefficients and its independent unit (`unit`)."""

    model: str
    coefficients: tuple[Estimate, ...]
    """One for every ``key["term"]``. Where the standard error does not exist, so do neither statistic, p-value nor
    interval: they are None, and ``note`` says why. ``df`` is None where the statistic is a z."""
    n: int
    n_clusters: int | None
    unit: str
    details: dict[str, float | bool | str]

    def __getitem__(self, term: str) -> Estimate:
        for line in self.coefficients:
            if line.key["term"] == term:
                return line
        raise BadSample(f"no term {term!r} (found: {', '.join(line.key['term'] for line in self.coefficients)})")


def coefficient_table(
    terms: Sequence[str],
    estimates: Sequence[float],
    errors: Sequence[float | None],
    df: Sequence[float | None],
    n: int,
    unit: str,
    level: float,
) -> tuple[Estimate, ...]:
    """Return estimates and standard errors as rows with statistic, p-value and interval.

    An error of None is one that does not exist; any other that is not a positive number is refused.
    """

    def line(term: str, estimate: float, se: float | None, freedom: float | None) -> Estimate:
        if se is None and math.isfinite(estimate):
            return Estimate({"term": term}, float(estimate), None, None, n, unit, "none", NO_ERROR, level, df=freedom)
        if se is None or not (math.isfinite(estimate) and math.isfinite(se) and se > 0):
            raise Undefined(f"the standard error of {term} is undefined: the data do not determine it")
        ratio, normal = estimate / se, NormalDist()
        p, quantile = (
            (2 * normal.cdf(-abs(ratio)), normal.inv_cdf(0.5 + level / 2))
            if freedom is None
            else (t_p_value(ratio, freedom), t_quantile(0.5 + level / 2, freedom))
        )
        return Estimate(
            {"term": term}, float(estimate), float(estimate - quantile * se), float(estimate + quantile * se), n, unit,
            "z" if freedom is None else "t", level=level, se=float(se), statistic=float(ratio), df=freedom, p=float(p),
        )  # fmt: skip

    return tuple(map(line, terms, estimates, errors, df))


NO_VARIANCE = 1e-10
"""A variance below this share of the model-based one is rounding error (errors: one part in 100,000)."""
FULL_LEVERAGE = 1e-8


def robust_errors(covariance: Floats, model_based: Floats) -> list[float | None]:
    """The standard error of each coefficient; None where the robust variance is zero up to rounding.

    Both arguments are covariance matrices; the second one comes from the model alone and sets the scale.

    >>> robust_errors(np.diag([4.0, -1e-17, 3e-16]), np.diag([1.0, 0.5, 0.5]))
    [2.0, None, None]
    """
    scales = np.diag(model_based)
    if not (np.all(np.isfinite(covariance)) and np.all(np.isfinite(scales)) and np.all(scales > 0)):
        raise Undefined("the covariance of the coefficients is undefined: the data do not determine it")
    return [
        math.sqrt(variance) if variance > NO_VARIANCE * scale else None
        for variance, scale in zip(np.diag(covariance).tolist(), scales.tolist(), strict=True)
    ]


def refuse_full_leverage(information: Sequence[Floats]) -> None:
    """Refuse clusters of which one alone determines a combination of coefficients.

    `information` holds D'V^-1 D of each cluster. The eigenvalues of a cluster's part relative to the total
    are its leverages, between 0 and 1.
    """
    from scipy.linalg import eigh

    total = np.sum(information, axis=0)
    # Scaled by the diagonal of the total, so that units of the predictors do not matter.
    size = np.sqrt(np.diag(total))
    if not (np.all(np.isfinite(total)) and np.all(size > 0)):
        raise Undefined("the covariance of the coefficients is undefined: the data do not determine it")
    scale = np.outer(size, size)
    try:
        highest = max(float(eigh(part / scale, total / scale, eigvals_only=True)[-1]) for part in information)
    except np.linalg.LinAlgError:
        raise Undefined("the estimating equations are singular: the data do not determine them") from None
    if highest >= 1.0 - FULL_LEVERAGE:
        raise Undefined(
            "clustered errors are undefined: one cluster alone determines a combination of the coefficients, "
            "so nothing says how it varies between clusters"
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
        raise Undefined("a random intercept needs groups with more than one row (every group has exactly one)")
    left = y - design.matrix @ np.linalg.lstsq(design.matrix, y, rcond=None)[0]
    if float(left @ left) <= 1e-20 * float((y - y.mean()) @ (y - y.mean())):
        raise Undefined("mixed model is undefined: the predictors fit every row exactly")
    # Centred and scaled, so that the search and its tolerances are the same for every outcome.
    scale = float(y.std())
    estimates, errors, *variances, boundary = _fit((y - y.mean()) / scale, design.matrix, codes)
    estimates = estimates * scale
    estimates[0] += y.mean()
    between, within = (variance * scale**2 for variance in variances)
    freedom = _between_within(design.matrix, codes, len(levels)) if df != "normal" else [None] * len(errors)
    return FittedRegression(
        model="linear mixed model (random intercept, REML)",
        coefficients=coefficient_table(
            design.terms, estimates.tolist(), (errors * scale).tolist(), freedom, len(levels), unit, level
        ),
        n=int(y.size),
        n_clusters=len(levels),
        unit=unit,
        details={
            "variance_between": between,
            "variance_within": within,
            "intraclass_correlation": between / (between + within),
            "boundary": boundary,
            "df": df,
        },
    )


def _fit(y: Floats, x: Floats, codes: Ints) -> tuple[Floats, Floats, float, float, bool]:
    """Return the estimates, their errors, the variance between and within groups, and whether the former is zero."""
    from scipy.optimize import brentq, minimize_scalar

    profile = _Profile(y, x, codes)
    grid = np.linspace(LOWEST, HIGHEST, 181)
    best = int(np.argmin([profile.deviance(math.exp(u)) for u in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    refined = minimize_scalar(
        lambda u: profile.deviance(math.exp(u)), bounds=(low, high), method="bounded", options={"xatol": 1e-10}
    )
    if not refined.success:
        raise NotConverged("the variance between groups of the mixed model was not found")
    if refined.x > HIGHEST - 0.5:
        raise Undefined("mixed model is undefined: rows of the same group do not vary beyond the predictors")
    boundary = bool(profile.deviance(0.0) <= refined.fun + 1e-9)

    def slope(u: float) -> float:
        return profile.deviance(math.exp(u + 1e-4)) - profile.deviance(math.exp(u - 1e-4))

    # Rounding hides where a flat deviance is least; where it ceases to fall is clearer.
    peak = brentq(slope, low, high, xtol=1e-12) if slope(low) < 0 < slope(high) else refined.x
    ratio = 0.0 if boundary else math.exp(round(peak, 7))
    estimates, covariance, within, _ = profile.solve(ratio)
    return estimates, np.sqrt(np.diag(covariance)), ratio * within, within, boundary


class _Profile:
    """The restricted likelihood as a function of the variance ratio between / within groups.

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
        inner = self.squares - (self.sums * (ratio / (1 + self.sizes * ratio))[:, None]).T @ self.sums
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
    means = ((np.bincount(codes, weights=column, minlength=groups) / sizes)[codes] for column in x.T)
    constant = [
        bool(np.allclose(mean, column, rtol=1e-10, atol=1e-12)) for mean, column in zip(means, x.T, strict=True)
    ]
    between = groups - sum(constant)
    within = len(codes) - groups - (len(constant) - sum(constant))
    if between < 1 or (within < 1 and not all(constant)):
        raise BadSample(f"{groups} groups and {len(codes)} rows leave no degrees of freedom for the terms")
    return [float(between if flag else within) for flag in constant]
