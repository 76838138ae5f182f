"""Words for messages: a count with its noun, and names in a sentence."""

from collections.abc import Iterable
from typing import Any

PLURALS = {"person": "people", "match": "matches", "batch": "batches", "retry": "retries", "reply": "replies"}


def how_many(count: int, noun: str) -> str:
    """A number and its noun, in the plural where it is not one.

    >>> how_many(1, "person"), how_many(2, "person"), how_many(1200, "match"), how_many(0, "model")
    ('1 person', '2 people', '1,200 matches', '0 models')
    """
    return f"{count:,} {noun if count == 1 else PLURALS.get(noun, f'{noun}s')}"


def join_words(names: Iterable[object]) -> str:
    """Join names for a sentence.

    >>> join_words(["a", "b", "c"]), join_words(["a", "b"]), join_words(["a"]), join_words([])
    ('a, b and c', 'a and b', 'a', 'nothing')
    """
    words = [str(name) for name in names]
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]])) if words else "nothing"


def scalar(text: str) -> Any:
    """Read a number, true, false or null from text; anything else stays text.

    >>> [scalar(t) for t in ("3", "0.5", "true", "null", "ideal")]
    [3, 0.5, True, None, 'ideal']
    """
    constants = {"true": True, "false": False, "null": None, "none": None}
    if text.lower() in constants:
        return constants[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
