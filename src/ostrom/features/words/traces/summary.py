"""Counted traces summed over groups: frequencies, ratios and mentions, each under the name of its meaning.

Also how much a count depends on the matching rule: every list under every rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ostrom.data.rundata import RunData, literal, quoted
from ostrom.features.words.lexicons import MODES, Lexicon, Mode
from ostrom.features.words.traces.table import TraceTable, trace_lexicons, trace_table
from ostrom.ground.errors import UnknownName

DONE = "state = 'done'"
"""Only traces of finished matches enter a summary, as only finished matches enter a result."""


def default_groups(data: RunData) -> list[str]:
    """By agent, by every factor of the study, and by where the reasoning was found."""
    return ["agent", *data.factors, "reasoning"]


def source(table: TraceTable) -> str:
    """The table, for SQL."""
    return f"read_parquet({literal(str(table.path))})"


def trace_summary(data: RunData, table: TraceTable, by: Sequence[str]) -> list[dict[str, Any]]:
    """One row per group, in the order of the matches.

    Of every list: matches, ``_per_1000_words`` (of all words together), ``_share`` (of traces that mention
    it). Of every ratio: ``_of_sums`` (all matches together) and ``_mean`` (over the traces that have one);
    None where no trace has a match.
    """
    known = [row["column_name"] for row in data.records(f"DESCRIBE SELECT * FROM {source(table)}")]
    for name in by:
        if name not in known:
            raise UnknownName("column of traces", name, known)
    if not table.rows:
        return []
    figures = ["count(*) AS traces", "sum(words)::BIGINT AS words"]
    for name in table.lexicons:
        column = quoted(name)
        figures += [
            f"sum({column})::BIGINT AS {column}",
            f"1000 * sum({column}) / nullif(sum(words), 0) AS {quoted(name + '_per_1000_words')}",
            f"avg(({column} > 0)::INTEGER) AS {quoted(name + '_share')}",
        ]
    for ratio in table.ratios:
        part, other = quoted(ratio.part), quoted(ratio.other)
        figures += [
            f"sum({part}) / nullif(sum({part}) + sum({other}), 0) AS {quoted(ratio.name + '_of_sums')}",
            f"avg({quoted(ratio.name)}) AS {quoted(ratio.name + '_mean')}",
        ]
    # Numbered, since a column such as "cooperation" may be both a list and a name in the group.
    keys = "".join(f"{quoted(name)}, " for name in by)
    groups = f" GROUP BY {', '.join(str(i + 1) for i in range(len(by)))}" if by else " HAVING count(*) > 0"
    return data.records(
        f"SELECT {keys}{', '.join(figures)} FROM {source(table)} WHERE {DONE}{groups} "
        "ORDER BY min(match), min(id)"
    )


def unfinished(data: RunData, table: TraceTable) -> int:
    """How many traces belong to matches that are not finished and so enter no summary."""
    if not table.rows:
        return 0
    rows = data.records(f"SELECT count(*) AS n FROM {source(table)} WHERE NOT ({DONE})")
    return int(rows[0]["n"])


class CountedList(NamedTuple):
    """One list under one rule, over all traces of finished matches."""

    words: str
    match: Mode
    used: bool
    """Whether this is the rule of the list."""
    traces: int
    matches: int
    per_1000_words: float | None
    share_of_traces: float | None


def sensitivity(data: RunData, lexicons: Sequence[Lexicon] | None = None) -> list[CountedList]:
    """Every list under every rule, in the order of the lists; empty where no finished match has a trace."""
    lists = trace_lexicons() if lexicons is None else tuple(lexicons)
    rows: dict[Mode, dict[str, float]] = {}
    for mode in MODES:
        found = trace_summary(data, trace_table(data, lists, mode), ())  # type: ignore[arg-type]
        if not found:
            return []
        rows[mode] = found[0]  # type: ignore[index]
    return [
        CountedList(
            x.name, mode, mode == x.mode, int(row["traces"]), int(row[x.name]),
            row[f"{x.name}_per_1000_words"], row[f"{x.name}_share"],
        )
        for x in lists
        for mode, row in rows.items()
    ]  # fmt: skip
