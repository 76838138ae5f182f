"""The host of a study with people: runs visits, assigns seats, and knows which page each person needs.

It knows nothing of the web: a page, a simulated participant and a test talk to the same few methods (``join``,
``now_at``, ``shown``, ``settle``, ``leave``). ``SeatedPerson`` is the agent that sits for a person in a match: the
decision goes into the host's inbox, and the answer is what comes back.
"""

import asyncio
import hashlib
import time
from asyncio import FIRST_COMPLETED
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ostrom.agents.base import Agent, DecisionContext
from ostrom.agents.config import AgentConfig
from ostrom.agents.policy import SkipMatch
from ostrom.answers import Answer
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Unit
from ostrom.framing import PromptRenderer
from ostrom.ground.errors import OstromError, RunError
from ostrom.mechanisms.protocol import Decision
from ostrom.memory import memories
from ostrom.people.live_visit import Inbox, LiveVisit, Lobby, PendingQuestion, choose_cell, result_of
from ostrom.people.payment import due, owed
from ostrom.people.plan import PeoplePlan
from ostrom.people.questions import Questionnaire
from ostrom.people.register import Overdue, Participant, Register, new_code, overdue
from ostrom.people.visit import HOSTED

MOST_EXTENSIONS = 10
"""The most extensions of one decision's time (WCAG 2.2, success criterion 2.2.1)."""
PATIENCE = 2.0
"""Seconds for a page to fetch a question before its time starts, if partners wait."""
STATES = {
    "consent": "arrived", "text": "consented", "quiz": "instructed", "accommodation": "assigned", "seat": "waiting",
    "match": "playing", "ask": "asked", "survey": "surveyed", "debrief": "debriefed",
}  # fmt: skip


LEAVING = ("departed", "withdrawn", "timed_out")
"""Ends of a visit that do not come from its steps: the person left, withdrew, or stayed away too long."""


