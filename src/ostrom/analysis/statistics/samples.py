"""Checked samples: plain numbers and labels become arrays; bad input raises one clear line.

What can go wrong with a sample is an error; nothing here ever answers with a silent NaN.

StatisticsError
├── BadSample         the input is not usable: NaN, empty, too short, lengths differ, unknown option
├── Undefined         the input is well formed, yet the statistic does not exist (no variance, separation)
└── NotConverged      an iterative fit did not reach its optimum

A result is an Estimate, with its uncertainty; p-values of several tests are adjusted together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ostrom.ground.errors import OstromError


class StatisticsError(OstromError):
    """A statistic could not be computed."""


class BadSample(StatisticsError):
    """The input is not usable."""


class Undefined(StatisticsError):
    """Raised for well-formed input for which the statistic does not exist."""


class NotConverged(StatisticsError):
    """An iterative fit did not reach its optimum."""


Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.ArrayLike
Labels: TypeAlias = Iterable[Any]

ROUNDING = 1e-12
"""Differences up to this share of their terms are rounding errors, which vary between machines."""


def checked_unit(unit: str) -> str:
    """Return the unit of analysis; an empty one is refused.

    >>> checked_unit("match")
    'match'
    """
    if not isinstance(unit, str) or not unit.strip():
        raise BadSample(f"unit must name the unit of analysis, such as 'match' (found {unit!r})")
    return unit


def checked_level(level: float) -> float:
    """A confidence level strictly between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise BadSample(f"level must lie strictly between 0 and 1 (found {level!r})")
    return float(level)


def checked_option(name: str, value: str, allowed: Collection[str]) -> str:
    """The value itself if it is allowed; otherwise an error that lists the allowed words."""
    if value not in allowed:
        raise BadSample(f"unknown {name} {value!r} (allowed: {', '.join(allowed)})")
    return value


def checked_resamples(resamples: int) -> int:
    """The number of resamples; fewer than 100 are refused."""
    if resamples < 100:
        raise BadSample(f"resamples must be at least 100 (found {resamples})")
    return int(resamples)


def sample(values: Numbers, name: str = "sample", *, at_least: int = 1) -> Floats:
    """Return a one-dimensional array of finite numbers; too few are refused.

    >>> sample([1, True, 2.5]).tolist()
    [1.0, 1.0, 2.5]
    """
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "biuf":
        if array.dtype.kind != "O" or any(isinstance(item, str | bytes) for item in array.ravel()):
            raise BadSample(f"{name}: must hold numbers (found {array.ravel()[0]!r})")
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise BadSample(f"{name}: must hold numbers (found {array.ravel()[0]!r})") from None
    if array.ndim != 1:
        raise BadSample(f"{name}: must be one-dimensional (found shape {array.shape})")
    if array.size < at_least:
        raise BadSample(f"{name}: needs at least {at_least} values (found {array.size})")
    numbers: Floats = array.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise BadSample(
            f"{name}: {bad.size} of {numbers.size} values are missing or infinite (first at index {bad[0]}); "
            "decide what they mean before testing"
        )
    return numbers


def paired_samples(
    first: Numbers, second: Numbers, names: tuple[str, str] = ("first", "second"), *, at_least: int = 1
) -> tuple[Floats, Floats]:
    """Two samples of equal length."""
    a, b = sample(first, names[0], at_least=at_least), sample(second, names[1], at_least=at_least)
    same_length(names[0], a.size, names[1], b.size)
    return a, b


def binary(values: Numbers, name: str = "outcome") -> Floats:
    """A sample of zeros and ones."""
    array = sample(values, name)
    odd = np.flatnonzero((array != 0.0) & (array != 1.0))
    if odd.size:
        raise BadSample(f"{name}: must hold only 0 and 1 (found {array[odd[0]]:g} at index {odd[0]})")
    return array


def same_length(name: str, size: int, other: str, other_size: int) -> None:
    """Refuse two columns of different length."""
    if size != other_size:
        raise BadSample(f"{name} and {other} must have the same length (found {size} and {other_size})")


def without_rounding(value: float, scale: float) -> float:
    """Return the value, or zero if it is within rounding of numbers as large as `scale`.

    >>> without_rounding(0.1 + 0.2 - 0.3, 0.3), without_rounding(1e-9, 0.3)
    (0.0, 1e-09)
    """
    return 0.0 if abs(value) <= ROUNDING * scale else float(value)


def is_constant(array: Floats) -> bool:
    """Return whether all values are equal up to rounding, so that their variance is noise."""
    return float(np.ptp(array)) <= ROUNDING * max(float(np.abs(array).max()), 1e-300)


def label_codes(labels: Labels, size: int, name: str = "labels") -> tuple[Ints, tuple[Any, ...]]:
    """Return integer codes and their levels, sorted if the labels can be sorted.

    Labels may be any hashable values, tuples such as (run, match) included.

    >>> codes, levels = label_codes(["b", "a", "b"], 3)
    >>> codes.tolist(), levels
    ([1, 0, 1], ('a', 'b'))
    """
    if isinstance(labels, str | bytes):
        raise BadSample(f"{name}: must be one label per row (found the single text {labels!r})")
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "biuUS":
        same_length(name, labels.size, "values", size)
        unique, inverse = np.unique(labels, return_inverse=True)
        return inverse.astype(np.int64), tuple(unique.tolist())
    values = list(labels)
    same_length(name, len(values), "values", size)
    for index, item in enumerate(values):
        if item is None or (isinstance(item, float) and item != item):
            raise BadSample(f"{name}: the label at index {index} is missing")
    try:
        seen = dict.fromkeys(values)
    except TypeError:
        raise BadSample(f"{name}: labels must be hashable (found {type(values[0]).__name__})") from None
    try:
        levels = tuple(sorted(seen))
    except TypeError:
        levels = tuple(seen)
    position = {level: code for code, level in enumerate(levels)}
    return np.fromiter((position[item] for item in values), dtype=np.int64, count=len(values)), levels
