"""One player against all others in a tournament, by the published recipe.

It takes rounds for independent observations (all of seat 1, the last one of seat 2), so its intervals are too
narrow; the doubts of t state the same test with matches as the unit. A figure needs one tournament: with
several framings in a run there would be several, and their rounds must not be thrown together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ostrom.analysis.references import Own
from ostrom.data.rundata import RunData
from ostrom.ground.errors import OstromError
from ostrom.replications.repeated_games.published_tests import match_test, published_test

SOCIAL = "social"


def contests(moves: Mapping[str, Any], data: RunData) -> tuple[list[Own], list[str]]:
    """The figures of every agent, and why a game has none."""
    found: list[Own] = []
    why: list[str] = []
    for game, frame in moves.items():
        by = [f for f in data.factors if f != "game" and frame[f].n_unique() > 1]
        parts = frame.partition_by(by, maintain_order=True) if by else [frame]
        # Where prompting is a factor, the paper's tournament is the one in which models are asked plainly.
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
                found += _tested(plain[0], game, agent)
            except (OstromError, ValueError) as error:
                # Points that never vary, or a solver that finds no interval for the effect size.
                why.append(f"Not compared: {agent} against all others in {game}: {error}")
    return found, why


def _tested(frame: Any, game: str, agent: str) -> Iterator[Own]:
    test = published_test(frame, agent)
    low, high = test.d.ci
    figures = {
        "t": test.t.statistic,
        "df": test.t.df,
        "p": test.t.p,
        "d": test.d.estimate,
        "d_ci_low": low,
        "d_ci_high": high,
        "bf": test.bayes.bf10,
    }
    count = frame.filter(frame["agent"] == agent)["match"].n_unique()
    for name, value in figures.items():
        cell = ("", game, f"{name}_against_all_others")
        if name == "d":
            yield Own(cell, agent, value, low, high, None, count)
        else:
            doubts = _per_match(frame, agent) if name == "t" else ()
            yield Own(cell, agent, value, None, None, None, count, doubts)


def _per_match(frame: Any, agent: str) -> tuple[str, ...]:
    """The same test with an independent unit."""
    try:
        ours = match_test(frame, agent).t
    except (OstromError, ValueError):  # totals that never vary
        return ()
    return (
        "takes rounds of one match for independent; with match totals as the unit "
        f"t({ours.df:.1f}) = {ours.statistic:.2f}, p = {ours.p:.3f}",
    )