class Host:
    """Hosts all visits of a run: resumes them, assigns seats, plays matches and takes answers."""

    journal: Journal
    """The journal; set by ``begin``."""

    def __init__(self, plan: PeoplePlan, register: Register, *, title: str = "", test: bool = False) -> None:
        self.plan, self.register, self.title, self.test = plan, register, title, test
        self.people = plan.people
        self.live_visits: dict[int, LiveVisit] = {}
        self.codes: dict[str, LiveVisit] = {}
        self.known: dict[tuple[str, str], Participant] = {}
        self.inbox = Inbox(lambda unit, player: self.visit_at(unit, player).changed())
        self.lobby = Lobby()
        self._epoch = time.time() - time.monotonic()
        self.strangers = 0
        """The number of journaled visits that are missing in the register."""
        self.failed, self.failure = 0, ""
        """The number of matches that failed, and the last error."""
        self.closed = False
        """Whether recruiting is closed."""
        self.ready = asyncio.Event()
        """Set when visits can begin."""
        self._queue: asyncio.Queue[Unit | None] = asyncio.Queue()
        self._gathered: dict[int, set[int]] = {}
        """Players seated at each table whose match has not started."""
        self._over: dict[int, asyncio.Future[OstromError | None]] = {}

    # -- what the engine asks ------------------------------------------------------------------------

    async def next(self) -> Unit | None:
        """Wait for the next unit to play; None when the host is closed."""
        return await self._queue.get()

    async def ended(self, unit: Unit, error: OstromError | None) -> None:
        """Handle the end of a unit: close a visit, or notify the people who wait for a match."""
        if unit.kind != "visit":
            future = self._over.setdefault(unit.index, asyncio.get_running_loop().create_future())
            if not future.done():
                future.set_result(error)
            if error is not None and not isinstance(error, SkipMatch):
                self.failed, self.failure = self.failed + 1, str(error)
            return
        if (live := self.live_visits.get(unit.index // self.plan.stride)) is not None and error is None:
            await self.journal.flush()  # the result of a visit is read from the journal
            ending = self.journal.outcome_of(unit.index) or ("", None, None, {})
            self._close(live, str(ending[3].get("end", "done")), ending[3])

    # -- beginning and end ---------------------------------------------------------------------------

    async def begin(self, journal: Journal) -> None:
        """Resume all visits under way; call it in the event loop, with the journal open."""
        self.journal = journal
        self.closed = bool(self.register.meta("closed"))
        states = {index: state for index, state in journal.states().items() if index % self.plan.stride == 0}
        for who in self.register.participants():
            self.known[who.source, who.external] = who
            if self.plan.book.visits.get(who.visit) is None or who.visit not in self.live_visits:
                self._add_live_visit(who.visit, who.code, who.test, who.language, who.joined)
        tombs = self.register.tombstones()
        left = {code: kind for code, _, kind, _ in self.register.events() if kind in LEAVING}
        for visit, visitor in self.plan.book.visits.items():
            if visit not in self.live_visits:  # the register is older than the journal, or the person was erased
                self.strangers += visitor.code not in tombs
                self._add_live_visit(visit, visitor.code, visitor.test, self.people.languages[0], visitor.at)
        for visit, live in self.live_visits.items():
            booking = self.plan.book.visits.get(visit)
            if booking is not None and booking.code != live.code:
                raise RunError(f"{self.register.path}: visit {visit} has another code than in the journal")
            live.cell = None if booking is None else booking.cell
            if states.get(visit * self.plan.stride) in ("done", "withdrawn"):
                facts = (journal.outcome_of(visit * self.plan.stride) or ("", None, None, {}))[3]
                withdrawn = states[visit * self.plan.stride] == "withdrawn"
                self._close(live, "withdrawn" if withdrawn else str(facts.get("end", "done")), facts)
            else:
                live.resumed = booking is not None
                if live.code in left:  # the server was killed before the end of the visit was on disk
                    live.leaving = left[live.code]
                    live.left.set()
                self._queue.put_nowait(self.plan.unit(visit * self.plan.stride))
        for index, table in self.plan.book.tables.items():
            for player in self.plan.human_players(table.cell, self.plan.people_of(table.cell).order[table.match]):
                if player not in table.people and player not in table.stand_ins:
                    self.lobby.torn.setdefault((table.cell, table.match), []).append((index, player))
        await self.register.flush()
        self.ready.set()

    def _add_live_visit(self, visit: int, code: str, test: bool, language: str, began: float) -> LiveVisit:
        now = asyncio.get_running_loop().time()
        live = LiveVisit(visit, code, test, language, began, now, max(0.0, time.time() - began), seen=now)
        self.live_visits[visit] = self.codes[code] = live
        return live

    def close(self) -> None:
        """Return no more units, so that the run ends."""
        self._queue.put_nowait(None)
        for live in self.live_visits.values():
            live.changed()

    def _close(self, live: LiveVisit, how: str, facts: Mapping[str, Any]) -> None:
        live.end, live.state = how, how
        live.points = float(facts.get("points") or 0.0)
        live.earned = str(facts.get("earned") or how)
        live.excluded = self.people.exclude.leaves_out(int(facts.get("missed") or 0))
        live.table = live.player = None
        self.register.ended(live.code, how)
        if how == "withdrawn":
            self._take_out(live)
        live.changed()

    def _take_out(self, live: LiveVisit) -> None:
        """Remove a visit and its matches from all tables."""
        facts = {"end": "withdrawn", "points": live.points, "earned": live.earned}
        for index in self.plan.units_of(live.visit):
            if (self.journal.outcome_of(index) or ("",))[0] != "withdrawn":
                self.journal.finish(index, "withdrawn", "taken back by a person", 0, facts=facts)

    # -- arriving ------------------------------------------------------------------------------------

    def returning_visit(self, source: str, external: str) -> LiveVisit | None:
        """Return the visit of a returning person; None for a new one."""
        who = self.known.get((source, external))
        return None if who is None else self.live_visits.get(who.visit)

    async def join(self, source: str, external: str, session: str, language: str, *, test: bool = False) -> LiveVisit:
        """Start a visit; a person who joins twice has one visit."""
        if (before := self.returning_visit(source, external)) is not None:
            await self.register.flush()
            return before
        visit = max([self.plan.book.last, *self.live_visits], default=-1) + 1
        who = Participant(new_code(), visit, source, external, session, test or self.test, language, time.time())
        self.known[source, external] = who
        live = self._add_live_visit(visit, who.code, who.test, language, who.joined)
        self.register.join(who)
        await self.register.flush()
        self._queue.put_nowait(self.plan.unit(visit * self.plan.stride))
        return live

    def occupied(self) -> list[int]:
        """Return the number of active or finished, not excluded people in each cell, without test visits."""
        counts = Counter(
            live.cell
            for live in self.live_visits.values()
            if not live.test and live.end in (None, "done") and not live.excluded
        )
        return [counts[cell] for cell in range(self.plan.cells)]

    def full(self) -> bool:
        """Return whether every cell has reached its quota."""
        return min(self.occupied()) >= self.people.quota

    # -- steps of a visit -----------------------------------------------------------------------------

    async def answer_visit_decision(self, decision: Decision, context: DecisionContext) -> Answer:
        """Answer a decision of a visit, by the host or by the person."""
        live = self.live_visits[context.unit // self.plan.stride]
        if live.leaving is not None and decision.kind != "arrive":
            return Answer({"end": live.leaving}, "assigned")
        live.state = STATES.get(decision.kind, live.state)
        if (number := decision.view.facts.get("number")) is not None:
            live.step = int(number)
        live.points = float(decision.view.facts.get("points") or 0.0)
        if (chosen := decision.view.facts.get("accommodation")) is not None:
            live.factor = None if chosen == "none" else float(chosen)
        if decision.kind in HOSTED:
            value = await getattr(self, f"_{decision.kind}")(live, decision, context)
            self.plan.book.record(live.visit, value)
            return Answer(value, "assigned")
        if (
            decision.kind == self.people.visit[0].kind
            and decision.view.facts["number"] == 0
            and not live.test
            and self.full()
        ):
            return Answer({"end": "full"}, "assigned")
        entry = PendingQuestion(context.unit, context.step, context.player, decision, interrupted=live.resumed)
        if (sheet := self.sheet(decision, self.people.languages[0])) is not None:
            orders = {
                name: [int(i) for i in context.draw(f"order:{name}").permutation(len(question.options))]
                for name, question in sheet.named()
                if question.order == "random"
            }
            entry.facts = {"orders": orders} if orders else {}
        if decision.kind == "consent":
            name = self.people.visit[0].file or ""
            entry.facts = {"hash": hashlib.sha256(self.people.texts[name].encode()).hexdigest()}
        return await self.inbox.ask(entry)

    def sheet(self, decision: Decision, language: str) -> Questionnaire | None:
        """Return the questionnaire of a decision in a language; None if it has none."""
        number = decision.view.facts.get("number")
        return None if number is None else self.plan.sheet(self.people.visit[number], language)

    async def _arrive(self, live: LiveVisit, _: Decision, __: DecisionContext) -> dict[str, Any]:
        return {"code": live.code, "test": live.test, "at": round(live.began, 3)}

    async def _assign(self, live: LiveVisit, _: Decision, context: DecisionContext) -> dict[str, Any]:
        rule = self.people.assign
        quota = self.people.quota if not live.test else 10**9
        live.cell = choose_cell(self.occupied(), quota, rule.rule, rule.coin, context.draw("assign"))
        return {"end": "full"} if live.cell is None else {"cell": live.cell}

    async def _seat(self, live: LiveVisit, decision: Decision, _: DecisionContext) -> dict[str, Any]:
        match, key = int(decision.view.facts["match"]), str(decision.view.facts["game"])
        assert live.cell is not None
        lobby = self.people.lobby
        live.changed()
        seating = await self.lobby.seat(
            live.cell, match, self.plan.match_index(live.visit, match), self.plan.human_players(live.cell, key),
            lobby.wait, lobby.stand_in,
        )  # fmt: skip
        if live.leaving is not None or seating is None:
            return {"end": live.leaving or "no_partner"}
        table, player, stand_ins = seating
        more = {"stand_ins": {str(seat): name for seat, name in stand_ins.items()}} if stand_ins else {}
        return {"table": table, "player": player, "match": match, **more}

    async def _match(self, live: LiveVisit, decision: Decision, context: DecisionContext) -> dict[str, Any]:
        """Play the person's match and return its result for the person."""
        seat = self.plan.book.visits[live.visit].seats[int(decision.view.facts["match"])]
        live.table, live.player = seat.unit, seat.player
        time_, loop = self.plan.people_of(live.cell or 0).time, asyncio.get_running_loop()
        over = self._over.setdefault(seat.unit, loop.create_future())
        begun = self._start_when_complete(seat.unit, seat.player)
        while not over.done():
            left = asyncio.ensure_future(live.left.wait())
            waiting: set[asyncio.Future[Any]] = {over} if begun else {over, left}
            await asyncio.wait(waiting, timeout=None if begun else self.people.lobby.wait, return_when=FIRST_COMPLETED)
            left.cancel()
            begun = begun or self._has_begun(seat.unit)
            if not over.done() and not begun:  # the group was broken up, and nobody took the empty seat
                live.table = live.player = None
                return {"points": 0.0, "missed": 0, "ended": live.leaving or "no_partner"}
        await self.journal.flush()
        result = result_of(self.plan.unit(seat.unit), self.journal, seat.player)
        if time_.reveal is not None and result.ended == "done" and live.answered is not None:
            low, high = time_.reveal
            await asyncio.sleep(max(0.0, live.answered + low + (high - low) * context.chance("reveal") - loop.time()))
        live.result = result.shown(live.labels)
        live.table = live.player = live.answered = None
        return {"points": result.points, "missed": result.missed, "ended": live.leaving or result.ended}

    def _start_when_complete(self, table: int, player: int) -> bool:
        """Start a match when all its people are seated; a finished match is not played again."""
        if self.journal.outcome_of(table) is not None:
            self._over[table].set_result(None)
            return True
        self._gathered.setdefault(table, set()).add(player)
        if not self._has_begun(table):
            return False
        for index in (*self.plan.unit(table).needs, table):
            self._queue.put_nowait(self.plan.unit(index))
        return True

    def _has_begun(self, table: int) -> bool:
        at = self.plan.book.tables[table]
        persons = self.plan.human_players(at.cell, self.plan.people_of(at.cell).order[at.match])
        return self._gathered[table] >= {p for p in persons if p not in at.stand_ins}

    # -- who is where --------------------------------------------------------------------------------

    def visit_at(self, unit: int, player: int) -> LiveVisit:
        """Return the visit of a unit, or of a player in a match or preparation."""
        visit, rest = divmod(unit, self.plan.stride)
        if rest:
            table, place = self.plan.seat_of(unit, player)
            visit = self.plan.book.tables[table].people[place]
        return self.live_visits[visit]

    def people_at(self, entry: PendingQuestion) -> int:
        """Return the number of people at the table of a decision."""
        return len(self.plan.book.tables[self.plan.seat_of(entry.unit, entry.player)[0]].people)

    def stand_in(self, unit: int) -> AgentConfig | None:
        """Return the agent that replaces a person who left, if the study declares one."""
        name = self.people.lobby.departed.partition(":")[2]
        return self.plan.agent_type(unit, name) if name else None

    # -- playing -------------------------------------------------------------------------------------

    def seat(
        self,
        config: AgentConfig,
        renderer: PromptRenderer,
        others: Sequence[AgentConfig],
        agent: Callable[[AgentConfig], Agent],
    ) -> Agent:
        """Return the agent of a person."""
        return SeatedPerson(self, config, renderer, others, agent)

    async def ask_in_match(self, live: LiveVisit, entry: PendingQuestion, context: DecisionContext) -> Answer:
        """Ask a person for a decision of a match, within its time limit and not before its release time."""
        rules, loop = self.plan.people_of(live.cell or 0).time, asyncio.get_running_loop()
        past = len(entry.decision.view.history)
        if rules.decision is not None and live.factor is not None:
            entry.limit = rules.decision * live.factor
        if rules.reveal is not None and live.answered is not None and past > live.rounds:
            low, high = rules.reveal
            entry.due = live.answered + low + (high - low) * context.chance("reveal")
        live.rounds, live.labels, entry.interrupted = past, entry.labels, live.resumed
        # The page is notified when the question is released; a timer may fire early by the clock's resolution.
        timers = [loop.call_at(entry.due + 0.001, live.changed)] if entry.due > loop.time() else []
        if self.people_at(entry) > 1:
            # Partners wait: the time runs whether or not the page was fetched.
            timers.append(loop.call_at(max(entry.due, loop.time()) + PATIENCE, self.shown, entry))
        try:
            answer = await self.inbox.ask(entry)
        finally:
            for timer in timers:
                timer.cancel()
        live.answered = loop.time() if answer.reading in ("person", "missed") else live.answered
        return answer

    # -- what a page needs ---------------------------------------------------------------------------

    def now_at(self, live: LiveVisit) -> PendingQuestion | None:
        """Return the released decision that waits for a person; None if there is nothing to do yet."""
        if live.end is not None or live.leaving is not None:
            return None
        if live.table is None or live.player is None:
            entry = self.inbox.question_for(live.visit * self.plan.stride, 0)
        else:
            entry = self.inbox.question_for(live.table, live.player) or self.inbox.question_for(
                live.table + 1 + live.player, 0
            )
        return entry if entry is not None and entry.due <= asyncio.get_running_loop().time() else None

    def shown(self, entry: PendingQuestion) -> None:
        """Start the time limit of a decision that is being sent."""
        self.inbox.show(entry, asyncio.get_running_loop().time(), self._missed)

    def may_extend(self, entry: PendingQuestion) -> bool:
        """Return whether a person may extend the time: not if other people wait for the answer."""
        return self.people_at(entry) == 1 and entry.deadline is not None and entry.extended < MOST_EXTENSIONS

    def extend(self, entry: PendingQuestion) -> bool:
        """Extend the time for a decision."""
        return self.may_extend(entry) and self.inbox.extend(entry, self._missed)

    def _missed(self, entry: PendingQuestion) -> Answer:
        return Answer(None, "missed", facts=self._timing_facts(self.visit_at(entry.unit, entry.player), entry))

    def _timing_facts(self, live: LiveVisit, entry: PendingQuestion) -> dict[str, Any]:
        """Return the times at which a decision was shown and answered, in ms since the visit began."""
        return {
            **entry.facts,
            "shown": None if entry.shown is None else live.offset(entry.shown),
            "answered": live.offset(asyncio.get_running_loop().time()),
            **({"extended": entry.extended} if entry.extended else {}),
            **({"interrupted": True} if entry.interrupted else {}),
        }

    async def settle(
        self,
        live: LiveVisit,
        entry: PendingQuestion,
        value: Any,
        personal: Sequence[tuple[str, str]] = (),
        **facts: Any,
    ) -> bool:
        """Store an answer; return True once it is on disk, False if the question was already answered."""
        # Claimed: another answer to the same question came first and is being written.
        if entry.answer.done() or self.now_at(live) is not entry or entry.claimed:
            return False
        if personal:
            entry.claimed = True
            try:
                self.register.contact(live.code, entry.step, personal)
                await self.register.flush()
            finally:
                entry.claimed = False
        if not self.inbox.settle(entry, Answer(value, "person", facts={**self._timing_facts(live, entry), **facts})):
            return False
        live.resumed, live.result = False, None if entry.unit % self.plan.stride == 0 else live.result
        await entry.taken.wait()
        await self.journal.flush()
        return True

    async def leave(self, live: LiveVisit, how: str) -> None:
        """End a visit from outside: the person left, withdrew, or was away too long."""
        if live.end is not None or live.leaving is not None:
            return
        entry = self.now_at(live)
        live.leaving = how
        live.left.set()
        self.register.note(live.code, how)
        await self.register.flush()  # the departure must survive a crash right now
        for match in range(len(self.people.order)):
            self.lobby.leave(self.plan.match_index(live.visit, match))
        if entry is None and live.table is not None and live.player is not None:
            entry = self.inbox.question_for(live.table, live.player)  # one that is not released yet
        if entry is not None and self.inbox.settle(entry, Answer({"end": how}, "assigned")):
            await entry.taken.wait()
            await self.journal.flush()
        live.changed()

    async def end_expired_visits(self) -> None:
        """End visits of people who were away too long, and handle requests of other commands."""
        now = asyncio.get_running_loop().time()
        for live in list(self.live_visits.values()):
            if live.end is None and now - live.seen > self.people.time.resume_within:
                await self.leave(live, "timed_out")
        self.closed = bool(self.register.meta("closed"))
        for number, what, code in self.register.requests():
            if what == "withdraw" and (leaver := self.codes.get(code)) is not None:
                await self._withdraw(leaver)
            self.register.handled(number)
        erased = self.register.tombstones()
        self.known = {key: who for key, who in self.known.items() if who.code not in erased}
        await self.register.flush()
        if self.journal.failed:
            await self.journal.flush()  # raises the error: answers cannot be stored, so the server ends

    def forget(self) -> Overdue:
        """Erase personal data older than the retention time; return who was erased and who is still unpaid."""
        paid, source = self.register.payments(), self.people.source.name

        def owes(code: str) -> bool:
            live = self.codes.get(code)
            if live is None or live.earned is None or live.test or code in paid:
                return False
            return bool(owed(source, *due(self.plan.people_of(live.cell).pay, live.earned, live.points)))

        # The earlier of two clocks, so that a jump forward of the system clock erases nobody.
        expired = overdue(
            self.register, self.people.keep.people, min(time.time(), self._epoch + time.monotonic()), owes
        )
        if expired.erasable:
            self.register.erase(*expired.erasable)
        return expired

    async def _withdraw(self, live: LiveVisit) -> None:
        if live.end is None:
            await self.leave(live, "withdrawn")
        else:
            self._close(live, "withdrawn", {"points": live.points, "earned": live.earned})
            await self.journal.flush()


class SeatedPerson:
    """One person in one unit: a visit, a match or a preparation."""

    instant = False

    def __init__(
        self,
        host: Host,
        config: AgentConfig,
        renderer: PromptRenderer,
        others: Sequence[AgentConfig],
        agent: Callable[[AgentConfig], Agent],
    ) -> None:
        self.host, self.config, self.renderer, self._agent = host, config, renderer, agent
        self.memory = memories.build(config.memory, key="agent.memory")
        self.served = [other.identity for other in others]
        """The agents at the same table, stored with every answer."""
        self._stand_in: Agent | None = None

    def reply(self, decision: Decision, context: DecisionContext) -> Answer:
        """Not supported: a person answers asynchronously."""
        raise NotImplementedError("a person answers with answer()")

    async def answer(self, decision: Decision, context: DecisionContext) -> Answer:
        """Ask the person or, if the person has left, the agent that replaces them."""
        if decision.view.mechanism == "visit":
            return await self.host.answer_visit_decision(decision, context)
        if self._stand_in is None:
            live = self.host.visit_at(context.unit, context.player)
            if live.leaving is None and live.end is None:
                answer = await self.host.ask_in_match(live, self._entry(decision, context), context)
                if answer.reading != "assigned":
                    return answer
            self._take_over(context)
        assert self._stand_in is not None
        answer = await self._stand_in.answer(decision, context)
        return Answer(
            answer.value, answer.reading, answer.probabilities, "departed: an agent took the seat", answer.facts
        )

    def _take_over(self, context: DecisionContext) -> None:
        """Replace a person who left by the declared agent; without one, the match ends."""
        config = self.host.stand_in(context.unit)
        if config is None:
            live = self.host.visit_at(context.unit, context.player)
            raise SkipMatch(f"player {context.player + 1} left: {live.leaving or live.end}")
        self._stand_in = self._agent(config)

    def _entry(self, decision: Decision, context: DecisionContext) -> PendingQuestion:
        memory_view = self.memory.show(decision.view, lambda n, purpose: context.draw(f"memory:{purpose}", n))
        prompt = self.renderer.prompt(decision, memory_view, context.draw("order"), self.config.facts)
        fields = self.renderer.fields(decision) if decision.kind in ("state", "code", "recognise") else ""
        return PendingQuestion(
            context.unit, context.step, context.player, decision, prompt, fields, memory_view,
            self.renderer.labels(decision.view.game), facts={**prompt.facts, "served": self.served},
        )  # fmt: skip
