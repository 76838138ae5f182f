"""A person as an agent: the decision goes into the inbox, and the answer is what comes back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ostrom.agents.base import Agent, Desk
from ostrom.agents.config import AgentConfig
from ostrom.agents.policy import SkipMatch
from ostrom.answers import Answer
from ostrom.framing import Voice
from ostrom.mechanisms.protocol import Decision
from ostrom.memory import memories
from ostrom.people.inbox import Open

if TYPE_CHECKING:
    from ostrom.people.host import Host


class SeatedPerson:
    """One person in one unit: a visit, a match or a preparation."""

    instant = False

    def __init__(
        self,
        host: Host,
        config: AgentConfig,
        voice: Voice,
        others: Sequence[AgentConfig],
        agent: Callable[[AgentConfig], Agent],
    ) -> None:
        self.host, self.config, self.voice, self._agent = host, config, voice, agent
        self.memory = memories.build(config.memory, key="agent.memory")
        self.served = [other.identity for other in others]
        """The agents that sit at the same table: kept with every answer."""
        self._stand_in: Agent | None = None

    def reply(self, decision: Decision, desk: Desk) -> Answer:
        """A person takes time."""
        raise NotImplementedError("a person answers with answer()")

    async def answer(self, decision: Decision, desk: Desk) -> Answer:
        """Ask the person, or who takes the seat when the person has left."""
        if decision.view.mechanism == "visit":
            return await self.host.lead(decision, desk)
        if self._stand_in is None:
            guest = self.host.guest_at(desk.unit, desk.player)
            if guest.leaving is None and guest.end is None:
                answer = await self.host.ask_in_match(guest, self._entry(decision, desk), desk)
                if answer.reading != "assigned":
                    return answer
            self._take_over(desk)
        assert self._stand_in is not None
        answer = await self._stand_in.answer(decision, desk)
        return Answer(
            answer.value,
            answer.reading,
            answer.probabilities,
            "departed: an agent took the seat",
            answer.facts,
        )

    def _take_over(self, desk: Desk) -> None:
        """The person has left: the declared agent takes the seat, or the match ends here."""
        config = self.host.stand_in(desk.unit)
        if config is None:
            guest = self.host.guest_at(desk.unit, desk.player)
            raise SkipMatch(f"player {desk.player + 1} left: {guest.leaving or guest.end}")
        self._stand_in = self._agent(config)

    def _entry(self, decision: Decision, desk: Desk) -> Open:
        shown = self.memory.show(decision.view, lambda n, purpose: desk.draw(f"memory:{purpose}", n))
        prompt = self.voice.prompt(decision, shown, desk.draw("order"), self.config.facts)
        return Open(
            desk.unit, desk.step, desk.player, decision, prompt, shown, self.voice.labels(decision.view.game),
            facts={**prompt.facts, "served": self.served},
        )  # fmt: skip
