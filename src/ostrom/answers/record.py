"""Reading a record: the last JSON object of a reply, held against a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ostrom.answers.ending import final_part
from ostrom.answers.jsonobject import last_object
from ostrom.answers.reading import Answer, Invalid
from ostrom.answers.schema import Misfit, check_record_schema, fitted, relabelled, unlabelled


def read_record(
    text: str,
    schema: Mapping[str, Any],
    labels: Mapping[str, str] | None = None,
    *,
    strict: bool = False,
    cut: bool = False,
) -> Answer | Invalid:
    """The record that the reply ends with. Options in the schema are shown as ``labels``, come back as keys.

    The reading is exact when the object ends the reply and loose when words follow it.

    >>> schema = {"type": "object", "properties": {"action": {"type": "string", "enum": ["C", "D"]}}}
    >>> read_record('{"action": "A1"}', schema, {"C": "A0", "D": "A1"}).value
    {'action': 'D'}
    >>> read_record('{"action": "C"}', schema, {"C": "A0", "D": "A1"})
    Invalid(reason='\\'action\\' must be one of "A0", "A1"')
    """
    check_record_schema(schema)
    labels = labels or {}
    shown = relabelled(schema, labels)
    part = final_part(text, cut=cut)
    if isinstance(part, Invalid):
        return part
    found = last_object(part)
    if isinstance(found, Invalid):
        return found
    if strict and not found.last:
        return Invalid("the reply must end with the JSON object")
    try:
        value = fitted(found.value, shown)
    except Misfit as problem:
        return Invalid(str(problem))
    return Answer(unlabelled(value, schema, labels), "exact" if found.last else "loose")
