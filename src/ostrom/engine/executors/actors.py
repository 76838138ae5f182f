"""Actors of a Ray cluster: workers that play units with their own models, and the gate of the run.

``GateActor`` is the actor from which every worker requests a slot for each call; ``ClusterGate`` is its counterpart on
a worker, which sends one message for all that happens at once.
"""

import asyncio
import platform
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

from ostrom.agents.language import AgentFactory
from ostrom.answers import Answer
from ostrom.engine.caller import Cache, Caller
from ostrom.engine.entries import CallRecord
from ostrom.engine.executors.local import AnswerEntry, CallOutcome, Failure, Opened, UnitEnd, WorkerConfig, play_unit
from ostrom.engine.gate import RunGate, Stopped
from ostrom.engine.plan import Budget, Tally, Unit
from ostrom.framing import Library
from ostrom.framing.fingerprint import difference, hashes
from ostrom.ground.errors import BudgetSpent, ModelGivenUp, OstromError, RunError
from ostrom.ground.version import __version__
from ostrom.models import open_model
from ostrom.models.base import Model, Reply, Usage
from ostrom.models.grants import restore
from ostrom.models.pending_call import NO_SIZE, CallSize, PendingCall

Batch = tuple[int, list[AnswerEntry | CallRecord]]
"""The number of a batch, and its entries for the journal, in order, which become durable together."""


class _RemoteSlot(PendingCall):
    """A slot request of a worker."""

    def __init__(self, size: CallSize) -> None:
        super().__init__()
        self.size = size
        self.slot: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def start(self, era: int = 0) -> None:
        self.slot.set_result(era)

    def refuse(self, error: Exception) -> None:
        self.slot.set_exception(error)


class GateActor:
    """The gate of a run as an actor on the driver's machine, so that losing a worker does not lose it.

    The slots of a lost worker are freed; outcomes that it still reports are ignored.
    """

    def __init__(
        self,
        tally: Tally,
        budget: Budget,
        models: Mapping[str, tuple[int, int]],
        cache: Path | None,
        prices: Mapping[str, Any] | None = None,
        cached_since: float = 0.0,
    ) -> None:
        self._gate = RunGate(tally, budget, asyncio.Event(), prices)
        for model, (start, most) in models.items():
            self._gate.open(model, start, most)
        self._reserved: dict[str, Counter[tuple[str, CallSize]]] = {}
        self._lost: set[str] = set()
        self._cache = None if cache is None else Cache(cache, cached_since)

    async def acquire(self, worker: str, model: str, wanted: Sequence[CallSize] = (NO_SIZE,)) -> list[int] | Failure:
        """Return slots for calls of these sizes: waits for the first, then takes as many as are free."""
        eras: list[int] = []
        try:
            place = _RemoteSlot(wanted[0])
            self._gate.request_slot(model, place)
            eras.append(await place.slot)
            for size in wanted[1:]:
                if (era := self._gate.try_acquire(model, size)) is None:
                    break
                eras.append(era)
        except (Stopped, BudgetSpent, ModelGivenUp) as error:
            if not eras:
                return Failure.from_error(error)
        sizes = wanted[: len(eras)]
        if worker in self._lost:
            for size in sizes:
                CallOutcome(model, "abandoned", size=size).apply_to(self._gate)
            return Failure.from_error(Stopped("this worker was given up"))
        self._reserved.setdefault(worker, Counter()).update((model, size) for size in sizes)
        return eras

    async def release(self, worker: str, outcomes: Sequence[CallOutcome]) -> None:
        """Record how calls of a worker ended, and free their slots."""
        for outcome in outcomes:
            counts, call = self._reserved.get(worker), (outcome.model, outcome.size)
            if counts and counts[call]:
                counts[call] -= 1
                outcome.apply_to(self._gate)

    async def lost(self, worker: str) -> None:
        """Free the slots of a lost worker; its calls in flight may be billed."""
        self._lost.add(worker)
        for model, size in self._reserved.pop(worker, Counter()).elements():
            CallOutcome(model, "abandoned", size=size, more={"billed": True}).apply_to(self._gate)

    async def ask(self, method: Literal["stop", "models_to_abort", "give_up"], *arguments: Any) -> Any:
        """Call a method of the gate."""
        return getattr(self._gate, method)(*arguments)

    async def in_flight(self) -> int:
        """Return the number of calls in flight in the cluster."""
        return self._gate.tally.in_flight

    async def get(self, key: bytes) -> Reply | None:
        """The cached reply of a key, or None."""
        return None if self._cache is None else await self._cache.get(key)

    async def put(self, key: bytes, reply: Reply) -> None:
        """Store a reply in the cache."""
        if self._cache is not None:
            self._cache.put(key, reply)

    async def close(self) -> None:
        """Close the cache."""
        if self._cache is not None:
            self._cache.close()


