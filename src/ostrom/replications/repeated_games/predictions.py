"""From which round on moves were predicted without a mistake (Akata et al. 2025).

Predictions are asked by the mechanism (of players or of an observer) or made on the way to a choice (style
social). Each is held against what the predicted seat then did in that round.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.data.rundata import RunData, quoted


def first_right_rounds(data: RunData, by: Sequence[str] = ()) -> list[dict[str, Any]]:
    """From which round on every prediction is right: one row per match, predictor and predicted seat.

    ``from_round`` is None where even the last prediction is wrong.
    """
    keys = "match player seat agent agent_style strategy target".split()
    picked = ", ".join(f"p.{quoted(name)}" for name in dict.fromkeys([*keys, *by]))
    return data.records(
        f"SELECT {picked}, a.agent AS target_agent, "
        "max(CASE WHEN p.answer IS DISTINCT FROM a.action THEN p.round END) AS wrong, "
        "CASE WHEN wrong IS NULL THEN min(p.round) WHEN wrong < max(p.round) THEN wrong + 1 END AS from_round "
        "FROM decisions p JOIN decisions a ON a.match = p.match AND a.round = p.round AND a.seat = p.target "
        "WHERE starts_with(p.kind, 'predict') AND p.state = 'done' AND p.unit = 'match' "
        "AND a.kind = 'act' AND a.action IS NOT NULL GROUP BY ALL ORDER BY p.match, p.player, p.target"
    )


class PredictionLine(NamedTuple):
    """How well one agent predicts another."""

    accuracy: Estimate
    series: int
    """How many series of predictions there are: one per match, predictor and predicted seat."""
    median: float | None
    """The median first round from which all are right, over the series that get there."""
    never: int


def prediction_lines(data: RunData, by: Sequence[str]) -> list[PredictionLine]:
    """Accuracy and first right rounds by who predicts whom; nothing where nobody predicts."""
    keys = [*by, "agent", "target_agent"]
    series: dict[tuple[Any, ...], list[int | None]] = {}
    for row in first_right_rounds(data, by):
        series.setdefault(tuple(row[key] for key in keys), []).append(row["from_round"])
    lines = []
    for one in estimate(data, "prediction_accuracy", keys) if series else ():
        reached = series[tuple(one.key.values())]
        right = [number for number in reached if number is not None]
        middle = float(median(right)) if right else None
        lines.append(PredictionLine(one, len(reached), middle, len(reached) - len(right)))
    return lines
