"""One unit in play: journaled answers are replayed, then agents are asked.

What a decision asks is journaled with its answer; a replay that asks anything else is refused.
"""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import orjson

from ostrom.agents.base import Agent
from ostrom.agents.config import AgentConfig
from ostrom.agents.dialogue import turn_of
from ostrom.answers import Answer, Form
from ostrom.engine.entries import Journaled, Place
from ostrom.engine.plan import Tally, Unit
from ostrom.engine.unit_rows import RowRecorder
from ostrom.ground.errors import InvalidAnswers, RunError, StudyError
from ostrom.ground.streams import Streams
from ostrom.ground.values import grouped
from ostrom.mechanisms.protocol import Decision, Outcome, Play
from ostrom.models.base import Model, Reply, Request

_TEXTS: dict[tuple[str, int], tuple[Form, str]] = {}
_MOST = 1000


class ReplayDiffers(RunError):
    """Raised when the rules, given the journaled answers, behave differently from when they were played."""


def question_json(decision: Decision) -> str:
    """Kind and form of a decision as canonical JSON.

    >>> from ostrom.games import build_game
    >>> from ostrom.mechanisms.base import act
    >>> from ostrom.mechanisms.protocol import View
    >>> question_json(act(View(build_game("prisoners_dilemma"), 0, "none")))
    '["act","Choice",{"options":["cooperate","defect"]}]'
    """
    kind, form = decision.kind, decision.form
    cached = _TEXTS.get((kind, id(form)))
    if cached is not None and cached[0] is form:  # rules use the same form object in every round
        return cached[1]
    text = orjson.dumps([kind, type(form).__name__, form], option=orjson.OPT_SORT_KEYS, default=_plain).decode()
    if len(_TEXTS) >= _MOST:
        _TEXTS.clear()
    _TEXTS[kind, id(form)] = (form, text)
    return text


def compare(unit: int, step: int, decision: Decision, journaled: str | None) -> None:
    """Refuse a decision whose question differs from the journaled one."""
    if journaled is not None and journaled != question_json(decision):
        raise ReplayDiffers(
            f"match {unit}, step {step}, player {decision.player + 1}: the rules ask something else than they did: "
            f"journaled {_short(journaled)}, rebuilt {_short(question_json(decision))}"
        )


def compare_count(unit: int, step: int, used: int, count: int) -> None:
    """Refuse a replay that does not use all journaled answers: the rules now ask fewer questions."""
    if used != count:
        raise ReplayDiffers(
            f"match {unit}, step {step}: the rules take another course than they did: journaled {count} answers, "
            f"rebuilt up to here {used}"
        )


def compare_end(unit: int, what: str, journaled: Any, rebuilt: Any) -> None:
    """Refuse scores or facts at the end of a match that differ from the journaled ones.

    For scores the error names the first player whose score differs.
    """
    if same(journaled, rebuilt):
        return
    where = f"match {unit}"
    if what == "scores" and len(journaled) == len(rebuilt):
        player = next(p for p, pair in enumerate(zip(journaled, rebuilt, strict=True), 1) if not same(*pair))
        where += f", player {player}"
    raise ReplayDiffers(f"{where}: the {what} differ: journaled {_json_text(journaled)}, rebuilt {_json_text(rebuilt)}")


def same(one: Any, other: Any) -> bool:
    """Return whether plain data is equal, apart from the last bits of its numbers.

    >>> same([0.1 + 0.2, {"a": 1}], [0.3, {"a": 1.0}]), same([2.1], [2.4])
    (True, False)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if (
        isinstance(one, Sequence)
        and isinstance(other, Sequence)
        and not (isinstance(one, str) or isinstance(other, str))
    ):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _json_text(value: Any) -> str:
    return _short(orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode())


def _short(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."


Replies = Mapping[tuple[int, int, str, bytes], Reply]
"""Replies by step, player, part and key of the call."""


class Answers(Protocol):
    """The interface to store answers: the journal, or a worker's outbox."""

    def answer(
        self, unit: int, step: int, player: int, part: str, answer: Answer, complaints: int, question: str | None = None
    ) -> None:
        """Queue an answer and its question."""

    async def flush(self) -> None:
        """Wait until everything queued so far is durable."""


