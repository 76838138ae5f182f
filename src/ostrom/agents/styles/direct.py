"""The answer and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ostrom.agents.style import Style
from ostrom.answers import Answer
from ostrom.mechanisms.protocol import Decision

if TYPE_CHECKING:
    from ostrom.agents.base import DecisionContext
    from ostrom.agents.language import LanguageAgent


class Direct(Style):
    """Ask for the answer alone; bind the model to valid answers where it can be bound."""

    name: ClassVar[str] = "direct"

    async def answer(self, agent: LanguageAgent, decision: Decision, context: DecisionContext) -> Answer:
        """One call when all goes well."""
        return await agent.ask(decision, context)


STYLE = Direct
