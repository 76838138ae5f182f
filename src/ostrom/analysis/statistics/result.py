"""The shape of every answer: frozen, with its unit of analysis, and flat when it goes into a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import Any

import numpy as np

from ostrom.analysis.statistics.samples import ROUNDING


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
