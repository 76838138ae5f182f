"""Immune or cursed: whether cooperation survives every longer memory, and by how much.

Liu et al. (2026, Appendix Table 7) call a pair of model and game immune if it cooperates in at least 95 % of
actions at all history lengths. Their own immune rows are far below that at lengths 0 and 1 (there is nothing
to remember yet); lengths from 2 on are the rule that gives their classification.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.analysis.rundata import RunData
from ostrom.analysis.statistics import without_rounding
from ostrom.analysis.verdicts import above, all_of
from ostrom.replications.memory_curse.played import WINDOW, keyed

THRESHOLD = 0.95
SHORTEST = 2
BORDER = THRESHOLD - 1e-9
"""Rates are means of many rounds: one at the border is at it, whatever its last digits."""
PAIR = ("game", "style", "agent")
NAMES = {"yes": "immune", "no": "cursed", "undecided": "undecided"}

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
    at = min(counted, key=lambda length: round(counted[length][0], 9))
    lowest, border = min(rate for rate, _ in counted.values()), threshold - 1e-9
    if any(high < border for _, high in counted.values()):
        name: str | None = "cursed"
    elif lowest >= border:
        name = "immune"
    else:
        name = None
    return Regime(name, lowest, at, without_rounding(lowest - threshold, 1.0), tuple(counted))


@dataclass(frozen=True, slots=True)
class Regimes:
    """All pairs of a run: what the rates say, and what can be said of the rates behind them."""

    by_rates: dict[tuple[Any, ...], Regime]
    """The published rule, applied to the rates as they were observed."""
    decided: dict[tuple[Any, ...], str]
    """Immune or cursed where the intervals decide, else undecided."""
    control: str
    """The number of comparisons and the error control."""


def observed_regimes(data: RunData) -> dict[tuple[Any, ...], Regime]:
    """The published rule applied to the observed rates of every game, style and agent."""
    return _by_rates(_rates(data))


def regimes(data: RunData) -> Regimes:
    """Judge every game, style and agent of a run.

    One length surely below the border makes a pair cursed. Immune needs all lengths surely above it, each at a
    level that is corrected for the number of pairs.
    """
    rates = _rates(data)
    counted = {key: one for key, one in rates.items() if key[-1] >= SHORTEST}
    judged = above(list(counted.values()), BORDER)
    found = _by_rates(rates)
    level = 1 - 0.05 / max(len(found), 1)
    decided = {}
    for pair in found:
        own = tuple(v for key, v in zip(counted, judged, strict=True) if key[:-1] == pair)
        decided[pair] = NAMES[all_of(replace(judged, verdicts=own), level)]
    return Regimes(found, decided, judged.control)


def _rates(data: RunData) -> dict[tuple[Any, ...], Estimate]:
    by = (*PAIR, "history_length")
    return keyed(estimate(data, "memory_cooperation", by, where=WINDOW), by)


def _by_rates(rates: Mapping[tuple[Any, ...], Estimate]) -> dict[tuple[Any, ...], Regime]:
    known: dict[tuple[Any, ...], dict[int, Known]] = {}
    for key, one in rates.items():
        known.setdefault(key[:-1], {})[key[-1]] = one.value
    return {pair: regime(of) for pair, of in known.items()}
