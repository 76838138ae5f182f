"""Intervals: a classical one and guaranteed bounds for every query, chosen by its shape.

Every function takes one value per unit and returns an ``Inference``, which can be asked at any level for its classical
interval (``limits``), for bounds that hold for every distribution (``bounds``), and for its p-value:
``mean_of([0.2, 0.6, 0.7], bounds=(0, 1)).limits(0.95)``. Coverage and width are measured by `make coverage`.
"""

from ostrom.analysis.intervals.inference import Inference, Limits, combined
from ostrom.analysis.intervals.kinds import (
    Bounds,
    difference_of,
    exactly,
    mean_of,
    paired_difference_of,
    share_of,
    slope_of,
)

__all__ = [
    "Bounds",
    "Inference",
    "Limits",
    "combined",
    "difference_of",
    "exactly",
    "mean_of",
    "paired_difference_of",
    "share_of",
    "slope_of",
]
