"""Traces to read: a few, spread over the cells, with the words of the lexicons marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from ostrom.data.rundata import RunData, quoted
from ostrom.features.words.lexicons import Lexicon, Span, highlight
from ostrom.features.words.panels._traces_shared import table_or_note
from ostrom.features.words.traces.summary import DONE, source
from ostrom.features.words.traces.table import TraceTable, key_columns, trace_lexicons, trace_texts
from ostrom.reports.panel import Drawn, Panel
from ostrom.reports.words import pretty

TONES = {
    "forward_looking": "#cfe8dc",
    "history_following": "#dcdff3",
    "paranoia": "#f8d3c0",
    "cooperation": "#cde3f3",
    "defection": "#f6e3ad",
}
LONGEST = 6000
"""Characters of a trace on the page; a longer one is cut in view."""


class TracesSamples(Panel):
    """``traces`` samples, chosen by a fixed rule that knows nothing of what they say."""

    title = "Traces to read"

    def __init__(self, traces: int = 6) -> None:
        if not 1 <= traces <= 50:
            raise ValueError(f"traces must lie between 1 and 50 (found {traces})")
        self.traces = traces

    def draw(self, data: RunData) -> Drawn:
        """Each trace with where it comes from."""
        table, why = table_or_note(data)
        if table is None:
            return Drawn(notes=[why])
        chosen = self._choose(data, table)
        lexicons = trace_lexicons()
        columns = [*key_columns(data), "reasoning"]
        marks = ", ".join("?" * len(chosen))
        found = {
            dict(zip(columns, key, strict=True))["id"]: (dict(zip(columns, key, strict=True)), text)
            for key, text in trace_texts(data, f"t.id IN ({marks})", chosen)
        }
        head = Markup('<p class="data">Marked words: {}</p>').format(
            Markup(" ").join(_mark(name, pretty(name)) for name in TONES)
        )
        fragments = [head, *(_shown(data, *found[one], lexicons) for one in chosen if one in found)]
        note = (
            "One trace of each of several cells, spread over the run and drawn without looking at the text."
        )
        return Drawn(notes=[note], html=fragments)

    def _choose(self, data: RunData, table: TraceTable) -> list[int]:
        """One trace of every cell by a scrambled number, cells thinned out evenly."""
        keys = ", ".join(quoted(name) for name in ["agent", *data.factors])
        rows = data.records(
            "SELECT arg_min(id, (id * 2654435761) % 4294967296) AS id, min(match) AS first "
            f"FROM {source(table)} WHERE {DONE} GROUP BY {keys} ORDER BY first, id"
        )
        ids = [int(row["id"]) for row in rows]
        most = min(self.traces, len(ids))
        return [ids[i * (len(ids) - 1) // max(most - 1, 1)] for i in range(most)]


def _shown(data: RunData, key: dict[str, Any], text: str, lexicons: Sequence[Lexicon]) -> Markup:
    factors = [f"{pretty(name)} {pretty(key[name])}" for name in data.factors]
    where = [
        key["agent"],
        *factors,
        f"match {key['match']}",
        f"player {key['player']}",
        f"reasoning {key['reasoning']}",
    ]
    cut = text[:LONGEST]
    more = (
        Markup('<p class="note">{}</p>').format(f"{len(text) - LONGEST} more characters.")
        if len(text) > LONGEST
        else ""
    )
    return Markup(
        "<details open><summary>{}</summary>"
        '<pre style="white-space:pre-wrap;overflow-wrap:anywhere">{}</pre>{}</details>'
    ).format(" · ".join(map(str, where)), marked(cut, highlight(cut, lexicons)), more)


def marked(text: str, spans: Sequence[Span]) -> Markup:
    """The text, escaped, with matches marked; of overlapping lists the first keeps the words.

    >>> marked("a <b>risk</b>", [Span(5, 9, "paranoia", "risk")])
    Markup('a &lt;b&gt;<mark style="background:#f8d3c0" title="paranoia">risk</mark>&lt;/b&gt;')
    """
    parts: list[Markup] = []
    at = 0
    for span in spans:
        if span.start < at:
            continue
        parts += [Markup.escape(text[at : span.start]), _mark(span.list_name, text[span.start : span.end])]
        at = span.end
    return Markup("").join([*parts, Markup.escape(text[at:])])


def _mark(name: str, words: str) -> Markup:
    tone = TONES.get(name, "#e8e8e8")
    return Markup('<mark style="background:{}" title="{}">{}</mark>').format(tone, pretty(name), words)


PANEL = TracesSamples
