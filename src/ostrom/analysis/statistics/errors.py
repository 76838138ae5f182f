"""What can go wrong with a sample. Nothing here ever answers with a silent NaN.

StatisticsError
├── BadSample         the input is not usable: NaN, empty, too short, lengths differ, unknown option
├── Undefined         the input is well formed, yet the statistic does not exist (no variance, separation)
└── NotConverged      an iterative fit did not reach its optimum
"""

from __future__ import annotations

from ostrom.ground.errors import OstromError


class StatisticsError(OstromError):
    """A statistic could not be computed."""


class BadSample(StatisticsError):
    """The input is not usable."""


class Undefined(StatisticsError):
    """The input is well formed, yet the statistic does not exist for it."""


class NotConverged(StatisticsError):
    """An iterative fit did not reach its optimum."""
