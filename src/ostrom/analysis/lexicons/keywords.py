"""Keyword profiles: how often each category of words occurs in rationales (Manoranjan & Gaikwad 2026)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import NamedTuple, TypeVar

from ostrom.analysis.lexicons.counts import count_batches
from ostrom.analysis.lexicons.groups import summarize
from ostrom.analysis.lexicons.lexicon import Lexicon, Overlap

Group = TypeVar("Group", bound=Hashable)


class KeywordUse(NamedTuple):
    """One category in one group of rationales."""

    category: str
    rationales: int
    occurrences: int
    per_1000_rationales: float
    rationales_with_one: int
    share_with_one: float


def keyword_profile(
    rationales: Iterable[tuple[Group, str]], lexicons: Iterable[Lexicon], *, overlap: Overlap = "longest"
) -> dict[Group, dict[str, KeywordUse]]:
    """Per group and category: occurrences per 1,000 rationales and the share of rationales with at least one.

    >>> from ostrom.analysis.lexicons import persona_keywords
    >>> texts = [("a", "The fair and right thing."), ("a", "Adjust the matrix.")]
    >>> use = keyword_profile(texts, persona_keywords())["a"]["social_moral"]
    >>> use.per_1000_rationales, use.share_with_one
    (1000.0, 0.5)
    """
    batches = count_batches(rationales, lexicons, overlap=overlap)
    profile = {}
    for group, summary in summarize(batches, lambda key: key, ratios=()).items():
        # A group exists because a rationale is in it, so there is always something to divide by.
        profile[group] = {
            name: KeywordUse(
                category=name,
                rationales=summary.traces,
                occurrences=summary.matches[name],
                per_1000_rationales=1000 * summary.matches[name] / summary.traces,
                rationales_with_one=summary.traces_with_match[name],
                share_with_one=summary.traces_with_match[name] / summary.traces,
            )
            for name in summary.names
        }
    return profile
