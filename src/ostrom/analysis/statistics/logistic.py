"""Logistic regression: plain, with cluster-robust errors, and by generalised estimating equations.

Separated data (a combination of predictors that always gives the same answer) have no finite estimate; they
are found beforehand by a linear program (Albert & Anderson 1984) and raise `Undefined`. A coefficient whose
clustered error does not exist (`robust_errors`) keeps its estimate and says why it has no error.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ostrom.analysis.statistics.regression import (
    NO_ERROR,
    Columns,
    DesignMatrix,
    FittedRegression,
    coefficient_table,
    design_matrix,
    refuse_full_leverage,
    robust_errors,
)
from ostrom.analysis.statistics.result import Estimate
from ostrom.analysis.statistics.samples import (
    BadSample,
    Floats,
    Ints,
    Labels,
    NotConverged,
    Numbers,
    Undefined,
    binary,
    checked_level,
    checked_option,
    checked_unit,
    label_codes,
    without_rounding,
)

CORRELATIONS = ("exchangeable", "independence")
COVARIANCES = ("robust", "bias_reduced")


def logistic_regression(
    outcome: Numbers,
    predictors: Columns,
    *,
    unit: str,
    clusters: Labels | None = None,
    interactions: Sequence[tuple[str, ...]] = (),
    reference: Mapping[str, Any] | None = None,
    level: float = 0.95,
) -> FittedRegression:
    """Maximum likelihood with z tests; with `clusters`, errors that allow any dependence within a cluster.

    Without clusters every row counts as independent, so `unit` must name what a row is.
    """
    y, design = _prepared(outcome, predictors, unit, interactions, reference, level)
    from statsmodels.genmod.cov_struct import Independence
    from statsmodels.genmod.generalized_linear_model import GLM

    codes, count = (np.zeros(y.size, np.int64), None) if clusters is None else _clusters(clusters, design)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = GLM(y, design.matrix, family=_family()).fit(maxiter=200, tol=1e-12)
    if not fit.converged:
        raise NotConverged("the logistic regression did not converge")
    # The covariances of the fit are wrong, or not there, where a fitted value rounds to 0 or 1.
    means = np.asarray(fit.fittedvalues)
    parts = _information(design.matrix, means, codes, count or 1, Independence())
    covariance = model_based = np.linalg.inv(np.sum(parts, axis=0))
    if count is not None:
        refuse_full_leverage(parts)
        scores = [design.matrix[rows].T @ (y - means)[rows] for rows in _rows_of(codes, count)]
        spread = np.linalg.solve(np.sum(parts, axis=0), np.transpose(scores))
        covariance = spread @ spread.T * (count / (count - 1) * (y.size - 1) / (y.size - len(design.terms)))
    return FittedRegression(
        "logistic regression" + (" (cluster-robust)" if count else ""),
        _lines(design, fit, covariance, model_based, count or int(y.size), unit, level),
        int(y.size),
        count,
        unit,
        {"log_likelihood": float(fit.llf)},
    )


def gee_logistic(
    outcome: Numbers,
    predictors: Columns,
    *,
    clusters: Labels,
    unit: str,
    correlation: Literal["exchangeable", "independence"] = "exchangeable",
    covariance: Literal["robust", "bias_reduced"] = "robust",
    interactions: Sequence[tuple[str, ...]] = (),
    reference: Mapping[str, Any] | None = None,
    level: float = 0.95,
) -> FittedRegression:
    """Population-averaged logistic model clustered by `clusters` (Liang & Zeger 1986), z tests.

    With fewer than about 40 clusters prefer covariance="bias_reduced" (Mancl & DeRouen 2001). A coefficient
    to which no cluster contributes any variation keeps its estimate; its error, p-value and interval are None.
    """
    checked_option("correlation", correlation, CORRELATIONS)
    checked_option("covariance", covariance, COVARIANCES)
    y, design = _prepared(outcome, predictors, unit, interactions, reference, level)
    codes, count = _clusters(clusters, design)
    from statsmodels.genmod.cov_struct import Exchangeable, Independence
    from statsmodels.genmod.generalized_estimating_equations import GEE

    structure = Exchangeable() if correlation == "exchangeable" else Independence()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = GEE(y, design.matrix, groups=codes, family=_family(), cov_struct=structure).fit(
                maxiter=200, ctol=1e-8, cov_type=covariance
            )
        except (np.linalg.LinAlgError, ValueError) as problem:
            raise Undefined(f"the estimating equations are singular: {' '.join(str(problem).split())}") from None
        robust, model_based = np.asarray(fit.cov_params()), np.asarray(fit.cov_naive)
    if not fit.converged:
        raise NotConverged("the estimating equations did not converge; try correlation='independence'")
    details: dict[str, float | bool | str] = {"correlation": correlation, "covariance": covariance}
    if correlation == "exchangeable":
        _refuse_impossible(float(structure.dep_params), int(np.bincount(codes).max()))
        details["within_cluster_correlation"] = without_rounding(float(structure.dep_params), 1.0)
    refuse_full_leverage(_information(design.matrix, np.asarray(fit.fittedvalues), codes, count, structure))
    return FittedRegression(
        f"logistic GEE ({correlation})",
        _lines(design, fit, robust, model_based, count, unit, level),
        int(y.size),
        count,
        unit,
        details,
    )


def is_separated(y: Floats, x: Floats) -> bool:
    """Return whether some combination of columns separates zeros from ones, fully or up to ties."""
    from scipy.optimize import linprog

    signed = np.unique((2 * y - 1)[:, None] * x, axis=0)
    signed = signed / np.maximum(np.abs(signed).max(axis=0), 1e-300)
    answer = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1), method="highs")
    if answer.status != 0:
        return False
    # A separating direction can be scaled up to the bounds; without one the solution is zero up
    # to the tolerance of the solver (1e-7). One half distinguishes the two.
    direction = np.asarray(answer.x, dtype=np.float64)
    return bool(np.abs(direction).max() > 0.5 and float((signed @ direction).sum()) > 1e-7)


def _prepared(
    outcome: Numbers,
    predictors: Columns,
    unit: str,
    interactions: Sequence[tuple[str, ...]],
    reference: Mapping[str, Any] | None,
    level: float,
) -> tuple[Floats, DesignMatrix]:
    checked_unit(unit), checked_level(level)
    y = binary(outcome)
    if y.min() == y.max():
        raise Undefined(f"logistic regression is undefined: the outcome is always {y[0]:g}")
    design = design_matrix(predictors, y.size, interactions=interactions, reference=reference)
    if is_separated(y, design.matrix):
        raise Undefined(
            "logistic regression has no finite estimate: some combination of predictors always gives the "
            "same outcome (separation); compare proportions or use a permutation test"
        )
    return y, design


def _clusters(clusters: Labels, design: DesignMatrix) -> tuple[Ints, int]:
    codes, levels = label_codes(clusters, len(design.matrix), "clusters")
    if len(levels) < 2:
        raise BadSample(f"clustered errors need at least 2 clusters (found {len(levels)})")
    if len(levels) <= len(design.terms):
        raise Undefined(f"{len(levels)} clusters cannot carry robust errors of {len(design.terms)} coefficients")
    return codes, len(levels)


def _family() -> Any:
    """Return the binomial family with a logit whose derivative is a number however sure the model is of a row."""
    from scipy.special import expit
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.families.links import Logit

    class Link(Logit):  # type: ignore[misc]
        def inverse(self, z: Floats) -> Floats:
            return np.asarray(expit(z))

        def inverse_deriv(self, z: Floats) -> Floats:
            return np.asarray(expit(z) * expit(-z))

    return Binomial(link=Link())


def _refuse_impossible(correlation: float, largest: int) -> None:
    """Refuse a working correlation outside -1 / (largest cluster - 1) and 1."""
    lowest = -1.0 / (largest - 1) if largest > 1 else -1.0
    if not lowest * (1 - 1e-9) < correlation < 1.0 - 1e-9:
        raise Undefined(
            f"the estimated correlation within clusters ({correlation:.4g}) is not possible for clusters of "
            f"{largest} rows; try correlation='independence'"
        )


def _rows_of(codes: Ints, count: int) -> list[Ints]:
    return [np.flatnonzero(codes == code) for code in range(count)]


def _information(x: Floats, means: Floats, codes: Ints, count: int, structure: Any) -> list[Floats]:
    """Return each cluster's information about the coefficients: D'V^-1 D under the working covariance."""
    matrices = []
    for index, rows in enumerate(_rows_of(codes, count)):
        variance = np.maximum(means[rows] * (1 - means[rows]), 1e-300)  # a fitted value may round to 1
        slopes = x[rows] * variance[:, None]
        part = slopes.T @ structure.covariance_matrix_solve(means[rows], index, np.sqrt(variance), (slopes,))[0]
        matrices.append((part + part.T) / 2)
    return matrices


def _lines(
    design: DesignMatrix, fit: Any, covariance: Floats, model_based: Floats, n: int, unit: str, level: float
) -> tuple[Estimate, ...]:
    errors = robust_errors(covariance, model_based)
    if all(error is None for error in errors):
        raise Undefined("no coefficient has a standard error: " + NO_ERROR)
    # The fit stops when the equations hold to 1e-8; an estimate far below its error is zero.
    estimates = [
        0.0 if abs(estimate) <= 1e-8 * math.sqrt(variance) else estimate
        for estimate, variance in zip(
            np.asarray(fit.params, float).tolist(), np.diag(model_based).tolist(), strict=True
        )
    ]
    return coefficient_table(design.terms, estimates, errors, [None] * len(estimates), n, unit, level)
