"""Tests of counts and labels: proportions, contingency tables, paired binary outcomes, and two raters.

Wilson's interval of a proportion; chi-square with Cramer's V, plain and without its upward bias; McNemar's exact test
and the smallest drop that the pairs could have shown; Cohen's kappa, the agreement of two raters beyond chance.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from ostrom.analysis.statistics.result import Estimate
from ostrom.analysis.statistics.samples import (
    ROUNDING,
    BadSample,
    Labels,
    Undefined,
    checked_level,
    checked_unit,
    label_codes,
    same_length,
    without_rounding,
)


def wilson(successes: int, n: int, *, unit: str, level: float = 0.95) -> Estimate | None:
    """A proportion with its score interval (Wilson 1927). No trials: None.

    >>> print(wilson(8, 10, unit="match"))
    0.80 [0.49, 0.94], n = 10 matches
    >>> wilson(0, 0, unit="match") is None
    True
    """
    if successes != int(successes) or n != int(n):
        raise BadSample(f"counts must be whole numbers (found {successes} of {n})")
    if not 0 <= successes <= n:
        raise BadSample(f"successes must lie between 0 and n (found {successes} of {n})")
    checked_unit(unit), checked_level(level)
    if n == 0:
        return None
    from ostrom.analysis.intervals.binary import wilson as score_interval

    return Estimate(
        {}, successes / n, *score_interval(int(successes), int(n), level), int(n), unit, "wilson", level=level
    )


@dataclass(frozen=True)
class ChiSquare:
    """Pearson's chi-square test; `small_expected` is the share of cells with an expectation below 5."""

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
    """The chi-square test that rows and columns of a table of counts are independent; V corrected after Bergsma (2013).

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


LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's exact test: the same items right or wrong, before and after a change."""

    pairs: int
    before: int
    """The number of items right before."""
    after: int
    lost: int
    """The number of items right before and wrong after."""
    gained: int
    p: float
    """The exact two-sided p-value: without change, losses and gains are equally likely."""
    detectable: int | None
    """The smallest net loss with p <= .05, given as many gains; None if no loss would have it."""


def mcnemar(before: Sequence[bool], after: Sequence[bool]) -> McNemar:
    """Compare two yes-or-no results of the same items.

    >>> found = mcnemar([True] * 10 + [False] * 2, [False] * 6 + [True] * 4 + [False] * 2)
    >>> found.lost, found.gained, found.p, found.detectable
    (6, 0, 0.03125, 6)
    """
    lost = sum(a and not b for a, b in zip(before, after, strict=True))
    gained = sum(b and not a for a, b in zip(before, after, strict=True))
    most = sum(before)
    needed = next((k for k in range(gained + 1, most + 1) if _p(k, gained) <= LEVEL), None)
    return McNemar(
        len(before), most, sum(after), lost, gained, _p(lost, gained), None if needed is None else needed - gained
    )


def _p(lost: int, gained: int) -> float:
    total, least = lost + gained, min(lost, gained)
    return min(1.0, 2 * sum(comb(total, k) for k in range(least + 1)) / (1 << total))


@dataclass(frozen=True)
class Kappa:
    """Kappa with its large-sample interval, the raw agreement and the agreement expected by chance."""

    estimate: Estimate
    agreement: float
    chance: float
    categories: tuple[str, ...]


def cohens_kappa(first: Labels, second: Labels, *, unit: str, level: float = 0.95) -> Kappa:
    """Kappa (Cohen 1960) with the standard error of Fleiss, Cohen & Everitt (1969); interval within -1 and 1.

    Two raters who both give one and the same label everywhere leave kappa undefined: `Undefined` is raised.

    >>> round(cohens_kappa(list("YYYNNNYN"), list("YYNNNYYN"), unit="rationale").estimate.value, 2)
    0.5
    """
    if isinstance(first, str | bytes) or isinstance(second, str | bytes):
        text = first if isinstance(first, str | bytes) else second
        raise BadSample(f"ratings must be one label per row (found the single text {text!r})")
    a, b = list(first), list(second)
    same_length("first ratings", len(a), "second ratings", len(b))
    if len(a) < 2:
        raise BadSample(f"kappa needs at least 2 rated items (found {len(a)})")
    codes, levels = label_codes(a + b, 2 * len(a), "ratings")
    k, n = len(levels), len(a)
    table = np.zeros((k, k))
    np.add.at(table, (codes[:n], codes[n:]), 1.0 / n)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    agreement, chance = float(np.trace(table)), float(rows @ columns)
    if 1.0 - chance < 1e-12:
        raise Undefined(f"kappa is undefined: both raters gave only the label {levels[0]!r}")
    kappa = without_rounding(agreement - chance, 1.0) / (1 - chance)
    both = rows[None, :] + columns[:, None]  # both[i, j] = column margin of i + row margin of j
    on = float(np.sum(np.diag(table) * (1 - (rows + columns) * (1 - kappa)) ** 2))
    off = float(np.sum(table * (1 - np.eye(k)) * both**2)) * (1 - kappa) ** 2
    se = math.sqrt(max(without_rounding(on + off - (kappa - chance * (1 - kappa)) ** 2, 1.0), 0.0) / n) / (1 - chance)
    reach = NormalDist().inv_cdf(0.5 + checked_level(level) / 2) * se
    return Kappa(
        Estimate(
            {}, kappa, max(-1.0, kappa - reach), min(1.0, kappa + reach), n, checked_unit(unit), "kappa",
            level=level, se=se,
        ),
        agreement,
        chance,
        tuple(str(item) for item in levels),
    )  # fmt: skip
