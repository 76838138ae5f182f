"""What every style offers, and where styles are found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from ostrom.answers import Answer, Form
from ostrom.ground.registry import Registry
from ostrom.mechanisms.protocol import Decision
from ostrom.models.base import Abilities

if TYPE_CHECKING:
    from ostrom.agents.base import DecisionContext
    from ostrom.agents.language import LanguageAgent


class Style(ABC):
    """How a model is asked: which words, how many calls, how the reply is read."""

    name: ClassVar[str]
    calls: ClassVar[int] = 1
    """Calls per decision when all goes well, for forecasts."""
    questions: ClassVar[tuple[str, ...]] = ()
    """Kinds of questions that the style asks besides those of the mechanism, each a choice."""

    def likely_tokens(self, answer: int, words: int) -> int:  # noqa: ARG002
        """Tokens of a usual reply, for forecasts, where the answer alone takes so many and reasoning so many words."""
        return answer

    def most_tokens(self, form: Form, most: int | None) -> int | None:  # noqa: ARG002
        """Tokens that a reply can have at most, where the study allows so many; None: nothing bounds it."""
        return most

    def lacks(self, abilities: Abilities) -> str | None:  # noqa: ARG002
        """What the model would have to be able to do and is not, in words."""
        return None

    @abstractmethod
    async def answer(self, agent: LanguageAgent, decision: Decision, context: DecisionContext) -> Answer:
        """Ask until there is an answer."""


styles: Registry[Style] = Registry("style", "ostrom.agents.styles", "STYLE", "ostrom.styles", folder="styles")
