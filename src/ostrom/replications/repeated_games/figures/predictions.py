"""From which round on all predictions of an alternating player are right, as a player and as an observer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ostrom.errors import UsageError
from ostrom.replications.repeated_games.figures.averages import median_round
from ostrom.replications.repeated_games.figures.moves import BOS, Match, Side, always
from ostrom.replications.repeated_games.predictions import first_right_rounds
from ostrom.studies.compare.figures import Own

AS_PLAYER, AS_OBSERVER = "first_correct_round_as_player", "first_correct_round_as_observer"


def predictions(moves: Mapping[str, Any], found: Sequence[Match]) -> Iterator[Own]:
    """Medians over the series of predictions about a player that changes its action every round."""
    import polars as pl

    if BOS not in moves:
        return
    asked = moves[BOS].filter(
        (pl.col("kind") == "act")
        # A strategy predicts by its own rule, and a social agent predicts on the way to its choice.
        | (
            pl.col("strategy").is_null()
            & (pl.col("agent_style").is_null() | (pl.col("agent_style") != "social"))
        )
    )
    try:
        rows = first_right_rounds(asked)
    except UsageError:
        return
    alternating = always(found, BOS, Side.alternates)
    series: dict[tuple[str, str], list[int | None]] = {}
    for row in rows.iter_rows(named=True):
        if row["target_agent"] in alternating:
            measure = AS_OBSERVER if row["seat"] is None else AS_PLAYER
            series.setdefault((row["agent"], measure), []).append(row["from_round"])
    for (agent, measure), reached in series.items():
        yield from median_round(("", BOS, measure), agent, reached, "never right", "series")
