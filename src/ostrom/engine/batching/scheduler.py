"""Schedules the calls of all matches: collects them, sends them as batches, gives each match its replies.

The caller and the gate of a run in batches stand here, too: their calls wait for a wave.

A wave is sealed when every match in play waits for a reply. Nothing depends on that moment but the number of batches.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ostrom.engine.batching.ledger import JournaledBatch, Ledger
from ostrom.engine.batching.service import (
    BatchService,
    ForeignResults,
    Lost,
    loop_time,
    lost,
    says_full,
    sent_twice,
    unanswered,
)
from ostrom.engine.caller import Caller
from ostrom.engine.gate import RunGate, Spending, Stopped
from ostrom.engine.plan import Tally, Unit
from ostrom.ground.errors import BudgetSpent, ModelError, OstromError, RequestRefused
from ostrom.models.base import Model, Reply, Request, Usage
from ostrom.models.batches import BatchRequest, BatchStatus, ResultLine
from ostrom.models.failures import one_line
from ostrom.models.pending_call import NO_SIZE, CallSize, PendingCall, Release
from ostrom.models.prices import price_of

logger = logging.getLogger("ostrom.batches")

SETTLE = 0.05
"""Seconds without a new call after which a wave is sent, if every match waits for a reply."""
QUIET = 10.0
"""Seconds without a new call after which a wave is sent although some match is busy."""
OVERHEAD = 256
"""Bytes of a request in a batch file beside its body."""
MOST_SENT = 2
"""The most batches in which a request is sent without a result; then it is not sent again."""
MOST = 1 << 30
"""The number of slots of a gate that never delays a call: waves do that."""


@dataclass(slots=True, eq=False)
class _Open:
    """A batch with results that are not all in the journal."""

    batch: JournaledBatch
    left: set[bytes]
    """Keys of calls whose replies are not in the journal yet."""
    calls: dict[bytes, WaveCall] = field(default_factory=dict)
    lines: dict[bytes, ResultLine] | None = None
    """Results that no match has requested yet; None before they arrive."""
    work: asyncio.Task[None] | None = None


class BatchScheduler:
    """Collects the calls of all matches of a run, sends them in batches and hands out the replies."""

    def __init__(self, services: Mapping[str, BatchService], ledger: Ledger, tally: Tally, spending: Spending) -> None:
        self.services, self.ledger, self.tally, self.spending = services, ledger, tally, spending
        self._queue: dict[str, deque[WaveCall]] = {model: deque() for model in services}
        self._waiting: Counter[int] = Counter()
        """The number of calls that each match waits for."""
        self._playing = 0
        self._changes = 0
        self._changed = asyncio.Event()
        self._member: dict[bytes, _Open] = {}
        """The open batch of each key, until its result is handed out."""
        self._opened: dict[int, _Open] = {}
        self._handed: dict[bytes, list[_Open]] = {}
        """Batches that handed out the result of a key that is not in the journal yet."""
        self._most: dict[str, int] = {model: s.endpoint.limits.requests for model, s in services.items()}
        self._full: Counter[str] = Counter()
        """The number of consecutive times that a service had no room for a batch."""
        self._making = asyncio.Lock()
        self._stopping = False
        self._spent: BudgetSpent | None = None
        """The error if the budget does not cover the first queued call; None if it does."""
        self._sealer: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Resume the batches of earlier sessions; batches of unknown existence are looked up first."""
        unsettled = [b for b in self.ledger.batches.values() if not b.settled and not b.void]
        answered = self.ledger.journal.answered() if unsettled else set()
        for batch in unsettled:
            opened = _Open(batch, set(batch.keys) - answered)
            self._opened[batch.number] = opened
            for key in opened.left:
                if (earlier := self._member.get(key)) is not None:
                    earlier.left.discard(key)  # the call was sent again in a later batch
                self._member[key] = opened
        for opened in list(self._opened.values()):
            self._settle(opened)
        for opened in list(self._opened.values()):
            batch, service = opened.batch, self.services.get(opened.batch.model)
            # A planned batch of unknown existence is looked up; if it does not exist, its calls are released.
            if batch.id is None and (batch.how == "planned" or service is None or not await service.find(batch)):
                self.ledger.tell(batch, "void")
                self._close(opened)
        self._sealer = asyncio.create_task(self._seal_forever())

    def _close(self, opened: _Open) -> None:
        self._opened.pop(opened.batch.number, None)
        self._note_change()
        for key in opened.batch.keys:
            if self._member.get(key) is opened:
                del self._member[key]

    # -- matches and their calls ---------------------------------------------------------------------

    def enter(self) -> None:
        """Count a match that has begun."""
        self._playing += 1
        self._note_change()

    def leave(self) -> None:
        """Count a match that has ended."""
        self._playing -= 1
        self._note_change()

    def encode(self, model: str, request: Request) -> bytes:
        """The body of a request."""
        return self.services[model].endpoint.encode(request)

    def put(self, call: WaveCall) -> None:
        """Queue a call: it waits for the open batch that holds its key, or for the next wave."""
        if self._stopping:
            call.refuse(Stopped("stopped"))
            return
        self._waiting[call.unit] += 1
        call.placed = True
        opened = self._member.get(call.key)
        if opened is None and self.ledger.times_silent(call.key) >= MOST_SENT:
            self._refuse(call, sent_twice())
        elif opened is None:
            self._queue[call.model].append(call)
        else:
            opened.calls[call.key] = call
            call.size = call.full_size
            self.spending.reserve_sent(call.model, call.size)
            if opened.lines is not None:
                self._hand_out(opened, call.key)
            else:
                self._work(opened)
        self._note_change()

    def dropped(self, call: WaveCall) -> None:
        """Remove a call that is no longer awaited."""
        self._no_longer_waits(call)
        opened = self._member.get(call.key)
        if opened is not None and opened.calls.get(call.key) is call:
            del opened.calls[call.key]
            if not opened.calls and opened.work is not None and opened.batch.id is not None:
                opened.work.cancel()

    def journaled(self, key: bytes) -> None:
        """Note that the result of a call is in the journal; settle the batches that have no other left."""
        for opened in self._handed.pop(key, ()):
            opened.left.discard(key)
            self._settle(opened)

    def _settle(self, opened: _Open) -> None:
        if not opened.left and not opened.calls and opened.batch.number in self._opened:
            self.ledger.tell(opened.batch, "settled")
            self._close(opened)

    def _no_longer_waits(self, call: WaveCall) -> None:
        if call.placed:
            call.placed = False
            self._waiting[call.unit] -= 1
            if not self._waiting[call.unit]:
                del self._waiting[call.unit]

    def _answer(self, call: WaveCall, line: ResultLine) -> None:
        self._no_longer_waits(call)
        call.replied = line.kind == "reply"
        try:
            call.answer(self.services[call.model].endpoint.read(line, call.request))
        except ModelError as error:
            call.refuse(error)

    def _refuse(self, call: WaveCall, error: Exception) -> None:
        if call.waits:
            self._no_longer_waits(call)
            call.refuse(error)

    def stop(self) -> None:
        """Send no more batches; existing ones are left to their service."""
        self._stopping = True
        self.tally.batches_left = len(self._opened)
        self._refuse_queued(Stopped("stopped"))
        for opened in list(self._opened.values()):
            if opened.batch.id is not None:
                self._leave(opened)

    def _leave(self, opened: _Open) -> None:
        if opened.work is not None and not opened.work.done():
            opened.work.cancel()
        for call in list(opened.calls.values()):
            self._refuse(call, Stopped("stopped"))

    async def close(self) -> None:
        """End all tasks."""
        tasks = [task for task in (self._sealer, *(o.work for o in self._opened.values())) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # -- waves ---------------------------------------------------------------------------------------

    def _note_change(self) -> None:
        self._changes += 1
        self._changed.set()

    async def _seal_forever(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            changes, since = self._changes, loop_time()
            while any(self._queue.values()):
                await asyncio.sleep(SETTLE)
                if self._changes != changes:
                    changes, since = self._changes, loop_time()
                elif len(self._waiting) >= self._playing or loop_time() - since >= QUIET:
                    break
            self._spent = None
            try:
                for model in self._queue:
                    for calls in self._portions(model):
                        batch = self.ledger.plan(model, [call.key for call in calls])
                        opened = _Open(batch, set(batch.keys), {call.key: call for call in calls})
                        self._opened[batch.number] = opened
                        self._member.update(dict.fromkeys(batch.keys, opened))
                        self._work(opened)
                if any(self._queue.values()) and not any(opened.calls for opened in self._opened.values()):
                    if self._spent is not None:
                        self._refuse_queued(self._spent)
                    self._note_change()  # replies handed out are counted a moment later
            except OstromError as error:  # the journal cannot be written
                self._refuse_queued(error)

    def _refuse_queued(self, error: OstromError) -> None:
        for queue in self._queue.values():
            while queue:
                self._refuse(queue.popleft(), error)

    def _portions(self, model: str) -> Iterator[list[WaveCall]]:
        """Yield the queued calls that the budget covers, in portions that fit one batch."""
        queue, largest = self._queue[model], self.services[model].endpoint.limits.bytes
        portion: list[WaveCall] = []
        size = 0
        while queue:
            call = queue[0]
            if call.waits and not self._reserve(call):
                break
            if queue.popleft().waits:
                more = len(call.body) + OVERHEAD
                if portion and (len(portion) >= self._most[model] or size + more > largest):
                    yield portion
                    portion, size = [], 0
                portion.append(call)
                size += more
        if portion:
            yield portion

    def _reserve(self, call: WaveCall) -> bool:
        try:
            covered = self.spending.reserve(call.model, call.full_size)
        except BudgetSpent as error:
            self._spent = error
            return False
        if covered:
            call.size = call.full_size
        return covered

    def _free(self, call: WaveCall) -> None:
        """Release the reservation of a call that returns to the queue."""
        self.spending.free(call.model, call.size)
        call.size = NO_SIZE

    # -- one batch -----------------------------------------------------------------------------------

    def _work(self, opened: _Open) -> None:
        """Start the task that works on a batch, unless it is running."""
        if opened.work is None or opened.work.done():
            opened.work = asyncio.create_task(self._process(opened))

    async def _process(self, opened: _Open) -> None:
        batch = opened.batch
        self.tally.batches += 1
        try:
            await self._advance(opened)
        except Exception as error:  # any error must reach the waiting matches
            logger.warning("%s, batch %d (%s): %s", batch.model, batch.number, batch.id, error)
            for call in list(opened.calls.values()):
                self._refuse(call, error)
            opened.calls.clear()
            if batch.void:
                self._close(opened)
        finally:
            self.tally.batches -= 1
            self._note_change()

    async def _advance(self, opened: _Open) -> None:
        batch, service = opened.batch, self.services[opened.batch.model]
        if batch.id is None:
            async with self._making:  # one at a time: a batch without an identifier is recognised by its size
                if batch.how == "planned" and (self._stopping or len(opened.calls) < len(batch.keys)):
                    self.ledger.tell(batch, "void")  # nothing was sent: the calls still wanted go into another batch
                elif batch.how == "planned":
                    await service.make(
                        batch, [BatchRequest(batch.request_id(c.key), c.body) for c in opened.calls.values()]
                    )
                    for call in opened.calls.values():
                        call.body = b""  # frees memory: a wave may take a day
                elif not await service.find(batch):
                    self.ledger.tell(batch, "void")
            if batch.void:  # it never existed: its calls go into the next wave
                self._close(opened)
                for call in list(opened.calls.values()):
                    self._requeue(opened, call)
                return
        if self._stopping:
            self._leave(opened)
            return
        try:
            ended = await service.wait(batch)
            lines = await service.read(batch, ended, partial(self._hand_out_part, opened))
        except Lost as error:
            logger.warning("%s, batch %s is lost: %s", batch.model, batch.id, error)
            if not batch.found or not isinstance(error, ForeignResults):
                raise lost(batch, error, self.ledger.journal.path.parent) from None
            self.ledger.tell(batch, "refuted", id=batch.id)
            await self._advance(opened)
            return
        why = [one_line(f"{problem.code} {problem.message}") for problem in ended.problems[:10]]
        counts = {"requests": len(batch.keys), "answered": len(lines)} | ({"why": why[0]} if why else {})
        rejected = ended.how == "failed" and not ended.outputs
        silent = (
            []
            if rejected
            else [place for place, key in enumerate(batch.keys) if key not in lines or lines[key].kind == "bad"]
        )
        self.ledger.tell(batch, "ended", how=ended.how, **counts, **({"silent": silent} if silent else {}))
        await self.ledger.flush()  # before any of them is sent again
        for each in why:
            logger.warning("%s, batch %s: %s", batch.model, batch.id, each)
        await self._mend(opened, ended)
        opened.lines = lines
        for key in list(opened.calls):
            self._hand_out(opened, key)

    async def _mend(self, opened: _Open, ended: BatchStatus) -> None:
        """After a service rejected a batch, refuse its invalid lines and queue the others again."""
        if ended.how != "failed":
            self._full.pop(opened.batch.model, None)
            return
        batch = opened.batch
        for problem in ended.problems:
            if problem.line is None or not 1 <= problem.line <= len(batch.keys):
                continue
            if (call := opened.calls.pop(batch.keys[problem.line - 1], None)) is not None:
                self._note_reply(opened, call.key)
                why = one_line(f"{problem.code} {problem.message}")
                self._refuse(call, RequestRefused(f"{batch.model} refused the request: {why}"))
        if any(says_full(problem) for problem in ended.problems):
            await self._make_room(opened)
        else:
            times = max((call.times for call in opened.calls.values()), default=0)
            await asyncio.sleep(self.services[batch.model].retry.wait(times + 1))

    async def _make_room(self, opened: _Open) -> None:
        """After the service's token queue was full, wait for another batch to end, or make smaller ones."""
        model, polling = opened.batch.model, self.services[opened.batch.model].polling
        self._full[model] += 1
        if self._full[model] < polling.failures:
            for call in opened.calls.values():
                call.times -= 1  # this batch did not try the call
        accepted = [o for o in self._opened.values() if o.batch.model == model and o.batch.how == "in_progress"]
        if under_way := [o.work for o in accepted if o.work is not None and not o.work.done()]:
            await asyncio.wait(under_way, timeout=polling.longest, return_when=asyncio.FIRST_COMPLETED)
        elif len(opened.batch.keys) > 1:
            self._most[model] = min(self._most[model], max(1, len(opened.batch.keys) // 2))
        else:
            await asyncio.sleep(polling.longest)

    def _hand_out_part(self, opened: _Open, lines: dict[bytes, ResultLine]) -> None:
        """Hand out the results that have arrived, while others are pending."""
        opened.lines = {key: line for key, line in lines.items() if line.kind in ("reply", "error")}
        for key in opened.lines.keys() & opened.calls.keys():
            self._hand_out(opened, key)
        opened.lines = None

    def _hand_out(self, opened: _Open, key: bytes) -> None:
        """Give a call its result; a call that was not run goes into the next wave."""
        assert opened.lines is not None
        call, line = opened.calls.pop(key), opened.lines.pop(key, None)
        self._note_reply(opened, key)
        if line is not None and line.kind in ("reply", "error"):
            self._answer(call, line)
        else:
            self._requeue(opened, call)

    def _note_reply(self, opened: _Open, key: bytes) -> None:
        """Note that a batch handed out a result; ``journaled`` later removes it from ``left``."""
        self._handed.setdefault(key, []).append(opened)
        if self._member.get(key) is opened:
            del self._member[key]

    def _requeue(self, opened: _Open, call: WaveCall) -> None:
        call.times += 1
        if call.key in opened.batch.silent:
            self.spending.count_possibly_billed(call.model, call.size)
        self._free(call)
        if self.ledger.times_silent(call.key) >= MOST_SENT:
            self._refuse(call, sent_twice(opened.batch))
        elif call.times >= self.services[call.model].retry.tries:
            self._refuse(call, unanswered(opened.batch))
        elif self._stopping:
            self._refuse(call, Stopped("stopped"))
        else:
            opened.left.discard(call.key)
            call.body = self.encode(call.model, call.request)
            self._queue[call.model].append(call)
            self._settle(opened)
            self._note_change()


class WaveCall(PendingCall):
    """A call that is answered by a batch."""

    __slots__ = (
        "_reply", "_scheduler", "body", "full_size", "key", "model", "placed", "replied", "request", "times",
        "unit",
    )  # fmt: skip

    def __init__(
        self, scheduler: BatchScheduler, unit: int, model: str, request: Request, key: bytes, release: Release | None
    ) -> None:
        super().__init__(release)
        self._scheduler, self.unit, self.model, self.request, self.key = scheduler, unit, model, request, key
        self.body = b""
        self.placed = False
        """Whether its match is counted as waiting for it."""
        self.times = 0
        """The number of batches that ended without running this call."""
        self.full_size = NO_SIZE
        """What the budget reserves for it when its wave is sent; ``size`` is what is reserved now."""
        self.replied = False
        """Whether the batch holds a reply to this call, readable or not."""
        self._reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def start(self, era: int = 0) -> None:
        super().start(era)
        try:
            self.body = self._scheduler.encode(self.model, self.request)
        except ModelError as error:
            self.refuse(error)
        else:
            self._scheduler.put(self)

    def measure(self, size: CallSize) -> None:
        self.full_size = size

    @property
    def waits(self) -> bool:
        """Whether a reply is still wanted."""
        return not self._reply.done()

    def answer(self, reply: Reply) -> None:
        """Set the reply."""
        if self.waits:
            self.arrived()
            self._reply.set_result(reply)

    def refuse(self, error: Exception) -> None:
        if self.waits:
            self._reply.set_exception(error)

    def drop(self) -> None:
        super().drop()
        self._scheduler.dropped(self)
        if not self._reply.cancel() and not self._reply.cancelled():
            self._reply.exception()  # mark it as retrieved: nothing awaits it

    async def reply(self) -> Reply:
        return await self._reply


class BatchCaller(Caller):
    """Makes calls through batches, at the prices of batches."""

    source = "batch"

    def __init__(self, scheduler: BatchScheduler, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._scheduler = scheduler

    async def call(self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request) -> Reply:
        """Make one call; once its reply is journaled, its batch is not kept open for it any longer."""
        try:
            return await super().call(unit, step, player, part, model, request)
        finally:
            self._scheduler.journaled(self.key(unit, step, player, part, model, request))

    def _pending(self, unit: Unit, model: Model, request: Request, key: bytes, attempt: int) -> PendingCall:  # noqa: ARG002
        return WaveCall(self._scheduler, unit.index, model.name, request, key, partial(self.gate.release, model.name))

    def _sent(self, pending: PendingCall) -> bool:
        """Return whether the batch holds a reply, which is billed; calls still in a batch are collected later."""
        return isinstance(pending, WaveCall) and pending.replied

    def _price(self, model: str, usage: Usage) -> float | None:
        return price_of(model, usage, self.prices, batch=True)


class BatchGate(RunGate):
    """Counts calls; concurrency and budget are decided for whole waves."""

    batch = True

    def open(self, model: str, start: int, most: int) -> None:  # noqa: ARG002
        """Register a model, without a limit on its calls in flight."""
        super().open(model, MOST, MOST)

    def failed(
        self,
        model: str,
        era: int,  # noqa: ARG002
        retry_after: float | None,  # noqa: ARG002
        last: bool = False,
        size: CallSize = NO_SIZE,
        billed: bool = False,
    ) -> None:
        state = self._failed(model)
        state.exhausted = state.exhausted or last
        self._settled(model, size, billed)

    def models_to_abort(self, tries: int) -> set[str]:  # noqa: ARG002
        """Return the models that cannot be used; the thousands of failures of one failed wave count as one."""
        return {model for model, state in self._models.items() if state.lost}

    def _admit(self, model: str, size: CallSize) -> bool:  # noqa: ARG002
        """Let a call into the next wave; the scheduler holds back what the budget does not cover."""
        if self.stopping.is_set():
            raise Stopped("stopped")
        self.tally.in_flight += 1
        return True

    def _free(self, model: str, size: CallSize) -> None:
        if size != NO_SIZE:  # a call that was never sent has reserved nothing
            super()._free(model, size)
