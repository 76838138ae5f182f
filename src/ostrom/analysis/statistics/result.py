"""The shape of every answer: frozen, with its unit, flat in a table; and p-values of several tests together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import Any

import numpy as np

from ostrom.analysis.statistics.samples import ROUNDING, BadSample, Numbers, sample


def overlap(first: tuple[float, float], second: tuple[float, float]) -> bool:
    """Whether two ranges share a point; ends that differ by rounding only touch.

    >>> overlap((0.1 + 0.2, 0.5), (0.0, 0.3)), overlap((0.31, 0.5), (0.0, 0.3))
    (True, False)
    """
    width = ROUNDING * max((abs(end) for end in (*first, *second) if abs(end) < inf), default=0.0)
    return first[0] <= second[1] + width and second[0] <= first[1] + width


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval.

    >>> 0.5 in Interval(0.2, 0.6)
    True
    """

    low: float
    high: float
    level: float = 0.95

    def __contains__(self, value: float) -> bool:
        return overlap((self.low, self.high), (value, value))

    def __iter__(self) -> Iterator[float]:
        return iter((self.low, self.high))

    @property
    def width(self) -> float:
        """High minus low."""
        return self.high - self.low


def ends(interval: Interval | None) -> tuple[float, float] | tuple[None, None]:
    """Both ends of an interval, or of none.

    >>> ends(Interval(0.2, 0.6)), ends(None)
    ((0.2, 0.6), (None, None))
    """
    return (None, None) if interval is None else (interval.low, interval.high)


@dataclass(frozen=True)
class StatisticsResult:
    """Base of all results; `as_dict` gives plain values, an interval as two columns."""

    def as_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for a table row or JSON."""
        row: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Interval):
                row[f"{field.name}_low"], row[f"{field.name}_high"] = float(value.low), float(value.high)
                row.setdefault("level", float(value.level))
            elif value is None and field.name.split("_")[-1] == "ci":
                row[f"{field.name}_low"] = row[f"{field.name}_high"] = None
            else:
                row[field.name] = plain(value)
        return row


def plain(value: Any) -> Any:
    """Plain Python in place of numpy values, tuples and nested results."""
    if isinstance(value, StatisticsResult):
        return value.as_dict()
    if isinstance(value, Interval):
        return [float(value.low), float(value.high)]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value


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
