"""The host of a study with people: leads visits, seats people, and knows what everybody should see.

It knows nothing of the web: a page, a simulated participant and a test talk to the same few methods (``join``,
``now_at``, ``shown``, ``settle``, ``leave``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from ostrom.agents.base import Agent, DecisionContext
from ostrom.agents.config import AgentConfig
from ostrom.answers import Answer
from ostrom.framing import PromptRenderer
from ostrom.people.inbox import Open
from ostrom.people.live_visit import LiveVisit
from ostrom.people.payment import due, owed
from ostrom.people.retention import Overdue, overdue
from ostrom.people.seated import SeatedPerson
from ostrom.people.visit_runner import VisitRunner

MOST_EXTENSIONS = 10
"""How often the time for one decision may be lengthened (WCAG 2.2, success criterion 2.2.1)."""
PATIENCE = 2.0
"""Seconds that a page may take to fetch a question before its clock starts, where partners wait."""


class Host(VisitRunner):
    """Hosts all visits of a run."""

    def seat(
        self,
        config: AgentConfig,
        renderer: PromptRenderer,
        others: Sequence[AgentConfig],
        agent: Callable[[AgentConfig], Agent],
    ) -> Agent:
        """The agent of a person."""
        return SeatedPerson(self, config, renderer, others, agent)

    # -- playing -------------------------------------------------------------------------------------

    async def ask_in_match(self, live: LiveVisit, entry: Open, context: DecisionContext) -> Answer:
        """Ask a person for a decision of a match, within its time and not before it may be shown."""
        rules, loop = self.plan.people_of(live.cell or 0).time, asyncio.get_running_loop()
        past = len(entry.decision.view.history)
        if rules.decision is not None and live.factor is not None:
            entry.limit = rules.decision * live.factor
        if rules.reveal is not None and live.answered is not None and past > live.rounds:
            low, high = rules.reveal
            entry.due = live.answered + low + (high - low) * context.chance("reveal")
        live.rounds, live.labels, entry.interrupted = past, entry.labels, live.resumed
        starts = None
        if len(self.plan.book.tables[self.plan.place_of(entry.unit, entry.player)[0]].people) > 1:
            # Partners wait: the clock runs whether or not the page was fetched.
            starts = loop.call_at(max(entry.due, loop.time()) + PATIENCE, self.shown, entry)
        try:
            answer = await self.inbox.ask(entry)
        finally:
            if starts is not None:
                starts.cancel()
        live.answered = loop.time() if answer.reading in ("person", "missed") else live.answered
        return answer

    # -- what a page needs ---------------------------------------------------------------------------

    def now_at(self, live: LiveVisit) -> Open | None:
        """The decision that waits for somebody and may be shown; None: there is nothing to do yet."""
        if live.end is not None or live.leaving is not None:
            return None
        if live.table is None or live.player is None:
            entry = self.inbox.at(live.visit * self.plan.stride, 0)
        else:
            entry = self.inbox.at(live.table, live.player) or self.inbox.at(live.table + 1 + live.player, 0)
        return entry if entry is not None and entry.due <= asyncio.get_running_loop().time() else None

    def shown(self, entry: Open) -> None:
        """A decision is on its way to the person: its clock starts."""
        self.inbox.show(entry, asyncio.get_running_loop().time(), self._missed)

    def may_extend(self, entry: Open) -> bool:
        """Whether somebody may ask for more time: not where other people wait for the answer."""
        alone = len(self.plan.book.tables[self.plan.place_of(entry.unit, entry.player)[0]].people) == 1
        return alone and entry.deadline is not None and entry.extended < MOST_EXTENSIONS

    def extend(self, entry: Open) -> bool:
        """Give somebody the time for a decision once more."""
        return self.may_extend(entry) and self.inbox.extend(entry, self._missed)

    def _missed(self, entry: Open) -> Answer:
        return Answer(None, "missed", facts=self._kept(self._visit_of(entry), entry))

    def _visit_of(self, entry: Open) -> LiveVisit:
        if entry.unit % self.plan.stride == 0:
            return self.live_visits[entry.unit // self.plan.stride]
        return self.visit_at(entry.unit, entry.player)

    def _kept(self, live: LiveVisit, entry: Open) -> dict[str, Any]:
        """What is kept with an answer: when it was shown and given, in ms since the visit began."""
        shown = None if entry.shown is None else live.offset(entry.shown)
        kept = {**entry.facts, "shown": shown, "answered": live.offset(asyncio.get_running_loop().time())}
        if entry.extended:
            kept["extended"] = entry.extended
        return {**kept, "interrupted": True} if entry.interrupted else kept

    async def settle(
        self, live: LiveVisit, entry: Open, value: Any, personal: Sequence[tuple[str, str]] = (), **facts: Any
    ) -> bool:
        """Take an answer; True once it is on the disk, False where the question was settled before."""
        if entry.answer.done() or self.now_at(live) is not entry:
            return False
        if personal:
            self.register.contact(live.code, entry.step, personal)
            await self.register.flush()
        answer = Answer(value, "person", facts={**self._kept(live, entry), **facts})
        if not self.inbox.settle(entry, answer):
            return False
        live.resumed, live.result = False, None if entry.unit % self.plan.stride == 0 else live.result
        await entry.taken.wait()
        await self._journal.flush()
        return True

    async def leave(self, live: LiveVisit, how: str) -> None:
        """End a visit from outside: the person left, took everything back, or was gone for too long."""
        if live.end is not None or live.leaving is not None:
            return
        entry = self.now_at(live)
        live.leaving = how
        live.left.set()
        self.register.note(live.code, how)
        await self.register.flush()  # whoever left has left, also if the server is killed right now
        for match in range(len(self.people.order)):
            self.lobby.leave(self.plan.match_index(live.visit, match))
        if entry is None and live.table is not None and live.player is not None:
            entry = self.inbox.at(live.table, live.player)  # one that may not be shown yet
        if entry is not None and self.inbox.settle(entry, Answer({"end": how}, "assigned")):
            await entry.taken.wait()
            await self._journal.flush()
        live.changed()

    async def sweep(self) -> None:
        """End the visits of people who have been gone for too long, and see to requests of other commands."""
        now = asyncio.get_running_loop().time()
        for live in list(self.live_visits.values()):
            if live.end is None and now - live.seen > self.people.time.resume_within:
                await self.leave(live, "timed_out")
        self.closed = bool(self.register.meta("closed"))
        for number, what, code in self.register.requests():
            if what == "withdraw" and (asked := self.codes.get(code)) is not None:
                await self._withdraw(asked)
            self.register.handled(number)
        for code in self.register.tombstones():
            for key in [key for key, who in self.known.items() if who.code == code]:
                del self.known[key]
        await self.register.flush()
        if self._journal.failed:
            await self._journal.flush()  # which says why: nobody's answers can be kept, so the server ends

    def forget(self) -> Overdue:
        """Erase what is personal and older than the study keeps it; who was, and who is owed money."""
        paid, source = self.register.payments(), self.people.source.name

        def owes(code: str) -> bool:
            live = self.codes.get(code)
            if live is None or live.earned is None or live.test or code in paid:
                return False
            rules = self.people if live.cell is None else self.plan.people_of(live.cell)
            return bool(owed(source, *due(rules.pay, live.earned, live.points)))

        found = overdue(self.register, self.people.keep.people, time.time(), owes)
        if found.erasable:
            self.register.erase(*found.erasable)
        return found

    async def _withdraw(self, live: LiveVisit) -> None:
        if live.end is None:
            await self.leave(live, "withdrawn")
        else:
            self._close(live, "withdrawn", {"points": live.points, "earned": live.earned})
            await self._journal.flush()
