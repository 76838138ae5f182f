"""Word ratio: how the words of one list of reasoning compare with those of another."""

from __future__ import annotations

from typing import Literal

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import quoted
from ostrom.features.words.lexicons import RATIOS, Mode
from ostrom.features.words.traces.values import COLUMNS, known_words, of_traces
from ostrom.ground.errors import UnknownName


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


MEASURE = word_ratio
