"""An action with its reasons: a choice that is asked for as a record of action and rationale."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from ostrom.answers import Answer, Choice, Form, Record

NAME = "explained"
CHARACTERS_PER_WORD = 10
"""Generous: a rationale of the wanted number of words always fits, one that never ends does not."""


def explained(form: Choice, words: int) -> Record:
    """The record that asks for one of the options and for reasons of about so many words.

    >>> explained(Choice(("C", "D")), 60).schema["properties"]["action"]["enum"]
    ['C', 'D']
    """
    schema = {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": list(form.options)},
            "rationale": {"type": "string", "maxLength": CHARACTERS_PER_WORD * words},
        },
        "required": ["action", "rationale"],
        "additionalProperties": False,
    }
    return Record(NAME, schema, form.options)


def is_explained(form: Form) -> TypeGuard[Record]:
    """Whether a form asks for an action with its reasons."""
    return isinstance(form, Record) and form.name == NAME


def taken(answer: Answer) -> Answer:
    """The action as the answer, with the reasons among its facts.

    >>> taken(Answer({"action": "C", "rationale": "It pays."}, "exact")).facts
    {'rationale': 'It pays.'}
    """
    facts = {**(answer.facts or {}), "rationale": answer.value["rationale"]}
    return replace(answer, value=answer.value["action"], facts=facts)
