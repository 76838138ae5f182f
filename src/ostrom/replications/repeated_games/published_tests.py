"""One agent against all others, by the recipe that was published and by the one that can be defended.

The published figures (Akata et al. 2025) pool the points of every round in which the agent sat in seat 1 with
those of the last round alone in which it sat in seat 2, and treat each as an independent observation: that is
pseudo-replication. With the match as the unit, an observation is the total of one player in one match.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ostrom.analysis.statistics import (
    BayesFactor,
    EffectSize,
    TTest,
    cohens_d,
    jzs_two_sample,
    welch_t,
)
from ostrom.ground.errors import UnknownName


@dataclass(frozen=True, slots=True)
class AgainstAll:
    """The tests of one agent against the rest, with the unit of analysis in each of them."""

    agent: str
    recipe: str
    t: TTest
    d: EffectSize
    bayes: BayesFactor


def published_test(decisions: Any, agent: str) -> AgainstAll:
    """The published recipe: seat-1 rounds and the last seat-2 rounds, one observation each."""
    import polars as pl

    done = _acts(decisions)
    last = pl.col("round") == pl.col("round").max().over("run", "match")
    rows = done.filter((pl.col("seat") == 1) | ((pl.col("seat") == 2) & last))
    return _tested(rows, "payoff", agent, "published", "round")


def match_test(decisions: Any, agent: str) -> AgainstAll:
    """The same question with the match as the unit: total points of each player in each match."""
    import polars as pl

    totals = (
        _acts(decisions)
        .group_by(["run", "match", "player", "agent"], maintain_order=True)
        .agg(pl.col("payoff").sum())
    )
    return _tested(totals, "payoff", agent, "match totals", "match")


def _acts(decisions: Any) -> Any:
    """The actions of finished matches: one row per round and seat."""
    import polars as pl

    return decisions.filter(
        (pl.col("kind") == "act") & (pl.col("state") == "done") & pl.col("action").is_not_null()
    )


def _tested(rows: Any, column: str, agent: str, recipe: str, unit: str) -> AgainstAll:
    import polars as pl

    known = rows["agent"].unique(maintain_order=True).to_list()
    if agent not in known:
        raise UnknownName("agent", agent, known)
    ours = rows.filter(pl.col("agent") == agent)[column].to_list()
    others = rows.filter(pl.col("agent") != agent)[column].to_list()
    return AgainstAll(
        agent,
        recipe,
        welch_t(ours, others, unit=unit),
        cohens_d(ours, others, unit=unit),
        jzs_two_sample(ours, others, unit=unit),
    )
