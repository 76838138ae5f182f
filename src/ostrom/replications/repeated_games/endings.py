"""What the end does: cooperation in the last round against the rounds before it, match by match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.errors import UsageError
from ostrom.replications.repeated_games.pairs import acts


def last_round_effects(decisions: Any, by: Sequence[str] = ()) -> Any:
    """One row per match and player: cooperation ``before`` the last round, in the ``last`` and the ``drop``.

    Matches of one round have no before and are left out.
    """
    import polars as pl

    keys = ["run", "match", *by, "agent", "player", "seat"]
    moves = _cooperative(decisions)
    ends = moves.group_by("run", "match").agg(pl.col("round").max().alias("rounds"))
    joined = moves.join(ends, on=["run", "match"]).filter(pl.col("rounds") > 1)
    if not joined.height:
        raise UsageError("every match has a single round: there is no last one to compare with")
    is_last = pl.col("round") == pl.col("rounds")
    c = pl.col("cooperative").cast(pl.Float64)
    return (
        joined.group_by(keys, maintain_order=True)
        .agg(
            pl.col("rounds").first(),
            c.filter(~is_last).mean().alias("before"),
            c.filter(is_last).mean().alias("last"),
        )
        .with_columns((pl.col("before") - pl.col("last")).alias("drop"))
    )


def cooperation_to_the_end(decisions: Any, by: Sequence[str] = ()) -> Any:
    """Cooperation by the number of rounds still to come (0: the last one), averaged over matches."""
    import polars as pl

    moves = _cooperative(decisions)
    ends = moves.group_by("run", "match").agg(pl.col("round").max().alias("rounds"))
    keys = [*by, "agent"]
    per_match = (
        moves.join(ends, on=["run", "match"])
        .with_columns((pl.col("rounds") - pl.col("round")).alias("to_come"))
        .group_by([*keys, "run", "match", "to_come"], maintain_order=True)
        .agg(pl.col("cooperative").cast(pl.Float64).mean().alias("cooperation"))
    )
    return (
        per_match.group_by([*keys, "to_come"], maintain_order=True)
        .agg(pl.col("cooperation").mean(), pl.len().alias("matches"))
        .sort([*keys, "to_come"], descending=[False] * len(keys) + [True])
    )


def _cooperative(decisions: Any) -> Any:
    import polars as pl

    moves = acts(decisions).filter(pl.col("cooperative").is_not_null())
    if not moves.height:
        raise UsageError("the game of this run has no cooperative action")
    return moves
