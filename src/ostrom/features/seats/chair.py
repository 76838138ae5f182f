"""One seat as an external agent sees it: its questions, how answers are read, and its time limit.

It knows nothing of MCP: the server's tools, the bridge and the tests talk to the same few methods.
"""

import asyncio
import re
import secrets
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ostrom.agents.base import Missed
from ostrom.agents.commands import without_keys
from ostrom.answers import Answer
from ostrom.engine.gate import Stopped
from ostrom.ground.values import value
from ostrom.models.base import Message, Reply, Request, Usage

LONGEST_ANSWER = 20_000
"""The longest answer, in characters."""
LONGEST_WAIT = 50.0
"""The longest wait of a call to ``look``, in seconds: clients allow a call about a minute."""
USUAL_WAIT = 20.0
VERDICT = 10.0
"""Seconds to wait until an answer is read and stored."""
_AGAIN = re.compile(r"try[1-9][0-9]*$")
NOTHING = "There is nothing to decide now: call look, which waits until there is."


@value
class ToolReply:
    """The reply to one tool call of the agent."""

    state: str
    """decide, wait, taken, again, match_over, run_over, left, rules or refused."""
    text: str
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def wrong(self) -> bool:
        """Return whether the call failed from the agent's view."""
        return self.state in ("again", "refused")


@dataclass(slots=True, eq=False)
class OpenQuestion:
    """One question of a decision."""

    part: str
    messages: Sequence[Message]
    answer: asyncio.Future[str]
    shown: bool = False

    @property
    def text(self) -> str:
        """Return the messages that a model would get, as one text."""
        return "\n\n".join(f"You answered:\n{m.content}" if m.role == "assistant" else m.content for m in self.messages)


@dataclass(slots=True, eq=False)
class OpenDecision:
    """One decision: its questions come one after another and share one time limit."""

    seconds: float
    rules: str
    question: OpenQuestion | None = None
    clock: asyncio.TimerHandle | None = None
    deadline: float | None = None
    late: str | None = None
    """The reason why answers are no longer accepted."""
    end: Answer | None = None

    def miss(self, why: str) -> None:
        """Stop accepting answers."""
        self.late = self.late or why
        if self.question is not None and not self.question.answer.done():
            self.question.answer.set_exception(Missed(why))


