"""Word mentions: how many traces of reasoning use a word of a list at all."""

from __future__ import annotations

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import quoted
from ostrom.features.words.lexicons import Mode
from ostrom.features.words.traces.values import COLUMNS, known_words, of_traces


def word_mentions(words: str = "defection", match: Mode | None = None) -> Measure:
    """``words`` is the name of a list and ``match`` its rule, as for ``word_rate``."""
    rule = known_words(words, match)
    return Measure(
        name="word_mentions",
        title=f"Share of traces with {words.replace('_', ' ')} words",
        scale="share",
        definition=f"The share of a player's traces of reasoning with a word of the list {words} (matched as {rule}).",
        needs=("matches.agent_memory",),
        values=lambda data: of_traces(data, f"({quoted(words)} > 0)::INTEGER", "1", match=match),
        columns=COLUMNS,
    )


MEASURE = word_mentions
