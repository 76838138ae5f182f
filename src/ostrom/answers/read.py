"""Parsing and constraints of answers for every form.

A mixture is whole percentages over the options, as the last JSON object of a reply. The form is that of Tewolde et al.
(2026): exactly the labels as keys, integers from 0 to 100, sum 100. JSON knows one kind of number, so 50.0 is 50; 33.3,
"50", true, a missing or an additional key are errors, never mended.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ostrom.answers.choice import prepared, read_choice
from ostrom.answers.forms import (
    Choice,
    Form,
    Misfit,
    Mixture,
    Number,
    Record,
    Text,
    check_record_schema,
    fitted,
    relabelled,
    unlabelled,
)
from ostrom.answers.number import read_number
from ostrom.answers.reading import Answer, Invalid, clipped, final_object, final_part
from ostrom.ground.errors import UsageError


def read_mixture(
    text: str,
    labels: Mapping[str, str],
    caps: Mapping[str, int] | None = None,
    *,
    strict: bool = False,
    cut: bool = False,
) -> Answer | Invalid:
    """Return the stated percentages by option key; ``probabilities`` are the same as shares.

    ``caps`` bounds single options, by key. The reading is exact when the object ends the reply and loose when
    words follow it; ``strict`` allows the exact reading alone.

    >>> read_mixture('I lean to A1: {"A0": 30, "A1": 70}', {"C": "A0", "D": "A1"}).value
    {'C': 30, 'D': 70}
    >>> read_mixture('{"A0": 30, "A1": 60}', {"C": "A0", "D": "A1"})
    Invalid(reason='the percentages sum to 90, not 100')
    """
    names = prepared(labels).shown
    caps = checked_caps(labels, caps)
    content = final_object(text, strict=strict, cut=cut)
    if isinstance(content, Invalid):
        return content
    if missing := [label for label in names.values() if label not in content.value]:
        return Invalid(f"the JSON object lacks the key {clipped(missing[0])}; every option needs a percentage")
    if len(content.value) > len(names):
        options = set(names.values())
        stranger = next(key for key in content.value if key not in options)
        return Invalid(f"the JSON object has the key {clipped(stranger)}, which is not one of the options")
    percentages: dict[str, int] = {}
    for key, label in names.items():
        share = _percentage(content.value[label])
        if share is None:
            return Invalid(f"the percentage of {clipped(label)} must be a whole number from 0 to 100")
        if share > caps.get(key, 100):
            return Invalid(f"the percentage of {clipped(label)} is {share}; at most {caps[key]} is allowed")
        percentages[key] = share
    if (total := sum(percentages.values())) != 100:
        return Invalid(f"the percentages sum to {total}, not 100")
    return Answer(
        percentages, "exact" if content.last else "loose", {key: share / 100 for key, share in percentages.items()}
    )


def checked_caps(labels: Mapping[str, str], caps: Mapping[str, int] | None) -> Mapping[str, int]:
    """Return the caps; refused if they name no option, are no percentage, or leave no valid answer."""
    caps = caps or {}
    for key, cap in caps.items():
        if key not in labels or isinstance(cap, bool) or not isinstance(cap, int) or not 0 <= cap <= 100:
            raise UsageError(f"caps: {key!r}: {cap!r} is no cap (allowed: {', '.join(labels)}; whole numbers 0 to 100)")
    if (most := sum(caps.get(key, 100) for key in labels)) < 100:
        raise UsageError(f"caps: together they allow at most {most} percent, so no answer could sum to 100")
    return caps


def _percentage(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or not 0 <= value <= 100:
        return None
    return int(value)


def labels_of(form: Form, labels: Mapping[str, str] | None) -> dict[str, str]:
    """Return the labels of a form in the order of its options; without labels, the keys."""
    if not isinstance(form, Choice):  # the common case first: replies are read in every turn
        if isinstance(form, (Text, Number)):
            return {}
        if isinstance(form, Record):
            return dict(labels or {})
    if labels is None:
        by_option = {option: option for option in form.options}
    else:
        try:
            by_option = {option: labels[option] for option in form.options}
        except KeyError as missing:
            listed = ", ".join(labels)
            raise UsageError(f"labels: option {missing.args[0]!r} has none (labelled: {listed})") from None
    prepared(by_option)  # checks them
    return by_option


def constraint_of(form: Form, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return a form's constraint as plain data: ``choices``, or ``schema`` and ``name``; empty for free text.

    A schema cannot say that percentages sum to 100 or that amounts come in steps, so a constrained reply is still read.

    >>> constraint_of(Choice(("C", "D")), {"C": "A0", "D": "A1"})
    {'choices': ('[A0]', '[A1]')}
    """
    names = labels_of(form, labels)
    match form:
        case Choice():
            return {"choices": tuple(f"[{label}]" for label in names.values())}
        case Mixture(caps=caps):
            most = checked_caps(names, caps)
            percentages = {
                label: {"type": "integer", "minimum": 0, "maximum": most.get(key, 100)} for key, label in names.items()
            }
            return {
                "schema": {
                    "type": "object",
                    "properties": percentages,
                    "required": list(percentages),
                    "additionalProperties": False,
                },
                "name": "mixture",
            }
        case Record(name=name, schema=schema):
            return {"schema": relabelled(schema, names), "name": name}
        case Number(low=low, high=high, step=step):
            amount = {
                "type": "integer" if isinstance(low, int) and isinstance(step, int) else "number",
                "minimum": low,
                "maximum": high,
            }
            return {
                "schema": {
                    "type": "object",
                    "properties": {"amount": amount},
                    "required": ["amount"],
                    "additionalProperties": False,
                },
                "name": "amount",
            }
        case Text():
            return {}


