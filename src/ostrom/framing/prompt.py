"""A prompt, and what stays the same from one prompt to the next."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from ostrom.answers import Form, Number, Text
from ostrom.ground.values import value
from ostrom.mechanisms.protocol import Decision


@value
class Prompt:
    """What is said to a model, and which label stood for which option."""

    text: str
    labels: Mapping[str, str]
    """Option key to label, in the order in which the options were named."""
    instruction: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What is recorded with the answer: the labels, and the order in which they were named."""
    system: str = ""
    """What is said in the role of the system; empty: nothing."""
    stub: str = ""
    """How the reply begins where its beginning is given; empty: it is not."""

    @property
    def full_text(self) -> str:
        """All that is said as one text, the system's words first."""
        return f"{self.system}\n\n{self.text}" if self.system else self.text


class CachedPrompt:
    """All of a prompt but the number of the round and the past: it serves wherever a player is told the same."""

    __slots__ = (
        "decision",
        "facts",
        "instruction",
        "options",
        "order",
        "pieces",
        "setup",
        "stub",
        "system",
        "uses",
        "values",
    )

    def __init__(
        self,
        decision: Decision,
        order: tuple[int, ...],
        options: Mapping[str, str],
        values: Mapping[str, Any],
        instruction: str = "",
        setup: str | None = None,
    ) -> None:
        self.decision, self.order, self.options, self.values = decision, order, options, values
        self.instruction, self.setup = instruction, setup
        self.facts = {"labels": dict(options), "order": list(options.values())} if options else {}
        self.system = self.stub = ""
        self.uses = 0
        self.pieces: list[str] | None = None
        """The text around its holes, once it is worth keeping."""


def alike(one: Decision, other: Decision) -> bool:
    """Whether two decisions of a kind are put in the same words, but for the round and the past."""
    old, new = one.view, other.view
    return (
        old.facts is new.facts
        and old.game is new.game
        and old.seat == new.seat
        and old.mechanism == new.mechanism
        and old.names == new.names
        and (one.form is other.form or one.form == other.form)
    )


def with_round_offset(decision: Decision, before: int) -> Decision:
    """The decision in a match that pretends to have had so many rounds before its first."""
    if not before:
        return decision
    view = decision.view
    facts = view.facts
    if "rounds" in facts:
        facts = {**facts, "rounds": facts["rounds"] + before}
    return replace(decision, view=replace(view, round=view.round + before, facts=facts))


def options_of(form: Form, named: Mapping[str, str]) -> dict[str, str]:
    """Labels of a form's options in the order of naming; an option that is no action is its own label."""
    if isinstance(form, (Text, Number)):
        return {}
    labelled = {key: label for key, label in named.items() if key in form.options}
    return {**labelled, **{key: key for key in form.options if key not in labelled}}
