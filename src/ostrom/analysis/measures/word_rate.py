"""Word rate: how often reasoning uses the words of a list."""

from __future__ import annotations

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import quoted
from ostrom.features.words.lexicons import Mode
from ostrom.features.words.traces.values import COLUMNS, known_words, of_traces


def word_rate(words: str = "paranoia", match: Mode | None = None) -> Measure:
    """``words`` is the name of a list: forward_looking, history_following, paranoia, cooperation, defection.

    ``match`` is word, inflected, prefix or substring; by default the list's own rule.
    """
    rule = known_words(words, match)
    return Measure(
        name="word_rate",
        title=f"{words.replace('_', ' ').capitalize()} words per 1,000 words",
        scale="number",
        definition=(
            f"Words of the list {words} (matched as {rule}) per 1,000 words of a player's reasoning, all words counted "
            "alike."
        ),
        bounds=(0.0, None),
        needs=("matches.agent_memory",),
        values=lambda data: of_traces(data, quoted(words), "words", 1000.0, match),
        source="Liu et al. (2026), Appendix E.2",
        columns=COLUMNS,
    )


MEASURE = word_rate
