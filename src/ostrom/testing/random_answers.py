"""Random valid answers, made from the forms alone: what any player might say."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ostrom.answers import Answer, Choice, Form, Mixture, Number, Record, Text

WORDS = ("yes", "no", "Über", 'a "quote"', "</messages>", "{\\n}", "```", "line\nbreak", "\u2028", "42")
"""Pieces of text that careless prompts stumble over."""


def random_answer(form: Form, rng: np.random.Generator) -> Answer:
    """An answer that the form allows, drawn without regard to what it means.

    >>> import numpy as np
    >>> random_answer(Choice(("C",)), np.random.default_rng(0)).value
    'C'
    """
    match form:
        case Choice(options=options):
            value = options[int(rng.integers(len(options)))]
            return Answer(value, "exact", {o: float(o == value) for o in options})
        case Mixture():
            shares = _mixture(form, rng)
            return Answer(shares, "exact", {o: n / 100 for o, n in shares.items()})
        case Number():
            # Bounds themselves are drawn often: that is where rules break.
            last = form.amounts.levels - 1
            at = [0, last, int(rng.integers(last + 1))][int(rng.integers(3))]
            return Answer(form.amounts.value(at), "exact")
        case Record(schema=schema):
            return Answer(_value(schema, rng), "exact")
        case Text(characters=characters):
            # A text is never empty, and what frames it is not part of it.
            plain = " ".join(word for word in _text(min(characters, 100), rng).split() if word.isalnum())
            return Answer(plain or WORDS[0], "exact")


def _mixture(form: Mixture, rng: np.random.Generator) -> dict[str, int]:
    """Percentages under the caps: each option takes a random part of what is left and must be taken."""
    caps = {o: (form.caps or {}).get(o, 100) for o in form.options}
    shares: dict[str, int] = {}
    left = 100
    for place, option in enumerate(form.options):
        later = sum(caps[o] for o in form.options[place + 1 :])
        shares[option] = int(rng.integers(max(0, left - later), min(left, caps[option]) + 1))
        left -= shares[option]
    return shares


def _value(schema: Mapping[str, Any], rng: np.random.Generator) -> Any:
    match schema:
        case {"enum": options}:
            return options[int(rng.integers(len(options)))]
        case {"type": "object"}:
            required = schema.get("required", ())
            return {
                name: _value(part, rng)
                for name, part in schema.get("properties", {}).items()
                if name in required or rng.integers(2)
            }
        case {"type": "array"}:
            return _items(schema, rng)
        case {"type": "boolean"}:
            return bool(rng.integers(2))
        case {"type": "string"}:
            text = _text(schema.get("maxLength", 100), rng)
            return text + "x" * (schema.get("minLength", 0) - len(text))
        case _:
            low, high = schema.get("minimum", -100), schema.get("maximum", 100)
            # Bounds themselves are drawn often: that is where rules break.
            return [low, high, int(rng.integers(int(low), int(high) + 1))][int(rng.integers(3))]


def _items(schema: Mapping[str, Any], rng: np.random.Generator) -> list[Any]:
    fewest, most = schema.get("minItems", 0), schema.get("maxItems", 5)
    options = schema["items"].get("enum")
    if options is not None and schema.get("uniqueItems"):
        count = int(rng.integers(fewest, min(most, len(options)) + 1))
        return [options[int(i)] for i in rng.permutation(len(options))[:count]]
    return [_value(schema["items"], rng) for _ in range(int(rng.integers(fewest, most + 1)))]


def _text(most: int, rng: np.random.Generator) -> str:
    words = [WORDS[int(i)] for i in rng.integers(len(WORDS), size=int(rng.integers(5)))]
    return " ".join(words)[:most]
