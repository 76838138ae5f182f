"""How far two judges, or two passes of one judge, agree: Cohen's kappa per motive and overall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.statistics.agreement import Kappa, cohens_kappa
from ostrom.analysis.statistics.errors import StatisticsError
from ostrom.features.judging.judgements import JudgedCorpus, motive_column

OVERALL = "all motives"


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of two judges on one motive over the decisions that both have judged."""

    motive: str
    first: int
    """How often the first judge labelled it."""
    second: int
    decisions: int
    kappa: Kappa | None
    why: str | None

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        kappa = self.kappa
        return {
            "motive": self.motive,
            "decisions": self.decisions,
            "first": self.first,
            "second": self.second,
            "kappa": None if kappa is None else kappa.estimate,
            "ci": None if kappa is None else [kappa.ci.low, kappa.ci.high],
            "agreement": None if kappa is None else kappa.agreement,
            "why": self.why,
        }


def agreements(corpus: JudgedCorpus) -> list[Agreement]:
    """Per motive, then overall (every motive of every decision as one rating); empty with a single judge.

    With more than two passes the first two are compared.
    """
    if len(corpus.judges) < 2:
        return []
    pairs = _pairs(corpus)
    found = []
    every: tuple[list[bool], list[bool]] = ([], [])
    for motive in corpus.motives:
        column = motive_column(motive.name)
        ratings = [bool(a[column]) for a, _ in pairs], [bool(b[column]) for _, b in pairs]
        for into, of in zip(every, ratings, strict=True):
            into.extend(of)
        found.append(_agreement(motive.name, *ratings, len(pairs)))
    return [*found, _agreement(OVERALL, *every, len(pairs))]


def same_sets(corpus: JudgedCorpus) -> float | None:
    """The share of decisions to which both judges gave exactly the same motives."""
    pairs = _pairs(corpus) if len(corpus.judges) > 1 else []
    return sum(a["labels"] == b["labels"] for a, b in pairs) / len(pairs) if pairs else None


def _pairs(corpus: JudgedCorpus) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    def placed(judge: str) -> dict[tuple[int, int, int], Mapping[str, Any]]:
        return {(row["match"], row["step"], row["player"]): row for row in corpus.judged(judge)}

    first, second = (placed(judge) for judge in corpus.judges[:2])
    return [(first[place], second[place]) for place in first if place in second]


def _agreement(name: str, first: list[bool], second: list[bool], decisions: int) -> Agreement:
    try:
        kappa: Kappa | None = cohens_kappa(first, second, unit="decision")
        why = None
    except StatisticsError as error:
        kappa, why = None, str(error)
        if decisions > 1 and not any(first) and not any(second):
            why = "never labelled by either"
    return Agreement(name, sum(first), sum(second), decisions, kappa, why)
