"""Word mentions: how many traces of reasoning use a word of a list at all."""

from __future__ import annotations

from ostrom.analysis.measure import Measure
from ostrom.analysis.rundata import quoted
from ostrom.analysis.traces.table import trace_lexicons
from ostrom.analysis.traces.values import COLUMNS, of_traces
from ostrom.errors import UnknownName


def word_mentions(words: str = "defection") -> Measure:
    """``words`` is the name of a list, as for ``word_rate``."""
    known = [lexicon.name for lexicon in trace_lexicons()]
    if words not in known:
        raise UnknownName("list of words", words, known)
    return Measure(
        name="word_mentions",
        title=f"Share of traces with {words.replace('_', ' ')} words",
        scale="share",
        definition=f"The share of a player's traces of reasoning that use a word of the list {words}.",
        needs=("matches.agent_memory",),
        values=lambda data: of_traces(data, f"({quoted(words)} > 0)::INTEGER", "1"),
        columns=COLUMNS,
    )


MEASURE = word_mentions
