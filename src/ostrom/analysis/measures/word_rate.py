"""Word rate: how often reasoning uses the words of a list."""

from __future__ import annotations

from ostrom.analysis.measure import Measure
from ostrom.analysis.rundata import quoted
from ostrom.analysis.traces.table import trace_lexicons
from ostrom.analysis.traces.values import COLUMNS, of_traces
from ostrom.errors import UnknownName


def word_rate(words: str = "paranoia") -> Measure:
    """``words`` is the name of a list: forward_looking, history_following, paranoia, cooperation, defection."""
    known = [lexicon.name for lexicon in trace_lexicons()]
    if words not in known:
        raise UnknownName("list of words", words, known)
    return Measure(
        name="word_rate",
        title=f"{words.replace('_', ' ').capitalize()} words per 1,000 words",
        scale="number",
        definition=f"Words of the list {words} per 1,000 words of a player's reasoning, all words counted alike.",
        bounds=(0.0, None),
        needs=("matches.agent_memory",),
        values=lambda data: of_traces(data, quoted(words), "words", 1000.0),
        source="Liu et al. (2026), Appendix E.2",
        columns=COLUMNS,
    )


MEASURE = word_rate
