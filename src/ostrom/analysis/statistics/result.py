"""The Estimate: a figure with its uncertainty; and Holm's correction of p-values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from ostrom.analysis.statistics.samples import ROUNDING, BadSample, Numbers, sample
from ostrom.ground.errors import UsageError
from ostrom.ground.words import PLURALS, how_many

if TYPE_CHECKING:
    from ostrom.analysis.intervals import Inference


def overlap(first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Return whether two ranges share a point; ends within rounding touch.

    >>> overlap((0.1 + 0.2, 0.5), (0.0, 0.3)), overlap((0.31, 0.5), (0.0, 0.3))
    (True, False)
    """
    width = ROUNDING * max((abs(end) for end in (*first, *second) if abs(end) < inf), default=0.0)
    return first[0] <= second[1] + width and second[0] <= first[1] + width


def count_text(n: int, unit: str) -> str:
    """A number of units in words.

    >>> count_text(1, "match"), count_text(12, "match"), count_text(3, "seed")
    ('1 match', '12 matches', '3 seeds')
    """
    return f"{n} {unit if n == 1 else PLURALS.get(unit, unit + 's')}"


FEW = 5
"""With fewer units a chart shows each of them instead of an interval."""


@dataclass(frozen=True)
class Estimate:
    """A figure, its confidence interval, and the sample behind both.

    >>> print(Estimate({"agent": "kind"}, 0.62, 0.55, 0.69, 12, "match", "Student's t"))
    0.62 [0.55, 0.69], n = 12 matches
    """

    key: Mapping[str, Any]
    value: float
    low: float | None
    high: float | None
    n: int
    """The number of independent units."""
    unit: str
    method: str
    note: str = ""
    level: float = 0.95
    inference: Inference | None = field(default=None, repr=False, compare=False)
    """The inference that computes the interval at other levels."""
    sd: float | None = field(default=None, repr=False, compare=False)
    """For a mean: the standard deviation over its matches (n - 1); None with a single match."""
    se: float | None = field(default=None, repr=False, compare=False)
    """For a test or coefficient: the standard error; None if there is none (``note`` says why)."""
    statistic: float | None = field(default=None, repr=False, compare=False)
    """The test statistic: a t, or a z if ``df`` is None."""
    df: float | None = field(default=None, repr=False, compare=False)
    p: float | None = field(default=None, repr=False, compare=False)
    sizes: tuple[int, ...] = field(default=(), repr=False, compare=False)
    """The number of units of each group of a comparison; one number for pairs."""
    values: tuple[float, ...] = field(default=(), repr=False, compare=False)
    """For a mean of fewer than ``FEW`` varying units: their values."""
    bound_low: float | None = field(default=None, repr=False, compare=False)
    bound_high: float | None = field(default=None, repr=False, compare=False)
    """Bounds that hold for every distribution on the declared range and at any look; None where there are none."""
    p_value: float | None = field(default=None, repr=False, compare=False)
    """For a comparison: the p-value of no difference."""
    p_holm: float | None = field(default=None, repr=False, compare=False)
    """The p-value corrected for the comparisons made together with it."""
    rows: int | None = field(default=None, repr=False, compare=False)
    """For a mean: the number of players' values."""
    averaged_over: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    """Varied factors that are neither fixed nor shown, with the number of their levels."""
    failed: tuple[float, float] | None = field(default=None, repr=False, compare=False)
    """The value with all failed matches at either end of the range; None if they are few."""

    def at_level(self, level: float, *, guaranteed: bool = False) -> Estimate:
        """Return the estimate with its interval at another level, or with ``guaranteed`` bounds."""
        if self.inference is None:
            raise UsageError("this estimate was read from a file: its interval is known at one level only")
        limits = self.inference.guaranteed(level) if guaranteed else self.inference.limits(level)
        bounds = self.inference.bounds(level) or (None, None)
        return replace(
            self, low=limits.low, high=limits.high, method=limits.method, level=level,
            bound_low=bounds[0], bound_high=bounds[1],
        )  # fmt: skip

    @property
    def cautious(self) -> bool:
        """Return whether the interval is known to be unreliable, so that charts show the bounds too."""
        return "caution:" in self.note

    def __contains__(self, value: float) -> bool:
        """Return whether the interval contains a value, up to rounding; False without an interval."""
        return self.low is not None and self.high is not None and overlap((self.low, self.high), (value, value))

    @property
    def sample(self) -> str:
        """Return the sample size: ``n = 12 matches``, with the number of players' values if larger."""
        more = f", {how_many(self.rows, 'row')}" if self.rows not in (None, self.n) else ""
        return f"n = {count_text(self.n, self.unit)}{more}"

    @property
    def interval_text(self) -> str | None:
        """The interval as a column of a table: ``0.550 to 0.690``, ``exact``, or None."""
        both = None if self.low is None or self.high is None else f"{fixed(self.low, 3)} to {fixed(self.high, 3)}"
        return "exact" if both and self.method == "exact" else both

    def text(self, digits: int = 2) -> str:
        """Value, interval and n in one line."""
        value = fixed(self.value, digits)
        if self.low is None or self.high is None:
            return f"{value}, {self.sample}{f' ({self.note})' if self.note else ''}"
        ends = "(exact)" if self.method == "exact" else f"[{fixed(self.low, digits)}, {fixed(self.high, digits)}]"
        return f"{value} {ends}, {self.sample}"

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        key = ", ".join(f"{name}={value}" for name, value in self.key.items())
        return f"Estimate({key + ': ' if key else ''}{self.text()})"

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
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
            "bound_low": _tidy(self.bound_low),
            "bound_high": _tidy(self.bound_high),
            "p_value": self.p_value,
            "p_holm": self.p_holm,
            "rows": self.rows,
            "averaged_over": dict(self.averaged_over),
            **(dict(zip(("failed_low", "failed_high"), map(_tidy, self.failed), strict=True)) if self.failed else {}),
        }


@dataclass(frozen=True)
class StatisticalTest(Estimate):
    """An estimate in which interval, statistic, degrees of freedom and p-value are always present."""

    low: float
    high: float
    statistic: float = field(kw_only=True, repr=False, compare=False)
    df: float = field(kw_only=True, repr=False, compare=False)
    p: float = field(kw_only=True, repr=False, compare=False)


def _tidy(value: float | None) -> float | None:
    """Return a number for tables: rounding errors around zero become zero.

    >>> _tidy(-2.1e-17), _tidy(0.25), _tidy(None)
    (0.0, 0.25, None)
    """
    return 0.0 if value is not None and abs(value) < 1e-14 else value


def fixed(value: float, digits: int = 2) -> str:
    """A number with this many digits after the point, without a minus sign before zero.

    >>> fixed(-0.001), fixed(2.5, 0), fixed(0.125)
    ('0.00', '2', '0.12')
    """
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def holm(p_values: Numbers) -> tuple[float, ...]:
    """Return p-values adjusted by Holm's step-down method (1979), in their original order.

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
