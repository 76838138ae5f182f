"""Measures of keywords in rationales: how often a category is used, and which reasoning they stand for (Figure 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.replications.personas.keywords import IDENTITY, MATCH, PAYOFF, counted, modes, sets
from ostrom.replications.personas.measures._profiles import SOURCE

COLUMNS = ("category", "condition", "matching", "role")


def keyword_rate(words: str = "categories", match: str = MATCH) -> Measure:
    """``words``: categories (all nine, one column), reasoning (the two groups of Figure 6), or one of their names.

    ``match`` is word, inflected, prefix, substring, or every (one column ``matching``).
    """
    wanted = sets(words)
    modes(match)

    def values(data: RunData) -> Iterator[Mapping[str, Any]]:
        for key, counts in counted(data, match):
            for name, parts in wanted.items():
                yield {**key, "category": name, "value": 1000.0 * sum(counts[part] for part in parts)}

    return Measure(
        name="keyword_rate",
        title="Keywords per 1,000 rationales"
        if len(wanted) > 1
        else f"{words.replace('_', ' ')} words per 1,000",
        scale="number",
        definition=(
            f"Occurrences of keywords per 1,000 rationales, by category ({words.replace('_', ' ')}); matched: {match}. "
            "Some terms belong to two categories; every category counts its own."
        ),
        values=values,
        bounds=(0.0, None),
        unit="scenario",
        needs=("decisions.rationale",),
        source=f"{SOURCE}, Appendix F",
        columns=COLUMNS,
    )


def keyword_share(words: str = "categories", match: str = MATCH) -> Measure:
    """``words`` and ``match`` as for ``keyword_rate``."""
    wanted = sets(words)
    modes(match)

    def values(data: RunData) -> Iterator[Mapping[str, Any]]:
        for key, counts in counted(data, match):
            for name, parts in wanted.items():
                yield {**key, "category": name, "value": float(any(counts[part] for part in parts))}

    return Measure(
        name="keyword_share",
        title="Share of rationales with a keyword",
        scale="share",
        definition=(
            f"The share of rationales with at least one keyword, by category ({words.replace('_', ' ')}); "
            f"matched: {match}."
        ),
        values=values,
        unit="scenario",
        needs=("decisions.rationale",),
        source=f"{SOURCE}, Appendix F",
        columns=COLUMNS,
    )


def reasoning_index(match: str = MATCH) -> Measure:
    """``match`` is word, inflected, prefix, substring, or every (one column ``matching``)."""
    modes(match)

    def values(data: RunData) -> Iterator[Mapping[str, Any]]:
        for key, counts in counted(data, match):
            payoff, identity = (sum(counts[part] for part in parts) for parts in (PAYOFF, IDENTITY))
            if payoff + identity:
                yield {
                    **key,
                    "value": (payoff - identity) / (payoff + identity),
                    "weight": float(payoff + identity),
                }

    return Measure(
        name="reasoning_index",
        title="Payoff-optimal against identity-driven words",
        scale="number",
        definition=(
            "Payoff-optimal words (game-theoretic, strategic, long-term) minus identity-driven ones (short-term, "
            "social and moral) over both: 1 is payoffs alone, -1 identity alone; all words count alike; "
            f"matched: {match}."
        ),
        values=values,
        bounds=(-1.0, 1.0),
        unit="scenario",
        needs=("decisions.rationale",),
        source=f"{SOURCE}, Figure 6",
        columns=("condition", "matching", "role"),
    )
