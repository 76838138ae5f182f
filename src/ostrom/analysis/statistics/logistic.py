"""Logistic regression: plain, with cluster-robust errors, and by generalised estimating equations.

Separated data (a combination of predictors that always gives the same answer) have no finite estimate; they
are found beforehand by a linear program (Albert & Anderson 1984) and raise `Undefined`.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ostrom.analysis.statistics.design import Columns, Design, design_matrix
from ostrom.analysis.statistics.errors import BadSample, NotConverged, Undefined
from ostrom.analysis.statistics.regression import Regression, coefficient_table
from ostrom.analysis.statistics.samples import (
    Floats,
    Ints,
    Labels,
    Numbers,
    binary,
    checked_level,
    checked_option,
    checked_unit,
    label_codes,
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
) -> Regression:
    """Maximum likelihood with z tests; with `clusters`, errors that allow any dependence within a cluster.

    Without clusters every row counts as independent, so `unit` must name what a row is.
    """
    y, design = _prepared(outcome, predictors, unit, interactions, reference, level)
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM

    options: dict[str, Any] = {}
    count: int | None = None
    if clusters is not None:
        codes, count = _clusters(clusters, y.size)
        options = {"cov_type": "cluster", "cov_kwds": {"groups": codes}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = GLM(y, design.matrix, family=Binomial()).fit(maxiter=200, tol=1e-12, **options)
    if not fit.converged:
        raise NotConverged("the logistic regression did not converge")
    return _table(
        "logistic regression" + (" (cluster-robust)" if count else ""),
        design,
        fit,
        y,
        count,
        unit,
        level,
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
) -> Regression:
    """Population-averaged logistic model clustered by `clusters` (Liang & Zeger 1986), z tests.

    With fewer than about 40 clusters prefer covariance="bias_reduced" (Mancl & DeRouen 2001).
    """
    checked_option("correlation", correlation, CORRELATIONS)
    checked_option("covariance", covariance, COVARIANCES)
    y, design = _prepared(outcome, predictors, unit, interactions, reference, level)
    codes, count = _clusters(clusters, y.size)
    from statsmodels.genmod.cov_struct import Exchangeable, Independence
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_estimating_equations import GEE

    structure = Exchangeable() if correlation == "exchangeable" else Independence()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            fit = GEE(y, design.matrix, groups=codes, family=Binomial(), cov_struct=structure).fit(
                maxiter=200, ctol=1e-8, cov_type=covariance
            )
        except (np.linalg.LinAlgError, ValueError) as problem:
            raise Undefined(
                f"the estimating equations are singular: {' '.join(str(problem).split())}"
            ) from None
    if not fit.converged:
        raise NotConverged("the estimating equations did not converge; try correlation='independence'")
    details: dict[str, float | bool | str] = {"correlation": correlation, "covariance": covariance}
    if correlation == "exchangeable":
        details["within_cluster_correlation"] = float(structure.dep_params)
    return _table(f"logistic GEE ({correlation})", design, fit, y, count, unit, level, details)


def is_separated(y: Floats, x: Floats) -> bool:
    """Whether some combination of columns splits zeros from ones, fully or up to ties."""
    from scipy.optimize import linprog

    signed = np.unique((2 * y - 1)[:, None] * x, axis=0)
    signed = signed / np.maximum(np.abs(signed).max(axis=0), 1e-300)
    answer = linprog(
        -signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1), method="highs"
    )
    return bool(answer.status == 0 and float(answer.fun or 0.0) < -1e-7)


def _prepared(
    outcome: Numbers,
    predictors: Columns,
    unit: str,
    interactions: Sequence[tuple[str, ...]],
    reference: Mapping[str, Any] | None,
    level: float,
) -> tuple[Floats, Design]:
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


def _clusters(clusters: Labels, size: int) -> tuple[Ints, int]:
    codes, levels = label_codes(clusters, size, "clusters")
    if len(levels) < 2:
        raise BadSample(f"clustered errors need at least 2 clusters (found {len(levels)})")
    return codes, len(levels)


def _table(
    model: str,
    design: Design,
    fit: Any,
    y: Floats,
    count: int | None,
    unit: str,
    level: float,
    details: dict[str, float | bool | str],
) -> Regression:
    if count is not None and count <= len(design.terms):
        raise Undefined(f"{count} clusters cannot carry robust errors of {len(design.terms)} coefficients")
    estimates, errors = np.asarray(fit.params, float).tolist(), np.asarray(fit.bse, float).tolist()
    lines = coefficient_table(design.terms, estimates, errors, [None] * len(estimates), level)
    return Regression(model, lines, int(y.size), count, unit, details)
