"""What the end of a match does: the last round against those before it, and cooperation on the way there."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.rundata import RunData
from ostrom.errors import UsageError
from ostrom.replications.repeated_games.endings import last_round_effects
from ostrom.replications.repeated_games.pairs import acts
from ostrom.replications.repeated_games.panels._shared import (
    block_columns,
    decisions,
    few_blocks,
    match_means,
    placed,
)
from ostrom.reports.marks import curves, dots
from ostrom.reports.panel import Drawn, Figure, Panel, Table


class GamesEndings(Panel):
    """The drop of cooperation in the last round, match by match, and cooperation by rounds to go."""

    title = "The end of a match"

    def draw(self, data: RunData) -> Drawn:
        """Dots for the drop, curves for the way there."""
        moves = decisions(data)
        by, notes = block_columns(data), list[str]()
        try:
            effects = last_round_effects(moves, by)
        except UsageError as error:
            return Drawn(notes=[f"Nothing to show: {error}."])
        shown = few_blocks(effects, by, notes)
        drops = match_means(effects, [*shown, "agent"], "drop")
        way = match_means(_to_come(moves), [*shown, "agent", "to_come"], "cooperative")
        agents = list(dict.fromkeys(row["agent"] for row in drops))
        figures = [
            Figure(
                "games_endings_last_round",
                _drops(drops, shown, agents),
                "Cooperation before the last round less cooperation in it, by agent: above 0, agents cooperate "
                "less at the end. Means over matches with 95 % bootstrap intervals over matches; hollow dots "
                "have no interval. Where chance ends a match, nobody knew that the round was the last.",
                "Dots of the drop of cooperation in the last round.",
            ),
            Figure(
                "games_endings_to_go",
                _curves(way, shown, agents),
                "Cooperation by the number of rounds still to come (0 is the last round). Means over the "
                "matches that were long enough, bands 95 % bootstrap intervals over matches.",
                "Curves of cooperation against the rounds to go.",
            ),
        ]
        return Drawn(figures, [_table(effects, by), _way_table(way, shown)], notes)


def _to_come(moves: Any) -> Any:
    """The moves of longer matches in games with a cooperative action, with the number of rounds to come."""
    import polars as pl

    kept = acts(moves).filter(pl.col("cooperative").is_not_null())
    last = pl.col("round").max().over("run", "match")
    return kept.with_columns((last - pl.col("round")).alias("to_come")).filter(last > 1)


def _drops(rows: list[dict[str, Any]], columns: list[str], agents: list[str]) -> Any:
    made, _, series = placed(rows, columns, agents)
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in made:
        groups.setdefault("", []).append({**row, "label": row["facet"] or "all matches"})
    return dots(groups, axis="drop of cooperation in the last round", series=series, domain=None)


def _curves(rows: list[dict[str, Any]], columns: list[str], agents: list[str]) -> Any:
    made, facets, series = placed(rows, columns, agents)
    made = sorted(({**row, "x": -row["to_come"]} for row in made), key=lambda row: row["x"])
    title = "rounds to go (0 is the last)"
    return curves(made, x=title, y="cooperation", facets=facets, series=series, legend=None)


def _table(effects: Any, by: list[str]) -> Table:
    keys = [*by, "agent"]
    parts = {name: match_means(effects, keys, name) for name in ("before", "last", "drop")}
    rows = [
        [*(one[k] for k in keys), one["n"], one["mean"], two["mean"], drop["mean"], drop["low"], drop["high"]]
        for one, two, drop in zip(parts["before"], parts["last"], parts["drop"], strict=True)
    ]
    return Table(
        "games_endings_last_round",
        [*keys, "matches", "before", "last", "drop", "low", "high"],
        rows,
        "Cooperation before and in the last round; the drop with a 95 % interval over matches.",
    )


def _way_table(way: list[dict[str, Any]], columns: list[str]) -> Table:
    keys = [*columns, "agent", "to_come"]
    return Table(
        "games_endings_to_go",
        [*columns, "agent", "rounds to go", "matches", "cooperation", "low", "high"],
        [[*(row[k] for k in keys), row["n"], row["mean"], row["low"], row["high"]] for row in way],
        "Cooperation by rounds to go, with 95 % intervals over matches.",
    )


PANEL = GamesEndings
