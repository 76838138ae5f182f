"""What every style offers, where styles are found, and the two that ask in one prompt."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

from ostrom.agents.base import DecisionContext
from ostrom.agents.config import AgentConfig
from ostrom.agents.dialogue import Chat
from ostrom.answers import Answer, Form
from ostrom.answers.forms import TOKENS_PER_WORD
from ostrom.framing import Prompt
from ostrom.ground.registry import Registry
from ostrom.mechanisms.protocol import Decision
from ostrom.memory import Shown
from ostrom.models.base import Abilities, Message, Model, Reply, Request


class Asker(Protocol):
    """What a style needs of the agent whose model it asks (``LanguageAgent``)."""

    config: AgentConfig
    model: Model

    async def ask(
        self,
        decision: Decision,
        context: DecisionContext,
        think: bool = False,
        shown: Shown | None = None,
        part: str = "",
    ) -> Answer:
        """Ask, read, and ask again with the error shown, as often as the study allows."""

    async def call(self, context: DecisionContext, request: Request, part: str) -> Reply:
        """One call; a reply that is a refusal is raised as Declined."""

    def chat(self, decision: Decision, context: DecisionContext) -> Chat | None:
        """The dialogue that asks; None where the decision is one prompt of its own."""

    def prompt(self, decision: Decision, context: DecisionContext, shown: Shown | None = None) -> Prompt:
        """What the model is told."""

    def opening(self, prompt: Prompt) -> list[Message]:
        """The messages that ask."""

    def params(self, context: DecisionContext, part: str) -> dict[str, Any]:
        """Sampling parameters of one call."""

    def with_facts(self, answer: Answer, prompt: Prompt) -> Answer:
        """The answer with what the player was shown as options."""

    def give_up(
        self, decision: Decision, context: DecisionContext, reason: str, *, refused: bool = False
    ) -> Answer:
        """Apply the study's policy for answers that never came, or for those that were refused."""


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
    async def answer(self, agent: Asker, decision: Decision, context: DecisionContext) -> Answer:
        """Ask until there is an answer."""


class Direct(Style):
    """Ask for the answer alone; bind the model to valid answers where it can be bound."""

    name: ClassVar[str] = "direct"

    async def answer(self, agent: Asker, decision: Decision, context: DecisionContext) -> Answer:
        """One call when all goes well."""
        return await agent.ask(decision, context)


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


styles: Registry[Style] = Registry(
    "style",
    "ostrom.agents.styles",
    "STYLE",
    "ostrom.styles",
    folder="styles",
    table={
        "best_response": "ostrom.agents.styles.social:ComputedFirst",
        "direct": "ostrom.agents.style:Direct",
        "reasoned": "ostrom.agents.style:Reasoned",
    },
)
