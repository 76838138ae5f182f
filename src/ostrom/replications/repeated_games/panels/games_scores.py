"""Score ratios by family of the ordinal 2x2 games, the tragic family included (Akata et al. 2025)."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.rundata import RunData
from ostrom.errors import UsageError
from ostrom.games.ordinal import FAMILIES
from ostrom.replications.repeated_games.families import BEST_RANK, in_ranks, score_ratios, with_families
from ostrom.replications.repeated_games.panels._shared import coloured, summarised
from ostrom.reports.cells import agents
from ostrom.reports.marks import dots
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import listed, pretty

PUBLISHED = "overall (published)"


class GamesScores(Panel):
    """Points as a share of the most that could be had, averaged over the games of a family."""

    title = "Score ratio by family of games"

    def draw(self, data: RunData) -> Drawn:
        """One row per family, one colour per agent."""
        import polars as pl

        matches = data.query(
            "SELECT run, match, game, agent, seat, state, score FROM matches "
            "WHERE unit = 'match' AND seat IS NOT NULL"
        )
        try:
            matches = in_ranks(
                with_families(matches),
                lambda match, seat: float(data.game(match).payoffs[..., seat - 1].max()),
            ).drop("number", "family")
            found = score_ratios(matches)
        except UsageError as error:
            return Drawn(notes=[f"Nothing to show: {error}."])
        if not found.height:
            return Drawn(notes=["No finished match has a score."])
        done = with_families(matches).filter((pl.col("state") == "done") & pl.col("score").is_not_null())
        order = agents(data)
        rows = sorted(
            ({**row, **_interval(done, row)} for row in found.iter_rows(named=True)),
            key=lambda row: order.index(row["agent"]),
        )
        columns = ["agent", "family", "games", "matches", "ratio", "low", "high", "resampled"]
        table = Table(
            "games_scores",
            columns,
            [[row[name] for name in columns] for row in rows],
            "Score over the best possible score. Means over games; 95 % intervals resample games, or matches "
            f"where a family has one game. “{PUBLISHED}” leaves the tragic family out, as the paper does.",
        )
        caption = (
            "Score ratio (mean payoff over the best rank) by family and agent, both seats and all opponents "
            "pooled. Dots are means over games; whiskers are 95 % bootstrap intervals over games, over matches "
            "where only one game of a family was played, and are missing (hollow dots) where there is one match."
        )
        figure = Figure(
            "games_scores", _chart(rows), caption, "Dots of score ratio by family of games and agent."
        )
        missing = [name for name in FAMILIES if name not in found["family"].to_list()]
        notes = [f"No finished match in the family {listed(missing)}."] if missing else []
        return Drawn([figure], [table], notes)


def _interval(done: Any, row: dict[str, Any]) -> dict[str, Any]:
    """The interval of one row, over games where there are several."""
    import polars as pl

    ours = done.filter(pl.col("agent") == row["agent"])
    if row["family"] == PUBLISHED:
        ours = ours.filter(pl.col("family") != "tragic")
    elif row["family"] != "overall":
        ours = ours.filter(pl.col("family") == row["family"])
    unit = "number" if row["games"] > 1 else "match"
    values = ours.group_by(unit, maintain_order=True).agg((pl.col("score") / BEST_RANK).mean())["score"]
    spread = summarised(values.to_list())
    resampled = None if spread["low"] is None else "games" if unit == "number" else "matches"
    return {"low": spread["low"], "high": spread["high"], "resampled": resampled}


def _chart(rows: list[dict[str, Any]]) -> Any:
    who_played = list(dict.fromkeys(row["agent"] for row in rows))
    named, series = coloured(who_played)
    apart = len(who_played) > MOST_COLOURS
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        who = named[row["agent"]]
        groups.setdefault(who if apart else "", []).append(
            {
                "label": pretty(row["family"]),
                "series": "all agents" if apart else who,
                "mean": row["ratio"],
                "low": row["low"],
                "high": row["high"],
            }
        )
    return dots(groups, axis="score ratio", series=series, domain=None)


PANEL = GamesScores
