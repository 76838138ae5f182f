"""How well moves were predicted, and from which round on without a mistake (Akata et al. 2025).

Predictions are asked by the mechanism (of players or of an observer) or made on the way to a choice (style
social). Each is held against what the predicted seat then did in that round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.errors import UsageError


def scored_predictions(decisions: Any) -> Any:
    """One row per prediction of a finished match with ``predicted``, ``happened`` and ``right``."""
    import polars as pl

    made = decisions.filter(
        pl.col("kind").str.starts_with("predict")
        & pl.col("target").is_not_null()
        & (pl.col("state") == "done")
    )
    if not made.height:
        raise UsageError("there is no prediction in a finished match")
    happened = decisions.filter((pl.col("kind") == "act") & pl.col("action").is_not_null()).select(
        "run",
        "match",
        "round",
        pl.col("seat").alias("target"),
        pl.col("action").alias("happened"),
        pl.col("agent").alias("target_agent"),
    )
    return (
        made.rename({"answer": "predicted"})
        .join(happened, on=["run", "match", "round", "target"], how="inner", maintain_order="left")
        .with_columns((pl.col("predicted") == pl.col("happened")).alias("right"))
    )


def first_right_rounds(decisions: Any, by: Sequence[str] = ()) -> Any:
    """From which round on every prediction is right: one row per match, predictor and predicted seat.

    ``from_round`` is null where even the last prediction is wrong; ``accuracy`` is the share of right ones.
    """
    import polars as pl

    scored = scored_predictions(decisions)
    keys = ["run", "match", *by, "agent", "player", "seat", "target", "target_agent"]
    last_wrong = pl.col("round").filter(~pl.col("right")).max()
    return (
        scored.group_by(keys, maintain_order=True)
        .agg(
            pl.col("round").min().alias("_first"),
            pl.col("round").max().alias("rounds"),
            last_wrong.alias("_wrong"),
            pl.col("right").mean().alias("accuracy"),
        )
        .with_columns(
            pl.when(pl.col("_wrong").is_null())
            .then(pl.col("_first"))
            .when(pl.col("_wrong") < pl.col("rounds"))
            .then(pl.col("_wrong") + 1)
            .otherwise(None)
            .alias("from_round")
        )
        .drop("_first", "_wrong")
    )
