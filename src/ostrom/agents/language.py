"""The language agent: framing, style, memory, persona and model; and the styles.

``AgentFactory`` builds the agents of a match from their configurations, a person at the terminal among them.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ostrom.agents.base import Agent, DecisionContext, Missed, OutsideSeats, PersonAgentFactory
from ostrom.agents.config import AgentConfig
from ostrom.agents.dialogue import Chat
from ostrom.agents.explained import bare, explained, is_explained, mixed, taken
from ostrom.agents.policy import RefusedReply, apply_policy
from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.agents.tools import Scene, Tool, offered, tools, used
from ostrom.agents.tree import TreeAgent, Trees
from ostrom.answers import Answer, Choice, Form, Invalid, Number, constraint_of, read
from ostrom.answers.forms import TOKENS_PER_WORD
from ostrom.answers.read import concludes
from ostrom.framing import Library, Prompt, PromptRenderer
from ostrom.framing.dialogue import DialogueRenderer
from ostrom.ground.errors import StudyError, UnknownName, UsageError
from ostrom.ground.moved import FormerNames
from ostrom.ground.registry import Registry
from ostrom.ground.streams import Streams
from ostrom.ground.terminal import ask, print_stderr
from ostrom.mechanisms.protocol import Decision
from ostrom.memory import Memory, MemoryView, Note, NoteDue, memories
from ostrom.models.asking import calls_in, result_turn
from ostrom.models.base import Abilities, Constraint, Message, Model, Reply, Request
from ostrom.models.failures import one_line


class Person:
    """A person at the terminal, who sees what a model would be told; asked until the answer is valid."""

    instant = False

    def __init__(self, config: AgentConfig, renderer: PromptRenderer) -> None:
        self.config, self.renderer = config, renderer
        self.memory = memories.build(config.memory, key="agent.memory")
        self._last_read: int | None = None
        """The last round that the person has read; None before the first question."""

    def reply(self, decision: Decision, context: DecisionContext) -> Answer:
        """Not supported: a person answers through ``answer``."""
        raise NotImplementedError("a person answers with answer()")

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        """Ask at the terminal in a thread, so that other matches continue."""
        memory_view = self.memory.show(decision.view, lambda n, purpose: context.draw(f"memory:{purpose}", n))
        prompt, text = self._prompt_and_text(decision, memory_view, context.draw("order"))
        while True:
            line = await asyncio.get_running_loop().run_in_executor(None, _ask, text, prompt.labels.values())
            numbered = _by_number(line, list(prompt.labels.values()))
            result = read(decision.form, numbered, prompt.labels, strict=False, cut=False)
            if isinstance(result, Answer):
                return Answer(result.value, "person", facts=prompt.facts)
            assert isinstance(result, Invalid)
            context.count_invalid(result.reason)
            text = f"Not valid: {result.reason}."

    def _prompt_and_text(
        self, decision: Decision, memory_view: MemoryView, rng: np.random.Generator
    ) -> tuple[Prompt, str]:
        """Return the prompt of a decision, and the part that the person reads.

        With full memory only the rounds since the last question are new; other memories are shown in full every time.
        """
        view, facts, last_prompt = decision.view, self.config.facts, self._last_read
        self._last_read = view.history[-1].number if view.history else 0
        if last_prompt is None or self.config.memory != "full" or view.facts.get("alone"):
            prompt = self.renderer.prompt(decision, memory_view, rng, facts)
            return prompt, prompt.full_text
        turn = DialogueRenderer(self.renderer, decision, memory_view, rng, facts)
        new = [played for played in memory_view.rounds if played.number > last_prompt]
        return turn.prompt, f"\n{turn.next(turn.prompt.text, new, view.round)}"


def _ask(text: str, labels: object) -> str:
    options = "/".join(map(str, labels)) if labels else ""  # type: ignore[call-overload]
    print_stderr(f"{text}\n")
    try:
        return ask(f"[{options}] > " if options else "> ")
    except EOFError:
        raise UsageError("the keyboard was closed before the match was over") from None


def _by_number(line: str, labels: list[str]) -> str:
    """Accept 1, 2, ... for the options in their order, unless a label is a number."""
    text = line.strip()
    if text.isascii() and text.isdigit() and text not in labels and 1 <= int(text) <= len(labels):
        return labels[int(text) - 1]
    return {label.lower(): label for label in labels}.get(text.lower(), text)


CACHED_ANSWERS, SHORT_REPLY = 16, 40
END_TOKENS = 300
"""The most tokens of the call that ends a reply without an answer."""


@dataclass(frozen=True, slots=True)
class Invalidity:
    """The number of retries after an unreadable answer, and the policy after them."""

    retries: int = 3
    policy: str = "fail"
    refused: str = "fail"
    """The policy for refusals by a filter or the model, which are not retried."""


class LanguageAgent:
    """Answers decisions by asking a model."""

    instant = False

    def __init__(self, config: AgentConfig, model: Model, invalidity: Invalidity, renderer: PromptRenderer) -> None:
        self.config, self.model, self.invalidity = config, model, invalidity
        self.renderer = renderer
        self.style: Style = styles.build(config.style, key="agent.style")
        self.memory: Memory = memories.build(config.memory, key="agent.memory")
        self._takes_notes = self.memory.takes_notes
        self._wraps_answers = config.answer in ("mixture", "explained")
        self._fixed_params = not model.abilities.deterministic or "seed" in config.params
        """Whether all calls have the same parameters."""
        self._read_before: dict[tuple[str, int, int, bool, bool], tuple[Answer | Invalid, Mapping[str, str], Form]] = {}
        self._last_read: dict[int, tuple[Answer, Mapping[str, Any], Answer]] = {}
        """Cache of answers with the facts of their prompts, by the id of the parsed answer: each is encoded once."""
        self.tools: list[Tool] = [tools.build(tool, key="agent.tools") for tool in config.tools]
        refuse_unable(config, self.style, model.abilities, model.name)

    def reply(self, decision: Decision, context: DecisionContext) -> Answer:
        """Not available: a model is asked with the coroutine ``answer``."""
        raise NotImplementedError("a language agent answers with answer()")

    def answer(self, decision: Decision, context: DecisionContext) -> Coroutine[Any, Any, Answer]:
        """Ask the model in the agent's style; a mixed strategy is drawn from."""
        if self._takes_notes or self._wraps_answers:
            return self._answer(decision, context)
        return self.style.answer(self, decision, context)

    async def _answer(self, decision: Decision, context: DecisionContext) -> Answer:
        """Write a due note, then answer; a mixture is drawn from, an explained answer gives its action."""
        if self._takes_notes and (due := self.memory.due(decision.view, self._notes(context))) is not None:
            await self._renew_note(due, decision, context)
        if self.config.answer == "mixture" and isinstance(decision.form, Choice | Number):
            weighed = await self.style.answer(self, replace(decision, form=mixed(decision.form)), context)
            drawn = self._drawn(weighed, context)
            if isinstance(decision.form, Number):
                amounts = decision.form.amounts
                return replace(drawn, value=amounts.value(amounts.index(drawn.value)))
            return drawn
        if self.config.answer == "explained" and isinstance(decision.form, Choice | Number):
            question = replace(decision, form=explained(decision.form, self.config.framing.words))
            return taken(await self.style.answer(self, question, context), decision.form)
        return await self.style.answer(self, decision, context)

    async def ask(
        self,
        decision: Decision,
        context: DecisionContext,
        think: bool = False,
        memory_view: MemoryView | None = None,
        part: str = "",
    ) -> Answer:
        """Ask, parse, and ask again with the error shown, as often as the study allows.

        ``memory_view`` takes the place of what memory shows; ``part`` names a question within the decision.
        """
        chat = self.chat(decision, context) if memory_view is None else None
        prompt = self.prompt(decision, context, memory_view) if chat is None else chat.prompt
        opening_messages = self.opening(prompt) if chat is None else chat.messages
        messages, lasting = opening_messages, 0 if chat is None else chat.shared_prefix_length
        text = reason = ""
        for attempt in range(self.invalidity.retries + 1):
            try:
                text, result = await self._once(
                    messages, prompt, decision, context, think, f"{part}try{attempt}", lasting
                )
            except RefusedReply as refusal:
                refused = self.give_up(decision, context, str(refusal), refused=True)
                return refused if chat is None else chat.with_chat_turn(refused, str(refusal))
            if isinstance(result, Answer):
                answer = self.with_facts(result, prompt)
                return answer if chat is None else chat.with_chat_turn(answer, text)
            reason = result.reason
            context.count_invalid(reason)
            messages = [
                *opening_messages,
                Message("assistant", text or self.renderer.empty_reply_text()),
                Message("user", self.renderer.correction(reason, prompt.instruction)),
            ]
        answer = self.give_up(decision, context, reason)
        return answer if chat is None else chat.with_chat_turn(answer, text)

    async def _once(
        self,
        messages: list[Message],
        prompt: Prompt,
        decision: Decision,
        context: DecisionContext,
        think: bool,
        part: str,
        lasting: int,
    ) -> tuple[str, Answer | Invalid]:
        """Make one try: a call, and a second one to force the end of a reply without an answer, if allowed."""
        form = decision.form
        if self.tools:
            return await self._with_tools(messages, prompt, decision, context, part, lasting)
        bound = self._constraint(form, prompt.labels)
        params = self.config.params if self._fixed_params else self.params(context, part)
        if bound is not None and not think:
            reply = await self.call(context, Request(tuple(messages), params, constraint=bound, lasting=lasting), part)
            return reply.text, self._read(reply, prompt, form, constrained=True)
        reply = await self.call(context, Request(tuple(messages), params, lasting=lasting), part)
        result = self._read(reply, prompt, form)
        is_whole = isinstance(result, Answer) and concludes(form, reply.text, prompt.labels, result)
        if is_whole or bound is None or not self.model.abilities.prefill:
            return reply.text, result
        begun = reply.text.rstrip() + "\n"
        end = await self.call(
            context,
            Request((*messages, Message("assistant", begun)), {**params, "max_tokens": END_TOKENS}, constraint=bound),
            f"{part}.end",
        )
        return begun + end.text, self._read(end, prompt, form, constrained=True)

    async def _with_tools(
        self,
        messages: list[Message],
        prompt: Prompt,
        decision: Decision,
        context: DecisionContext,
        part: str,
        lasting: int,
    ) -> tuple[str, Answer | Invalid]:
        """Call the model until it answers; its tool calls are executed in between, within the limit."""
        limit, count, tokens = self.config.tool_limit, 0, 0
        specs = await offered(self.tools, Scene(decision.view, prompt.labels), context)
        sent = list(messages)
        while True:
            request = Request(tuple(sent), self.params(context, part), lasting=lasting, tools=specs)
            reply = await self.call(context, request, part if not count else f"{part}.after{count}")
            if reply.finish != "tools":
                return reply.text, self._read(reply, prompt, decision.form)
            text, calls = calls_in(reply.text)
            tokens += reply.usage.output or 0
            if count + len(calls) > limit.calls or tokens > limit.tokens:
                return text, Invalid("no more tools may be called: answer now")
            sent.append(Message("call", reply.text))
            for call in calls:
                count += 1
                use = partial(
                    self._use, call, Scene(decision.view, prompt.labels, self._earlier_calls(context)), context.step
                )
                done = await context.answer_once(f"tool.{part}.{count}", use)
                sent.append(result_turn(call, done.value["result"]))

    async def _use(self, call: Mapping[str, str], scene: Scene, step: int) -> Answer:
        """Execute a tool call, as a sub-question of the decision."""
        result, failed = await used(self.tools, scene, call["name"], call["arguments"])
        return Answer(
            {"tool": call["name"], "arguments": call["arguments"], "result": result, "failed": failed, "step": step}
        )

    def _earlier_calls(self, context: DecisionContext) -> list[Mapping[str, Any]]:
        """Return this player's tool calls in this match, oldest first."""
        return [answer.value for answer in context.earlier_parts("tool.")]

    async def call(self, context: DecisionContext, request: Request, part: str) -> Reply:
        """Make one call; a refusal is raised as RefusedReply."""
        reply = await context.call(self.model, request, part)
        if reply.finish == "filter":
            raise RefusedReply(
                one_line(str(reply.facts.get("refusal") or reply.text).strip())
                or "the reply was stopped by a content filter"
            )
        return reply

    def _constraint(self, form: Form, labels: Mapping[str, str]) -> Constraint | None:
        abilities = self.model.abilities
        possible = abilities.choices if isinstance(form, Choice) else abilities.schema
        if self.config.constrain == "never" or not possible:
            return None
        bound = constraint_of(form, labels)
        return Constraint(**bound) if bound else None

    def _read(self, reply: Reply, prompt: Prompt, form: Form, constrained: bool = False) -> Answer | Invalid:
        """Parse the answer in a reply; short replies to the same question are cached."""
        text, labels, cut = reply.text, prompt.labels, reply.finish == "length"
        key = (text, id(labels), id(form), cut, constrained)
        if (cached := self._read_before.get(key)) is not None:
            return cached[0]
        result = read(form, text, labels, strict=self.config.strict, cut=cut)
        if constrained and isinstance(result, Answer):
            result = replace(result, reading="constrained")
        if len(text) <= SHORT_REPLY:
            if len(self._read_before) >= CACHED_ANSWERS:
                self._read_before.clear()
            self._read_before[key] = (result, labels, form)  # kept, so that their ids stay unique
        return result

    async def _renew_note(self, due: NoteDue, decision: Decision, context: DecisionContext) -> None:
        """Write the note that memory asks for, as a sub-question of the decision."""
        kind = self.memory.asks

        async def write() -> Answer:
            question = replace(decision, kind=kind, form=due.form)
            answer = await self.ask(
                question, context, memory_view=MemoryView(due.rounds, note=due.old), part=f"{kind}."
            )
            return replace(answer, facts={**(answer.facts or {}), "covers": due.covers})

        await context.answer_once(kind, write)

    def _notes(self, context: DecisionContext) -> list[Note]:
        """Return this player's notes in this match, oldest first."""
        return [Note.from_answer(answer) for answer in context.earlier_answers(self.memory.asks)]

    def shown(self, decision: Decision, context: DecisionContext) -> MemoryView:
        """Return the memory's view of the past."""
        return self.memory.show(
            decision.view,
            lambda number, purpose: context.draw(f"memory:{purpose}", number),
            self._notes(context) if self._takes_notes else (),
        )

    def prompt(self, decision: Decision, context: DecisionContext, memory_view: MemoryView | None = None) -> Prompt:
        """Return the prompt for the view through memory and framing."""
        memory_view = self.shown(decision, context) if memory_view is None else memory_view
        order = context.draw("order") if self.config.framing.order == "shuffled" else None
        return self.renderer.prompt(decision, memory_view, order, self.config.facts)

    def chat(self, decision: Decision, context: DecisionContext) -> Chat | None:
        """Return the dialogue that ends with a decision; None if the decision is a prompt of its own."""
        if self.config.conversation == "prompt" or decision.view.facts.get("alone"):
            return None
        return Chat(self, decision, context, self.shown(decision, context))

    @staticmethod
    def opening(prompt: Prompt) -> list[Message]:
        """Return the initial messages: the system message, if any, and the question."""
        return [*([Message("system", prompt.system)] if prompt.system else ()), Message("user", prompt.text)]

    def params(self, context: DecisionContext, part: str) -> dict[str, Any]:
        """Return the sampling parameters; models with a seed get one for this call alone."""
        params = dict(self.config.params)
        if self.model.abilities.deterministic and "seed" not in params:
            params["seed"] = int(context.draw(f"seed:{part}").integers(2**31 - 1))
        return params

    def with_facts(self, answer: Answer, prompt: Prompt) -> Answer:
        """Return the answer with the facts of its prompt: the labels of the options, and their order."""
        if not prompt.facts:
            return answer
        cached = self._last_read.get(id(answer))
        if cached is None or cached[0] is not answer or cached[1] is not prompt.facts:
            facts = {**answer.facts, **prompt.facts} if answer.facts else prompt.facts
            full = Answer(answer.value, answer.reading, answer.probabilities, answer.note, facts)
            if len(self._last_read) >= CACHED_ANSWERS:
                self._last_read.clear()
            cached = self._last_read[id(answer)] = (answer, prompt.facts, full)
        return cached[2]

    def give_up(self, decision: Decision, context: DecisionContext, reason: str, *, refused: bool = False) -> Answer:
        """Apply the study's policy for unreadable or refused answers."""
        if decision.view.facts.get("optional"):
            return Answer(None, "refused" if refused else "policy", note=f"unanswered: {reason}")
        policy = self.invalidity.refused if refused else self.invalidity.policy
        if is_explained(decision.form):
            # A policy gives an action without a rationale.
            answer = apply_policy(policy, bare(decision.form), reason, context.draw("policy"), refused=refused)
            return replace(answer, value={"action": answer.value, "rationale": ""})
        return apply_policy(policy, decision.form, reason, context.draw("policy"), refused=refused)

    def _drawn(self, mixed: Answer, context: DecisionContext) -> Answer:
        """An action drawn from a stated mixed strategy."""
        odds = {key: share / 100 for key, share in mixed.value.items()}
        keys = [key for key, share in odds.items() if share > 0]
        if len(keys) == 1:
            return replace(mixed, value=keys[0], probabilities=odds)
        drawn = keys[int(context.draw("sample").choice(len(keys), p=[odds[key] for key in keys]))]
        return replace(mixed, value=drawn, probabilities=odds)


