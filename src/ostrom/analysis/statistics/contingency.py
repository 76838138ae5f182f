"""Chi-square test of independence with Cramer's V, plain and without its upward bias."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ostrom.analysis.statistics.errors import BadSample, Undefined
from ostrom.analysis.statistics.result import StatisticsResult
from ostrom.analysis.statistics.samples import ROUNDING, checked_unit, without_rounding


@dataclass(frozen=True)
class ChiSquare(StatisticsResult):
    """Pearson's chi-square; mind `small_expected`, the share of cells where fewer than 5 were expected."""

    statistic: float
    df: int
    p: float
    cramers_v: float
    cramers_v_corrected: float
    n: int
    shape: tuple[int, int]
    small_expected: float
    unit: str


def chi_square(table: npt.ArrayLike, *, unit: str) -> ChiSquare:
    """Independence of rows and columns of a table of counts; V corrected after Bergsma (2013).

    No continuity correction. An empty row or column raises `Undefined`: leave it out, it holds no
    information.

    >>> result = chi_square([[10, 20], [20, 10]], unit="trace")
    >>> round(result.statistic, 3), result.df, round(result.cramers_v, 3)
    (6.667, 1, 0.333)
    """
    try:
        counts = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadSample("the table of counts must be a rectangle of numbers") from None
    if counts.ndim != 2 or min(counts.shape) < 2:
        raise BadSample(f"the table of counts must be at least 2 by 2 (found shape {counts.shape})")
    if not np.all(np.isfinite(counts)) or np.any(counts < 0) or np.any(counts != np.round(counts)):
        raise BadSample("the table must hold whole counts, none negative or missing")
    rows, columns, n = counts.sum(axis=1), counts.sum(axis=0), float(counts.sum())
    for name, margin in (("row", rows), ("column", columns)):
        if np.any(margin == 0):
            raise Undefined(f"chi-square is undefined: {name} {int(np.argmin(margin))} of the table is empty")
    if n < 2:
        raise BadSample("chi-square needs at least 2 observations")
    from scipy.special import chdtrc

    expected = np.outer(rows, columns) / n
    off = counts - expected
    off[np.abs(off) <= ROUNDING * n] = 0.0
    statistic = float(np.sum(off**2 / expected))
    r, k = counts.shape
    df = (r - 1) * (k - 1)
    phi2 = statistic / n
    corrected = max(0.0, without_rounding(phi2 - df / (n - 1), 1.0))
    r_corrected, k_corrected = r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)
    room = min(r_corrected, k_corrected) - 1
    return ChiSquare(
        statistic=statistic,
        df=df,
        p=float(chdtrc(df, statistic)),
        cramers_v=math.sqrt(phi2 / (min(r, k) - 1)),
        cramers_v_corrected=min(1.0, math.sqrt(corrected / room)) if room > ROUNDING else 0.0,
        n=int(n),
        shape=(r, k),
        small_expected=float(np.mean(expected < 5 - ROUNDING * n)),
        unit=checked_unit(unit),
    )
