"""Validates user input against a schema: the first problem becomes one line with file, key and allowed values."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, ValidationError

from ostrom.ground.errors import StudyError, nearest

Checked = TypeVar("Checked", bound=BaseModel)


class Declared(BaseModel):
    """The base of schemas for files: unknown keys are refused, and objects are immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def validate(schema: type[Checked], data: Any, file: str, prefix: str = "") -> Checked:
    """Validate data; the first problem becomes one clear line."""
    try:
        return schema.model_validate(data)
    except ValidationError as error:
        raise problem(error, schema, file, prefix) from None


def refuse_first(rules: Iterable[tuple[object, str]]) -> None:
    """Raise a ValueError with the first problem of a list whose condition holds; for validators of schemas.

    >>> refuse_first([(1 > 2, "one is above two"), (True, "needs 'keys'")])
    Traceback (most recent call last):
    ValueError: needs 'keys'
    """
    for wrong, text in rules:
        if wrong:
            raise ValueError(text)


def problem(error: ValidationError, schema: type[BaseModel], file: str, prefix: str = "") -> StudyError:
    """Return the first problem of a failed validation, in one line."""
    errors = error.errors(include_url=False)
    first = errors[0]
    parents, last = first["loc"][:-1], first["loc"][-1:]
    if first["type"] != "extra_forbidden":  # an unknown key is what the user wrote, even if it looks like a branch
        last = tuple(p for p in last if not _is_branch(p))
    path = [*(str(p) for p in parents if not _is_branch(p)), *map(str, last)]
    allowed: Iterable[str] | None = None
    value = first.get("input")
    text, near = _plain_words(first), None
    match first["type"]:
        case "extra_forbidden":
            allowed, value, text = sorted(_fields_at(schema, path[:-1])), None, "there is no such key"
            near = nearest(path[-1], allowed)
        case "missing":
            text, value = "is missing", None
        case "value_error":
            value = None
        case "literal_error":
            allowed = [part.strip(" '") for part in first["ctx"]["expected"].replace(" or ", ", ").split(",")]
            text, near = "is none of the allowed words", nearest(value, allowed) if isinstance(value, str) else None
        case _:  # a union fails once for every member
            same = [e for e in errors if e["input"] is first["input"] and e["type"] in _KINDS]
            kinds = list(dict.fromkeys(_KINDS[e["type"]] for e in same))
            text = f"must be {' or '.join(kinds)}" if len(kinds) > 1 else text
    text += f", did you mean {near!r}?" if near else ""
    if isinstance(value, dict | list) and len(str(value)) > 80:
        value = None
    return StudyError(
        text, file=file, key=".".join(filter(None, [prefix, *path])) or None, actual=value, allowed=allowed
    )


_KINDS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a whole number of at most 64 bits",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "list_type": "a list",
    "tuple_type": "a list",
}
"""Pydantic's expectations in the words of YAML users."""


def _plain_words(error: Any) -> str:
    """Return the message of an error of pydantic in the words of YAML users."""
    kind, message, bounds = error["type"], str(error["msg"]), error.get("ctx") or {}
    if kind in _KINDS:
        return f"must be {_KINDS[kind]}"
    for name, words in (("ge", "at least"), ("gt", "more than"), ("le", "at most"), ("lt", "less than")):
        if name in bounds:
            return f"must be {words} {bounds[name]}"
    if kind == "string_pattern_mismatch":
        return f"must be letters, digits, '.', '_' and '-', as in {bounds.get('pattern')}"
    return message.removeprefix("Value error, ").replace("Input should be", "must be")


def _is_branch(part: int | str) -> bool:
    """Return whether a path element is the branch of a union, which the user did not write."""
    return isinstance(part, str) and ("[" in part or part in ("str", "dict", "list", "int", "float"))


def _fields_at(schema: type[BaseModel], path: Sequence[str]) -> list[str]:
    """Return the allowed keys at a path; those at the top if no model is there."""
    fields = _keys_of(schema)
    for step in path:
        if step.isdigit():  # an index in a list: the list's key already led to the model of its items
            continue
        inner = _model_in(fields.get(step))
        if inner is None:
            return list(fields) if step is path[0] else []
        fields = _keys_of(inner)
    return list(fields)


def _keys_of(schema: type[BaseModel]) -> dict[str, Any]:
    """Return the annotations of a model's fields by the keys that users write."""
    return {field.alias or name: field.annotation for name, field in schema.model_fields.items()}


def _model_in(annotation: Any) -> Any:
    """Return the model in a field, also inside a list or an optional."""
    if hasattr(annotation, "model_fields"):
        return annotation
    return next((inner_model for part in get_args(annotation) if (inner_model := _model_in(part)) is not None), None)
