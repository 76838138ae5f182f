"""Standardised estimates and Bayes factors of regression coefficients, each with what it takes for granted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.hypothesis_units import SampleRow
from ostrom.analysis.statistics.bayes_factor import MEDIUM, jzs_from_t
from ostrom.analysis.statistics.errors import StatisticsError
from ostrom.analysis.statistics.result import Interval

LOGISTIC_SD = math.pi / math.sqrt(3)
"""The standard deviation of the logistic distribution, in log odds."""


@dataclass(frozen=True)
class OutcomeScale:
    """What an estimate is divided by to be in standard deviations of the outcome."""

    sd: float
    said: str

    def of(self, term: str, estimate: float, ci: Interval | None) -> dict[str, float | None]:
        """The standardised estimate with its ends; the intercept has none."""
        if term == "intercept" or not self.sd > 0:
            return {"standardised": None, "standardised_low": None, "standardised_high": None}
        low, high = (None, None) if ci is None else (ci.low / self.sd, ci.high / self.sd)
        return {"standardised": estimate / self.sd, "standardised_low": low, "standardised_high": high}


def standard_scale(method: str, details: Mapping[str, Any]) -> OutcomeScale:
    """The scale of a mixed model (total variance) or of a logistic one (log odds; Hasselblad & Hedges 1995)."""
    if method == "mixed":
        total = float(details["variance_between"]) + float(details["variance_within"])
        return OutcomeScale(
            math.sqrt(total),
            "standardised: in standard deviations of the outcome, between and within groups together",
        )
    return OutcomeScale(
        LOGISTIC_SD, "standardised: log odds over pi / sqrt 3, as if a logistic variable had been cut in two"
    )


@dataclass(frozen=True)
class Evidence:
    """How many clusters stand behind each term."""

    clusters: Mapping[str, tuple[int, ...]]
    unit: str
    said: str

    def of(self, term: str, statistic: float | None) -> float | None:
        """The JZS Bayes factor of a main effect; None for the intercept, interactions and too few clusters."""
        sizes = self.clusters.get(term)
        if sizes is None or statistic is None or not math.isfinite(statistic):
            return None
        try:
            return jzs_from_t(statistic, *sizes, unit=self.unit).bf10
        except StatisticsError:
            return None


def evidence_of(
    reference: Mapping[str, str], rows: Sequence[SampleRow], unit: str, clustered: bool
) -> Evidence:
    """Clusters by term: of both levels, or of pairs where clusters have both; ``reference`` are the first levels."""
    clusters: dict[str, tuple[int, ...]] = {}
    for i, (name, first) in enumerate(reference.items()):
        found: dict[str, set[Any]] = {}
        for row in rows:
            found.setdefault(str(row.levels[i]), set()).add(row.cluster if clustered else row.unit)
        base = found.pop(first, set())
        for level, of in found.items():
            both = len(base & of)
            clusters[f"{name}[{level}]"] = (both,) if both == len(base | of) else (len(base), len(of))
    said = (
        f"bf10: JZS, two-sided, r = {MEDIUM:.3f}, from the statistic as if it were a t of one value per {unit}; "
        "one above 1 speaks for a difference"
    )
    return Evidence(clusters, unit, said)