class SeatedAgent(LanguageAgent):
    """An external agent at a seat: it reads what a model would read, and may miss a decision."""

    def __init__(
        self, config: AgentConfig, seats: OutsideSeats, invalidity: Invalidity, renderer: PromptRenderer
    ) -> None:
        super().__init__(config, seats, invalidity, renderer)
        self.seats = seats

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        """Ask the external agent; without an answer in time the decision is missed."""
        place = (context.unit, context.player)
        order = context.draw("order") if self.config.framing.order == "shuffled" else None
        self.seats.begin(
            *place, self.config, self.renderer.rules(decision, self.shown(decision, context), order, self.config.facts)
        )
        answer: Answer | None = None
        try:
            answer = await super().answer(decision, context)
        except Missed as missed:
            answer = Answer(None, "missed", note=str(missed))
        finally:
            self.seats.decided(*place, answer)
        return answer


class Style(FormerNames, ABC, former={"lacks": "missing_ability"}):
    """How a model is asked: which words, how many calls, how the reply is read."""

    name: ClassVar[str]
    calls: ClassVar[int] = 1
    """Usual calls per decision, for forecasts."""
    questions: ClassVar[tuple[str, ...]] = ()
    """Kinds of additional questions of the style, each a choice."""

    def likely_tokens(self, answer: int, words: int) -> int:  # noqa: ARG002
        """Return the tokens of a usual reply for forecasts, from those of the answer and the words of reasoning."""
        return answer

    def most_tokens(self, form: Form, most: int | None) -> int | None:  # noqa: ARG002
        """Return the most tokens of a reply, given the study's limit; None without a limit."""
        return most

    def missing_ability(self, abilities: Abilities) -> str | None:  # noqa: ARG002
        """Return the ability that the style needs and the model lacks, in words; None if it lacks none."""
        return None

    @abstractmethod
    async def answer(self, agent: LanguageAgent, decision: Decision, context: DecisionContext) -> Answer:
        """Ask the model until it gives a valid answer or the study's policy decides."""


