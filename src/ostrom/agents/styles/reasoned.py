"""Reasons first, then the answer."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.base import DecisionContext
from ostrom.agents.style import Asker, Style
from ostrom.answers import Answer
from ostrom.answers.forms import TOKENS_PER_WORD
from ostrom.mechanisms.protocol import Decision


class Reasoned(Style):
    """Let the model think in the open, then read its last line.

    Where the model can be bound and can go on from a beginning (embedded models), a reply without a plain
    answer on its last line is finished by a second, short call that may only write a valid answer.
    """

    name: ClassVar[str] = "reasoned"
    calls: ClassVar[int] = 1

    def likely_tokens(self, answer: int, words: int) -> int:
        """Reasons as long as was asked for, then the answer."""
        return answer + round(TOKENS_PER_WORD * words)

    async def answer(self, agent: Asker, decision: Decision, context: DecisionContext) -> Answer:
        """One call, or two where the end is forced."""
        return await agent.ask(decision, context, think=True)


STYLE = Reasoned
