"""Panels about reasoning: why traces are missing, word counts, and texts with highlighted words."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ostrom.analysis.estimate import Estimate, estimate
from ostrom.data.rundata import RunData, quoted
from ostrom.features.words.lexicons import Span, highlight
from ostrom.features.words.traces.table import DONE, key_columns, source, trace_lexicons, trace_table, trace_texts
from ostrom.ground.values import grouped
from ostrom.reports.cells import spread
from ostrom.reports.words import pretty, written

TONES = {
    "forward_looking": "#cfe8dc",
    "history_following": "#dcdff3",
    "paranoia": "#f8d3c0",
    "cooperation": "#cde3f3",
    "defection": "#f6e3ad",
}


def why_no_traces(data: RunData) -> str:
    """Return why no trace of a finished match was counted; empty if one was."""
    if not data.rows["calls"]:
        return "No model was called in this run, so there are no traces to read."
    table = trace_table(data)
    if not table.rows:
        return f"None of {table.replies} replies holds reasoning (agents were asked for their answer alone)."
    done = data.records(f"SELECT count(*) AS n FROM {source(table)} WHERE {DONE}")[0]["n"]
    return "" if done else f"{table.rows} replies hold reasoning, but none is of a finished match."


def word_estimates(data: RunData, counts: Iterable[Mapping[str, Any]], by: Sequence[str]) -> dict[str, list[Estimate]]:
    """The estimates of several measures of words, by the name of each."""
    return {count["name"]: list(estimate(data, count["measure"], by)) for count in counts}


def traces_by(data: RunData, by: Sequence[str]) -> dict[tuple[Any, ...], int]:
    """How many traces of finished matches there are for every combination of columns."""
    keys = ", ".join(quoted(column) for column in by)
    rows = data.records(
        f"SELECT {keys}, count(*) AS traces FROM {source(trace_table(data))} WHERE {DONE} GROUP BY {keys}"
    )
    return {tuple(row[column] for column in by): row["traces"] for row in rows}


def sampled(data: RunData, most: int) -> list[dict[str, Any]]:
    """Return one pseudo-randomly chosen trace from each cell, at most ``most`` cells evenly spread.

    A row has its ``text``, and says ``where`` it comes from.
    """
    keys = ", ".join(quoted(name) for name in ["agent", *data.factors])
    rows = data.records(
        "SELECT arg_min(id, (id * 2654435761) % 4294967296) AS id, min(match) AS first "
        f"FROM {source(trace_table(data))} WHERE {DONE} GROUP BY {keys} ORDER BY first, id"
    )
    chosen = [int(row["id"]) for row in spread(rows, most)]
    columns, samples = [*key_columns(data), "reasoning"], {}
    for values, text in trace_texts(data, f"t.id IN ({', '.join('?' * len(chosen))})", chosen):
        key = dict(zip(columns, values, strict=True))
        factors = [f"{pretty(name)} {written(key[name])}" for name in data.factors]
        ends = [f"match {key['match']}", f"player {key['player']}", f"reasoning {key['reasoning']}"]
        samples[key["id"]] = {"where": [str(key["agent"]), *factors, *ends], "text": text}
    return [samples[number] for number in chosen if number in samples]


def highlighted(text: str, spans: Sequence[Span] | None = None) -> Markup:
    """Return the text escaped and with matches highlighted; the first of overlapping lists wins.

    >>> highlighted("a <b>risk</b>", [Span(5, 9, "paranoia", "risk")])
    Markup('a &lt;b&gt;<mark style="background:#f8d3c0" title="paranoia">risk</mark>&lt;/b&gt;')
    """
    mark = Markup('{}<mark style="background:{}" title="{}">{}</mark>')
    parts: list[Markup] = []
    at = 0
    for span in highlight(text, trace_lexicons()) if spans is None else spans:
        if span.start >= at:
            name, tone = pretty(span.list_name), TONES.get(span.list_name, "#e8e8e8")
            parts.append(mark.format(text[at : span.start], tone, name, text[span.start : span.end]))
            at = span.end
    return Markup("").join([*parts, Markup.escape(text[at:])])


def paired_traces(
    data: RunData, factor: str, levels: Sequence[Any] | None, number: int, seat: int, cooperation: float = 0.0
) -> dict[str, Any]:
    """Return two ``levels`` of a factor, and for every cell that was played at both the ``ids`` of its first traces.

    These are the ``pairs``, in one round and seat, and only of players who cooperate at least so often.
    """
    cell = ", ".join(f"t.{quoted(c)}" for c in ["agent", *(f for f in data.factors if f != factor), "seed"])
    rows = data.records(
        f"SELECT t.id, t.{quoted(factor)} AS level, concat_ws(' · ', {cell}) AS cell FROM traces t JOIN decisions d "
        "ON t.match = d.match AND t.step = d.step AND t.player = d.player "
        "JOIN matches m ON t.match = m.match AND t.player = m.player "
        "WHERE t.state = 'done' AND d.round = ? AND t.seat = ? AND regexp_full_match(t.part, 'try[0-9]+') "
        "AND (? = 0 OR m.cooperation >= ?) ORDER BY t.match, t.id",
        number, seat, cooperation, cooperation,
    )  # fmt: skip
    all_levels = sorted({row["level"] for row in rows}, key=lambda v: (str(type(v)), v))
    ends = levels or ([all_levels[0], all_levels[-1]] if len(all_levels) > 1 else [])
    cells = grouped((row["cell"], (row["level"], row["id"])) for row in reversed(rows))
    firsts = [(cell, dict(of)) for cell, of in reversed(cells.items())]
    both = [{"cell": cell, "ids": [of[end] for end in ends]} for cell, of in firsts if {*ends} <= {*of}]
    return {"levels": ends, "pairs": both if len({*ends}) == 2 else []}


def texts_of(data: RunData, ids: list[int]) -> dict[int, str]:
    """Traces by their number."""
    at, marks = key_columns(data).index("id"), ", ".join("?" * len(ids)) or "NULL"
    return {key[at]: text for key, text in trace_texts(data, f"t.id IN ({marks})", ids)}
