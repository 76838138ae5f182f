"""One player against all others in a tournament, by the published test and by a valid one.

The published figures (Akata et al. 2025) pool the points of every round in which the agent sat in seat 1 with those of
the last round alone in which it sat in seat 2, and treat each as an independent observation: that is
pseudo-replication, and their intervals are too narrow. With the match as the unit, an observation is the total of one
player in one match; the doubts of t state that test. A figure needs one tournament: with several framings in a run
there would be several, and their rounds must not be thrown together.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.references import RunFigure
from ostrom.analysis.statistics import BayesFactor, StatisticalTest, cohens_d, jzs_two_sample, welch_t
from ostrom.data.rundata import RunData
from ostrom.ground.errors import OstromError, UnknownName

SOCIAL = "social"


def contests(moves: Mapping[str, Any], data: RunData) -> tuple[list[RunFigure], list[str]]:
    """Return the figures of every agent against all others, and reasons why a game has none."""
    figures: list[RunFigure] = []
    why: list[str] = []
    for game, frame in moves.items():
        by = [f for f in data.factors if f != "game" and frame[f].n_unique() > 1]
        parts = frame.partition_by(by, maintain_order=True) if by else [frame]
        # If prompting is a factor, the paper's tournament is that with plain questions.
        plain = [p for p in parts if set(p["agent_style"].drop_nulls()) != {SOCIAL}]
        if len(plain) != 1:
            why.append(
                f"Not compared: tests of a player against all others in {game}; the run holds {len(plain)} "
                f"tournaments ({', '.join(by)}), the paper one."
            )
            continue
        agents = plain[0].filter(plain[0]["seat"].is_not_null())["agent"].unique(maintain_order=True)
        for agent in agents if len(agents) > 1 else ():
            try:
                figures += _contest(plain[0], game, agent)
            except (OstromError, ValueError) as error:
                # Points without variance, or no interval for the effect size.
                why.append(f"Not compared: {agent} against all others in {game}: {error}")
    return figures, why


def _contest(frame: Any, game: str, agent: str) -> Iterator[RunFigure]:
    test = published_test(frame, agent)
    count = frame.filter(frame["agent"] == agent)["match"].n_unique()
    return own_tests(
        (game, "against_all_others"), agent, test.t, test.d, test.bayes.bf10, count, _per_match(frame, agent)
    )


def own_tests(
    place: tuple[str, str],
    agent: str,
    test: StatisticalTest,
    effect: StatisticalTest,
    bf: float,
    count: int,
    doubts: tuple[str, ...],
) -> Iterator[RunFigure]:
    """Yield the figures of a test under their published names: the interval at d, the doubts at t.

    ``place`` is the game and what ends the name of every figure.
    """
    (game, suffix), low, high = place, effect.low, effect.high
    figures = {
        "t": test.statistic, "df": test.df, "p": test.p, "d": effect.value, "d_ci_low": low, "d_ci_high": high,
        "bf": bf,
    }  # fmt: skip
    for name, value in figures.items():
        cell, ends = ("", game, f"{name}_{suffix}"), (low, high) if name == "d" else (None, None)
        yield RunFigure(cell, agent, value, ends[0], ends[1], None, count, doubts if name == "t" else ())


def _per_match(frame: Any, agent: str) -> tuple[str, ...]:
    """Return a sentence with the agent's test by match totals; empty without variance."""
    try:
        ours = match_test(frame, agent).t
    except (OstromError, ValueError):  # totals without variance
        return ()
    return (
        "takes rounds of one match for independent; with match totals as the unit "
        f"t({ours.df:.1f}) = {ours.statistic:.2f}, p = {ours.p:.3f}",
    )


@dataclass(frozen=True, slots=True)
class AgainstAll:
    """The tests of one agent against the rest, with their unit of analysis."""

    t: StatisticalTest
    d: StatisticalTest
    bayes: BayesFactor


def published_test(decisions: Any, agent: str) -> AgainstAll:
    """The published test: seat-1 rounds and the last seat-2 rounds, one observation each."""
    import polars as pl

    done = _acts(decisions)
    last = pl.col("round") == pl.col("round").max().over("run", "match")
    return _tested(done.filter((pl.col("seat") == 1) | ((pl.col("seat") == 2) & last)), agent, "round")


def match_test(decisions: Any, agent: str) -> AgainstAll:
    """The test with match totals, one observation per player and match."""
    player = ["run", "match", "player", "agent"]
    return _tested(
        _acts(decisions).select(*player, "payoff").group_by(player, maintain_order=True).sum(), agent, "match"
    )


def _acts(decisions: Any) -> Any:
    """The actions of finished matches: one row per round and seat."""
    return decisions.filter(
        (decisions["kind"] == "act") & (decisions["state"] == "done") & decisions["action"].is_not_null()
    )


def _tested(rows: Any, agent: str, unit: str) -> AgainstAll:
    agents = rows["agent"].unique(maintain_order=True).to_list()
    if agent not in agents:
        raise UnknownName("agent", agent, agents)
    own = rows["agent"] == agent
    ours, others = (rows.filter(which)["payoff"].to_list() for which in (own, ~own))
    return AgainstAll(
        welch_t(ours, others, unit=unit), cohens_d(ours, others, unit=unit), jzs_two_sample(ours, others, unit=unit)
    )