class ClusterGate:
    """The gate on a worker: requests slots from the gate actor and reports how calls ended.

    Matches of a worker continue together when the driver acknowledges a batch, so their calls request slots at the
    same time and one message carries all requests. The gate actor also serves the reply cache.
    """

    def __init__(self, worker: str, gate_actor: Any, ceilings: Mapping[str, int | None]) -> None:
        self._worker, self._gate_actor = worker, gate_actor
        # A model inside the worker serves few calls at a time, whatever the limit of the cluster.
        self._free = {m: c for m, c in ceilings.items() if c is not None}
        self._waiting: dict[str, deque[PendingCall]] = {m: deque() for m in ceilings}
        self._requesting: dict[str, asyncio.Task[None]] = {}
        self._outcomes: list[CallOutcome] = []

    def request_slot(self, model: str, request: PendingCall) -> None:
        self._waiting[model].append(request)
        self._start_requesting(model)

    def succeeded(
        self, model: str, usage: Usage, usd: float | None, size: CallSize = NO_SIZE, written: int = 0, cut: bool = False
    ) -> None:
        self._report_outcome(CallOutcome(model, "succeeded", (usage, usd), size, {"written": written, "cut": cut}))

    def failed(
        self,
        model: str,
        era: int,
        retry_after: float | None,
        last: bool = False,
        size: CallSize = NO_SIZE,
        billed: bool = False,
    ) -> None:
        self._report_outcome(CallOutcome(model, "failed", (era, retry_after, last), size, {"billed": billed}))

    def refused(self, model: str, for_good: bool = False, size: CallSize = NO_SIZE, billed: bool = False) -> None:
        self._report_outcome(CallOutcome(model, "refused", (for_good,), size, {"billed": billed}))

    def abandoned(self, model: str, size: CallSize = NO_SIZE, billed: bool = False) -> None:
        self._report_outcome(CallOutcome(model, "abandoned", size=size, more={"billed": billed}))

    def release(self, model: str) -> None:
        """Do nothing: the gate actor frees the slot when it receives the outcome."""

    async def get(self, key: bytes) -> Reply | None:
        """The cached reply of a key, or None."""
        return cast("Reply | None", await self._answer(self._gate_actor.get.remote(key)))

    def put(self, key: bytes, reply: Reply) -> None:
        """Store a reply in the cache."""
        self._gate_actor.put.remote(key, reply)

    def _pending(self, model: str) -> deque[PendingCall]:
        waiting = self._waiting[model]
        while waiting and waiting[0].dropped:
            waiting.popleft()
        return waiting

    def _wanted(self, model: str) -> list[CallSize]:
        """The calls to request slots for: those in the queue, at most as many as this worker can serve."""
        return [request.size for request in islice(self._pending(model), self._free.get(model))]

    def _start_requesting(self, model: str) -> None:
        if model not in self._requesting and self._wanted(model):
            self._requesting[model] = asyncio.create_task(self._ask(model))

    async def _ask(self, model: str) -> None:
        """Request slots until the queue is empty; requests queued meanwhile are included next time."""
        await asyncio.sleep(0)
        try:
            while wanted := self._wanted(model):
                eras = await self._answer(self._gate_actor.acquire.remote(self._worker, model, wanted))
                if isinstance(eras, Failure):
                    raise eras.error()
                for era, size in zip(eras, wanted, strict=False):
                    self._grant(model, era, size)
        except OstromError as error:
            waiting = self._waiting[model]
            while waiting:
                waiting.popleft().refuse(error)
        finally:
            del self._requesting[model]

    def _grant(self, model: str, era: int, size: CallSize) -> None:
        """Start the first call of this size; if it is no longer wanted, return its slot."""
        if model in self._free:
            self._free[model] -= 1
        waiting = self._pending(model)
        for place, request in enumerate(waiting):
            if request.size == size and not request.dropped:
                del waiting[place]
                request.start(era)
                return
        self.abandoned(model, size)

    def _report_outcome(self, outcome: CallOutcome) -> None:
        if outcome.model in self._free:
            self._free[outcome.model] += 1
            self._start_requesting(outcome.model)
        if not self._outcomes:
            asyncio.get_running_loop().call_soon(self._flush_outcomes)
        self._outcomes.append(outcome)

    def _flush_outcomes(self) -> None:
        outcomes, self._outcomes = self._outcomes, []
        self._gate_actor.release.remote(self._worker, outcomes)

    async def _answer(self, reference: Any) -> Any:
        from ray.exceptions import RayActorError

        try:
            return await reference
        except RayActorError:
            raise RunError("the limiter of the cluster is gone; run the same command to go on") from None


