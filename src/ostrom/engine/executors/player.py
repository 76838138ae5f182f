"""Plays whole units of work with the models of one process, wherever that process runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.agents.factory import AgentFactory
from ostrom.engine.entries import Journaled, Place
from ostrom.engine.executors.base import UnitEnd
from ostrom.engine.match import Answers, Calls, LiveMatch, Replies
from ostrom.engine.plan import Tally, Unit
from ostrom.ground.errors import OstromError


class UnitPlayer:
    """Seats the agents of a unit, plays it, and says how it ended."""

    def __init__(self, agent_factory: AgentFactory, journal: Answers, calls: Calls, tally: Tally) -> None:
        self.agent_factory, self.journal, self.calls, self.tally = agent_factory, journal, calls, tally

    async def play(
        self,
        unit: Unit,
        facts: Sequence[Mapping[str, Any]] | None,
        known: dict[Place, Journaled],
        replies: Replies,
    ) -> UnitEnd:
        """Play a unit, given what its preparations came to and what an earlier attempt left."""
        match: LiveMatch | None = None
        try:
            mechanism = unit.mechanism if facts is None else unit.mechanism.given(facts)
            agents = self.agent_factory([seated.config for seated in unit.players], unit.streams)
            play = mechanism.play(unit.game, unit.streams)
            match = LiveMatch(
                unit, play, agents, self.journal, self.calls, self.tally, known, replies,
                lambda config: self.agent_factory.agent(config, unit.streams),
            )  # fmt: skip
            outcome = await match.run()
        except OstromError as error:
            return UnitEnd(match.step if match else 0, error=error)
        return UnitEnd(match.step, outcome.scores, dict(outcome.facts) or None)
