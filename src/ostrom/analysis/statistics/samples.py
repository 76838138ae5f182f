"""Samples and results: plain numbers and labels in, checked arrays out, one clear line otherwise.

What can go wrong with a sample is an error; nothing here ever answers with a silent NaN.

StatisticsError
├── BadSample         the input is not usable: NaN, empty, too short, lengths differ, unknown option
├── Undefined         the input is well formed, yet the statistic does not exist (no variance, separation)
└── NotConverged      an iterative fit did not reach its optimum

A result is an Estimate, with its uncertainty; p-values of several tests are adjusted together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.words import PLURALS

if TYPE_CHECKING:
    from ostrom.analysis.intervals import Inference


class StatisticsError(OstromError):
    """A statistic could not be computed."""


class BadSample(StatisticsError):
    """The input is not usable."""


class Undefined(StatisticsError):
    """The input is well formed, yet the statistic does not exist for it."""


class NotConverged(StatisticsError):
    """An iterative fit did not reach its optimum."""


Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Numbers: TypeAlias = npt.ArrayLike
Labels: TypeAlias = Iterable[Any]

ROUNDING = 1e-12
"""Differences up to this share of the numbers they come from are rounding, which differs between machines."""


def checked_unit(unit: str) -> str:
    """The unit of analysis, which no call may leave unsaid.

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
    """One of the allowed words, or an error that lists them."""
    if value not in allowed:
        raise BadSample(f"unknown {name} {value!r} (allowed: {', '.join(allowed)})")
    return value


def checked_resamples(resamples: int) -> int:
    """Enough resamples for an interval to mean something."""
    if resamples < 100:
        raise BadSample(f"resamples must be at least 100 (found {resamples})")
    return int(resamples)


def sample(values: Numbers, name: str = "sample", *, at_least: int = 1) -> Floats:
    """A one-dimensional array of finite numbers with at least so many of them.

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
    """Complain when two columns do not belong together."""
    if size != other_size:
        raise BadSample(f"{name} and {other} must have the same length (found {size} and {other_size})")


def without_rounding(value: float, scale: float) -> float:
    """The value, or zero where it is no more than rounding makes of numbers as large as `scale`.

    >>> without_rounding(0.1 + 0.2 - 0.3, 0.3), without_rounding(1e-9, 0.3)
    (0.0, 1e-09)
    """
    return 0.0 if abs(value) <= ROUNDING * scale else float(value)


def is_constant(array: Floats) -> bool:
    """Whether all values agree up to rounding, in which case a variance is noise and not information."""
    centre = float(np.abs(array).max())
    return float(np.ptp(array)) <= ROUNDING * max(centre, 1e-300)


def label_codes(labels: Labels, size: int, name: str = "labels") -> tuple[Ints, tuple[Any, ...]]:
    """Integer codes and the levels they stand for, sorted where the labels can be sorted.

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
    listed = list(labels)
    same_length(name, len(listed), "values", size)
    for index, item in enumerate(listed):
        if item is None or (isinstance(item, float) and item != item):
            raise BadSample(f"{name}: the label at index {index} is missing")
    try:
        seen = dict.fromkeys(listed)
    except TypeError:
        raise BadSample(f"{name}: labels must be hashable (found {type(listed[0]).__name__})") from None
    try:
        levels = tuple(sorted(seen))
    except TypeError:
        levels = tuple(seen)
    position = {level: code for code, level in enumerate(levels)}
    return np.fromiter((position[item] for item in listed), dtype=np.int64, count=len(listed)), levels


