"""Random valid answers, from the forms alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ostrom.answers.forms import Choice, Form, Mixture, Number, Record, Text
from ostrom.answers.reading import Answer

WORDS = ("yes", "no", "Über", 'a "quote"', "</messages>", "{\\n}", "```", "line\nbreak", "\u2028", "42")
"""Texts that careless prompts mishandle."""


def random_answer(form: Form, rng: np.random.Generator, length: int | None = None, *, full: bool = False) -> Answer:
    """Return a random answer that the form allows.

    It is meant to find what rules and prompts stumble over, in texts and at bounds. With a ``length`` it is an ordinary
    one instead: amounts are drawn evenly, lists are short, and texts have about so many characters. With ``full`` lists
    are as long as they may be.

    >>> import numpy as np
    >>> random_answer(Choice(("C",)), np.random.default_rng(0)).value
    'C'
    >>> random_answer(Text(), np.random.default_rng(0), 12).value
    'word word wo'
    """
    match form:
        case Choice(options=options):
            value = options[int(rng.integers(len(options)))]
            return Answer(value, "exact", {o: float(o == value) for o in options})
        case Mixture():
            shares = _mixture(form, rng)
            return Answer(shares, "exact", {o: n / 100 for o, n in shares.items()})
        case Number():
            return Answer(form.amounts.value(_between(0, form.amounts.levels - 1, rng, length)), "exact")
        case Record(schema=schema):
            return Answer(_value(schema, rng, length, full), "exact")
        case Text(characters=characters):
            if length is not None:
                return Answer(filler(min(characters, length)), "exact")
            # Plain words, at least one: reading a text strips marks and white space around it.
            return Answer(
                " ".join(word for word in _text(min(characters, 100), rng).split() if word.isalnum()) or WORDS[0],
                "exact",
            )


def filler(characters: int) -> str:
    """Return a text of about so many characters, at least one.

    >>> filler(7)
    'word wo'
    """
    return ("word " * (characters // 5 + 1))[: max(1, characters)].rstrip() or "w"


def _between(low: int, high: int, rng: np.random.Generator, length: int | None) -> int:
    even = int(rng.integers(low, high + 1))
    # Bounds are drawn often: that is where rules break.
    return even if length is not None else [low, high, even][int(rng.integers(3))]


def _mixture(form: Mixture, rng: np.random.Generator) -> dict[str, int]:
    """Return percentages under the caps: each option takes a random part of the rest."""
    caps = {o: (form.caps or {}).get(o, 100) for o in form.options}
    shares: dict[str, int] = {}
    left = 100
    for place, option in enumerate(form.options):
        later = sum(caps[o] for o in form.options[place + 1 :])
        shares[option] = int(rng.integers(max(0, left - later), min(left, caps[option]) + 1))
        left -= shares[option]
    return shares


def _value(schema: Mapping[str, Any], rng: np.random.Generator, length: int | None, full: bool) -> Any:
    if "enum" in schema:
        return schema["enum"][int(rng.integers(len(schema["enum"])))]
    match schema["type"]:
        case "object":
            required = schema.get("required", ())
            return {
                name: _value(part, rng, length, full)
                for name, part in schema.get("properties", {}).items()
                if name in required or rng.integers(2)
            }
        case "array":
            return _items(schema, rng, length, full)
        case "boolean":
            return bool(rng.integers(2))
        case "string":
            most = schema.get("maxLength", 100 if length is None else length)
            text = _text(most, rng) if length is None else filler(min(most, length))
            return text + "x" * (schema.get("minLength", 0) - len(text))
    return _between(int(schema.get("minimum", -100)), int(schema.get("maximum", 100)), rng, length)


def _items(schema: Mapping[str, Any], rng: np.random.Generator, length: int | None, full: bool) -> list[Any]:
    fewest, most = schema.get("minItems", 0), schema.get("maxItems", 5)
    options = schema["items"].get("enum")
    if options is None and schema.get("uniqueItems") and "maximum" in schema["items"]:
        options = range(schema["items"].get("minimum", 0), schema["items"]["maximum"] + 1)
    if options is not None and schema.get("uniqueItems"):
        count = _how_many(fewest, min(most, len(options)), rng, length, full)
        return [options[int(i)] for i in rng.permutation(len(options))[:count]]
    count = _how_many(fewest, most, rng, length, full)
    return [_value(schema["items"], rng, length, full) for _ in range(count)]


def _how_many(fewest: int, most: int, rng: np.random.Generator, length: int | None, full: bool) -> int:
    """Return the number of list entries: the most, at most one more than needed, or any."""
    return most if full else int(rng.integers(fewest, (most if length is None else min(most, fewest + 1)) + 1))


def _text(most: int, rng: np.random.Generator) -> str:
    return " ".join([WORDS[int(i)] for i in rng.integers(len(WORDS), size=int(rng.integers(5)))])[:most]
