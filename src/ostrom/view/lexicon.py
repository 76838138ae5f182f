"""Words of the lexicons in a text, marked by group."""

from __future__ import annotations

from functools import lru_cache

from ostrom.features.words.lexicons import Lexicon, defection, memory_curse, normative
from ostrom.ground.errors import UsageError

Marked = list[tuple[str, str]]
"""Parts of a text, each with the group it belongs to, or none."""


@lru_cache(maxsize=1)
def groups() -> tuple[Lexicon, ...]:
    """The lexicons that pages mark, in the order in which they win where they overlap."""
    return (*memory_curse(), defection(), normative())


def marked(text: str) -> Marked:
    """The text in parts; where two groups overlap, the first that begins has the word.

    >>> [part for part in marked("I fear the future.") if part[1]]
    [('fear', 'paranoia'), ('future', 'forward_looking')]
    """
    from ostrom.features.words.lexicons import highlight

    try:
        spans = highlight(text, groups())
    except UsageError:  # the package that finds words is not installed: the text is shown as it is
        return [(text, "")]
    made: Marked = []
    at = 0
    for span in spans:
        if span.start < at:
            continue
        if span.start > at:
            made.append((text[at : span.start], ""))
        made.append((text[span.start : span.end], span.list_name))
        at = span.end
    if at < len(text):
        made.append((text[at:], ""))
    return made