class Calls(Protocol):
    """Makes model calls on behalf of a unit."""

    async def call(self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request) -> Reply:
        """Make one call and return its reply."""

    def key(self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request) -> bytes:
        """Return the key under which the call is journaled."""


class LiveMatch:
    """Plays one unit. ``journaled`` and ``replies`` are the answers and replies of an earlier attempt."""

    def __init__(
        self,
        unit: Unit,
        play: Play,
        agents: Sequence[Agent],
        journal: Answers,
        calls: Calls,
        tally: Tally,
        journaled: dict[Place, Journaled] | None = None,
        replies: Replies | None = None,
        make: Callable[[AgentConfig], Agent] | None = None,
    ) -> None:
        self.unit, self.play, self.agents, self.make = unit, play, agents, make
        self._agents: dict[tuple[int, int], Agent] = {}
        self.journal, self.calls, self.tally = journal, calls, tally
        self.known: dict[Place, Journaled] = journaled or {}
        self.turns = Turns(unit.mechanism.earlier, self.known)
        self._journaled_count, self._used = _decided(self.known), 0
        self.replies: Replies = replies or {}
        self.streams: Streams = unit.streams
        self.step = unit.first
        self.record = RowRecorder(unit)
        self.parts = grouped(((step, player), part) for step, player, part in self.known if part)
        """The answered sub-questions of each decision, by step and player."""
        self._complaints: dict[int, int] = {}
        """The number of unreadable replies in this step, by player."""
        self.at_end: dict[Callable[[], Awaitable[object]], None] = {}
        """Functions that agents registered to be called at the end, each once."""

    async def run(self) -> Outcome:
        """Play to the end. Every live answer is durable before the rules see it."""
        instant = all(agent.instant for agent in self.agents) and not self.known
        self.tally.replayed += self._journaled_count
        try:
            decisions = next(self.play)
            while True:
                if instant:
                    answers = [self._instant(decision) for decision in decisions]
                else:
                    answers = await self._answers(decisions)
                self._take_down(decisions, answers)
                self.step += 1
                self.tally.decisions += len(answers)
                decisions = self.play.send(answers)
        except StopIteration as stop:
            outcome: Outcome = stop.value
        finally:
            if self.at_end:
                await asyncio.gather(*(work() for work in self.at_end), return_exceptions=True)
        compare_count(self.unit.index, self.step, self._used, self._journaled_count)
        return outcome

    def _take_down(self, decisions: Sequence[Decision], answers: Sequence[Answer]) -> None:
        """Record a step in the rows of the match: every answer, then those to its sub-questions."""
        record, step, complaints = self.record, self.step, self._complaints
        for decision, answer in zip(decisions, answers, strict=True):
            record.add(step, decision, answer, complaints.get(decision.player, 0))
            if self.parts:
                for part in sorted(self.parts.pop((step, decision.player), ())):
                    entry = self.known[step, decision.player, part]
                    record.add(step, decision, entry[0], entry[1], part)
        complaints.clear()

    def _agent(self, decision: Decision) -> Agent:
        """Return the agent that answers: the player's own, or a copy of another player's."""
        if decision.agent is None:
            return self.agents[decision.player]
        config = self.unit.players[decision.agent].config
        if (agent := self._agents.get((decision.player, id(config)))) is None:
            assert self.make is not None
            agent = self._agents[decision.player, id(config)] = self.make(config)
        return agent

    def _instant(self, decision: Decision) -> Answer:
        """Return a script's answer at once: it depends on past and seed alone, so it need not wait for the disk."""
        try:
            answer = self._agent(decision).reply(decision, _DecisionContext(self, decision.player))
        except StudyError as error:
            where = f"match {self.unit.index}, {self.unit.players[decision.player].name}"
            raise error if error.key else error.moved(where) from None
        self.journal.answer(self.unit.index, self.step, decision.player, "", answer, 0, question_json(decision))
        return answer

    async def _answers(self, decisions: Sequence[Decision]) -> list[Answer]:
        answers: list[Answer | None] = []
        live: list[tuple[int, Coroutine[Any, Any, Answer]]] = []
        if self._used < self._journaled_count:
            self._compare(decisions)
        for place, decision in enumerate(decisions):
            if (entry := self.known.get((self.step, decision.player, ""))) is not None:
                answers.append(entry[0])
                self._complaints[decision.player] = entry[1]
            elif (agent := self._agent(decision)).instant:
                answers.append(self._instant(decision))
            else:
                answers.append(None)
                live.append((place, self._live(decision, agent)))
        if live:
            for (place, _), answer in zip(live, await _all([work for _, work in live]), strict=True):
                answers[place] = answer
            await self.journal.flush()
        collected = [answer for answer in answers if answer is not None]
        for decision, answer in zip(decisions, collected, strict=True):
            self.turns.add(self.step, decision.player, answer)
        return collected

    def _compare(self, decisions: Sequence[Decision]) -> None:
        """Compare the questions of the rules with the journal, before any agent is asked."""
        unit, entries = self.unit.index, [self.known.get((self.step, decision.player, "")) for decision in decisions]
        for decision, entry in zip(decisions, entries, strict=True):
            if entry is not None:
                compare(unit, self.step, decision, entry[2])
        self._used += len(entries) - entries.count(None)
        if None in entries:
            compare_count(unit, self.step, self._used, self._journaled_count)

    async def _live(self, decision: Decision, agent: Agent) -> Answer:
        context = _DecisionContext(self, decision.player)
        answer = await agent.answer(decision, context)
        if answer.reading == "missed" and self.unit.mechanism.missing is None:
            raise InvalidAnswers(
                f"mechanism {self.unit.mechanism.name}: player {decision.player + 1} missed a decision, and the study "
                "has no rule for that (missed: mark, end-visit or default:<action>)"
            )
        if answer.reading in ("policy", "refused"):
            self.tally.policies += 1
        self._complaints[decision.player] = context.complaints
        self.journal.answer(
            self.unit.index, self.step, decision.player, "", answer, context.complaints, question_json(decision)
        )
        return answer


