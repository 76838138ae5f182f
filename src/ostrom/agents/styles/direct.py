"""The answer and nothing else."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.base import DecisionContext
from ostrom.agents.style import Asker, Style
from ostrom.answers import Answer
from ostrom.mechanisms.protocol import Decision


class Direct(Style):
    """Ask for the answer alone; bind the model to valid answers where it can be bound."""

    name: ClassVar[str] = "direct"

    async def answer(self, agent: Asker, decision: Decision, context: DecisionContext) -> Answer:
        """One call when all goes well."""
        return await agent.ask(decision, context)


STYLE = Direct
