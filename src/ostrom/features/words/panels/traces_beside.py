"""The same seat and round at two levels of a factor: two traces side by side."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from ostrom.data.rundata import RunData, quoted
from ostrom.features.words.lexicons import highlight
from ostrom.features.words.panels._traces_shared import table_or_note
from ostrom.features.words.panels.traces_samples import LONGEST, marked
from ostrom.features.words.traces.table import key_columns, trace_lexicons, trace_texts
from ostrom.ground.errors import UnknownName
from ostrom.reports.panel import Drawn, Panel
from ostrom.reports.words import pretty


class TracesBeside(Panel):
    """``factor`` with its two ``levels`` (by default the first and the last played), at one ``round`` and ``seat``.

    Everything else is the same: agent, other factors and seed. At most ``pairs`` pairs, the first of the run.
    """

    title = "The same seat and round, side by side"

    def __init__(
        self,
        factor: str = "history_length",
        levels: Any = None,
        round: int = 2,
        seat: int = 1,
        pairs: int = 4,
    ) -> None:
        if levels is not None and (not isinstance(levels, list | tuple) or len(levels) != 2):
            raise ValueError(f"levels must be two levels of the factor (found {levels!r})")
        if round < 1 or seat < 1 or not 1 <= pairs <= 50:
            raise ValueError("round and seat must be at least 1, pairs between 1 and 50")
        self.factor, self.levels = factor, levels
        self.round, self.seat, self.pairs = round, seat, pairs

    def draw(self, data: RunData) -> Drawn:
        """Pairs of traces, each with its words marked."""
        table, why = table_or_note(data)
        if table is None:
            return Drawn(notes=[why])
        if self.factor not in data.factors:
            raise UnknownName("factor", self.factor, data.factors)
        rest = ", ".join(quoted(c) for c in ["agent", *(f for f in data.factors if f != self.factor), "seed"])
        rows = data.records(
            f"SELECT t.id, t.{quoted(self.factor)} AS level, row_number() OVER () AS n, concat_ws(' · ', "
            f"{', '.join(f't.{c.strip()}' for c in rest.split(', '))}) AS cell FROM traces t JOIN decisions d "
            "ON t.match = d.match AND t.step = d.step AND t.player = d.player "
            "WHERE t.state = 'done' AND d.round = ? AND t.seat = ? AND regexp_full_match(t.part, 'try[0-9]+') "
            "ORDER BY t.match, t.id",
            self.round, self.seat,
        )  # fmt: skip
        known = sorted({row["level"] for row in rows}, key=lambda v: (str(type(v)), v))
        first, second = self.levels or ((known[0], known[-1]) if known else (None, None))
        cells: dict[str, dict[Any, int]] = {}
        for row in rows:
            cells.setdefault(row["cell"], {}).setdefault(row["level"], row["id"])
        pairs = [(cell, of[first], of[second]) for cell, of in cells.items() if first in of and second in of]
        where = f"round {self.round}, seat {self.seat}"
        if first == second or not pairs:
            return Drawn(notes=[f"No agent has traces at two levels of {pretty(self.factor)} in {where}."])
        chosen = pairs[: self.pairs]
        texts = self._texts(data, [one for _, *ids in chosen for one in ids])
        name = pretty(self.factor)
        frame = '<h4>{}</h4><div style="display:grid;grid-template-columns:1fr 1fr;gap:1rem">{}{}</div>'
        html = [
            Markup(frame).format(
                cell, _side(f"{name} {first}", texts[a]), _side(f"{name} {second}", texts[b])
            )
            for cell, a, b in chosen
        ]
        note = f"{where.capitalize()}: {len(chosen)} of {len(pairs)} pairs, the first of the run."
        return Drawn(notes=[note], html=html)

    def _texts(self, data: RunData, ids: list[int]) -> dict[int, str]:
        marks = ", ".join("?" * len(ids))
        at = key_columns(data).index("id")
        return {key[at]: text for key, text in trace_texts(data, f"t.id IN ({marks})", ids)}


def _side(head: str, text: str) -> Markup:
    cut = text[:LONGEST]
    shown = (
        marked(cut, highlight(cut, trace_lexicons())) if cut else Markup("<em>{}</em>").format("no reasoning")
    )
    return Markup(
        '<div><strong>{}</strong><pre style="white-space:pre-wrap;overflow-wrap:anywhere">{}</pre></div>'
    ).format(head, shown)


PANEL = TracesBeside
