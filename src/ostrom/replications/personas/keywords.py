"""Which words rationales use: nine categories (Manoranjan & Gaikwad 2026, Appendix F)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ostrom.analysis.lexicons import keyword_profile, persona_keywords

IDENTITY = ("short_term", "social_moral")
"""The groups of the paper's Figure 6: words of identity-driven reasoning ..."""
PAYOFF = ("game_theoretic", "strategic", "long_term")
"""... and of payoff-optimal reasoning."""


def rationales(
    decisions: Iterable[Mapping[str, Any]], by: Sequence[str]
) -> Iterator[tuple[tuple[Any, ...], str]]:
    """Every rationale of a finished match with the values of some columns.

    A rationale that a policy put in place of an answer is none, and an empty one says nothing: both are left
    out, so that shares are of rationales that were given.
    """
    for row in decisions:
        text = row.get("rationale")
        if row["state"] == "done" and text and not row["invalid"]:
            yield tuple(row[column] for column in by), str(text)


def keyword_rows(
    decisions: Iterable[Mapping[str, Any]],
    roles: Sequence[str],
    by: Sequence[str] = ("agent", "persona", "payoffs"),
) -> list[dict[str, Any]]:
    """One row per group and category. ``roles`` are the names that "as a(n) X" may end with.

    >>> row = {"state": "done", "invalid": False, "agent": "m", "rationale": "As a Citizen I pay now."}
    >>> {r["category"]: r["per_1000"] for r in keyword_rows([row], ["Citizen"], ["agent"])}["identity_based"]
    1000.0
    """
    found = keyword_profile(rationales(decisions, by), persona_keywords(roles))
    return [
        {
            **dict(zip(by, group, strict=True)),
            "category": use.category,
            "rationales": use.rationales,
            "occurrences": use.occurrences,
            "per_1000": use.per_1000_rationales,
            "share_with_one": use.share_with_one,
        }
        for group, profile in found.items()
        for use in profile.values()
    ]
