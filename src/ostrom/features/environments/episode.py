"""An episode: one match in which the caller's code answers the questions to the ``outside/NAME`` players.

Questions come out in the order in which they arise, and each is answered with a text. Two questions may be open at the
same time: players who move together are asked together. ``for`` takes them one by one, ``async for`` as they come.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from ostrom.engine.plan import Unit
from ostrom.ground.errors import OstromError, UsageError
from ostrom.models.base import Reply
from ostrom.models.providers.outside import PREFIX


@dataclass(frozen=True, eq=False)
class OutsideQuestion:
    """A question to one player, with the same messages that a model would get."""

    match: int
    player: int
    """The number of the player in the match, from 1, as in the tables."""
    agent: str
    """The name of the player's type, as in the tables."""
    policy: str
    """The NAME in ``outside/NAME``."""
    step: int
    part: str
    """The try and the sub-question within the decision: ``try0``, ``note.try1``, ..."""
    messages: list[dict[str, str]]
    form: Mapping[str, Any]
    """The form of a valid answer: ``choices``, or a JSON ``schema``; empty for free text.

    An answer may give reasons before the required form.
    """
    params: Mapping[str, Any]
    """The sampling parameters of the study."""
    reply: Future[Reply] = field(default_factory=Future, repr=False)

    @property
    def answered(self) -> bool:
        """Whether the question needs no answer any more: it has one, or its episode was closed."""
        return self.reply.done()

    def answer(self, reply: str | Reply) -> None:
        """Set the answer: a text, or a ``Reply`` with more facts such as ``finish="length"`` for a truncated text."""
        if not isinstance(reply, str | Reply):
            raise UsageError(f"an answer is a text or a Reply, not {type(reply).__name__}")
        if self.reply.done():
            why = "its episode was closed" if self.reply.cancelled() else "was answered"
            raise UsageError(f"match {self.match}, player {self.player}: this question: {why}")
        try:
            (reply if isinstance(reply, str) else reply.text).encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"match {self.match}, player {self.player}: an answer is Unicode text ({error})") from None
        self.reply.set_result(Reply(reply) if isinstance(reply, str) else reply)


class Episode:
    """One match with outside players, iterated question by question; the match is over when the iteration ends."""

    state: str | None = None
    """The final state of the match: done, skipped or failed; None while it is played and after it was closed."""
    reason: str | None = None
    """Why the match was skipped or failed."""
    scores: Mapping[int, float] | None = None
    """The score of every player, by its number from 1, once the match is done."""

    def __init__(self, unit: Unit, close: Callable[[Episode], None]) -> None:
        self.match, self.seed, self.cell = unit.index, unit.seed, dict(unit.cell)
        self.players = outside_players(unit)
        """The NAME in ``outside/NAME`` of each outside player, by player number."""
        self._close, self._lock = close, threading.Lock()
        self._ready: deque[OutsideQuestion] = deque()
        self._waiting: deque[Future[OutsideQuestion | None]] = deque()
        self._over, self._left, self._error = False, False, None
        self._last: OutsideQuestion | None = None

    _error: Exception | None

    @property
    def rewards(self) -> dict[int, float]:
        """Return the scores of the outside players by player number; observers have none."""
        return {player: score for player, score in (self.scores or {}).items() if player in self.players}

    def close(self) -> None:
        """Stop playing the match; a match stored in a run can be resumed."""
        self._left = True
        self._close(self)

    @property
    def open(self) -> bool:
        """Whether the match is still being played."""
        return not (self._left or self._over)

    def __iter__(self) -> Episode:
        return self

    def __next__(self) -> OutsideQuestion:
        if self._last is not None and not self._last.answered:
            raise UsageError(f"match {self.match}, player {self._last.player}: answer the question before the next")
        self._last = self._next().result()
        if self._last is None:
            raise StopIteration
        return self._last

    def __aiter__(self) -> Episode:
        return self

    async def __anext__(self) -> OutsideQuestion:
        question = await asyncio.wrap_future(self._next())
        if question is None:
            raise StopAsyncIteration
        return question

    def _next(self) -> Future[OutsideQuestion | None]:
        future: Future[OutsideQuestion | None] = Future()
        with self._lock:
            self._waiting.append(future)
            self._hand_out()
        return future

    def _hand_out(self) -> None:
        """Give every waiting caller a question, the error or the end of the episode. The lock must be held."""
        while self._waiting and (self._ready or self._over):
            future = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            if self._ready:
                future.set_result(self._ready.popleft())
            elif self._error is not None:
                future.set_exception(self._error)
            else:
                future.set_result(None)

    # -- methods that the environment calls on its own thread --------------------------------------------

    async def ask(self, question: OutsideQuestion) -> Reply:
        """Hand a question to the caller of the episode and wait for its answer."""
        with self._lock:
            self._ready.append(question)
            self._hand_out()
        return await asyncio.wrap_future(question.reply)

    def end(self, error: Exception | None = None) -> None:
        """End the questions; with an ``error``, callers that wait for a question get it."""
        with self._lock:
            if not self._over:
                self._over, self._error = True, error
                self._ready.clear()
                self._hand_out()


def outside_players(unit: Unit) -> dict[int, str]:
    """Return the NAME of each ``outside/NAME`` player of a unit, by player number."""
    models = ((number, seated.config.model or "") for number, seated in enumerate(unit.players, 1))
    return {number: model.removeprefix(PREFIX) for number, model in models if model.startswith(PREFIX)}


class EpisodeClosed(OstromError):
    """The episode or its environment was closed."""
