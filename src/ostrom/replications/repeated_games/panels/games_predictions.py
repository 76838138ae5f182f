"""How well the other player was predicted, and from which round on without a mistake (Akata et al. 2025)."""

from __future__ import annotations

from statistics import median
from typing import Any

from ostrom.analysis.rundata import RunData
from ostrom.errors import UsageError
from ostrom.replications.repeated_games.panels._shared import (
    block_columns,
    decisions,
    few_blocks,
    match_means,
    placed,
    summarised,
)
from ostrom.replications.repeated_games.predictions import first_right_rounds, scored_predictions
from ostrom.reports.marks import curves
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import Share


class GamesPredictions(Panel):
    """Accuracy of predictions by round, and the share of matches without a mistake from a round on."""

    title = "Predicting the other player"

    def draw(self, data: RunData) -> Drawn:
        """Two charts of curves, by predictor; the table keeps who was predicted apart."""
        moves = decisions(data)
        by, notes = block_columns(data), list[str]()
        try:
            scored = scored_predictions(moves)
            first = first_right_rounds(moves, by)
        except UsageError as error:
            return Drawn(notes=[f"Nothing to show: {error}."])
        shown = few_blocks(scored, by, notes)
        accuracy = match_means(scored, [*shown, "agent", "round"], "right")
        agents = list(dict.fromkeys(row["agent"] for row in accuracy))
        figures = [
            _figure(
                "games_predictions_accuracy", accuracy, shown, agents, "share of right predictions",
                "Share of right predictions in each round, by who predicts. Means over matches, bands 95 % "
                "bootstrap intervals over matches.",
            ),
            _figure(
                "games_predictions_first_right", _settled(first, shown), shown, agents, "all right from here on",
                "Share of matches in which every prediction from a round on is right, by who predicts: the "
                "curve counts matches in which this is never so as well. Bands are 95 % bootstrap intervals "
                "over matches.",
            ),
        ]  # fmt: skip
        return Drawn(figures, [_table(first, by)], notes)


def _figure(
    name: str, rows: list[dict[str, Any]], columns: list[str], agents: list[str], y: str, caption: str
) -> Figure:
    made, facets, series = placed(rows, columns, agents)
    made = sorted(({**row, "x": row["round"]} for row in made), key=lambda row: row["x"])
    chart = curves(made, x="round", y=y, facets=facets, series=series, legend="predicted by")
    return Figure(name, chart, caption, f"Curves of {y} against the round.")


def _settled(first: Any, columns: list[str]) -> list[dict[str, Any]]:
    """Per round: in which share of matches all predictions from it on are right."""
    keys = [*columns, "agent"]
    rows = []
    for group in first.partition_by(keys, maintain_order=True):
        head = group.row(0, named=True)
        for number in range(1, int(group["rounds"].max()) + 1):
            by_match: dict[Any, list[float]] = {}
            for line in group.iter_rows(named=True):
                if line["rounds"] >= number:
                    reached = line["from_round"] is not None and line["from_round"] <= number
                    by_match.setdefault(line["match"], []).append(float(reached))
            values = [sum(v) / len(v) for v in by_match.values()]
            rows.append({**{k: head[k] for k in keys}, "round": number, **summarised(values)})
    return rows


def _table(first: Any, by: list[str]) -> Table:
    import polars as pl

    keys = [*by, "agent", "target_agent"]
    rows = []
    for group in first.partition_by(keys, maintain_order=True):
        head = group.row(0, named=True)
        reached = [n for n in group["from_round"].to_list() if n is not None]
        never = group.height - len(reached)
        per_match = group.group_by("match", maintain_order=True).agg(pl.col("accuracy").mean())
        spread = summarised(per_match["accuracy"].to_list())
        rows.append([
            *(head[k] for k in keys), group["match"].n_unique(), group.height,
            float(median(reached)) if reached else None, never,
            Share(spread["mean"]),
            None if spread["low"] is None else Share(spread["low"]),
            None if spread["high"] is None else Share(spread["high"]),
        ])  # fmt: skip
    return Table(
        "games_predictions",
        [*by, "predicted by", "predicted", "matches", "series", "median first right round", "never",
         "accuracy", "low", "high"],
        rows,
        "From which round on all predictions are right: the median over those series of predictions that get "
        "there, beside how many never do; accuracy with a 95 % interval over matches.",
    )  # fmt: skip


PANEL = GamesPredictions
