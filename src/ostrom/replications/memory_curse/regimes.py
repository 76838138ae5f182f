"""Immune or cursed: whether cooperation survives every longer memory, and by how much.

Liu et al. (2026, Appendix Table 7) call a pair of model and game immune if it cooperates in at least 95 % of
actions at all history lengths. Their own immune rows are far below that at lengths 0 and 1 (there is nothing
to remember yet); lengths from 2 on are the rule that gives their classification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ostrom.analysis.statistics import without_rounding

THRESHOLD = 0.95
SHORTEST = 2

Known = float | tuple[float, float]
"""A cooperation rate, or the bounds between which it must lie."""


@dataclass(frozen=True, slots=True)
class Regime:
    """The verdict on one pair. ``name`` is None where the lengths known cannot settle it."""

    name: str | None
    lowest: float | None
    """The lowest rate at the lengths that count (of bounds, the lower one)."""
    at: int | None
    """The history length of the lowest rate."""
    margin: float | None
    """How far the pair is from the border: lowest minus threshold; negative is cursed."""
    lengths: tuple[int, ...]
    """The lengths that count."""


def regime(rates: Mapping[int, Known], threshold: float = THRESHOLD, shortest: int = SHORTEST) -> Regime:
    """Judge the rates by history length.

    One length that is surely below the border makes a pair cursed; immune needs all that are known. Without
    any length that counts there is no verdict.

    >>> regime({0: 0.03, 1: 1.0, 2: 0.99, 80: 0.96}).name, regime({2: 1.0, 80: 0.94}).name
    ('immune', 'cursed')
    >>> regime({0: 1.0, 1: 1.0}).name, regime({80: (0.4, 1.0)}).name
    (None, None)
    >>> regime({2: 0.95 - 1e-16, 80: 0.95}).name
    'immune'
    """
    counted = {
        length: rate if isinstance(rate, tuple) else (rate, rate)
        for length, rate in sorted(rates.items())
        if length >= shortest
    }
    if not counted:
        return Regime(None, None, None, None, ())
    # Rates are means of many rounds: one at the border is at it, whatever its last digits.
    at = min(counted, key=lambda length: round(counted[length][0], 9))
    lowest, border = min(rate for rate, _ in counted.values()), threshold - 1e-9
    if any(high < border for _, high in counted.values()):
        name: str | None = "cursed"
    elif lowest >= border:
        name = "immune"
    else:
        name = None
    return Regime(name, lowest, at, without_rounding(lowest - threshold, 1.0), tuple(counted))
