"""A person as an agent: the decision goes into the inbox, and the answer is what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from ostrom.agents.base import Agent, DecisionContext
from ostrom.agents.config import AgentConfig
from ostrom.agents.policy import SkipMatch
from ostrom.answers import Answer
from ostrom.framing import PromptRenderer
from ostrom.mechanisms.protocol import Decision
from ostrom.memory import memories
from ostrom.people.live_visit import LiveVisit, Open


class VisitHost(Protocol):
    """Who leads a person through a visit and puts the decisions of a match to them."""

    async def lead(self, decision: Decision, context: DecisionContext) -> Answer: ...
    def visit_at(self, unit: int, player: int) -> LiveVisit: ...
    async def ask_in_match(self, live: LiveVisit, entry: Open, context: DecisionContext) -> Answer: ...
    def stand_in(self, unit: int) -> AgentConfig | None: ...


class SeatedPerson:
    """One person in one unit: a visit, a match or a preparation."""

    instant = False

    def __init__(
        self,
        host: VisitHost,
        config: AgentConfig,
        renderer: PromptRenderer,
        others: Sequence[AgentConfig],
        agent: Callable[[AgentConfig], Agent],
    ) -> None:
        self.host, self.config, self.renderer, self._agent = host, config, renderer, agent
        self.memory = memories.build(config.memory, key="agent.memory")
        self.served = [other.identity for other in others]
        """The agents that sit at the same table: kept with every answer."""
        self._stand_in: Agent | None = None

    def reply(self, decision: Decision, context: DecisionContext) -> Answer:
        """A person takes time."""
        raise NotImplementedError("a person answers with answer()")

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        """Ask the person, or who takes the seat when the person has left."""
        if decision.view.mechanism == "visit":
            return await self.host.lead(decision, context)
        if self._stand_in is None:
            live = self.host.visit_at(context.unit, context.player)
            if live.leaving is None and live.end is None:
                answer = await self.host.ask_in_match(live, self._entry(decision, context), context)
                if answer.reading != "assigned":
                    return answer
            self._take_over(context)
        assert self._stand_in is not None
        answer = await self._stand_in.answer(decision, context)
        return Answer(
            answer.value,
            answer.reading,
            answer.probabilities,
            "departed: an agent took the seat",
            answer.facts,
        )

    def _take_over(self, context: DecisionContext) -> None:
        """The person has left: the declared agent takes the seat, or the match ends here."""
        config = self.host.stand_in(context.unit)
        if config is None:
            live = self.host.visit_at(context.unit, context.player)
            raise SkipMatch(f"player {context.player + 1} left: {live.leaving or live.end}")
        self._stand_in = self._agent(config)

    def _entry(self, decision: Decision, context: DecisionContext) -> Open:
        shown = self.memory.show(decision.view, lambda n, purpose: context.draw(f"memory:{purpose}", n))
        prompt = self.renderer.prompt(decision, shown, context.draw("order"), self.config.facts)
        fields = self.renderer.fields(decision) if decision.kind in ("state", "code") else ""
        return Open(
            context.unit, context.step, context.player, decision, prompt, fields, shown,
            self.renderer.labels(decision.view.game), facts={**prompt.facts, "served": self.served},
        )  # fmt: skip
