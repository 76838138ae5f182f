"""The agent of a rehearsal: writes the prompts that a language agent would send, and answers by chance."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import orjson

from ostrom.agents.config import AgentConfig
from ostrom.agents.dialogue import Chat
from ostrom.agents.language import END_TOKENS, Invalidity, LanguageAgent, renderer_of
from ostrom.agents.tools import LONGEST_RESULT, Scene
from ostrom.answers import Answer, Choice, Form, Invalid, Number, Record, Text
from ostrom.answers.forms import answer_tokens
from ostrom.answers.random_answers import filler, random_answer
from ostrom.costs.lengths import CHARACTERS_PER_TOKEN, Lengths, is_free, part_name, reply_of, text_name
from ostrom.engine.plan import Plan, Unit
from ostrom.framing.prompt_renderer import Prompt
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.protocol import Decision
from ostrom.memory import MemoryView
from ostrom.models import check_model
from ostrom.models.base import Abilities, Message, Reply, Request

CHARACTERS = 4.0
"""Characters of a token in a usual text."""
MESSAGE = 25
"""Tokens of a usual message."""
TOOL_TURN = 300
"""Characters of a usual call of a tool with its result."""
TOOL_CALL = 40
"""Tokens of a usual call of a tool."""
TOOL_SPEC = 40
"""Characters that the format of a request adds to the description of a tool."""


MOST_STEPS = 2000
"""The most steps of rules that cannot be shortened."""


class Extreme:
    """A replacement of a random generator: always draws the first possibility, or always the last."""

    def __init__(self, *, last: bool) -> None:
        self.last = last

    def integers(self, low: int, high: int | None = None) -> int:
        low, high = (0, low) if high is None else (low, high)
        return high - 1 if self.last else low

    def permutation(self, count: int) -> range:
        return range(count)


def alike_steps(rules: Mechanism, unit: Unit, extreme: Extreme) -> Iterator[list[Decision]]:
    """Yield the decisions of each step when all players always give the first answer, or always the last."""
    play = rules.play(unit.game, unit.streams)
    with suppress(StopIteration):
        due = next(play)
        for _ in range(MOST_STEPS):
            yield due
            due = play.send([random_answer(one.form, extreme, 40) for one in due])  # type: ignore[arg-type]


class _NoModel:
    """A placeholder for the model of a rehearsed agent, never called: its abilities decide what would be sent."""

    name, connections = "rehearsal", 1

    def __init__(self, config: AgentConfig) -> None:
        local = str(config.model).startswith("embedded/")
        known = check_model(str(config.model), config.settings) or Abilities(choices=local, schema=local, prefill=local)
        self.abilities = replace(known, logprobs=True, tools=True, deterministic=False)


class RehearsingAgent(LanguageAgent):
    """A language agent that answers at random and records the sizes of the prompts that it would send.

    ``lengths`` are those of replies and texts where they were measured. With ``longest`` all texts are as long as
    they can be, and memory shows as much as it ever can.
    """

    def __init__(self, plan: Plan, config: AgentConfig, lengths: Lengths, *, longest: bool) -> None:
        super().__init__(config, _NoModel(config), Invalidity(), renderer_of(config, plan.library))  # type: ignore[arg-type]
        self.measured, self.longest = lengths, longest
        self.texts, self.bounded = config.conversation == "dialogue", True
        """Whether some prompt depends on the length of a text; whether all replies are bounded."""
        self.calls: list[tuple[str, int, float, float]] = []
        self.extreme: Extreme | None = None
        """Replaces the random generator of answers; None for random answers."""
        self._last_prompt = Prompt("", {}, "")

    def lengths(self, form: Form, part: str, text: str = "") -> tuple[float, float]:
        """Return the tokens of the usual reply and of the longest one; the same twice if replies are unbounded.

        ``text`` is what a usual reply contains.
        """
        likely, most = reply_of(self.config, form)
        usual = self.measured.reply(self.config, part_name(part))
        if usual is None and isinstance(form, Record):  # its parts may be long or short
            likely = max(1, likely + round(len(text) / CHARACTERS) - answer_tokens(form))
        usual = float(likely) if usual is None else usual
        self.bounded = self.bounded and most is not None
        return usual, float(usual if most is None else most)

    def memory_view(self, decision: Decision, context: Any) -> MemoryView:
        """Return what memory shows; with ``longest`` the most rounds that it can show."""
        memory_view = super().shown(decision, context)
        history = decision.view.history
        lines = min(self.memory.most_lines(len(history)), len(history))
        if len(memory_view.rounds) >= lines or memory_view.counts is not None or self.memory.takes_notes:
            return memory_view
        self.texts = True
        return replace(memory_view, rounds=history[len(history) - lines :]) if self.longest else memory_view

    def prompt(self, decision: Decision, context: Any, memory_view: MemoryView | None = None) -> Prompt:
        """Return the prompt of a language agent, and remember it as the last one."""
        self._last_prompt = super().prompt(decision, context, memory_view)
        return self._last_prompt

    def chat(self, decision: Decision, context: Any) -> Chat | None:
        """Return the dialogue of a language agent, and remember its prompt as the last one."""
        chat = super().chat(decision, context)
        self._last_prompt = self._last_prompt if chat is None else chat.prompt
        return chat

    async def _once(
        self,
        messages: list[Message],
        prompt: Prompt,
        decision: Decision,
        context: Any,
        think: bool,
        part: str,
        lasting: int,
    ) -> tuple[str, Answer | Invalid]:
        del lasting
        form = decision.form
        answer = self.drawn(form, context.draw(f"answer:{part}"))
        text = _reply_text(answer, form, prompt)
        usual, most = self.lengths(form, part, text)
        sent, limit = _characters(messages) + self._tool_characters(decision, prompt), self.config.tool_limit
        self.calls.append((part, sent, min(usual, TOOL_CALL) if self.tools and not self.longest else usual, most))
        for call in range(1, 1 + ((limit.calls if self.longest else 1) if self.tools else 0)):
            longest = call * LONGEST_RESULT + round(min(call * most, limit.tokens) * CHARACTERS_PER_TOKEN)
            more = longest if self.longest else call * TOOL_TURN
            self.calls.append((f"{part}.after{call}", sent + more, usual, most))
        tokens = most if self.longest else usual
        if self.longest and think and self.model.abilities.prefill and self._constraint(form, prompt.labels):
            self.calls.append((f"{part}.end", sent + round(most * CHARACTERS_PER_TOKEN), usual, float(END_TOKENS)))
        more = round(tokens * CHARACTERS) - len(text) - 1
        return (f"{filler(more)}\n{text}" if more > 0 and not isinstance(form, Text) else text), answer

    def _tool_characters(self, decision: Decision, prompt: Prompt) -> int:
        """Return the characters that describe tools in a request; those of tool servers are unknown before play."""
        scene = Scene(decision.view, prompt.labels)
        specs = [spec for box in self.tools for spec, _ in box.functions(scene)]
        return sum(box.unknown for box in self.tools if self.longest) + sum(
            TOOL_SPEC + len(orjson.dumps(asdict(spec))) for spec in specs
        )

    async def call(self, context: Any, request: Request, part: str) -> Reply:
        """Return a reply in which all options are equally likely."""
        del context
        usual, most = self.lengths(Choice(tuple(self._last_prompt.labels)), part)
        self.calls.append((part, _characters(request.messages), usual, most))
        return Reply("", logprobs=dict.fromkeys(self._last_prompt.labels.values(), -1.0))

    def drawn(self, form: Form, rng: np.random.Generator) -> Answer:
        """Return a random answer, with texts of the usual or of the greatest length."""
        if isinstance(form, Text) or (isinstance(form, Record) and _varies_in_length(form)):
            self.texts = True
        usual = CHARACTERS * (answer_tokens(form) if isinstance(form, Text) else MESSAGE)
        usual = self.measured.texts.get(text_name(form), usual)
        rng = rng if self.extreme is None else self.extreme  # type: ignore[assignment]
        return random_answer(form, rng, 10**6 if self.longest else round(usual), full=self.longest)


def _varies_in_length(form: Record) -> bool:
    """Return whether answers to a form can differ in length: one of its fields is a text, a list or an object."""
    return any(
        is_free(part) or part.get("type") in ("array", "object") for part in form.schema.get("properties", {}).values()
    )


def _characters(messages: Sequence[Message]) -> int:
    return sum(len(message.content) for message in messages)


def _reply_text(answer: Answer, form: Form, prompt: Prompt) -> str:
    """Return an answer as a model would write it."""
    if isinstance(form, Choice | Number):
        return f"[{prompt.labels.get(str(answer.value), answer.value) if isinstance(form, Choice) else answer.value}]"
    return str(answer.value) if isinstance(form, Text) else orjson.dumps(answer.value).decode()
