"""Scores in every cell, by agent, as dots with whiskers."""

from __future__ import annotations

from ostrom.analysis.rundata import RunData
from ostrom.reports.cells import means, why_nothing
from ostrom.reports.layout import dot_chart, lay_out
from ostrom.reports.panel import Drawn, Figure, Panel, Table

MOST_ROWS = 400


class Scores(Panel):
    """What agents earn: the mean score over matches with a 95 % interval, on a scale per game."""

    title = "Scores"

    def draw(self, data: RunData) -> Drawn:
        """One row per cell, one dot per agent; games are never put on one scale."""
        found = means(data, [*data.factors, "agent"], "score")
        if not found:
            return Drawn(notes=[why_nothing(data, "score")])
        layout = lay_out(data, block="game")
        caption = (
            "Score per player as the mechanism defines it. Means over matches with 95 % percentile bootstrap "
            "intervals that resample matches; every block has a scale of its own: compare within blocks only."
        )
        notes = []
        if len(found) > MOST_ROWS:
            notes.append(f"The chart shows the first {MOST_ROWS} of {len(found)} cells; the table has all.")
        chart = dot_chart(found[:MOST_ROWS], layout, axis="score", domain=None)
        rows = [[*m.key.values(), m.matches, m.mean, m.low, m.high] for m in found]
        table = Table(
            "scores",
            [*data.factors, "agent", "matches", "score", "low", "high"],
            rows,
            "Scores by cell and agent.",
        )
        alt = f"Dot plot of mean scores for {len(found)} combinations of cell and agent."
        return Drawn([Figure("scores", chart, caption, alt)], [table], notes)


PANEL = Scores
