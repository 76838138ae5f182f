"""Corrections for many tests: Holm (family-wise error) and Benjamini-Hochberg (false discovery rate)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ostrom.analysis.statistics.errors import BadSample
from ostrom.analysis.statistics.result import StatisticsResult
from ostrom.analysis.statistics.samples import ROUNDING, Floats, Numbers, sample


@dataclass(frozen=True)
class Adjusted(StatisticsResult):
    """Adjusted p-values in the order they came in, and which tests are rejected at alpha."""

    method: str
    p: tuple[float, ...]
    adjusted: tuple[float, ...]
    rejected: tuple[bool, ...]
    alpha: float


def holm(p_values: Numbers, *, alpha: float = 0.05) -> Adjusted:
    """Step-down control of the family-wise error rate (Holm 1979).

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03]).adjusted]
    [0.03, 0.06, 0.06]
    """
    p, order = _ordered(p_values)
    steps = np.maximum.accumulate(p[order] * (p.size - np.arange(p.size)))
    return _adjusted("holm", p, order, steps, alpha)


def _ordered(p_values: Numbers) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    p = sample(p_values, "p-values")
    if p.min() < 0 or p.max() > 1:
        raise BadSample(f"p-values must lie between 0 and 1 (found {p.min():g} to {p.max():g})")
    return p, np.argsort(p, kind="stable")


def _adjusted(
    method: str, p: Floats, order: np.ndarray[tuple[int], np.dtype[np.intp]], steps: Floats, alpha: float
) -> Adjusted:
    if not 0 < alpha < 1:
        raise BadSample(f"alpha must lie strictly between 0 and 1 (found {alpha})")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(steps, 1.0)
    return Adjusted(
        method,
        tuple(p.tolist()),
        tuple(adjusted.tolist()),
        # 5 tests at p = 0.01 are adjusted to 0.05, whatever the product's last digit.
        tuple((adjusted <= alpha * (1 + ROUNDING)).tolist()),
        alpha,
    )
