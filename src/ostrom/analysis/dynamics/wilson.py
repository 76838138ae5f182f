"""Wilson score interval of a share (Wilson, 1927), for counts that are checked first."""

from __future__ import annotations

from ostrom.analysis.statistics.proportions import wilson_interval as score_interval
from ostrom.errors import UsageError


def wilson_interval(hits: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Interval of a binomial share; it never leaves [0, 1] and is honest at 0 and 1.

    >>> low, high = wilson_interval(0, 10)
    >>> low, round(high, 3)
    (0.0, 0.278)
    """
    if trials < 1 or not 0 <= hits <= trials or not 0.0 < confidence < 1.0:
        raise UsageError(f"no interval for {hits} of {trials} at confidence {confidence}")
    found = score_interval(hits, trials, confidence)
    return found.low, found.high
