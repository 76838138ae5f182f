"""Previews of prompts: the messages of one decision, rendered without a call.

The past of a later round is one of a rehearsal (``rehearsal``): models answer at random, scripts as in a match.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.agents.language import AgentFactory, Invalidity
from ostrom.agents.tools import Scene
from ostrom.answers import Answer, Invalid
from ostrom.costs.lengths import Lengths
from ostrom.costs.rehearsal import TIMES, RehearsedMatch
from ostrom.costs.rehearsing import Extreme, RehearsingAgent
from ostrom.engine.plan import Plan, Unit
from ostrom.framing.prompt_renderer import Prompt
from ostrom.ground.errors import UsageError
from ostrom.mechanisms.protocol import Decision
from ostrom.models.base import Message, Reply, Request
from ostrom.studies.plan import StudyPlan
from ostrom.studies.prompts import prepared


class _PreviewAgent(RehearsingAgent):
    """A language agent of a rehearsal that stores the messages of its calls."""

    def __init__(self, plan: Plan, config: AgentConfig, lengths: Lengths, *, longest: bool) -> None:
        super().__init__(plan, config, lengths, longest=longest)
        self.sent: list[dict[str, Any]] = []

    def _keep(self, part: str, messages: Sequence[Message], tools: list[str]) -> None:
        sent = [{"role": message.role, "content": message.content} for message in messages]
        self.sent.append({"part": part.removesuffix("try0").removesuffix("."), "messages": sent, "tools": tools})

    async def _once(
        self, messages: list[Message], prompt: Prompt, decision: Decision, context: Any, think: bool, part: str,
        lasting: int,
    ) -> tuple[str, Answer | Invalid]:  # fmt: skip
        scene = Scene(decision.view, prompt.labels)
        self._keep(part, messages, [spec.name for box in self.tools for spec, _ in box.functions(scene)])
        return await super()._once(messages, prompt, decision, context, think, part, lasting)

    async def call(self, context: Any, request: Request, part: str) -> Reply:
        """Store the messages of a call, and reply as a rehearsal does."""
        self._keep(part, request.messages, [])
        return await super().call(context, request, part)


class _Reached(Exception):
    """Raised when the match has passed the requested round."""


class _Preview(RehearsedMatch):
    """A match rehearsed up to the end of a round; the messages of that round are stored by player."""

    agent_class, most_steps, with_trees = _PreviewAgent, 10**6, True

    def __init__(self, plan: Plan, unit: Unit, number: int | None) -> None:
        super().__init__(plan, unit, Lengths(), longest=False)
        self.rules = prepared(plan, unit).with_rounds(self.rounds)  # without a random end
        self.number, self.rounds_asked = number, dict[int, set[int]]()
        self.sent: dict[int, list[dict[str, Any]]] = {}
        factory = AgentFactory({}, plan.library, Invalidity())
        for key, agent in self.agents.items():
            agent.renderer = factory.renderer(self.configs[key], unit.streams)

    def _writes(self, decision: Decision, agent: RehearsingAgent, key: Any) -> bool:  # noqa: ARG002
        """Return whether prompts are rendered: in the requested round, or earlier if later prompts quote them."""
        return (
            self.number in (None, decision.view.round)
            or agent.memory.takes_notes
            or agent.config.conversation != "prompt"
        )

    def _answer(self, decision: Decision, *rest: Any) -> Answer:
        who, number = decision.player if decision.agent is None else decision.agent, decision.view.round
        if self.number is not None and number > self.number:
            raise _Reached
        agent = self.agents.get(id(self.unit.players[who].config))
        if agent is None:
            return super()._answer(decision, *rest)
        agent.sent.clear()
        answer = super()._answer(decision, *rest)
        self.rounds_asked.setdefault(who, set()).add(number)
        if self.number in (None, number):
            self.sent.setdefault(who, []).extend([{"kind": decision.kind, **call} for call in agent.sent])
        return answer

    def play(self, player: int) -> list[dict[str, Any]]:
        """Return the messages sent to the player in the requested round.

        Chance may end a rehearsed match before that round, so the match is rehearsed up to ``TIMES`` times.
        """
        for times in range(1, TIMES + 1):
            extreme = Extreme(last=times % 2 == 0) if times > TIMES - 2 else None
            with suppress(_Reached):
                self.rehearse(times, extreme)
            if player in self.sent:
                break
        return self.sent.get(player, [])


@dataclass(frozen=True, slots=True)
class PromptPreview:
    """The messages that a player would get in a round, and the player's match and place."""

    cell: int
    cells: int
    levels: dict[str, Any]
    seed: int
    round: int
    seat: int
    agent: str
    model: str
    calls: list[dict[str, Any]]


def preview(plan: StudyPlan, cell: int = 1, number: int = 1, seat: str | None = None) -> PromptPreview:
    """The messages that a player of a cell would be sent in a round, without a call.

    ``seat`` is the number of a player or the name of an agent; without it, the first that a model plays. Round 0 is
    what players are asked before the match.
    """
    if not 1 <= cell <= plan.cells:
        raise UsageError(f"--cell {cell}: {plan.file} has no such cell (allowed: 1 to {plan.cells})")
    unit, place = _seated(plan, cell, seat)
    seated, rounds = unit.players[place], unit.mechanism.most_rounds(unit.game)
    played, player, first = unit, place, 0 if unit.needs else 1
    if number == 0 and unit.needs:
        played, player = plan.unit(unit.needs[place % len(unit.needs)]), 0
    match = _Preview(plan, played, number or None)
    calls = match.play(player) if first <= number <= rounds + 1 else []  # players may be asked after the last round too
    if not calls and first <= number <= rounds:
        last_round = max(match.rounds_asked.get(player, ()), default=0)
        raise UsageError(
            f"--round {number}: seat {place + 1} ({seated.name}) of cell {cell} is asked nothing in this round, in "
            f"none of {TIMES} rehearsals (its last round in them: {last_round})"
        )
    if not calls:
        raise UsageError(f"--round {number}: cell {cell} has no such round (allowed: {first} to {rounds})")
    return PromptPreview(
        cell, plan.cells, dict(unit.cell), unit.seed, number, place + 1, seated.name, str(seated.config.model), calls
    )


def _seated(plan: StudyPlan, cell: int, seat: str | None) -> tuple[Unit, int]:
    """Return the first match of a cell with a model at the seat (or name), and its place."""
    names: dict[str, None] = {}
    for unit in plan.matches_in(cell - 1):
        for place, seated in enumerate(unit.players):
            if seated.config.model is not None:
                names[f"{place + 1} ({seated.name})"] = None
                if seat in (None, str(place + 1), seated.name):
                    return unit, place
    raise UsageError(
        f"--seat {seat}: no model plays there in cell {cell} (allowed: {', '.join(names)})"
        if names
        else f"{plan.file}: no model plays in cell {cell} (--model names one)"
    )
