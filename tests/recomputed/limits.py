"""The classical interval of docs/statistics.md written a second time, with NumPy and SciPy alone.

Nothing of ``ostrom`` is imported, so that an error there does not repeat itself here. Values are given as groups with
coefficients: a mean is one group, a difference of independent samples two, a mean of pairs one group of differences per
condition.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy import stats

Values = Sequence[float]
Bounds = tuple[float | None, float | None]


def limits(groups: Sequence[Values], weights: Sequence[float], level: float = 0.95) -> tuple[float, float] | None:
    """Student's t with Satterthwaite's degrees of freedom, before it is cut at the range; None without any spread."""
    if any(len(of) < 2 for of in groups):
        return None
    value = math.fsum(w * float(np.mean(of)) for w, of in zip(weights, groups, strict=True))
    parts = [w * w * float(np.var(of, ddof=1)) / len(of) for w, of in zip(weights, groups, strict=True)]
    total = math.fsum(parts)
    if total <= 1e-18:
        return None
    df = total**2 / math.fsum(p * p / (len(of) - 1) for p, of in zip(parts, groups, strict=True))
    reach = float(stats.t.ppf(0.5 + level / 2, df)) * math.sqrt(total)
    return value - reach, value + reach
