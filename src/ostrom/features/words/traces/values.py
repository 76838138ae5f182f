"""The measures of words: counted traces, as a share of sums for every player of every match, with its weight."""

from __future__ import annotations

from typing import Literal

from ostrom.analysis.measure import Measure, Rows
from ostrom.data.rundata import RunData, quoted
from ostrom.features.words.lexicons import MODES, RATIOS, Mode
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


def word_ratio(
    ratio: str = RATIOS[0].name, each: Literal["word", "trace"] = "word", match: Mode | None = None
) -> Measure:
    """``ratio`` is forward_looking_ratio, paranoia_ratio or cooperation_ratio.

    By default all words count alike; with ``each: trace`` every trace that has a ratio does. ``match`` is the rule for
    both lists (word, inflected, prefix or substring); by default each has its own.
    """
    known = {one.name: one for one in RATIOS}
    if ratio not in known:
        raise UnknownName("ratio of words", ratio, known)
    if each not in ("word", "trace"):
        raise ValueError(f"each must be word or trace (found {each!r})")
    rules = [known_words(name, match) for name in known[ratio][1:]]
    part, other = quoted(known[ratio].part), quoted(known[ratio].other)
    sums = (
        (part, f"{part} + {other}") if each == "word" else (quoted(ratio), f"({part} + {other} > 0)::INTEGER")
    )
    return Measure(
        name="word_ratio",
        title=ratio.replace("_", " ").capitalize(),
        scale="share",
        definition=(
            f"Words of the list {known[ratio].part} as a share of those and the words of the list "
            f"{known[ratio].other} in a player's reasoning (matched as {' and '.join(dict.fromkeys(rules))}); every "
            f"{each} counts alike."
        ),
        needs=("matches.agent_memory",),
        values=lambda data: of_traces(data, *sums, match=match),
        source="Liu et al. (2026), Appendices D.2 and E.2",
        columns=COLUMNS,
    )
