"""Forgiveness: how often a player cooperates after the only defection of the other one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ostrom.analysis.intervals import Bounds
from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.replications.repeated_games.moves import PD, Side, always, matches


def values(data: RunData) -> Iterator[dict[str, Any]]:
    """One row for each player without a strategy who meets a script that defects once."""
    found = matches(data)
    once = always(found, PD, Side.defects_once)
    for match in found:
        for me, other in match.against():
            if match.game == PD and me.strategy is None and other.agent in once:
                cooperated = sum(map(bool, me.cooperative[1:]))
                yield {"match": match.number, "player": me.seat, "value": cooperated}


def bounds(data: RunData) -> Callable[[int], Bounds]:
    """Every round but the first; how many those are is known once the match was played."""
    lengths = {
        row["match"]: row["n"]
        for row in data.records("SELECT match, max(rounds_played) AS n FROM matches GROUP BY match")
    }
    return lambda match: (0.0, max(float(lengths[match] or 0) - 1, 1.0) if match in lengths else None)


MEASURE = Measure(
    name="forgiveness",
    title="Cooperations after the first defection",
    scale="count",
    definition=(
        "How often a player cooperates after the first round against a script that defects in that round alone, "
        "in the Prisoner's Dilemma with the paper's payoffs."
    ),
    values=values,
    bounds=bounds,
    source="Akata et al. (2025)",
)
