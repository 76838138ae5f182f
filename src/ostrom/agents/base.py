"""What an agent is, and the context in which it answers a decision."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from ostrom.agents.config import AgentConfig
from ostrom.answers import Answer
from ostrom.framing import PromptRenderer
from ostrom.mechanisms.protocol import Decision
from ostrom.models.base import Model, Reply, Request


class DecisionContext(Protocol):
    """What an agent may use to answer one decision: keyed draws, and calls that are limited, counted and journaled."""

    unit: int
    step: int
    player: int

    def draw(self, purpose: str = "", step: int | None = None) -> np.random.Generator:
        """A stream keyed by match, step, player and purpose; with ``step``, by that round instead."""

    def chance(self, purpose: str = "") -> float:
        """One number in [0, 1) keyed by match, step, player and purpose."""

    async def call(self, model: Model, request: Request, part: str = "") -> Reply:
        """Make a call, or take its reply from the journal if it was made before."""

    async def answer_once(self, part: str, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Answer a question within the decision once: journaled, and never asked again on resume."""

    def earlier_answers(self, part: str) -> list[Answer]:
        """The answers of this player to earlier questions of that name in this match, oldest first."""

    def earlier_parts(self, beginning: str) -> list[Answer]:
        """The answers of this player to questions whose names begin so, in this match and decision, oldest first."""

    def earlier_turns(self) -> list[Answer]:
        """The answers of this player in this match that left a turn in its dialogue, oldest first."""

    def at_end(self, work: Callable[[], Awaitable[object]]) -> None:
        """Do this once when the match ends, however it ends."""

    def count_invalid(self, reason: str) -> None:
        """Count an answer that could not be read."""


class PersonAgentFactory(Protocol):
    """Makes the agents of people who answer in the browser; the server of a study with people provides it."""

    def seat(
        self,
        config: AgentConfig,
        renderer: PromptRenderer,
        others: Sequence[AgentConfig],
        agent: Callable[[AgentConfig], Agent],
    ) -> Agent:
        """The agent of one person; ``others`` play in the same match, ``agent`` makes agents of other kinds."""


class OutsideSeats(Model, Protocol):
    """Asks agents outside of this process: a model whose calls need to know the decision that they belong to."""

    at_once: int | None
    """How many matches may be in play at a time; None: it does not matter."""

    async def open(self, folder: Path) -> None:
        """Let agents come; called when the run is locked and its folder written, again before each part of it."""

    def begin(self, unit: int, player: int, config: AgentConfig, rules: str) -> None:
        """A decision begins: its questions follow by ``ask``; ``rules`` is what the player may look up."""

    async def ask(self, unit: int, player: int, part: str, request: Request) -> Reply:
        """Ask one question of a decision; raises Missed where no answer comes in time."""

    def decided(self, unit: int, player: int, answer: Answer | None) -> None:
        """A decision ends with this answer; None: the match ends, because there is none."""

    def ended(self, unit: int, scores: Sequence[float] | None) -> None:
        """A match ends, with these scores, or none where it broke off."""

    def stop(self) -> None:
        """Ask nothing more: whoever waits for an answer is told that the run stops."""


class Missed(Exception):
    """An agent at a seat gave no answer in time, or has left."""


class Agent(Protocol):
    """Decides for one player in one match. A new one is made for every match."""

    instant: bool
    """Answers at once and without calls, through ``reply``; the engine then skips its machinery."""

    def reply(self, decision: Decision, context: DecisionContext) -> Answer:
        """Answer at once (instant agents)."""

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        """Answer, taking the time it needs."""