class _DecisionContext:
    """The decision context of a match that is being played."""

    __slots__ = ("complaints", "match", "player", "step", "unit")

    def __init__(self, match: LiveMatch, player: int) -> None:
        self.match, self.player, self.step, self.unit = match, player, match.step, match.unit.index
        self.complaints = 0

    def draw(self, purpose: str = "", step: int | None = None) -> np.random.Generator:
        if step is None:
            return self.match.streams.generator(self.step, self.player, purpose)
        return self.match.streams.for_round(step, self.player, purpose)

    def chance(self, purpose: str = "") -> float:
        return self.match.streams.chance(self.step, self.player, purpose)

    def call(self, model: Model, request: Request, part: str = "") -> Coroutine[Any, Any, Reply]:
        match = self.match
        if match.replies:
            return self._call_once(model, request, part)
        return match.calls.call(match.unit, self.step, self.player, part, model, request)

    async def _call_once(self, model: Model, request: Request, part: str) -> Reply:
        """Return the reply of an earlier attempt, or make a call."""
        match = self.match
        key = match.calls.key(match.unit, self.step, self.player, part, model, request)
        if (reply := match.replies.get((self.step, self.player, part, key))) is not None:
            return reply
        return await match.calls.call(match.unit, self.step, self.player, part, model, request)

    async def answer_once(self, part: str, work: Callable[[], Awaitable[Answer]]) -> Answer:
        match = self.match
        if (entry := match.known.get((self.step, self.player, part))) is not None:
            return entry[0]
        before = self.complaints
        answer = await work()
        # Unreadable replies are counted for this question only, not for the enclosing decision as well.
        self.complaints, complaints = before, self.complaints - before
        if answer.reading in ("policy", "refused"):
            match.tally.policies += 1
        match.known[self.step, self.player, part] = (answer, complaints, None)
        match.parts.setdefault((self.step, self.player), []).append(part)
        match.turns.add_within(self.step, self.player, answer)
        match.journal.answer(match.unit.index, self.step, self.player, part, answer, complaints)
        await match.journal.flush()
        return answer

    def earlier_answers(self, part: str) -> list[Answer]:
        return [
            answer
            for (_, player, name), (answer, *_) in self.match.known.items()
            if player == self.player and name == part
        ]

    def earlier_parts(self, beginning: str) -> list[Answer]:
        own = [
            (step, name, answer)
            for (step, player, name), (answer, *_) in self.match.known.items()
            if player == self.player and step <= self.step and name.startswith(beginning)
        ]
        return [answer for _, _, answer in sorted(own, key=lambda one: (one[0], _numbered(one[1])))]

    def earlier_turns(self) -> list[Answer]:
        return self.match.turns.before(self.step, self.player)

    def at_end(self, work: Callable[[], Awaitable[object]]) -> None:
        self.match.at_end[work] = None

    def count_invalid(self, reason: str) -> None:  # noqa: ARG002
        self.complaints += 1
        self.match.tally.invalid += 1


