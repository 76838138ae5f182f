"""Whether rationales argue with payoffs or with identity (Figure 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.replications.personas.keywords import IDENTITY, MATCH, PAYOFF, counted, modes
from ostrom.replications.personas.measures._shared import SOURCE


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


MEASURE = reasoning_index
