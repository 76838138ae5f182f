"""An action with its reasons: a choice asked for as a record of action and rationale."""

from dataclasses import replace
from typing import Any, TypeGuard

from ostrom.answers import Answer, Choice, Form, Mixture, Number, Record
from ostrom.ground.errors import StudyError

NAME = "explained"
MOST_LISTED = 500
CHARACTERS_PER_WORD = 10
"""The most characters of a rationale per wanted word: any rationale of that length fits, an endless one does not."""


def explained(form: Choice | Number, words: int | None) -> Record:
    """Return the form for one of the options with reasons of about ``words`` words; None for any length.

    >>> explained(Choice(("C", "D")), 60).schema["properties"]["action"]["enum"]
    ['C', 'D']
    >>> explained(Number(0, 100), 60).schema["properties"]["action"]
    {'type': 'integer', 'minimum': 0, 'maximum': 100}
    """
    options = form.options if isinstance(form, Choice) else ()
    action = {"type": "string", "enum": list(options)} if isinstance(form, Choice) else _amount(form)
    schema = {
        "type": "object",
        "properties": {
            "action": action,
            "rationale": {"type": "string"}
            if words is None
            else {"type": "string", "maxLength": CHARACTERS_PER_WORD * words},
        },
        "required": ["action", "rationale"],
        "additionalProperties": False,
    }
    return Record(NAME, schema, options)


def _amount(form: Number) -> dict[str, Any]:
    """Return the schema of an amount; steps other than 1 are enumerated."""
    if form.step == 1 and form.amounts.decimals == 0:
        return {"type": "integer", "minimum": form.low, "maximum": form.high}
    if form.amounts.levels > MOST_LISTED:
        raise StudyError(
            f"answer: explained lists amounts, and {form.amounts.levels} in steps of {form.step} are more than "
            f"{MOST_LISTED}",
            key="agent.answer",
        )
    return {"type": "number", "enum": [form.amounts.value(i) for i in range(form.amounts.levels)]}


def bare(form: Record) -> Choice | Number:
    """Return the form of the action in a record of action and rationale."""
    action = form.schema["properties"]["action"]
    if action["type"] == "string":
        return Choice(form.options)
    if "enum" in action:
        first, second = (*action["enum"], action["enum"][0] + 1)[:2]
        return Number(first, action["enum"][-1], float(f"{second - first:.9f}"))
    return Number(action["minimum"], action["maximum"])


def mixed(form: Choice | Number) -> Mixture:
    """Return the form of a mixed strategy over all options, or over the few amounts the game declares.

    >>> mixed(Number(0, 10, few=(0, 10))).options
    ('0', '10')
    """
    if isinstance(form, Choice):
        return Mixture(form.options)
    if not form.few:
        raise StudyError(
            "a mixed strategy is over named actions, or over a few amounts that the game declares; this game "
            "declares none",
            key="agent.answer", actual="mixture",
        )  # fmt: skip
    return Mixture(tuple(map(str, form.few)))


def is_explained(form: Form) -> TypeGuard[Record]:
    """Whether a form asks for an action with its reasons."""
    return isinstance(form, Record) and form.name == NAME


def taken(answer: Answer, form: Choice | Number) -> Answer:
    """Return the action as answer to the bare form, with the reasons in its facts.

    >>> taken(Answer({"action": "C", "rationale": "It pays."}, "exact"), Choice(("C", "D"))).facts
    {'rationale': 'It pays.'}
    >>> taken(Answer({"action": -0.0, "rationale": ""}, "exact"), Number(0, 1, 0.5)).value
    0
    """
    action = answer.value["action"]
    if isinstance(form, Number):
        action = form.amounts.value(form.amounts.place(action))
    return replace(answer, value=action, facts={**(answer.facts or {}), "rationale": answer.value["rationale"]})