class SeatSession:
    """One seat of a run in all its matches or, for an agent with its own process, in one match."""

    def __init__(self, seat: int, *, own_match: bool = False) -> None:
        self.seat, self.token, self.own_match = seat, secrets.token_urlsafe(32), own_match
        self.heard = own_match
        """Whether an agent is connected: an empty seat waits, and its time limit does not run."""
        self.over: str | None = None
        """The reason why there are no more decisions; None while there are."""
        self.closed = asyncio.Event()
        self.told_over = False
        self._turns: dict[int, OpenDecision | None] = {}
        """The open decision by match, in the order of their start; None between two decisions."""
        self._begun: set[int] = set()
        """Matches in which the agent has been asked."""
        self._left: dict[int, str] = {}
        self._endings: deque[ToolReply] = deque()
        self._news = asyncio.Event()

    # -- what the engine calls -----------------------------------------------------------------------

    def begin(self, unit: int, seconds: float, rules: str) -> None:
        """Start a decision of a match."""
        turn = self._turns[unit] = OpenDecision(seconds, rules)
        if unit in self._left:
            turn.miss(self._left[unit])
        self._start_clock()

    async def ask(self, unit: int, part: str, request: Request) -> Reply:
        """Ask one question of the current decision and wait until it is answered or missed."""
        turn = self._turns[unit]
        assert turn is not None
        if self.over is not None:
            raise Stopped("stopped")
        if turn.late is not None:
            raise Missed(turn.late)
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        turn.question = OpenQuestion(part, request.messages, future)
        self._changed()
        try:
            return Reply(without_keys(await future), usage=Usage(0, 0))
        finally:
            turn.question = None

    def decided(self, unit: int, answer: Answer | None) -> None:
        """Close a decision: it has its answer, or the match ends without one."""
        turn = self._turns[unit]
        assert turn is not None
        turn.end, self._turns[unit] = answer or Answer(None, "policy"), None
        if turn.clock is not None:
            turn.clock.cancel()
        if turn.end.reading == "missed" and not self.own_match:
            self.heard = False  # the next match waits for an agent
        self._changed()

    def end_match(self, unit: int, score: float | None, *, tell: bool = True, finished: bool = True) -> None:
        """End a match; an agent that played in it gets this as its next event."""
        if unit not in self._turns:
            return
        turn = self._turns.pop(unit)
        if turn is not None and turn.clock is not None:
            turn.clock.cancel()
        self._left.pop(unit, None)
        if tell and unit in self._begun and (finished or self.over is None):
            paid = "" if score is None else f" Your score: {score:g} (points per round)."
            text = f"The match is over.{paid if finished else ' It was broken off.'}"
            self._endings.append(ToolReply("match_over", text, {"score": score}))
        self._begun.discard(unit)
        self._start_clock()
        self._changed()

    def close(self, why: str) -> None:
        """End the session: there are no more decisions."""
        if self.over is not None:
            return
        self.over = why
        self.closed.set()
        for turn in self._turns.values():
            if turn is not None and turn.clock is not None:
                turn.clock.cancel()
            if turn is not None and turn.question is not None and not turn.question.answer.done():
                turn.question.answer.set_exception(Stopped("stopped"))
        self._changed()

    # -- what the agent calls ------------------------------------------------------------------------

    async def next_event(self, wait: float = USUAL_WAIT) -> ToolReply:
        """Return the next question or end of a match; wait at most this many seconds."""
        self._take()
        await self._wait(
            min(max(wait, 0.0), LONGEST_WAIT),
            lambda: bool(self._endings or self.over or ((now := self._current()) and now.question)),
        )
        if self._endings:
            return self._endings.popleft()
        if (turn := self._current()) is not None and turn.question is not None:
            turn.question.shown = True
            return ToolReply(
                "decide",
                turn.question.text,
                {"seconds": round(max(0.0, (turn.deadline or 0.0) - asyncio.get_running_loop().time()), 1)},
            )
        if self.over is not None:
            self.told_over = True
            self._changed()
            return ToolReply("run_over", self.over)
        return ToolReply("wait", "There is nothing to decide yet: call look again.")

    def rules(self) -> ToolReply:
        """Return the rules of the match, as prompts state them."""
        self._take()
        turn = self._current()
        return ToolReply("refused", NOTHING) if turn is None else ToolReply("rules", turn.rules or NOTHING)

    async def act(self, answer: str) -> ToolReply:
        """Answer the current question; the reply says what is wrong with an unreadable answer."""
        self._take()
        turn = self._current()
        question = None if turn is None else turn.question
        if turn is None or question is None or question.answer.done():
            return ToolReply("refused", self.over or NOTHING)
        if not question.shown:
            return ToolReply("refused", "You have not read what there is to decide: call look first.")
        if len(answer) > LONGEST_ANSWER:
            return ToolReply("refused", f"An answer has at most {LONGEST_ANSWER:,} characters (found {len(answer):,}).")
        question.answer.set_result(answer)
        await self._wait(VERDICT, lambda: bool(turn.end or self.over or turn.question not in (None, question)))
        return self._verdict(turn)

    def leave(self, why: str = "the agent left") -> ToolReply:
        """Leave the match: its remaining decisions count as missed, and the seat is free for the next match."""
        unit = next(iter(self._turns), None)
        if unit is not None:
            self._left[unit] = why
            if (turn := self._turns[unit]) is not None:
                turn.miss(why)
        self.heard = self.own_match
        self._changed()
        return ToolReply("left", "You have left: what is still to be decided in this match counts as missed.")

    # -- within --------------------------------------------------------------------------------------

    def _verdict(self, turn: OpenDecision) -> ToolReply:
        again = turn.question
        if turn.end is None and again is not None and _AGAIN.search(again.part):
            again.shown = True
            return ToolReply("again", again.messages[-1].content)
        if turn.end is None and again is None:
            return ToolReply("wait", "The answer is not written down yet: call look.")
        reading = None if turn.end is None else turn.end.reading
        if reading == "missed":
            return ToolReply("refused", "Too late: the decision counts as missed.")
        return (
            ToolReply("refused", "None of your answers could be read: the study says what happens now. Call look.")
            if reading in ("policy", "refused")
            else ToolReply("taken", "Taken. Call look for what comes next.")
        )

    def _current(self) -> OpenDecision | None:
        """Return the decision of the current match; later matches wait."""
        return next(iter(self._turns.values()), None)

    def _take(self) -> None:
        self.heard = True
        self._start_clock()

    def _start_clock(self) -> None:
        unit = next(iter(self._turns), None)
        turn = None if unit is None else self._turns[unit]
        if unit is None or turn is None or turn.clock is not None or not (self.heard or unit in self._begun):
            return
        loop = asyncio.get_running_loop()
        self._begun.add(unit)
        turn.deadline = loop.time() + turn.seconds
        turn.clock = loop.call_later(turn.seconds, turn.miss, f"no answer within {turn.seconds:g} s")

    def _changed(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _wait(self, seconds: float, ready: Callable[[], bool]) -> None:
        """Wait until ``ready()`` is true, at most this many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not ready():
                    await self._news.wait()

    async def told(self, seconds: float) -> None:
        """Wait until a connected agent has been told that the session is over."""
        await self._wait(seconds, lambda: self.told_over or not self.heard)
