"""A person at the terminal."""

import asyncio

import numpy as np

from ostrom.agents.base import DecisionContext
from ostrom.agents.config import AgentConfig
from ostrom.answers import Answer, Invalid, read
from ostrom.framing import Prompt, PromptRenderer
from ostrom.framing.dialogue import DialogueRenderer
from ostrom.ground.errors import UsageError
from ostrom.ground.terminal import ask, say
from ostrom.mechanisms.protocol import Decision
from ostrom.memory import Shown, memories


class Person:
    """Shows what a model would be told, and reads the answer from the keyboard until it is valid."""

    instant = False

    def __init__(self, config: AgentConfig, renderer: PromptRenderer) -> None:
        self.config, self.renderer = config, renderer
        self.memory = memories.build(config.memory, key="agent.memory")
        self._told: int | None = None
        """The last round that the person has read about; None before the first question."""

    def reply(self, decision: Decision, context: DecisionContext) -> Answer:
        """A person takes time."""
        raise NotImplementedError("a person answers with answer()")

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        """Ask at the terminal, in a thread, so that other matches go on."""
        shown = self.memory.show(decision.view, lambda n, purpose: context.draw(f"memory:{purpose}", n))
        prompt, text = self._asked(decision, shown, context.draw("order"))
        while True:
            line = await asyncio.get_running_loop().run_in_executor(None, _ask, text, prompt.labels.values())
            numbered = _by_number(line, list(prompt.labels.values()))
            result = read(decision.form, numbered, prompt.labels, strict=False, cut=False)
            if isinstance(result, Answer):
                return Answer(result.value, "person", facts=prompt.facts)
            assert isinstance(result, Invalid)
            context.count_invalid(result.reason)
            text = f"Not valid: {result.reason}."

    def _asked(self, decision: Decision, shown: Shown, rng: np.random.Generator) -> tuple[Prompt, str]:
        """The prompt of a decision, and what of it the person reads.

        With full memory only the rounds since the last question are new; other memories are shown in full every time.
        """
        view, facts, told = decision.view, self.config.facts, self._told
        self._told = view.history[-1].number if view.history else 0
        if told is None or self.config.memory != "full" or view.facts.get("alone"):
            prompt = self.renderer.prompt(decision, shown, rng, facts)
            return prompt, prompt.whole
        turn = DialogueRenderer(self.renderer, decision, shown, rng, facts)
        new = [played for played in shown.rounds if played.number > told]
        return turn.prompt, f"\n{turn.next(turn.prompt.text, new, view.round)}"


def _ask(text: str, labels: object) -> str:
    options = "/".join(map(str, labels)) if labels else ""  # type: ignore[call-overload]
    say(f"{text}\n")
    try:
        return ask(f"[{options}] > " if options else "> ")
    except EOFError:
        raise UsageError("the keyboard was closed before the match was over") from None


def _by_number(line: str, labels: list[str]) -> str:
    """Accept 1, 2, ... for the options in the order shown, unless a label is itself a number."""
    text = line.strip()
    if text.isascii() and text.isdigit() and text not in labels and 1 <= int(text) <= len(labels):
        return labels[int(text) - 1]
    lowered = {label.lower(): label for label in labels}
    return lowered.get(text.lower(), text)
