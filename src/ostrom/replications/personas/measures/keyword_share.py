"""How many rationales use a word of a category at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.replications.personas.keywords import MATCH, counted, modes, sets
from ostrom.replications.personas.measures._shared import SOURCE
from ostrom.replications.personas.measures.keyword_rate import COLUMNS


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


MEASURE = keyword_share
