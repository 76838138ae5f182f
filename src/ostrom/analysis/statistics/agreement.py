"""Cohen's kappa: agreement of two raters beyond chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ostrom.analysis.statistics.errors import BadSample, Undefined
from ostrom.analysis.statistics.result import Interval, StatisticsResult
from ostrom.analysis.statistics.samples import (
    Labels,
    checked_level,
    checked_unit,
    label_codes,
    same_length,
    without_rounding,
)


@dataclass(frozen=True)
class Kappa(StatisticsResult):
    """Kappa with its large-sample interval, beside the raw agreement and the one chance would give."""

    estimate: float
    se: float
    ci: Interval
    agreement: float
    chance: float
    categories: tuple[str, ...]
    n: int
    unit: str


def cohens_kappa(first: Labels, second: Labels, *, unit: str, level: float = 0.95) -> Kappa:
    """Kappa (Cohen 1960) with the standard error of Fleiss, Cohen & Everitt (1969); interval within -1 and 1.

    Two raters who both give one and the same label everywhere leave kappa undefined: `Undefined` is raised.

    >>> round(cohens_kappa(list("YYYNNNYN"), list("YYNNNYYN"), unit="rationale").estimate, 2)
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
    spread = max(without_rounding(on + off - (kappa - chance * (1 - kappa)) ** 2, 1.0), 0.0)
    se = math.sqrt(spread / n) / (1 - chance)
    reach = NormalDist().inv_cdf(0.5 + checked_level(level) / 2) * se
    return Kappa(
        estimate=kappa,
        se=se,
        ci=Interval(max(-1.0, kappa - reach), min(1.0, kappa + reach), level),
        agreement=agreement,
        chance=chance,
        categories=tuple(str(item) for item in levels),
        n=n,
        unit=checked_unit(unit),
    )
