"""Axes: domains that contain the values, ticks at round numbers, and sufficient digits."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

SAME = 1e-9
"""The relative difference below which values count as one on an axis."""


@dataclass(frozen=True)
class Ticks:
    """The range of an axis, its ticks, and their format."""

    domain: tuple[float, float]
    values: tuple[float, ...]
    format: str


SHARES = Ticks((0.0, 1.0), (0.0, 0.25, 0.5, 0.75, 1.0), ".2~f")
NARROW_RANGE = 0.1
"""The width of the range below which an axis of shares is cut, with a note."""
CUT = " (axis cut)"


def share_ticks(values: Iterable[float | None]) -> tuple[Ticks, str]:
    """Return the axis of shares, 0 to 1 unless all values lie within a tenth, and its note.

    >>> share_ticks([0.2, 0.9])[1], share_ticks([0.91, 0.97])[1], share_ticks([0.91, 0.97])[0].domain
    ('', ' (axis cut)', (0.9, 0.98))
    >>> share_ticks([0.97, 1.0])[0].domain, share_ticks([0.5, 0.5])[1], share_ticks([0.0, 0.05])[1]
    ((0.97, 1.0), '', '')
    """
    finite = [v for v in values if v is not None and math.isfinite(v)]
    # From 0 on, or for a single value, a cut axis shows nothing more than the whole one.
    if not finite or min(finite) < SAME or not SAME < max(finite) - min(finite) <= NARROW_RANGE + SAME:
        return SHARES, ""
    return ticks_for(finite, 5), CUT


def ticks_for(values: Iterable[float | None], most: int = 6, *, zero: bool = False) -> Ticks:
    """Return an axis for some values: a single value is in the middle, and ticks are unabbreviated.

    >>> ticks_for([2.5, 3.0]).values, ticks_for([2.5, 3.0]).format
    ((2.5, 2.6, 2.7, 2.8, 2.9, 3.0), '.1f')
    >>> ticks_for([8 / 3, 8 / 3 + 1e-16]).values
    (2.0, 2.5, 3.0, 3.5)
    >>> ticks_for([0.0, 10.0], 5).format, ticks_for([0.0, 10.0], 5).values
    ('.1f', (0.0, 2.5, 5.0, 7.5, 10.0))
    >>> ticks_for([0.0, 0.0]).domain
    (0.0, 1.0)
    """
    finite = [v for v in values if v is not None and math.isfinite(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    size = max(abs(low), abs(high))
    if high - low <= SAME * size or size == 0:
        reach = 0.25 * size or 0.5
        low, high = (low - reach, high + reach) if size else (0.0, 1.0)
    step = _round_step((high - low) / max(most - 1, 1))
    first, last = math.floor(low / step + SAME), math.ceil(high / step - SAME)
    if last == first:
        last += 1
    places = next((p for p in range(12) if abs(round(step, p) - step) <= SAME * step), 12)
    marks = tuple(round(i * step, places + 2) for i in range(first, last + 1))
    return Ticks((marks[0], marks[-1]), marks, f",.{places}f" if marks[-1] >= 1000 else f".{places}f")


def whole_ticks(values: Sequence[float], most: int = 8) -> tuple[int, ...]:
    """Return ticks at whole numbers, for rounds and other counts.

    >>> whole_ticks([1, 2, 3]), whole_ticks([1, 500])
    ((1, 2, 3), (1, 100, 200, 300, 400, 500))
    """
    low, high = math.ceil(min(values)), math.floor(max(values))
    step = max(1, round(_round_step((high - low) / max(most - 1, 1)))) if high > low else 1
    marks = [i for i in range(0, high + 1, step) if i >= low]
    return tuple(dict.fromkeys([low, *(m for m in marks if m - low >= step / 2)]))


def _round_step(raw: float) -> float:
    """Return the next larger step of 1, 2, 2.5 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(raw))
    return next(power * k for k in (1.0, 2.0, 2.5, 5.0, 10.0) if power * k >= raw * (1 - SAME))
