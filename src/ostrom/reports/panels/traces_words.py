"""The words of reasoning against history length: paranoia, looking forward, mentions of defection."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.lexicons import RATIOS
from ostrom.analysis.rundata import RunData, quoted
from ostrom.errors import UnknownName
from ostrom.reports.cells import agents
from ostrom.reports.layout import lines_by, named, splits
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.panels._traces_shared import Share, ratio_sql, shares, table_or_note
from ostrom.reports.words import pretty

SHOWS = ("paranoia", "forward", "defection")


class TracesWords(Panel):
    """``show`` is paranoia (ratio, and words per 1,000), forward (ratio) or defection (share of traces)."""

    def __init__(self, show: str = "paranoia") -> None:
        if show not in SHOWS:
            raise UnknownName("kind of words", show, SHOWS)
        self.show = show
        self.title = {
            "paranoia": "Paranoia in reasoning", "forward": "Looking forward in reasoning",
            "defection": "Mentions of defection",
        }[show]  # fmt: skip

    def draw(self, data: RunData) -> Drawn:
        """Curves by game, and the table."""
        table, why = table_or_note(data)
        if table is None:
            return Drawn(notes=[why])
        by_name = {ratio.name: ratio for ratio in RATIOS}
        wanted: list[tuple[str, str, list[Share], Any]] = []
        if self.show == "paranoia":
            part, whole = ratio_sql(by_name["paranoia_ratio"])
            wanted.append(("paranoia_ratio", "paranoia / (paranoia + cooperation words)",
                           shares(data, table, part, whole), (0, 1)))  # fmt: skip
            for name in ("paranoia", "cooperation"):
                found = shares(data, table, quoted(name), "words", 1000)
                wanted.append((f"{name}_per_1000_words", f"{name} words per 1,000 words", found, None))
        elif self.show == "forward":
            part, whole = ratio_sql(by_name["forward_looking_ratio"])
            axis = "forward / (forward + history words)"
            wanted.append(("forward_looking_ratio", axis, shares(data, table, part, whole), (0, 1)))
        else:
            found = shares(data, table, "(defection > 0)::INTEGER", "1")
            wanted.append(("defection_mentions", "share of traces naming a defection", found, (0, 1)))
        figures, tables, notes = [], [], []
        for name, axis, found, domain in wanted:
            if not found:
                notes.append(f"No trace holds a word that {pretty(name)} counts, so it is undefined here.")
                continue
            figures += _figures(data, name, axis, found, domain)
            tables.append(_table(name, axis, found))
        return Drawn(figures, tables, notes)


def _figures(data: RunData, name: str, axis: str, found: list[Share], domain: Any) -> list[Figure]:
    known = [agent for agent in agents(data) if any(s.agent == agent for s in found)]
    many, made = len({s.style for s in found}) > 1, []
    for n, some in enumerate(splits(known)):
        rows = [
            {
                "x": s.length,
                "mean": s.value,
                "low": s.low,
                "high": s.high,
                "series": s.agent,
                "facet": named(s.game, s.style if many else None),
            }
            for s in found
            if s.agent in some and s.length is not None
        ]
        if rows:
            chart = lines_by(rows, x="history length", y=axis, domain=domain, legend="agent")
            caption = (
                f"{axis[0].upper()}{axis[1:]} against history length, summed over the traces of a cell. "
                "Bands are 95 % intervals that resample matches."
            )
            file = f"traces_{name}" + (f"_{n + 1}" if n else "")
            made.append(Figure(file, chart, caption, f"Curves of {axis} against history length by game."))
    return made


def _table(name: str, axis: str, found: list[Share]) -> Table:
    rows = [[s.agent, s.style, s.game, s.length, s.traces, s.matches, s.value, s.low, s.high] for s in found]
    columns = ["agent", "style", "game", "history_length", "traces", "matches", name, "low", "high"]
    return Table(f"traces_{name}", columns, rows, f"{axis[0].upper()}{axis[1:]}.")


PANEL = TracesWords
