"""Traces on the page: why there are none, what is counted in them, and texts with the words of the lexicons marked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.data.rundata import RunData, quoted
from ostrom.features.words.lexicons import Lexicon, Span, highlight
from ostrom.features.words.traces.summary import DONE, source
from ostrom.features.words.traces.table import (
    TraceTable,
    key_columns,
    trace_lexicons,
    trace_table,
    trace_texts,
)
from ostrom.ground.errors import UnknownName
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


def why_no_traces(data: RunData) -> str:
    """Why no trace of a finished match was counted; empty where one was."""
    if not data.rows["calls"]:
        return "No model was called in this run, so there are no traces to read."
    table = trace_table(data)
    if not table.rows:
        return f"None of {table.replies} replies holds reasoning (agents were asked for their answer alone)."
    done = data.records(f"SELECT count(*) AS n FROM {source(table)} WHERE {DONE}")[0]["n"]
    return "" if done else f"{table.rows} replies hold reasoning, but none is of a finished match."


def word_estimates(
    data: RunData, counts: Iterable[Mapping[str, Any]], by: Sequence[str]
) -> dict[str, list[Estimate]]:
    """The estimates of several measures of words, by the name of each."""
    return {count["name"]: list(estimate(data, count["measure"], by)) for count in counts}


def traces_by(data: RunData, by: Sequence[str]) -> dict[tuple[Any, ...], int]:
    """How many traces of finished matches there are for every combination of columns."""
    keys = ", ".join(quoted(column) for column in by)
    rows = data.records(
        f"SELECT {keys}, count(*) AS traces FROM {source(trace_table(data))} WHERE {DONE} GROUP BY {keys}"
    )
    return {tuple(row[column] for column in by): row["traces"] for row in rows}


class TracesSamples(Panel):
    """``traces`` samples, chosen by a fixed rule that knows nothing of what they say."""

    title = "Traces to read"

    def __init__(self, traces: int = 6) -> None:
        if not 1 <= traces <= 50:
            raise ValueError(f"traces must lie between 1 and 50 (found {traces})")
        self.traces = traces

    def draw(self, data: RunData) -> Drawn:
        """Each trace with where it comes from."""
        if why := why_no_traces(data):
            return Drawn(notes=[why])
        chosen = self._choose(data, trace_table(data))
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
        if why := why_no_traces(data):
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
