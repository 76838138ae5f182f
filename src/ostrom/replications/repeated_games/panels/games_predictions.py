"""From which round on the other player is predicted without a mistake (Akata et al. 2025)."""

from __future__ import annotations

from statistics import median
from typing import Any

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import RunData
from ostrom.replications.repeated_games.predictions import first_right_rounds
from ostrom.reports.cells import levels, varied
from ostrom.reports.panel import Drawn, Panel, Table
from ostrom.reports.words import Share


class GamesPredictions(Panel):
    """Accuracy, and the median first round from which all predictions are right, by who predicts whom."""

    title = "Predicting the other player"

    def draw(self, data: RunData) -> Drawn:
        """A table; curves of accuracy by round are declared charts."""
        factors = varied(data)
        apart = "game" not in factors and len(levels(data, "game")) > 1
        by = [*(["game"] if apart else []), *factors]
        keys = [*by, "agent", "target_agent"]
        series: dict[tuple[Any, ...], list[int | None]] = {}
        for row in first_right_rounds(data, by):
            series.setdefault(tuple(row[key] for key in keys), []).append(row["from_round"])
        if not series:
            return Drawn(notes=["Nothing to show: there is no prediction in a finished match."])
        rows = []
        for one in estimate(data, "prediction_accuracy", keys):
            reached = series[tuple(one.key.values())]
            right = [number for number in reached if number is not None]
            ends = [None if end is None else Share(end) for end in (one.low, one.high)]
            rows.append(
                [
                    *one.key.values(), one.n, len(reached), float(median(right)) if right else None,
                    len(reached) - len(right), Share(one.value), *ends,
                ]
            )  # fmt: skip
        columns = "predicted by,predicted,matches,series,median first right round,never,accuracy,low,high"
        table = Table(
            "games_predictions",
            [*by, *columns.split(",")],
            rows,
            "From which round on all predictions are right: the median over those series of predictions that get "
            "there, beside how many never do; accuracy with a 95 % interval over matches.",
        )
        return Drawn(tables=[table])


PANEL = GamesPredictions
