"""Counted traces as values of a measure: a share of sums for every player of every match, with its weight."""

from __future__ import annotations

from ostrom.analysis.measure import Rows
from ostrom.data.rundata import RunData
from ostrom.features.words.lexicons import MODES, Mode
from ostrom.features.words.traces.summary import DONE, source
from ostrom.features.words.traces.table import trace_lexicons, trace_table
from ostrom.ground.errors import UnknownName

COLUMNS = ("history_length",)
"""How many rounds the player saw, which matches have as a column only where the study varies it."""


def of_traces(data: RunData, part: str, whole: str, scale: float = 1.0, match: Mode | None = None) -> Rows:
    """Part over whole (SQL over columns of the table of traces), weighted by the whole.

    The weighted mean over players and matches is then the part of all of them over the whole of all of them.
    """
    if not data.rows["calls"]:
        return []
    return data.records(
        f"SELECT match, player, any_value(history_length) AS history_length, sum({whole})::DOUBLE AS weight, "
        f"{scale} * sum({part}) / nullif(sum({whole}), 0) AS value FROM {source(trace_table(data, match=match))} "
        f"WHERE {DONE} GROUP BY match, player ORDER BY match, player"
    )


def known_words(words: str, match: Mode | None) -> str:
    """Check a list and a rule by name; the answer says under which rule the list is counted."""
    rules = {lexicon.name: lexicon.mode for lexicon in trace_lexicons()}
    if words not in rules:
        raise UnknownName("list of words", words, rules)
    if match is not None and match not in MODES:
        raise UnknownName("match mode", match, MODES)
    return match or rules[words]
