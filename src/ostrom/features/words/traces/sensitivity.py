"""How much a count of words depends on the matching rule: every list under every rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ostrom.data.rundata import RunData
from ostrom.features.words.lexicons import MODES, Lexicon, Mode
from ostrom.features.words.traces.summary import trace_summary
from ostrom.features.words.traces.table import trace_lexicons, trace_table


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
