"""Whether stated chances are those of the moves, situation by situation."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.statistics.correlation import pearson
from ostrom.analysis.statistics.errors import StatisticsError
from ostrom.data.rundata import RunData
from ostrom.features.inference.said import statements
from ostrom.reports.panel import Drawn, Panel, Table

NOTHING = "No player has stated a strategy (mechanism: {name: repetition, state: after})."


class SaidAndDone(Panel):
    """Stated and revealed chances of the first action in each situation, and how they correlate."""

    title = "What was said and what was done"

    def draw(self, data: RunData) -> Drawn:
        """One table of situations, one of correlations."""
        pairs: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
        for s in statements(data):
            for key, said, done in s.situations():
                pairs.setdefault((s.agent, s.when, key), []).append((said, done))
        if not pairs:
            return Drawn(notes=[NOTHING])
        rows = [
            [*key, sum(a for a, _ in met) / len(met), sum(b for _, b in met) / len(met), len(met)]
            for key, met in pairs.items()
        ]
        grouped: dict[tuple[Any, ...], list[tuple[float, float]]] = {}
        for (agent, when, _), met in pairs.items():
            grouped.setdefault((agent, when), []).extend(met)
        lines: list[list[Any]] = []
        for group, met in grouped.items():
            try:
                found = pearson([a for a, _ in met], [b for _, b in met], unit="situation")
                lines.append([*group, found.estimate, found.ci.low, found.ci.high, len(met), ""])
            except StatisticsError as problem:
                lines.append([*group, None, None, None, len(met), str(problem)])
        heads = ["agent", "stated", "situation", "said", "done", "statements"]
        caption = (
            "Chance of the first action, as stated and as played, in the first round and after each combination of own "
            "and other action of the last round (by their places in the lists), averaged over statements."
        )
        told = "Correlation of both over statements and situations; 95 % intervals take these as independent."
        return Drawn(
            tables=[
                Table("said_and_done", heads, rows, caption),
                Table("said_correlation", ["agent", "stated", "r", "low", "high", "n", "note"], lines, told),
            ]
        )


PANEL = SaidAndDone
