"""Which standard errors a cluster-robust (sandwich) covariance gives, and which do not exist.

The sandwich adds up what each cluster contributes. Two situations leave nothing to add up, and what a
computer then returns is rounding error: a tiny number of either sign that differs between machines.

* Every cluster contributes nothing to a coefficient (each has the same rate in both conditions): its
  variance is zero up to rounding. Criterion: at most `NO_VARIANCE` times its model-based variance.
* One cluster alone determines a combination of coefficients: its residuals there are zero by construction,
  so nothing says how they vary between clusters. Criterion: a leverage of at least 1 - `FULL_LEVERAGE`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ostrom.analysis.statistics.errors import Undefined
from ostrom.analysis.statistics.samples import Floats

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
    # On the scale of the total's diagonal, so that units of the predictors do not matter.
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
