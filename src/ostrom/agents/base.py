"""The agent interface, and the context of a decision."""

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
    """The context of one decision: keyed random draws, and calls that are limited, counted and journaled."""

    unit: int
    step: int
    player: int

    def draw(self, purpose: str = "", step: int | None = None) -> np.random.Generator:
        """Return a random stream keyed by match, step, player and purpose; with ``step``, by that round instead."""

    def chance(self, purpose: str = "") -> float:
        """One number in [0, 1) keyed by match, step, player and purpose."""

    async def call(self, model: Model, request: Request, part: str = "") -> Reply:
        """Make a call, or return its journaled reply."""

    async def answer_once(self, part: str, work: Callable[[], Awaitable[Answer]]) -> Answer:
        """Answer a sub-question once: it is journaled, and not asked again on resume."""

    def earlier_answers(self, part: str) -> list[Answer]:
        """Return this player's earlier answers to questions of that name in this match, oldest first."""

    def earlier_parts(self, beginning: str) -> list[Answer]:
        """Return this player's answers to questions whose names begin so, oldest first."""

    def earlier_turns(self) -> list[Answer]:
        """Return this player's answers with a dialogue turn in this match, oldest first."""

    def at_end(self, work: Callable[[], Awaitable[object]]) -> None:
        """Register a function to be called once when the match ends, however it ends."""

    def count_invalid(self, reason: str) -> None:
        """Count an answer that could not be read."""


class PersonAgentFactory(Protocol):
    """Builds agents of people who answer in the browser; provided by the server of a study with people."""

    def seat(
        self,
        config: AgentConfig,
        renderer: PromptRenderer,
        others: Sequence[AgentConfig],
        agent: Callable[[AgentConfig], Agent],
    ) -> Agent:
        """Return the agent of a person; ``others`` are in the same match, ``agent`` builds other kinds."""


class OutsideSeats(Model, Protocol):
    """External agents: their calls need to know the decision that they belong to."""

    at_once: int | None
    """The most matches in play at a time; None for no limit."""

    async def open(self, folder: Path) -> None:
        """Accept agents; called after the run is locked and its folder written, and before each part of it."""

    def begin(self, unit: int, player: int, config: AgentConfig, rules: str) -> None:
        """Start a decision; its questions follow by ``ask``; ``rules`` is a text the player may look up."""

    async def ask(self, unit: int, player: int, part: str, request: Request) -> Reply:
        """Ask one question of a decision; raises Missed without an answer in time."""

    def decided(self, unit: int, player: int, answer: Answer | None) -> None:
        """End a decision with this answer; None if the match ends without one."""

    def ended(self, unit: int, scores: Sequence[float] | None) -> None:
        """End a match with these scores; None if it broke off."""

    def stop(self) -> None:
        """Stop asking: waiting callers are told that the run stops."""


class Missed(Exception):
    """Raised when an agent at a seat gave no answer in time, or has left."""


class Agent(Protocol):
    """Decides for one player in one match; created for every match."""

    instant: bool
    """Whether it answers at once without calls, through ``reply``."""

    def reply(self, decision: Decision, context: DecisionContext) -> Answer:
        """Answer at once (instant agents)."""

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        """Answer, taking the time it needs."""
