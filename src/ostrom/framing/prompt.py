"""A prompt, and its parts that stay the same between prompts."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from ostrom.answers import Form, Number, Text
from ostrom.ground.values import value
from ostrom.mechanisms.protocol import Decision


@value
class Prompt:
    """A prompt for a model, and the labels of its options."""

    text: str
    labels: Mapping[str, str]
    """Labels by option key, in the order of the prompt."""
    instruction: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts recorded with the answer: the labels, and their order."""
    system: str = ""
    """The system message; empty for none."""
    stub: str = ""
    """The given beginning of the reply; empty for none."""

    @property
    def full_text(self) -> str:
        """Return the system message and the text as one text."""
        return f"{self.system}\n\n{self.text}" if self.system else self.text


class CachedPrompt:
    """A prompt without round number and past: reused wherever a player is told the same."""

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
        """The text around its placeholders, once it is worth caching."""


def alike(one: Decision, other: Decision) -> bool:
    """Return whether two decisions of a kind have the same words, apart from round and past."""
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
    """Return the decision of a match that pretends to have had this many earlier rounds."""
    if not before:
        return decision
    view = decision.view
    facts = view.facts
    if "rounds" in facts:
        facts = {**facts, "rounds": facts["rounds"] + before}
    return replace(decision, view=replace(view, round=view.round + before, facts=facts))


def options_of(form: Form, named: Mapping[str, str]) -> dict[str, str]:
    """Return the labels of a form's options in order; an option that is no action is its own label."""
    if isinstance(form, (Text, Number)):
        return {}
    labelled = {key: label for key, label in named.items() if key in form.options}
    return {**labelled, **{key: key for key in form.options if key not in labelled}}
