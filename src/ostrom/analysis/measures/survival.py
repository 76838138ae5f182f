"""Survival: whether a stock that all live on is still there in the end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ostrom.analysis.early_ends import early_ends
from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    for match, (over, _) in early_ends(data, "survival").items():
        yield {"match": match, "value": int(not over)}


MEASURE = Measure(
    name="survival",
    title="Survival",
    scale="share",
    definition=(
        "Whether a match in a game that can end early (a stock that collapses) goes on to its last round instead of "
        "being ended by the game."
    ),
    needs=("decisions.stage", "matches.facts"),
    source="Piatti et al. (2024), Cooperate or Collapse",
    values=_values,
)
