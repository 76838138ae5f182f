"""The interval for every kind of data, decided in one place.

Every function takes one value per independent unit (a match, a scenario) and returns what can be asked for its
limits at any level: ``mean_of([0.2, 0.6, 0.7], bounds=(0, 1)).limits(0.95)``. Where no honest interval exists,
the limits are None and a note says why. Coverage and width are measured by `make coverage`.
"""

from ostrom.analysis.intervals.group import Bounds
from ostrom.analysis.intervals.kinds import (
    Exact,
    Inference,
    combination_of,
    difference_of,
    mean_of,
    paired_difference_of,
    share_of,
    slope_of,
)
from ostrom.analysis.intervals.limits import Combination, Limits

__all__ = [
    "Bounds",
    "Combination",
    "Exact",
    "Inference",
    "Limits",
    "combination_of",
    "difference_of",
    "mean_of",
    "paired_difference_of",
    "share_of",
    "slope_of",
]
