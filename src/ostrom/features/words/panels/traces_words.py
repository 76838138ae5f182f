"""The words of reasoning against history length: paranoia, looking forward, mentions of defection."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.data.rundata import RunData, quoted
from ostrom.features.words.panels._traces_shared import CELL, table_or_note
from ostrom.features.words.traces.summary import DONE, source
from ostrom.features.words.traces.table import TraceTable
from ostrom.ground.errors import UnknownName
from ostrom.reports.cells import agents
from ostrom.reports.chart import rests_on
from ostrom.reports.layout import lines_by, named, splits
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import pretty

Wanted = tuple[str, str, dict[str, str], tuple[int, int] | None]
SHOWS: dict[str, tuple[str, list[Wanted]]] = {
    "paranoia": (
        "Paranoia in reasoning",
        [
            ("paranoia_ratio", "paranoia / (paranoia + cooperation words)",
             {"name": "word_ratio", "ratio": "paranoia_ratio"}, (0, 1)),
            ("paranoia_per_1000_words", "paranoia words per 1,000 words",
             {"name": "word_rate", "words": "paranoia"}, None),
            ("cooperation_per_1000_words", "cooperation words per 1,000 words",
             {"name": "word_rate", "words": "cooperation"}, None),
        ],
    ),
    "forward": (
        "Looking forward in reasoning",
        [("forward_looking_ratio", "forward / (forward + history words)",
          {"name": "word_ratio", "ratio": "forward_looking_ratio"}, (0, 1))],
    ),
    "defection": (
        "Mentions of defection",
        [("defection_mentions", "share of traces naming a defection",
          {"name": "word_mentions", "words": "defection"}, (0, 1))],
    ),
}  # fmt: skip
"""Of each kind: its title, and for each figure its name, its axis, its measure and the domain of the axis."""


class TracesWords(Panel):
    """``show`` is paranoia (ratio, and words per 1,000), forward (ratio) or defection (share of traces)."""

    def __init__(self, show: str = "paranoia") -> None:
        if show not in SHOWS:
            raise UnknownName("kind of words", show, SHOWS)
        self.show = show
        self.title, self.wanted = SHOWS[show]

    def draw(self, data: RunData) -> Drawn:
        """Curves by game, and the table."""
        table, why = table_or_note(data)
        if table is None:
            return Drawn(notes=[why])
        figures, tables, notes = [], [], []
        for name, axis, measure, domain in self.wanted:
            found = estimate(data, measure, CELL)
            if not found:
                notes.append(f"No trace holds a word that {pretty(name)} counts, so it is undefined here.")
                continue
            figures += _figures(data, name, axis, found, domain)
            tables.append(_table(data, table, name, axis, found))
        return Drawn(figures, tables, notes)


def _figures(data: RunData, name: str, axis: str, found: list[Estimate], domain: Any) -> list[Figure]:
    known = [agent for agent in agents(data) if any(e.key["agent"] == agent for e in found)]
    many, made = len({e.key["agent_style"] for e in found}) > 1, []
    for n, some in enumerate(splits(known)):
        drawn = [e for e in found if e.key["agent"] in some and e.key["history_length"] is not None]
        rows = [
            {
                "x": e.key["history_length"], "mean": e.value, "low": e.low, "high": e.high,
                "series": e.key["agent"],
                "facet": named(e.key["game"], e.key["agent_style"] if many else None),
            }
            for e in drawn
        ]  # fmt: skip
        if rows:
            chart = lines_by(rows, x="history length", y=axis, domain=domain, legend="agent")
            caption = (
                f"{axis[0].upper()}{axis[1:]} against history length, summed over the traces of a cell. "
                f"Bands are 95 % intervals. {rests_on(drawn)}"
            )
            file = f"traces_{name}" + (f"_{n + 1}" if n else "")
            made.append(Figure(file, chart, caption, f"Curves of {axis} against history length by game."))
    return made


def _table(data: RunData, table: TraceTable, name: str, axis: str, found: list[Estimate]) -> Table:
    keys = ", ".join(quoted(column) for column in CELL)
    counted = data.records(
        f"SELECT {keys}, count(*) AS traces FROM {source(table)} WHERE {DONE} GROUP BY {keys}"
    )
    traces = {tuple(row[column] for column in CELL): row["traces"] for row in counted}
    columns = ["agent", "agent_style", "game", "history_length"]
    rows = [
        [*(e.key[c] for c in columns), traces[tuple(e.key[c] for c in CELL)], e.n, e.value, e.low, e.high]
        for e in found
    ]
    shown = ["agent", "style", "game", "history_length", "traces", "matches", name, "low", "high"]
    return Table(f"traces_{name}", shown, rows, f"{axis[0].upper()}{axis[1:]}.")


PANEL = TracesWords
