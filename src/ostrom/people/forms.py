"""Answer forms as fields of a web page, and the parsing of submitted fields."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ostrom.answers import Choice, Form, Invalid, Mixture, Number, Record, Text, range_text, read_number
from ostrom.answers.forms import Misfit, fitted, relabelled, unlabelled
from ostrom.people.questions import Question, Questionnaire

Sent = Mapping[str, str]
YES_NO = ("yes", "no")


@dataclass(frozen=True, slots=True)
class Field:
    """One form field. Options are (value, text) pairs; ``buttons`` submits the form at once."""

    name: str
    label: str
    kind: str
    """buttons, options, select, number, text or rows."""
    options: tuple[tuple[str, str], ...] = ()
    low: float | None = None
    high: float | None = None
    longest: int | None = None
    step: float | str = 1
    required: bool = True
    rows: "tuple[tuple[Field, ...], ...]" = ()
    """The fields of a list: one row for each possible entry; an empty row is no entry."""


@dataclass(frozen=True, slots=True)
class Read:
    """A valid answer, and its personal part."""

    value: Any
    personal: tuple[tuple[str, str], ...] = ()


# -- decisions of a match --------------------------------------------------------------------------------


def fields_of(form: Form, labels: Mapping[str, str], names: Mapping[str, str] = {}) -> tuple[Field, ...]:
    """Return the fields of a form; options appear under their labels, never under their internal names.

    ``names`` are the words of a page for the keys of a record, and as ``KEY_VALUE`` for values that are no options.
    """
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
            return tuple(_fields("f", relabelled(form.schema, labels), names))


def _fields(prefix: str, schema: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[Field]:
    """Yield the fields of an object, nested objects included."""
    for i, (key, part) in enumerate(schema["properties"].items()):
        name, label = f"{prefix}{i}", names.get(key, key.replace("_", " "))
        match part["type"]:
            case "object":
                yield from (
                    replace(field, label=f"{label}: {field.label}") for field in _fields(f"{name}_", part, names)
                )
            case "array" if _is_optional(part):
                field = _field(name, part["items"], False, key, names)
                none = (("", names.get("none", "none")),) if field.options else ()
                yield replace(field, label=label, options=(*none, *field.options))
            case "array" if part["maxItems"]:
                rows = tuple(_row(name, row, part, names) for row in range(part["maxItems"]))
                yield Field(name, label, "rows", required=False, rows=rows)
            case kind if kind != "array":
                yield replace(_field(name, part, key in schema.get("required", ()), key, names), label=label)


def _row(name: str, row: int, schema: Mapping[str, Any], names: Mapping[str, str]) -> tuple[Field, ...]:
    """Return the fields of one list entry; none is required, because the row may stay empty."""
    return tuple(
        replace(field, kind="select" if field.options else field.kind, required=False)
        for field in _fields(f"{name}_{row}_", schema["items"], names)
    )


def _is_optional(schema: Mapping[str, Any]) -> bool:
    """Return whether a list holds one value or none, which one optional field can express."""
    return bool(schema["maxItems"] == 1 and schema["items"]["type"] != "object")


def _field(name: str, schema: Mapping[str, Any], required: bool, key: str, names: Mapping[str, str]) -> Field:
    match schema:
        case {"enum": values}:
            options = ((str(i), names.get(f"{key}_{value}", str(value))) for i, value in enumerate(values))
            return Field(name, "", "options", tuple(options), required=required)
        case {"type": "boolean"}:
            return Field(name, "", "options", tuple((word, word) for word in YES_NO), required=required)
        case {"type": "integer" | "number" as kind}:
            step, low, high = 1 if kind == "integer" else "any", schema.get("minimum"), schema.get("maximum")
            return Field(name, "", "number", (), low, high, step=step, required=required)
    return Field(
        name, "", "text", longest=schema.get("maxLength", 4000), required=required and schema.get("minLength", 0) > 0
    )


def read_decision(form: Form, labels: Mapping[str, str], sent: Sent) -> Read | Invalid:
    """Parse a submitted decision of a match."""
    match form:
        case Choice():
            keys = [key for key in form.options if labels[key] == sent.get("answer")]
            return Read(keys[0]) if keys else Invalid("choose one of the options")
        case Mixture():
            return _mixture(form, labels, sent)
        case Number():
            entry = read_number(sent.get("answer", ""), form.amounts, strict=True)
            return Invalid(f"a number {range_text(form.amounts)}") if isinstance(entry, Invalid) else Read(entry.value)
        case Text():
            return _text(sent.get("answer", ""), form)
        case Record():
            return _record(form, labels, sent)


def _mixture(form: Mixture, labels: Mapping[str, str], sent: Sent) -> Read | Invalid:
    parts: dict[str, int] = {}
    for i, option in enumerate(form.options):
        number = _integer(sent.get(f"f{i}", ""))
        if number is None or not 0 <= number <= (form.caps or {}).get(option, 100):
            return Invalid(f"{labels[option]}: a whole number from 0 to {(form.caps or {}).get(option, 100)}")
        parts[option] = number
    total = sum(parts.values())
    return Read(parts) if total == 100 else Invalid(f"the numbers must add up to 100 (they add up to {total})")


def _record(form: Record, labels: Mapping[str, str], sent: Sent) -> Read | Invalid:
    schema = relabelled(form.schema, labels)
    try:
        return Read(unlabelled(fitted(_object("f", schema, sent), schema), form.schema, labels))
    except Misfit as problem:
        return Invalid(str(problem))


def _object(prefix: str, schema: Mapping[str, Any], sent: Sent) -> dict[str, Any]:
    """Parse a submitted object; raises Misfit with the name of the invalid part."""
    value: dict[str, Any] = {}
    for i, (key, part) in enumerate(schema["properties"].items()):
        name = f"{prefix}{i}"
        if part["type"] == "object":
            value[key] = _object(f"{name}_", part, sent)
        elif part["type"] != "array":
            if (scalar := _scalar(name, key, part, sent)) is not None:
                value[key] = scalar
            elif key in schema.get("required", ()):
                raise Misfit(f"{key.replace('_', ' ')}: an answer is needed")
        elif _is_optional(part):
            value[key] = [_scalar(name, key, part["items"], sent)] if sent.get(name, "").strip() else []
        else:
            rows = [f"{name}_{row}_" for row in range(part["maxItems"])]
            value[key] = [_object(row, part["items"], sent) for row in rows if _is_filled(row, sent)]
    return value


def _is_filled(prefix: str, sent: Sent) -> bool:
    return any(text.strip() for name, text in sent.items() if name.startswith(prefix))


def _scalar(name: str, key: str, schema: Mapping[str, Any], sent: Sent) -> Any:
    text = sent.get(name, "").strip()
    if not text and (schema["type"] != "string" or "enum" in schema):
        return None
    if (parsed := _part(schema, text)) is None:
        raise Misfit(f"{key.replace('_', ' ')}: this is no valid answer")
    return parsed


def _part(schema: Mapping[str, Any], text: str) -> Any:
    match schema:
        case {"enum": options}:
            return next((option for index, option in enumerate(options) if index == _integer(text)), None)
        case {"type": "boolean"}:
            return {"yes": True, "no": False}.get(text)
        case {"type": "integer"}:
            return _integer(text)
        case {"type": "number"}:
            with suppress(ValueError):
                return number if math.isfinite(number := float(text)) else None
            return None
    return text


def _text(text: str, form: Text) -> Read | Invalid:
    text = text.strip()
    if not text:
        return Invalid("write something")
    if len(text) > form.characters or len(text.split()) > form.words:
        return Invalid(f"at most {form.words} words and {form.characters} characters")
    return Read(text)


def _integer(text: str) -> int | None:
    text = text.strip()
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 12 else None


# -- questions beside the game ---------------------------------------------------------------------------


def sheet_fields(sheet: Questionnaire, orders: Mapping[str, Sequence[int]]) -> tuple[Field, ...]:
    """Return the fields of a quiz or survey; options are submitted by number, independent of the language."""
    return tuple(_sheet_field(name, question, orders.get(name)) for name, question in sheet.named())


def _sheet_field(name: str, question: Question, order: Sequence[int] | None) -> Field:
    field = _field(name, question.json_form(), True, name, {})
    options = tuple(field.options[i] for i in order or range(len(field.options)))
    return replace(field, label=question.text, options=options, required=not question.optional)


def read_sheet(sheet: Questionnaire, sent: Sent) -> Read | Invalid:
    """Parse a submitted quiz or survey, by the options of the first language."""
    value: dict[str, Any] = {}
    personal: list[tuple[str, str]] = []
    for number, (name, question) in enumerate(sheet.named(), 1):
        text, form = sent.get(name, "").strip(), question.json_form()
        if not text and question.optional:
            continue
        if not text:
            return Invalid(f"{number}: an answer is needed")
        try:
            answer = fitted(_part(form, text), form)
        except Misfit:
            return Invalid(f"{number}: this is no valid answer")
        if question.kept_apart:
            personal.append((name, str(answer)))
        else:
            value[name] = answer
    return Read(value, tuple(personal))