def _numbered(name: str) -> list[tuple[str, int]]:
    """Return a sort key by which ``try0.10`` comes after ``try0.9``.

    >>> sorted(["tool.try0.10", "tool.try0.9"], key=_numbered)
    ['tool.try0.9', 'tool.try0.10']
    """
    return [(text, int(digits or 0)) for text, digits in re.findall(r"([^0-9]*)([0-9]*)", name)]


async def _all(works: Sequence[Coroutine[Any, Any, Answer]]) -> list[Answer]:
    """Return all answers. If one fails, await the others before raising, so that paid replies are journaled."""
    # The first coroutine runs in the current task, which would otherwise only wait.
    others = [asyncio.create_task(work) for work in works[1:]]
    answers: list[Answer] = []
    failure: Exception | None = None
    for work in (works[0], *others):
        try:
            answers.append(await work)
        except Exception as error:
            failure = failure or error
        except BaseException:
            for other in others:
                other.cancel()
            await asyncio.gather(*others, return_exceptions=True)
            raise
    if failure is not None:
        raise failure
    return answers


def replay(unit: Unit, play: Play, answers: Mapping[Place, Journaled]) -> tuple[list[list[Decision]], Outcome | None]:
    """Replay journaled answers through the rules; return the decisions by step, and the outcome if reached.

    Rules that ask anything else than was journaled are refused with the first difference.
    """
    steps: list[list[Decision]] = []
    outcome: Outcome | None = None
    used, step = 0, unit.first
    try:
        decisions = next(play)
        while True:
            sent = []
            for decision in decisions:
                if (entry := answers.get((step, decision.player, ""))) is not None:
                    compare(unit.index, step, decision, entry[2])
                    sent.append(entry[0])
            used += len(sent)
            if sent or not decisions:
                steps.append(decisions)
            if len(sent) < len(decisions):
                break
            step += 1
            decisions = play.send(sent)
    except StopIteration as stop:
        outcome = stop.value
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise ReplayDiffers(
            f"match {unit.index}, step {step}: the journaled answers do not fit the rules ({error!r})"
        ) from None
    compare_count(unit.index, step, used, _decided(answers))
    return steps, outcome


def _decided(answers: Mapping[Place, Journaled]) -> int:
    """Return the number of answers to decisions, without those to sub-questions."""
    return sum(not part for _, _, part in answers)


class Turns:
    """The dialogue turns of one match; a resumed or forked match begins with the journaled ones.

    A turn is an answer that holds what was asked and what was replied (``agents.dialogue``).
    """

    def __init__(self, earlier: Sequence[tuple[int, Answer]], journaled: Mapping[Place, Journaled]) -> None:
        self._done = grouped(earlier)
        self._within: dict[tuple[int, int], list[Answer]] = {}
        for (step, player, part), (answer, *_) in journaled.items():
            if part:
                self.add_within(step, player, answer)

    def add(self, step: int, player: int, answer: Answer) -> None:
        """Add the answer to a decision, after those to its sub-questions."""
        if turn_of(answer) is not None:
            self._done.setdefault(player, []).extend([*self._questions(step, player), answer])

    def add_within(self, step: int, player: int, answer: Answer) -> None:
        """Add the answer to a sub-question of a decision."""
        if turn_of(answer) is not None:
            self._within.setdefault((step, player), []).append(answer)

    def before(self, step: int, player: int) -> list[Answer]:
        """The answers of a player up to this step that hold a dialogue turn, oldest first."""
        return [*self._done.get(player, ()), *self._questions(step, player)]

    def _questions(self, step: int, player: int) -> list[Answer]:
        return sorted(self._within.get((step, player), ()), key=_turn_number)


def _turn_number(answer: Answer) -> int:
    return 0 if (turn := turn_of(answer)) is None else turn.nth
