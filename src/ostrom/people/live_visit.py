"""In-memory state of the server: active visits, open questions, and people waiting for partners.

A new person is assigned to the cell with the fewest people; a share of assignments is drawn at random. People who
finished and people under way both count, so that cells stay balanced when more people leave some conditions than
others. People who play with each other meet in the lobby for a bounded time.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from ostrom.answers import Answer
from ostrom.engine.journal import Journal
from ostrom.engine.match import replay
from ostrom.engine.plan import Unit
from ostrom.framing import Prompt
from ostrom.games.amounts import Options
from ostrom.mechanisms.protocol import Decision, Round
from ostrom.memory import MemoryView


@dataclass(slots=True, eq=False)
class LiveVisit:
    """The state of one participant's visit in this process."""

    visit: int
    code: str
    test: bool
    language: str
    began: float
    """Seconds since 1970."""
    here: float
    """When the visit began or was resumed in this process (event-loop time)."""
    before: float = 0.0
    """Seconds that the visit had lasted before ``here``, in earlier processes."""
    cell: int | None = None
    table: int | None = None
    """The number of the current match."""
    player: int | None = None
    factor: float | None = 1.0
    """Multiplier of the time limit of a decision; None means no limit."""
    end: str | None = None
    earned: str | None = None
    """The end that determines the payment: it stays ``done`` if a participant withdraws the data after finishing."""
    excluded: bool = False
    """Whether the analysis leaves the finished visit out (``people.exclude``)."""
    points: float = 0.0
    seen: float = 0.0
    """When the last request of the participant arrived (event-loop time)."""
    answered: float | None = None
    """When the last answer of a match arrived (event-loop time)."""
    rounds: int = 0
    """Rounds finished when the last question of a match was asked."""
    left: asyncio.Event = field(default_factory=asyncio.Event)
    leaving: str | None = None
    """The end that was chosen, while open questions are still being closed."""
    resumed: bool = False
    """Whether the visit was resumed at server start and has not been answered since."""
    state: str = "arrived"
    result: dict[str, Any] | None = None
    """The result of the last match, shown once."""
    step: int = 0
    """The step of the visit, from 0."""
    labels: tuple[Options, ...] = ()
    """The labels of the actions in the current match."""
    streams: int = 0
    """Number of open event streams of this participant."""
    version: int = 0
    _waiting: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by the next change, for those who wait in ``news``."""

    def offset(self, at: float) -> int:
        """Milliseconds since the visit began, from event-loop time, so changes of the system clock do not matter."""
        return round((self.before + at - self.here) * 1000)

    def changed(self) -> None:
        """Increase the version and wake all that wait in ``news``."""
        self.version += 1
        self._waiting.set()
        self._waiting = asyncio.Event()

    async def news(self, since: int, timeout: float) -> int:
        """Wait until the version differs from ``since``, at most ``timeout`` seconds; return the current version."""
        if self.version == since:
            with suppress(TimeoutError):
                async with asyncio.timeout(timeout):
                    await self._waiting.wait()
        return self.version


GRACE = 1.0
"""Seconds after a deadline in which an answer that was on its way still counts."""


@dataclass(slots=True, eq=False)
class PendingQuestion:
    """A decision that waits for one person."""

    unit: int
    step: int
    player: int
    decision: Decision
    prompt: Prompt | None = None
    """The prompt and the labels of the options, in a match."""
    fields: str = ""
    """An explanation of the fields of a stated strategy; empty for other decisions."""
    past: MemoryView | None = None
    """The past as the person's memory shows it."""
    labels: tuple[Options, ...] = ()
    """The labels of every seat's actions, in a match."""
    due: float = 0.0
    """The release time, on the clock of the event loop."""
    limit: float | None = None
    """The time limit in seconds, from when it is shown."""
    interrupted: bool = False
    """Whether it was open before a restart of the server."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Facts stored with the answer."""
    shown: float | None = None
    extended: int = 0
    """The number of extensions."""
    deadline: float | None = None
    answer: asyncio.Future[Answer] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    taken: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the answer is on its way to the journal."""
    timer: asyncio.TimerHandle | None = None
    claimed: bool = False
    """Whether the personal part of an answer is being written: other answers are refused meanwhile."""

    @property
    def place(self) -> str:
        """Return a unique identifier: unit, step and player."""
        return f"{self.unit}.{self.step}.{self.player}"


class Inbox:
    """All open decisions of people, by unit and player: a player has one at a time."""

    def __init__(self, changed: Callable[[int, int], None]) -> None:
        self._open: dict[tuple[int, int], PendingQuestion] = {}
        self._changed = changed

    def __len__(self) -> int:
        return len(self._open)

    def question_for(self, unit: int, player: int) -> PendingQuestion | None:
        """Return the open decision of a player."""
        return self._open.get((unit, player))

    async def ask(self, entry: PendingQuestion) -> Answer:
        """Add a decision and wait for its answer."""
        loop = asyncio.get_running_loop()
        key = (entry.unit, entry.player)
        self._open[key] = entry
        if (wait := entry.due - loop.time()) > 0:
            entry.timer = loop.call_later(wait, self._changed, *key)
        self._changed(*key)
        try:
            answer = await entry.answer
        finally:
            if entry.timer is not None:
                entry.timer.cancel()
            if self._open.get(key) is entry:
                del self._open[key]
        # Nothing is awaited between here and the journal, so a waiter can flush it.
        entry.taken.set()
        return answer

    def show(self, entry: PendingQuestion, now: float, missed: Callable[[PendingQuestion], Answer]) -> None:
        """Start the time limit of a decision, once."""
        if entry.shown is not None:
            return
        entry.shown = now
        if entry.limit is not None:
            entry.deadline = now + entry.limit
            entry.timer = asyncio.get_running_loop().call_later(entry.limit + GRACE, self._expire, entry, missed)

    def extend(self, entry: PendingQuestion, missed: Callable[[PendingQuestion], Answer]) -> bool:
        """Restart the time limit of a decision; False if it is over."""
        if entry.deadline is None or entry.limit is None or entry.answer.done():
            return False
        loop = asyncio.get_running_loop()
        if entry.timer is not None:
            entry.timer.cancel()
        entry.extended += 1
        entry.deadline = loop.time() + entry.limit
        entry.timer = loop.call_later(entry.limit + GRACE, self._expire, entry, missed)
        return True

    def _expire(self, entry: PendingQuestion, missed: Callable[[PendingQuestion], Answer]) -> None:
        self.settle(entry, missed(entry))

    def settle(self, entry: PendingQuestion, answer: Answer) -> bool:
        """Answer a decision; False if it was already answered."""
        if entry.answer.done() or self._open.get((entry.unit, entry.player)) is not entry:
            return False
        entry.answer.set_result(answer)
        return True


@dataclass(frozen=True, slots=True)
class MatchResult:
    """The result of a match: points, missed decisions, end, player, and last round."""

    points: float
    missed: int
    ended: str
    player: int
    last: Round | None = None

    def shown(self, labels: tuple[Options, ...]) -> dict[str, Any]:
        """Return the result for the next page; ``labels`` are the action labels that the person saw."""
        summary: dict[str, Any] = {"points": self.points, "whole": self.ended == "done"}
        if self.last is not None and len(self.last.actions) == 2 and len(labels) == 2 and self.player < 2:
            own, other = self.player, 1 - self.player
            summary["last_words"] = {
                "own": labels[own][self.last.actions[own]], "other": labels[other][self.last.actions[other]],
            }  # fmt: skip
        return summary


def result_of(unit: Unit, journal: Journal, player: int) -> MatchResult:
    """Replay a match from the journal; a broken-off match counts as far as it was played."""
    answers = journal.answers(unit.index)
    mechanism = unit.mechanism
    if unit.needs:
        facts = [journal.outcome_of(index) for index in unit.needs]
        if any(ending is None or ending[0] != "done" for ending in facts):
            return MatchResult(0.0, 0, "failed", player)
        mechanism = mechanism.with_preparations([ending[3] for ending in facts if ending is not None])
    steps, outcome = replay(unit, mechanism.play(unit.game, unit.streams), answers)
    rounds = outcome.played if outcome else list(steps[-1][0].view.history) if steps else []
    points = sum(
        (
            played.payoffs[seat]
            for played in rounds
            for seat, who in enumerate(played.players or range(len(played.payoffs)))
            if who == player
        ),
        0.0,
    )
    missed = sum(a.reading == "missed" for (_, who, _), (a, *_) in answers.items() if who == player)
    how = "done"
    if outcome is None:
        how = "failed" if (journal.outcome_of(unit.index) or ("failed",))[0] == "failed" else "broken_off"
    elif outcome.facts.get("ended") == "missed":
        how = "timed_out" if player + 1 in outcome.facts.get("missed_by", ()) else "broken_off"
    return MatchResult(round(points, 6), missed, how, player, rounds[-1] if rounds else None)


Seat: TypeAlias = tuple[int, int, dict[int, str]]
"""A match number, the player in it, and the agents that replace missing people."""


@dataclass(slots=True, eq=False)
class Waiting:
    """A person waiting for partners; ``index`` is the match number if this person opens the table."""

    index: int
    seat: asyncio.Future[Seat | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Lobby:
    """Groups people of one cell for a match; the person who came first opens the table."""

    def __init__(self) -> None:
        self._rooms: dict[tuple[int, int], list[Waiting]] = {}
        self.torn: dict[tuple[int, int], list[tuple[int, int]]] = {}
        """Free seats by cell and match, at tables whose group a restart broke up."""

    def __len__(self) -> int:
        return sum(len(room) for room in self._rooms.values())

    async def seat(
        self, cell: int, match: int, index: int, persons: tuple[int, ...], wait: float, stand_in: str | None
    ) -> Seat | None:
        """Return a seat at a complete table; None if nobody came in time."""
        if len(persons) == 1:
            return index, persons[0], {}
        if torn := self.torn.get((cell, match)):
            return *torn.pop(0), {}
        room = self._rooms.setdefault((cell, match), [])
        own = Waiting(index)
        room.append(own)
        if len(room) >= len(persons):
            self._sit_down(room, persons, {})
        timer = asyncio.get_running_loop().call_later(wait, self._give_up, room, own, persons, stand_in)
        try:
            return await own.seat
        finally:
            timer.cancel()
            if own in room:
                room.remove(own)

    def leave(self, index: int) -> None:
        """End the wait, without a seat, of the person who would open the table of this match."""
        for room in self._rooms.values():
            for one in room:
                if one.index == index and not one.seat.done():
                    one.seat.set_result(None)

    @staticmethod
    def _sit_down(room: list[Waiting], persons: tuple[int, ...], stand_ins: dict[int, str]) -> None:
        group, room[:] = room[: len(persons)], room[len(persons) :]
        for player, one in zip(persons, group, strict=False):
            one.seat.set_result((group[0].index, player, stand_ins))

    def _give_up(self, room: list[Waiting], own: Waiting, persons: tuple[int, ...], stand_in: str | None) -> None:
        """End a wait: replace missing people by agents, or let this person leave the lobby."""
        if own.seat.done():
            return
        if stand_in is None:
            own.seat.set_result(None)
        else:
            self._sit_down(room, persons, dict.fromkeys(persons[len(room) :], stand_in))


def choose_cell(occupied: Sequence[int], quota: int, rule: str, coin: float, rng: np.random.Generator) -> int | None:
    """Return the cell of the next person; None if all cells are full.

    >>> choose_cell([3, 2, 5], 5, "least_filled", 0.0, np.random.default_rng(0))
    1
    >>> choose_cell([5, 5], 5, "least_filled", 0.2, np.random.default_rng(0)) is None
    True
    """
    free = [cell for cell, count in enumerate(occupied) if count < quota]
    if not free:
        return None
    at_random = rng.random() < coin
    if rule == "least_filled" and not at_random:
        fewest = min(occupied[cell] for cell in free)
        free = [cell for cell in free if occupied[cell] == fewest]
    return free[int(rng.integers(len(free)))]
