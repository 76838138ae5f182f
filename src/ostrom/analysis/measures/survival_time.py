"""Survival time: how long a stock that all live on lasts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ostrom.analysis.early_ends import early_ends
from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData


def _values(data: RunData) -> Iterable[Mapping[str, Any]]:
    for match, (_, rounds) in early_ends(data, "survival_time").items():
        yield {"match": match, "value": rounds}


MEASURE = Measure(
    name="survival_time",
    title="Survival time",
    scale="count",
    definition=(
        "The rounds of a match in a game that can end early (a stock that collapses) until the game ends it, that "
        "round included, or until the last round."
    ),
    needs=("decisions.stage", "matches.rounds_played"),
    source="Piatti et al. (2024), Cooperate or Collapse",
    values=_values,
)
