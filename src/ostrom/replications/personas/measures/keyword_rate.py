"""How often rationales use the words of a category."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.replications.personas.keywords import MATCH, counted, modes, sets
from ostrom.replications.personas.measures._shared import SOURCE

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


MEASURE = keyword_rate
