"""Matches that failed, or whose replies could not be read: what their values could have made of an estimate.

Nothing says what they would have been. Where they are more than two in a hundred, an estimate names its value with all
of them at one end of the range and at the other.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ostrom.analysis.statistics.result import Estimate, fixed
from ostrom.analysis.unit_figures import UnitFigure
from ostrom.analysis.units import Observations
from ostrom.ground.words import how_many

FEW = 0.02
"""Up to this share of failed matches nothing is said."""


def with_failed(
    one: Estimate, measured: Observations, unit_figure: UnitFigure, keys: Sequence[Mapping[str, Any]]
) -> Estimate:
    """The estimate with a note on failed matches; ``keys``: the levels that make each side."""
    ends, lost, every = [0.0, 0.0], 0, 0
    low, high = unit_figure.bounds
    for (a, side), key in zip(unit_figure.sides, keys, strict=True):
        done = len({(row["run"], row["match"]) for unit in side.units for row in unit.rows})
        out = len({(row["run"], row["match"]) for row in measured.failed if _is_of(row, key)})
        lost, every = lost + out, every + out + done
        mean = math.fsum(w * v for w, v in zip(side.weights, side.values, strict=True)) / math.fsum(side.weights)
        if low is not None and high is not None:
            moved = sorted(a * out / (out + done) * (end - mean) for end in (low, high))
            ends = [end + by for end, by in zip(ends, moved, strict=True)]
    if lost <= FEW * every:
        return one
    words = f"{lost} of {how_many(every, 'match')} failed or were skipped"
    if low is None or high is None:
        return replace(one, note="; ".join(filter(None, (one.note, words))))
    around = one.value + ends[0], one.value + ends[1]
    words += f": {fixed(around[0], 3)} to {fixed(around[1], 3)} if all of them had been at either end of the range"
    return replace(one, failed=around, note="; ".join(filter(None, (one.note, words))))


def _is_of(row: Mapping[str, Any], key: Mapping[str, Any]) -> bool:
    return all(row[name] == level for name, level in key.items() if name in row)
