"""Coordination with a script that alternates, in the Battle of the Sexes."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.replications.repeated_games.moves import BOS, Side, always, matches, together


def values(data: RunData) -> Iterator[dict[str, Any]]:
    """One row for each player without a strategy, asked plainly, who meets a script that alternates."""
    found = matches(data)
    alternating = always(found, BOS, Side.alternates)
    for match in found:
        for me, other in match.against():
            asked = me.strategy is None and me.style != "social"
            if match.game == BOS and asked and other.agent in alternating:
                yield {"match": match.number, "player": me.seat, "value": fmean(together(me, other))}


MEASURE = Measure(
    name="coordination_with_alternation",
    title="Coordination with an alternating player",
    scale="share",
    definition=(
        "The share of the rounds in which a player does the same as a script that changes its action every "
        "round, in the Battle of the Sexes with the paper's payoffs; players that predict first have none."
    ),
    values=values,
    source="Akata et al. (2025)",
)
