"""Equality: how evenly the players of a match are paid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.analysis.totals import totals
from ostrom.data.rundata import RunData
from ostrom.features.societies.networks import gini


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    for match, paid in totals(data).items():
        earned = list(paid.values())
        unequal = gini(earned) if min(earned) >= 0 else None
        if unequal is not None and len(earned) > 1:
            yield {"match": match, "value": 1.0 - unequal}


MEASURE = Measure(
    name="equality",
    title="Equality",
    scale="share",
    definition=(
        "One less the Gini coefficient of what the players of a match are paid in all: 1 where all are paid the same. "
        "Matches in which nobody is paid anything, or somebody loses, have no value."
    ),
    needs=("decisions.payoff",),
    source="Piatti et al. (2024), Cooperate or Collapse",
    values=_values,
)
