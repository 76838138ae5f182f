"""One door for every form: a reply and its form in, an answer or the reason why there is none out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ostrom.answers.choice import read_choice
from ostrom.answers.constraint import labels_of
from ostrom.answers.forms import Choice, Form, Mixture, Number, Record, Text
from ostrom.answers.mixture import read_mixture
from ostrom.answers.number import read_number
from ostrom.answers.reading import Answer, Invalid
from ostrom.answers.record import read_record
from ostrom.answers.text import read_text


def read(
    form: Form,
    text: str,
    labels: Mapping[str, str] | None = None,
    *,
    strict: bool = False,
    cut: bool = False,
    constrained: bool = False,
) -> Answer | Invalid:
    """Read a reply by its form; ``labels`` maps option keys to what was shown (None: the keys themselves).

    ``constrained`` says that the model was held to the form while it wrote: then only an exact reading is
    allowed, and it is called constrained.

    >>> answer = read(Choice(("C", "D")), "[A1]", {"C": "A0", "D": "A1"}, constrained=True)
    >>> answer.value, answer.reading
    ('D', 'constrained')
    """
    shown = labels_of(form, labels)
    strict = strict or constrained
    result: Answer | Invalid
    match form:
        case Choice():
            result = read_choice(text, shown, strict=strict, cut=cut)
        case Mixture(caps=caps):
            result = read_mixture(text, shown, caps, strict=strict, cut=cut)
        case Number():
            result = read_number(text, form.amounts, strict=strict, cut=cut)
        case Record(schema=schema):
            result = read_record(text, schema, shown, strict=strict, cut=cut)
        case Text():
            return read_text(text, form, cut=cut)
    return replace(result, reading="constrained") if constrained and isinstance(result, Answer) else result
