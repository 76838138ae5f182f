"""What a model may be held to while it writes, for each form: a list of choices, or a JSON schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ostrom.answers.forms import Choice, Form, Mixture, Number, Record, Text
from ostrom.answers.labels import prepared
from ostrom.answers.mixture import checked_caps
from ostrom.answers.schema import relabelled
from ostrom.ground.errors import UsageError


def labels_of(form: Form, labels: Mapping[str, str] | None) -> dict[str, str]:
    """The labels that concern a form, in the order of its options; without labels, the keys themselves."""
    if not isinstance(form, Choice):  # the common case first: replies are read in every turn
        if isinstance(form, (Text, Number)):
            return {}
        if isinstance(form, Record):
            return dict(labels or {})
    if labels is None:
        shown = {option: option for option in form.options}
    else:
        try:
            shown = {option: labels[option] for option in form.options}
        except KeyError as missing:
            listed = ", ".join(labels)
            raise UsageError(f"labels: option {missing.args[0]!r} has none (labelled: {listed})") from None
    prepared(shown)  # checks them
    return shown


def constraint_of(form: Form, labels: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The constraint of a form as plain data: ``choices``, or ``schema`` and ``name``; empty for free text.

    A schema cannot say that percentages sum to 100 or that amounts come in steps, so a constrained reply is still read.

    >>> constraint_of(Choice(("C", "D")), {"C": "A0", "D": "A1"})
    {'choices': ('[A0]', '[A1]')}
    """
    shown = labels_of(form, labels)
    match form:
        case Choice():
            return {"choices": tuple(f"[{label}]" for label in shown.values())}
        case Mixture(caps=caps):
            most = checked_caps(shown, caps)
            percentages = {
                label: {"type": "integer", "minimum": 0, "maximum": most.get(key, 100)}
                for key, label in shown.items()
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
            return {"schema": relabelled(schema, shown), "name": name}
        case Number(low=low, high=high, step=step):
            kind = "integer" if isinstance(low, int) and isinstance(step, int) else "number"
            amount = {"type": kind, "minimum": low, "maximum": high}
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
