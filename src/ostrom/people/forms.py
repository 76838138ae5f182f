"""Answer forms as fields of a page, and back: what a person sees for every form, and how what they sent is read."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.answers import Choice, Form, Invalid, Mixture, Number, Record, Text, range_text, read_number
from ostrom.answers.schema import Misfit, fitted, relabelled, unlabelled
from ostrom.people.questions import Question, Questionnaire

Sent = Mapping[str, str]
YES_NO = ("yes", "no")


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to fill in. Options are (value, text) pairs; ``buttons`` sends the form at once."""

    name: str
    label: str
    kind: str
    """buttons, options, number or text."""
    options: tuple[tuple[str, str], ...] = ()
    low: float | None = None
    high: float | None = None
    longest: int | None = None
    step: float = 1
    required: bool = True


@dataclass(frozen=True, slots=True)
class Read:
    """A valid answer, and what of it is personal."""

    value: Any
    personal: tuple[tuple[str, str], ...] = ()


# -- decisions of a match --------------------------------------------------------------------------------


def fields_of(form: Form, labels: Mapping[str, str]) -> tuple[Field, ...]:
    """The fields of a form; options appear under their labels alone, never under their own names."""
    match form:
        case Choice():
            return (Field("answer", "", "buttons", tuple((labels[o], labels[o]) for o in form.options)),)
        case Mixture():
            caps = form.caps or {}
            return tuple(
                Field(f"f{i}", f"{labels[o]} (%)", "number", low=0, high=caps.get(o, 100))
                for i, o in enumerate(form.options)
            )
        case Number():
            return (Field("answer", "", "number", low=form.low, high=form.high, step=form.step),)
        case Text():
            return (Field("answer", "", "text", longest=form.characters),)
        case Record():
            shown = relabelled(form.schema, labels)
            required = shown.get("required", ())
            return tuple(
                _field(f"f{i}", name, part, name in required)
                for i, (name, part) in enumerate(shown["properties"].items())
            )


def _field(name: str, label: str, schema: Mapping[str, Any], required: bool) -> Field:
    words = label.replace("_", " ")
    if "enum" in schema:
        options = tuple((str(i), str(value)) for i, value in enumerate(schema["enum"]))
        return Field(name, words, "options", options, required=required)
    if schema["type"] == "boolean":
        return Field(name, words, "options", tuple((word, word) for word in YES_NO), required=required)
    if schema["type"] in ("integer", "number"):
        return Field(
            name, words, "number", (), schema.get("minimum"), schema.get("maximum"), required=required
        )
    return Field(name, words, "text", longest=schema.get("maxLength", 4000), required=required)


def read_decision(form: Form, labels: Mapping[str, str], sent: Sent) -> Read | Invalid:
    """What somebody sent for a decision of a match."""
    match form:
        case Choice():
            keys = [key for key in form.options if labels[key] == sent.get("answer")]
            return Read(keys[0]) if keys else Invalid("choose one of the options")
        case Mixture():
            return _mixture(form, labels, sent)
        case Number():
            found = read_number(sent.get("answer", ""), form.amounts, strict=True)
            return (
                Invalid(f"a number {range_text(form.amounts)}")
                if isinstance(found, Invalid)
                else Read(found.value)
            )
        case Text():
            return _text(sent.get("answer", ""), form)
        case Record():
            return _record(form, labels, sent)


def _mixture(form: Mixture, labels: Mapping[str, str], sent: Sent) -> Read | Invalid:
    parts: dict[str, int] = {}
    for i, option in enumerate(form.options):
        number = _whole(sent.get(f"f{i}", ""))
        if number is None or not 0 <= number <= (form.caps or {}).get(option, 100):
            return Invalid(f"{labels[option]}: a whole number from 0 to {(form.caps or {}).get(option, 100)}")
        parts[option] = number
    total = sum(parts.values())
    return (
        Read(parts) if total == 100 else Invalid(f"the numbers must add up to 100 (they add up to {total})")
    )


def _record(form: Record, labels: Mapping[str, str], sent: Sent) -> Read | Invalid:
    shown = relabelled(form.schema, labels)
    value: dict[str, Any] = {}
    for i, (name, part) in enumerate(shown["properties"].items()):
        text = sent.get(f"f{i}", "").strip()
        if not text and part["type"] != "string":
            if name in shown.get("required", ()):
                return Invalid(f"{name.replace('_', ' ')}: an answer is needed")
            continue
        found = _part(part, text)
        if found is None:
            return Invalid(f"{name.replace('_', ' ')}: this is no valid answer")
        value[name] = found
    try:
        return Read(unlabelled(fitted(value, shown), form.schema, labels))
    except Misfit as problem:
        return Invalid(str(problem))


def _part(schema: Mapping[str, Any], text: str) -> Any:
    if "enum" in schema:
        index = _whole(text)
        return schema["enum"][index] if index is not None and 0 <= index < len(schema["enum"]) else None
    if schema["type"] == "boolean":
        return {"yes": True, "no": False}.get(text)
    if schema["type"] == "integer":
        return _whole(text)
    if schema["type"] == "number":
        try:
            number = float(text)
        except ValueError:
            return None
        return number if math.isfinite(number) else None
    return text


def _text(text: str, form: Text) -> Read | Invalid:
    text = text.strip()
    if not text:
        return Invalid("write something")
    if len(text) > form.characters or len(text.split()) > form.words:
        return Invalid(f"at most {form.words} words and {form.characters} characters")
    return Read(text)


def _whole(text: str) -> int | None:
    text = text.strip()
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else None


# -- questions beside the game ---------------------------------------------------------------------------


def sheet_fields(sheet: Questionnaire, orders: Mapping[str, Sequence[int]]) -> tuple[Field, ...]:
    """The fields of a quiz or a survey; options are sent by number, so that they mean the same in all languages."""
    fields = []
    for name, question in sheet.named():
        order = orders.get(name) or range(len(question.options))
        options = tuple((str(i), question.options[i]) for i in order)
        low, high = (
            (question.number.low, question.number.high) if question.number is not None else (None, None)
        )
        kind = "options" if question.options else "number" if question.number is not None else "text"
        fields.append(
            Field(
                name, question.text, kind, options, low, high, question.free, required=not question.optional
            )
        )
    return tuple(fields)


def read_sheet(sheet: Questionnaire, sent: Sent) -> Read | Invalid:
    """What somebody sent for a quiz or a survey, by the options of the first language."""
    value: dict[str, Any] = {}
    personal: list[tuple[str, str]] = []
    for number, (name, question) in enumerate(sheet.named(), 1):
        text = sent.get(name, "").strip()
        if not text:
            if question.optional:
                continue
            return Invalid(f"{number}: an answer is needed")
        found = _answered(question, text)
        if found is None:
            return Invalid(f"{number}: this is no valid answer")
        if question.kept_apart:
            personal.append((name, str(found)))
        else:
            value[name] = found
    return Read(value, tuple(personal))


def _answered(question: Question, text: str) -> Any:
    if question.options:
        index = _whole(text)
        return question.options[index] if index is not None and 0 <= index < len(question.options) else None
    if question.number is not None:
        number = _whole(text)
        fits = number is not None and question.number.low <= number <= question.number.high
        return number if fits else None
    return text if len(text) <= (question.free or 0) else None