def overlap(first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Whether two ranges share a point; ends that differ by rounding only touch.

    >>> overlap((0.1 + 0.2, 0.5), (0.0, 0.3)), overlap((0.31, 0.5), (0.0, 0.3))
    (True, False)
    """
    width = ROUNDING * max((abs(end) for end in (*first, *second) if abs(end) < inf), default=0.0)
    return first[0] <= second[1] + width and second[0] <= first[1] + width


def counted(n: int, unit: str) -> str:
    """A number of units in words.

    >>> counted(1, "match"), counted(12, "match"), counted(3, "seed")
    ('1 match', '12 matches', '3 seeds')
    """
    return f"{n} {unit if n == 1 else PLURALS.get(unit, unit + 's')}"


@dataclass(frozen=True)
class Estimate:
    """A figure, its confidence interval, and what both rest on.

    >>> print(Estimate({"agent": "kind"}, 0.62, 0.55, 0.69, 12, "match", "bounded t"))
    0.62 [0.55, 0.69], n = 12 matches
    """

    key: Mapping[str, Any]
    value: float
    low: float | None
    high: float | None
    n: int
    """How many independent units."""
    unit: str
    method: str
    note: str = ""
    level: float = 0.95
    inference: Inference | None = field(default=None, repr=False, compare=False)
    """What gives the interval at another level."""
    sd: float | None = field(default=None, repr=False, compare=False)
    """Of a mean: the standard deviation over its matches, with n - 1, which papers print; None with a single match."""
    se: float | None = field(default=None, repr=False, compare=False)
    """Of a test or a coefficient: the standard error; None where there is none (``note`` says why)."""
    statistic: float | None = field(default=None, repr=False, compare=False)
    """What the p-value is about: a t, or a z where ``df`` is None."""
    df: float | None = field(default=None, repr=False, compare=False)
    p: float | None = field(default=None, repr=False, compare=False)
    sizes: tuple[int, ...] = field(default=(), repr=False, compare=False)
    """How many units each group of a comparison has; one number for pairs."""

    def at(self, level: float, *, guaranteed: bool = False) -> Estimate:
        """The same with the interval of another level, or with bounds that hold for every distribution."""
        if self.inference is None:
            raise UsageError("this estimate was read from a file: its interval is known at one level only")
        found = self.inference.guaranteed(level) if guaranteed else self.inference.limits(level)
        return replace(self, low=found.low, high=found.high, method=found.method, level=level)

    def __contains__(self, value: float) -> bool:
        """Whether the interval holds a value, up to rounding; without an interval nothing can be said: it does not."""
        if self.low is None or self.high is None:
            return False
        return overlap((self.low, self.high), (value, value))

    @property
    def sample(self) -> str:
        """What it rests on: ``n = 12 matches``."""
        return f"n = {counted(self.n, self.unit)}"

    @property
    def interval_text(self) -> str | None:
        """The interval as a column of a table: ``0.550 to 0.690``, ``exact``, or None."""
        if self.low is None or self.high is None:
            return None
        return "exact" if self.method == "exact" else f"{fixed(self.low, 3)} to {fixed(self.high, 3)}"

    def text(self, digits: int = 2) -> str:
        """Value, interval and n in one line."""
        value = fixed(self.value, digits)
        if self.low is None or self.high is None:
            why = f" ({self.note})" if self.note else ""
            return f"{value}, {self.sample}{why}"
        if self.method == "exact":
            return f"{value} (exact), {self.sample}"
        return f"{value} [{fixed(self.low, digits)}, {fixed(self.high, digits)}], {self.sample}"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        key = ", ".join(f"{name}={value}" for name, value in self.key.items())
        return f"Estimate({key + ': ' if key else ''}{self.text()})"

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.key,
            "value": _tidy(self.value),
            "low": _tidy(self.low),
            "high": _tidy(self.high),
            "level": self.level,
            "sd": self.sd,
            "n": self.n,
            "unit": self.unit,
            "method": self.method,
            "note": self.note,
        }


@dataclass(frozen=True)
class StatisticalTest(Estimate):
    """An estimate with an interval, a statistic, its degrees of freedom and a p-value: none of them is missing."""

    low: float
    high: float
    statistic: float = field(kw_only=True, repr=False, compare=False)
    df: float = field(kw_only=True, repr=False, compare=False)
    p: float = field(kw_only=True, repr=False, compare=False)


def _tidy(value: float | None) -> float | None:
    """A number for tables: what is left of a difference by rounding alone is zero.

    >>> _tidy(-2.1e-17), _tidy(0.25), _tidy(None)
    (0.0, 0.25, None)
    """
    return 0.0 if value is not None and abs(value) < 1e-14 else value


def fixed(value: float, digits: int = 2) -> str:
    """A number with so many digits after the point, without a minus before zero.

    >>> fixed(-0.001), fixed(2.5, 0), fixed(0.125)
    ('0.00', '2', '0.12')
    """
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def holm(p_values: Numbers) -> tuple[float, ...]:
    """P-values adjusted by step-down control of the family-wise error rate (Holm 1979), in the order they came.

    Four lines, because statsmodels takes seconds to import and every page of verdicts asks for this.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    p = sample(p_values, "p-values")
    if p.min() < 0 or p.max() > 1:
        raise BadSample(f"p-values must lie between 0 and 1 (found {p.min():g} to {p.max():g})")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * (p.size - np.arange(p.size))), 1.0)
    return tuple(adjusted.tolist())
