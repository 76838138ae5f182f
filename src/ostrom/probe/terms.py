"""Forward and reactive terms in a reply, and those that merely repeat the prompt.

The lists are those of Liu et al. (2026, Appendix D.2), matched as substrings (Appendix I.1). A term is an *echo*
where it stands in a copied passage: at least three words in a row that stand in the prompt in the same order, or a
whole sentence that does. Case and punctuation do not matter. Echoes never count: a prompt that speaks of "all future
rounds" would otherwise carry every reply that repeats it through the funnel.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from ostrom.features.words.lexicons import Lexicon, highlight, matched, memory_curse
from ostrom.ground.values import grouped

FORWARD, REACTIVE = "forward_looking", "history_following"
COPIED = 3
"""The number of consecutive words that make a copied passage."""
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_SENTENCE_END = re.compile(r"[.!?\n]")


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one reply: own ones, and echoes of the prompt."""

    forward: int
    reactive: int
    forward_echoes: int = 0
    reactive_echoes: int = 0


@lru_cache(maxsize=1)
def lexicons() -> tuple[Lexicon, ...]:
    """The forward-looking and the reactive list, as substrings."""
    return matched([x for x in memory_curse() if x.name in (FORWARD, REACTIVE)], "substring")


def terms_of(reply: str, prompt: str) -> Terms:
    """Count the terms of a reply.

    >>> terms_of("The future counts, and their signal too.", "Choose.")
    Terms(forward=2, reactive=0, forward_echoes=0, reactive_echoes=0)
    >>> terms_of("Points in all future rounds count. I take the risk.", "Your points in all future rounds count.")
    Terms(forward=0, reactive=1, forward_echoes=1, reactive_echoes=0)
    """
    spans = highlight(reply, lexicons())
    if not spans:
        return Terms(0, 0)
    copied = copied_passages(reply, prompt)
    own, echoes = {FORWARD: 0, REACTIVE: 0}, {FORWARD: 0, REACTIVE: 0}
    for span in spans:
        (echoes if any(start <= span.start and span.end <= end for start, end in copied) else own)[span.list_name] += 1
    return Terms(own[FORWARD], own[REACTIVE], echoes[FORWARD], echoes[REACTIVE])


def copied_passages(reply: str, prompt: str) -> list[tuple[int, int]]:
    """Return where the reply repeats the prompt: the longest passages, as (start, end) in the reply.

    >>> text = "I see: all future rounds count."
    >>> [text[a:b] for a, b in copied_passages(text, "Points of all future rounds are added.")]
    ['all future rounds']
    """
    words = [(m.group().lower(), m.start(), m.end()) for m in _WORD.finditer(reply)]
    sentences = _sentences(reply, words)
    places = grouped((word, place) for place, word in enumerate([m.group().lower() for m in _WORD.finditer(prompt)]))
    passages: list[tuple[int, int]] = []
    # running[p]: how many words up to here the reply shares with the prompt up to its word p
    running: dict[int, int] = {}
    lengths: list[int] = []
    for word, _, _ in words:
        running = {p: running.get(p - 1, 0) + 1 for p in places.get(word, ())}
        lengths.append(max(running.values(), default=0))
    for last, length in enumerate(lengths):
        if last + 1 < len(lengths) and lengths[last + 1] == length + 1:
            continue  # the passage continues
        first = last - length + 1
        if length >= COPIED or (length and any(first <= a and b <= last for a, b in sentences)):
            passages.append((words[first][1], words[last][2]))
    return passages


def _sentences(reply: str, words: list[tuple[str, int, int]]) -> list[tuple[int, int]]:
    """Return the first and last word of every sentence or line."""
    spans, first = [], 0
    for index, (_, _, end) in enumerate(words):
        following = words[index + 1][1] if index + 1 < len(words) else len(reply)
        if index + 1 == len(words) or _SENTENCE_END.search(reply, end, following):
            spans.append((first, index))
            first = index + 1
    return spans