def refuse_unable(config: AgentConfig, style: Style, abilities: Abilities, name: str) -> None:
    """Refuse a model that cannot be asked as its configuration, with this style, says."""
    if lacking := style.missing_ability(abilities):
        raise StudyError(f"style {config.style}: {name} does not {lacking}", key="agent.style")
    if config.tools and not abilities.tools:
        raise StudyError(f"{name} is not known to call tools (settings: abilities: [tools])", key="agent.tools")
    if config.constrain == "always" and not (abilities.choices and abilities.schema):
        raise StudyError(f"{name} cannot be bound to a form", key="agent.constrain")


class Direct(Style):
    """Ask for the answer alone; bind the model to valid answers where it can be bound."""

    name: ClassVar[str] = "direct"

    def answer(self, agent: LanguageAgent, decision: Decision, context: DecisionContext) -> Coroutine[Any, Any, Answer]:
        """One call if the first reply is valid."""
        return agent.ask(decision, context)


class Reasoned(Style):
    """Let the model think in the open, then read its last line.

    Where the model can be bound and can go on from a beginning (embedded models), a reply without a plain
    answer on its last line is finished by a second, short call that may only write a valid answer.
    """

    name: ClassVar[str] = "reasoned"
    calls: ClassVar[int] = 1

    def likely_tokens(self, answer: int, words: int) -> int:
        """Return the tokens of the requested reasoning and the answer."""
        return answer + round(TOKENS_PER_WORD * words)

    def answer(self, agent: LanguageAgent, decision: Decision, context: DecisionContext) -> Coroutine[Any, Any, Answer]:
        """Answer with one call, or two if the end is forced."""
        return agent.ask(decision, context, think=True)