_LAST_BRACKETS = re.compile(r"\[[^\[\]\n]{1,80}\][\s.!*_`\"')]*\Z")


def concludes(form: Form, text: str, labels: Mapping[str, str] | None, answer: Answer) -> bool:
    """Return whether the reply ends with this answer: alone on its line, or in brackets.

    >>> labels = {"C": "A0", "D": "A1"}
    >>> concludes(Choice(("C", "D")), "They cheated, so I choose [A1].", labels, Answer("D", "loose"))
    True
    >>> concludes(Choice(("C", "D")), "I choose [A1] since they cheated.", labels, Answer("D", "loose"))
    False
    """
    if answer.reading == "exact":
        return True
    last = _LAST_BRACKETS.search(text[-160:])
    return last is not None and read(form, last.group(), labels, strict=True) == replace(answer, reading="exact")


def read_record(
    text: str,
    schema: Mapping[str, Any],
    labels: Mapping[str, str] | None = None,
    *,
    strict: bool = False,
    cut: bool = False,
) -> Answer | Invalid:
    """Return the record that the reply ends with; shown labels are converted back to keys.

    The reading is exact when the object ends the reply and loose when words follow it.

    >>> schema = {"type": "object", "properties": {"action": {"type": "string", "enum": ["C", "D"]}}}
    >>> read_record('{"action": "A1"}', schema, {"C": "A0", "D": "A1"}).value
    {'action': 'D'}
    >>> read_record('{"action": "C"}', schema, {"C": "A0", "D": "A1"})
    Invalid(reason='\\'action\\' must be one of "A0", "A1"')
    """
    check_record_schema(schema)
    labels = labels or {}
    renamed = relabelled(schema, labels)
    final = final_object(text, strict=strict, cut=cut)
    if isinstance(final, Invalid):
        return final
    try:
        value = fitted(final.value, renamed)
    except Misfit as problem:
        return Invalid(str(problem))
    return Answer(unlabelled(value, schema, labels), "exact" if final.last else "loose")


def read_text(text: str, form: Text, *, cut: bool = False) -> Answer | Invalid:
    """Return the reply without thoughts and outer white space.

    >>> read_text(" Let us both win. ", Text(words=5)).value
    'Let us both win.'
    >>> read_text("one two three", Text(words=2))
    Invalid(reason='the text has 3 words; at most 2 are allowed')
    """
    part = final_part(text, cut=cut)
    if isinstance(part, Invalid):
        return part
    if len(part) > form.characters:
        return Invalid(f"the text has {len(part)} characters; at most {form.characters} are allowed")
    if (words := len(part.split())) > form.words:
        return Invalid(f"the text has {words} words; at most {form.words} are allowed")
    try:
        part.encode()
    except UnicodeEncodeError:
        return Invalid("the text contains half of a surrogate pair, which is no character")
    return Answer(part, "exact")


def read(
    form: Form,
    text: str,
    labels: Mapping[str, str] | None = None,
    *,
    strict: bool = False,
    cut: bool = False,
    constrained: bool = False,
) -> Answer | Invalid:
    """Parse a reply by its form; ``labels`` maps option keys to shown labels (None for the keys).

    ``constrained`` says that the model was held to the form while it wrote: then only an exact reading is
    allowed, and it is called constrained.

    >>> answer = read(Choice(("C", "D")), "[A1]", {"C": "A0", "D": "A1"}, constrained=True)
    >>> answer.value, answer.reading
    ('D', 'constrained')
    """
    names = labels_of(form, labels)
    strict = strict or constrained
    result: Answer | Invalid
    match form:
        case Choice():
            result = read_choice(text, names, strict=strict, cut=cut)
        case Mixture(caps=caps):
            result = read_mixture(text, names, caps, strict=strict, cut=cut)
        case Number():
            result = read_number(text, form.amounts, strict=strict, cut=cut)
        case Record(schema=schema):
            result = read_record(text, schema, names, strict=strict, cut=cut)
        case Text():
            return read_text(text, form, cut=cut)
    return replace(result, reading="constrained") if constrained and isinstance(result, Answer) else result
