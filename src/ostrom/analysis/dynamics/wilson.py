"""Wilson score interval of a share (Wilson, 1927)."""

from __future__ import annotations

import math
from statistics import NormalDist

from ostrom.errors import UsageError


def wilson_interval(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of a binomial share; it never leaves [0, 1] and is honest at 0 and 1.

    >>> low, high = wilson_interval(0, 10)
    >>> low, round(high, 3)
    (0.0, 0.278)
    """
    if trials < 1 or not 0 <= hits <= trials or not 0.0 < confidence < 1.0:
        raise UsageError(f"no interval for {hits} of {trials} at confidence {confidence}")
    z = NormalDist().inv_cdf(0.5 + confidence / 2.0)
    share, spread = hits / trials, z * z / trials
    centre = (share + spread / 2.0) / (1.0 + spread)
    half = z / (1.0 + spread) * math.sqrt(share * (1.0 - share) / trials + spread / (4.0 * trials))
    low = 0.0 if hits == 0 else max(0.0, centre - half)
    high = 1.0 if hits == trials else min(1.0, centre + half)
    return low, high