styles: Registry[Style] = Registry(
    "style",
    "ostrom.agents.styles",
    "STYLE",
    "ostrom.styles",
    folder="styles",
    code="ostrom.ground.python_files",
    table={
        "best_response": "ostrom.agents.styles.social:ComputedFirst",
        "direct": "ostrom.agents.language:Direct",
        "reasoned": "ostrom.agents.language:Reasoned",
    },
)


class AgentFactory:
    """Builds agents for the matches of a run: models and prompts are shared, all else is new per match."""

    language_type: type[LanguageAgent] = LanguageAgent
    """The class of agents that ask models."""

    def __init__(
        self,
        models: Mapping[str, Model],
        library: Library,
        invalidity: Invalidity,
        people: PersonAgentFactory | None = None,
        trees: Trees | None = None,
        seats: OutsideSeats | None = None,
    ) -> None:
        self.models, self.library, self.invalidity, self.people = models, library, invalidity, people
        self.seats = seats
        self.trees: Trees = trees or {}

    def __call__(self, configs: Sequence[AgentConfig], streams: Streams) -> list[Agent]:
        """Build one agent per player; random labels are drawn once per match."""
        return [
            self._person(config, [*configs[:place], *configs[place + 1 :]], streams)
            if config.person == "web"
            else self.agent(config, streams)
            for place, config in enumerate(configs)
        ]

    def _person(self, config: AgentConfig, others: Sequence[AgentConfig], streams: Streams) -> Agent:
        if self.people is None:
            raise StudyError("people in the browser play through `ostrom serve STUDY`", key="agent.person")
        return self.people.seat(
            config, self.renderer(config, streams), others, lambda other: self.agent(other, streams)
        )

    def agent(self, config: AgentConfig, streams: Streams) -> Agent:
        """The agent of one player."""
        if config.strategy is not None:
            memory = None if config.memory == "full" else memories.build(config.memory, key="agent.memory")
            return ScriptedAgent(strategies.build(config.strategy, key="agent.strategy"), memory)
        if config.recorded is not None:
            raise StudyError(f"{config.recorded} was imported: its moves are on record, it cannot play on")
        renderer = self.renderer(config, streams)
        if config.tree is not None:
            return TreeAgent(config, self.trees)
        if config.person:
            return Person(config, renderer)
        if config.mcp is not None:
            if self.seats is None:
                raise StudyError("agents at seats are not asked by this command", key="agent.mcp")
            return SeatedAgent(config, self.seats, self.invalidity, renderer)
        assert config.client is not None
        return self.language_type(config, self.models[config.client], self.invalidity, renderer)

    def renderer(self, config: AgentConfig, streams: Streams) -> PromptRenderer:
        """The prompt renderer of one player in one match."""
        return renderer_of(
            config,
            self.library,
            streams.for_round(0, 0, "labels") if config.framing.draws_labels else None,
            lambda seat: streams.for_round(0, seat, "rows"),
        )


def renderer_of(
    config: AgentConfig,
    library: Library,
    draw_labels: np.random.Generator | None = None,
    draw_rows: Callable[[int], np.random.Generator] | None = None,
) -> PromptRenderer:
    """Return the prompt renderer of a configuration, with random draws if it is for a match."""
    return PromptRenderer(
        config.framing,
        library_for(config, library),
        config.style,
        config.persona,
        draw_labels,
        draw_rows,
        system=config.system,
        persona_in=config.persona_in,
    )


def library_for(config: AgentConfig, library: Library) -> Library:
    """Return the prompt library of a configuration: its prompt set, in its language."""
    return library.with_set(config.prompts).in_language(config.framing.language)


def check_persona(config: AgentConfig, library: Library) -> None:
    """Refuse a one-word persona or system prompt without a file: it is a mistyped name, not a text."""
    for key, kind, name in (("persona", "personas", config.persona), ("system", "systems", config.system)):
        if name is not None and not library.has(f"{kind}/{name}.txt") and not name.strip().count(" "):
            raise UnknownName(f"{key} (or write it out in words)", name, library.names(kind)).with_place(
                None, f"agent.{key}"
            )
