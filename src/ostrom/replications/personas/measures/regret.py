"""What choices cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.analysis.rundata import RunData
from ostrom.replications.personas.measures._shared import NEEDS, SOURCE, averaged
from ostrom.replications.personas.profiles import profiles_of


def values(data: RunData) -> Iterator[Mapping[str, Any]]:
    """One value per player, and the role that it had."""
    seated = {
        (row["match"], row["seat"]): row["player"]
        for row in data.records("SELECT match, seat, player FROM matches WHERE seat IS NOT NULL")
    }
    yield from averaged(
        ({"match": p.match, "player": seated[p.match, seat], "role": role}, p, value)
        for p in profiles_of(data)
        for seat, (role, value) in enumerate(zip(p.roles, p.regrets, strict=True), 1)
    )


MEASURE = Measure(
    name="regret",
    title="Regret",
    scale="points",
    definition="What a player's best reply to the others' actual actions would have added to its payoff.",
    values=values,
    bounds=(0.0, None),
    unit="scenario",
    needs=NEEDS,
    source=SOURCE,
)