class Worker:
    """Plays units for the driver. Models are opened here, with the keys of this machine's environment."""

    def __init__(self, name: str, worker_config: WorkerConfig) -> None:
        self.name, self.worker_config = name, worker_config
        self._models: dict[str, Model] = {}
        self._folder: TemporaryDirectory[str] | None = None

    async def begin(self) -> dict[str, Opened] | Failure:
        """Check that this machine has the version and the prompts of the driver, and open the models."""
        try:
            self._library = self._make_library()
            self._check()
            restore(self.worker_config.grants)
            for name, settings in self.worker_config.models.items():
                self._models[name] = self._open(name, settings)
        except OstromError as error:
            return Failure.from_error(error)
        return {
            name: Opened(m.connections, getattr(m, "most_connections", None), dict(m.describe()))
            for name, m in self._models.items()
        }

    async def connect_gate(self, gate_actor: Any) -> None:
        """Connect to the gate of the run and build the agents."""
        self._stopping, self._outbox = asyncio.Event(), Outbox()
        ceilings = {m.name: getattr(m, "most_connections", None) for m in self._models.values()}
        gate, options = ClusterGate(self.name, gate_actor, ceilings), self.worker_config.options
        self._caller = Caller(
            self._outbox, Tally(), gate, self._stopping, options.retry, None if options.cache is None else gate,
            options.rates,
        )  # fmt: skip
        for model in self._models.values():
            self._caller.open(model)
        self._agent_factory = AgentFactory(self._models, self._library, self.worker_config.invalidity)

    async def play(self, unit: Unit, *work: Any) -> tuple[UnitEnd, Failure | None, int]:
        """Play a unit (``play_unit``). All entries are durable before its end is reported.

        Returns the end without its error, the error, and how many unreadable replies no journaled answer accounts for.
        """
        tally = Tally()
        ended = await play_unit(self._agent_factory, self._outbox, self._caller, tally, unit, *work)
        await self._outbox.flush()
        stray = tally.invalid - self._outbox.complaints.pop(unit.index, 0)
        return replace(ended, error=None), None if ended.error is None else Failure.from_error(ended.error), stray

    async def exchange(self, written: int) -> Batch:
        """Return the next entries for the journal; ``written`` is the number of batches that the driver has stored."""
        return await self._outbox.exchange(written)

    async def stop(self) -> None:
        """Start no more calls; calls in flight are awaited."""
        self._stopping.set()

    async def close(self) -> None:
        """Close the models."""
        for model in self._models.values():
            await model.close()
        if self._folder is not None:
            self._folder.cleanup()

    def _make_library(self) -> Library:
        if not self.worker_config.files:
            return Library()
        self._folder = TemporaryDirectory(prefix="ostrom-prompts-")
        mine, home = Path(self._folder.name, "mine"), Path(self._folder.name, "home")
        for name, files in self.worker_config.files.items():
            folder = home / name if name else mine
            folder.mkdir(parents=True, exist_ok=True)
            for relative, content in files.items():
                path = folder / relative
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        return Library(mine if "" in self.worker_config.files else None, home=home)

    def _check(self) -> None:
        here = platform.node()
        if self.worker_config.version != __version__:
            raise RunError(
                f"{here}: has ostrom {__version__}, the driver has {self.worker_config.version}; "
                "install the same version on every machine"
            )
        if how := difference(self.worker_config.prompts, hashes(self._library, self.worker_config.prompts)):
            raise RunError(
                f"{here}: its prompts differ from the driver's: {how}; install the same packages on every machine"
            )

    def _open(self, name: str, settings: Mapping[str, Any]) -> Model:
        opened = self.worker_config.open_models
        return open_model(name, **settings) if opened is None else opened(name, settings)


class Outbox:
    """Takes entries like a journal; the driver fetches them in batches and acknowledges stored ones.

    Entries that are queued while the driver writes one batch leave with the next, so that a slow disk or network
    costs one exchange for all matches of the worker together.
    """

    def __init__(self) -> None:
        self.complaints: Counter[int] = Counter()
        """The number of journaled complaints, by unit."""
        self._entries: list[AnswerEntry | CallRecord] = []
        self._some = asyncio.Event()
        self._sent = self._written = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def answer(
        self, unit: int, step: int, player: int, part: str, answer: Answer, complaints: int, question: str | None = None
    ) -> None:
        """Queue an answer and its question."""
        self.complaints[unit] += complaints
        self._entries.append((unit, step, player, part, answer, complaints, question))
        self._some.set()

    def call(self, record: CallRecord) -> None:
        """Queue a try at a call."""
        self._entries.append(record)
        self._some.set()

    async def flush(self) -> None:
        """Wait until the driver has made everything queued so far durable."""
        needed = self._sent + 1 if self._entries else self._sent
        if needed <= self._written:
            return
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((needed, written))
        await written

    async def exchange(self, written: int) -> Batch:
        """Note how many batches are stored, and return the next one when it exists."""
        self._written = written
        for needed, future in self._waiting:
            if needed <= written and not future.done():
                future.set_result(None)
        self._waiting = [one for one in self._waiting if one[0] > written]
        await self._some.wait()
        self._some.clear()
        entries, self._entries = self._entries, []
        self._sent += 1
        return self._sent, entries
