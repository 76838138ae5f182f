"""The Ray executor: units of work on many machines, with one journal on the driver.

A unit goes to a worker with what the journal already knows of it. Its answers come back in batches and take
effect on the worker only after the driver has made them durable. So nothing is lost with a worker: its units are
handed to other workers, which replay the acknowledged answers and continue.
"""

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, cast

from ostrom.agents.language import Invalidity
from ostrom.engine.entries import CallRecord
from ostrom.engine.executors.actors import Batch, GateActor, Worker
from ostrom.engine.executors.local import (
    Assignment,
    Failure,
    Opened,
    Session,
    UnitEnd,
    WorkerConfig,
    count_entry,
    matches_at_once,
    most_calls,
    prompt_files,
)
from ostrom.engine.gate import Stopped
from ostrom.engine.plan import Plan, Tally
from ostrom.engine.play_options import PlayOptions
from ostrom.framing import Library
from ostrom.ground.errors import OstromError, RunError, UsageError
from ostrom.ground.version import __version__
from ostrom.models.base import Model
from ostrom.models.grants import said

STORE = 128 * 1024 * 1024
"""The size of Ray's object store on this machine, in bytes: it is hardly used."""


def import_ray() -> Any:
    """Import Ray, or raise one line that says how to install it."""
    try:
        import ray
    except ImportError:
        raise UsageError("the Ray executor needs Ray: pip install 'ostrom[ray]'") from None
    return ray


def join(address: str | None, workers: int | None) -> bool:
    """Connect to the cluster at an address, or start a local one with this many workers.

    Returns whether this call made the connection.
    """
    ray = import_ray()
    if address is not None and "://" in address:
        raise UsageError(
            f"--ray-address {address}: start the run on a machine of the cluster and name its head as host:port"
        )
    if ray.is_initialized():
        here = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", here):
            raise UsageError(f"--ray-address {address}: this process is connected to the cluster at {here}")
        return False
    if address not in (None, "auto"):
        _check_reachable(str(address))
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    options: dict[str, Any] = {"logging_level": "error", "log_to_driver": False}
    if address is None:
        options |= {
            "num_cpus": (workers or os.cpu_count() or 1),
            "include_dashboard": False,
            "object_store_memory": STORE,
        }
    before = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=address or "local", **options)
    except Exception as error:  # a node that does not start in time raises a plain Exception
        problem = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if address is None:
            raise RunError(f"Ray could not be started on this machine: {problem}") from None
        raise UsageError(f"--ray-address {address}: no cluster answers there ({problem})") from None
    finally:
        if threading.current_thread() is threading.main_thread():
            # Ray's SIGTERM handler would end the process; the run's own handler stops it cleanly.
            signal.signal(signal.SIGTERM, before)
    # Standard output holds results: Ray's messages about lost machines are kept off it.
    inside: Any = getattr(getattr(ray, "_private", None), "worker", None)
    if hasattr(inside, "_worker_logs_enabled"):
        inside._worker_logs_enabled = False
    return True


def _check_reachable(address: str) -> None:
    """Check that the address accepts connections: Ray itself would retry for many minutes."""
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise UsageError(f"--ray-address {address}: is not of the form host:port (or auto)")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise UsageError(f"--ray-address {address}: no cluster answers there ({error})") from None


def processors() -> int:
    """How many processors the connected cluster has."""
    return max(1, int(import_ray().cluster_resources().get("CPU", 1)))


CONCURRENCY = 100_000
"""Concurrent requests per actor: waiting slot requests must not block reports of outcomes."""
FIRST_WORKERS = 60.0
"""Seconds to wait for all workers at the start; later ones join when they come."""
NO_WORKER = 300.0
"""Seconds without any worker after which the run stops."""
MOST_DEATHS = 5
"""Workers that may die while playing one unit before the run stops: the unit may be the cause."""


@dataclass(eq=False, slots=True)
class WorkerHandle:
    """The driver's record of a worker."""

    name: str
    actor: Any
    load: int = 0
    receiving: asyncio.Task[None] | None = None
    removal: asyncio.Task[None] | None = None


@dataclass(slots=True)
class _WorkerPool:
    """The available workers, and an event that is set when they change."""

    handles: list[WorkerHandle] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    def change(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()


class RayExecutor:
    """Plays units on the workers of a Ray cluster."""

    def __init__(
        self,
        plan: Plan,
        open_models: Callable[[str, Mapping[str, Any]], Model] | None,
        library: Library,
        options: PlayOptions,
    ) -> None:
        self.options = options
        self.described: Mapping[str, Mapping[str, Any]] = {}
        self._worker_config = WorkerConfig(
            __version__,
            dict(plan.prompts),
            prompt_files(library),
            {name: dict(plan.settings(name)) for name in plan.models},
            said(),
            open_models,
            Invalidity(plan.retries, plan.policy, plan.refused),
            options.for_workers(),
        )
        self._joined = False
        self._opened: Mapping[str, Opened] | None = None
        self._pool = _WorkerPool()
        self._names = (f"worker-{number}" for number in count(1))
        self._gate_actor: Any = None
        self._stopping = asyncio.Event()
        self._failure: OstromError | None = None
        self._failed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._started: list[Any] = []

    # -- beginning and end ---------------------------------------------------------------------------

    async def open(self) -> None:
        """Connect, start the workers and let them open the models."""
        self._joined = join(self.options.ray_address, self.options.workers)
        self._ray = import_ray()
        self._workers = self.options.workers or processors()
        starting = [self._spawn(self._start_worker()) for _ in range(self._workers)]
        for task in starting:
            task.add_done_callback(_ignore)
        done, _ = await asyncio.wait(starting, timeout=FIRST_WORKERS)
        for task in done:
            task.result()
        if not done:
            raise RunError(
                f"no worker could start within {FIRST_WORKERS:.0f} seconds: the cluster has {processors()} "
                "processors, all of them taken"
            )

    async def start(self, session: Session) -> None:
        """Start the gate actor of the run and connect the workers to it."""
        assert self._opened is not None
        self._session = session
        opened, options = self._opened, self.options
        models: dict[str, tuple[int, int]] = {}
        for name, model in opened.items():
            # A model inside the workers has one copy per worker.
            copies = 1 if model.ceiling is None else self._workers
            most = most_calls(model.connections, model.ceiling, options.max_connections)
            models[name] = (options.start_connections or model.connections * copies, most * copies)
        strategy = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
            self._ray.get_runtime_context().get_node_id(), soft=False
        )
        counted = "calls tokens_in tokens_out usd unpriced assumed assumed_tokens assumed_usd".split()
        spent = Tally(**{name: getattr(session.tally, name) for name in counted})
        cache = None if options.cache is None else options.cache.absolute()
        self._gate_actor = (
            self._ray.remote(GateActor)
            .options(num_cpus=0, max_concurrency=CONCURRENCY, scheduling_strategy=strategy)
            .remote(spent, session.plan.budget, models, cache, options.rates, session.cached_since)
        )
        for handle in list(self._pool.handles):
            try:
                await self._connect_worker(handle)
            except self._ray.exceptions.RayActorError:
                await self._remove_dead(handle)
        if self._stopping.is_set():
            self.stop()
        self._spawn(self._watch())
        seats = max(1, session.plan.unit(0).game.seats) if len(session.plan) else 1
        in_process = all(model.ceiling is not None for model in opened.values())
        self._capacity = min(
            matches_at_once(sum(most for _, most in models.values()), in_process, seats),
            self._workers * self.options.worker_matches,
        )

    def capacity(self) -> int:
        """Return how many units can be played at once, by the workers and the limits of the models."""
        return self._capacity

    def stop(self) -> None:
        """Start no more calls on any worker."""
        self._stopping.set()
        self._pool.change()
        if self._gate_actor is not None:
            self._gate_actor.ask.remote("stop")
            for handle in self._pool.handles:
                handle.actor.stop.remote()

    async def models_to_abort(self) -> set[str]:
        """Return the models with persistent failures in the whole cluster."""
        try:
            return cast("set[str]", await self._gate_actor.ask.remote("models_to_abort", self.options.retry.tries))
        except self._ray.exceptions.RayActorError:
            return set(self._worker_config.models)  # the run cannot continue without the gate actor

    def give_up(self, model: str, why: str) -> None:
        """Close the gate to a model for all workers."""
        self._gate_actor.ask.remote("give_up", model, why)

    async def close(self) -> None:
        """Stop the workers, and disconnect from the cluster if this run connected to it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        gate_actors = [] if self._gate_actor is None else [self._gate_actor]
        closing = [actor.close.remote() for actor in (*(handle.actor for handle in self._pool.handles), *gate_actors)]
        if closing:
            await asyncio.wait([asyncio.ensure_future(_quiet(reference)) for reference in closing], timeout=10)
        for actor in (*self._started, *gate_actors):
            with suppress(Exception):
                self._ray.kill(actor)
        if self._joined:
            self._ray.shutdown()

    # -- workers -------------------------------------------------------------------------------------

    async def _start_worker(self) -> None:
        """Start a worker, check that its models are those of the others, and add it to the pool."""
        name = next(self._names)
        actor = (
            self._ray.remote(Worker)
            .options(num_cpus=1, max_concurrency=CONCURRENCY, scheduling_strategy="SPREAD")
            .remote(name, self._worker_config)
        )
        self._started.append(actor)
        try:
            opened: dict[str, Opened] | Failure = await actor.begin.remote()
        except self._ray.exceptions.RayError as error:
            raise RunError(f"a worker could not start: {_last_line(error)}") from None
        if isinstance(opened, Failure):
            raise opened.error()
        self._compare(opened)
        handle = WorkerHandle(name, actor)
        if self._gate_actor is not None:
            await self._connect_worker(handle)
        self._pool.handles.append(handle)
        self._pool.change()

    def _compare(self, opened: Mapping[str, Opened]) -> None:
        """Refuse a worker whose models differ from the others': results would depend on the machine."""
        if self._opened is None:
            self._opened = opened
            self.described = {name: dict(model.description) for name, model in opened.items()}
        for name, model in opened.items():
            if model.description != self._opened[name].description:
                raise RunError(
                    f"{name}: two workers reach it in different ways ({dict(model.description)}; "
                    f"{dict(self._opened[name].description)}); set the same variables on every machine"
                )

    async def _connect_worker(self, handle: WorkerHandle) -> None:
        await handle.actor.connect_gate.remote(self._gate_actor)
        handle.receiving = self._spawn(self._receive(handle))

    async def _receive(self, handle: WorkerHandle) -> None:
        """Write a worker's entries, and acknowledge them with the next request."""
        journal, written = self._session.journal, 0
        try:
            while True:
                batch: Batch = await handle.actor.exchange.remote(written)
                for entry in batch[1]:
                    if isinstance(entry, CallRecord):
                        journal.call(entry)
                    else:
                        journal.answer(*entry)
                    count_entry(self._session.tally, entry)
                await journal.flush()
                written = batch[0]
        except self._ray.exceptions.RayActorError:
            self._spawn(self._remove_dead(handle))
        except OstromError as error:
            self._fail(error)

    async def _remove_dead(self, handle: WorkerHandle) -> None:
        if handle.removal is None:
            handle.removal = self._spawn(self._give_up(handle))
        await asyncio.shield(handle.removal)

    async def _give_up(self, handle: WorkerHandle) -> None:
        """Drop a worker: accept no more messages, and make those received durable."""
        self._session.tally.lost_workers += 1
        if handle in self._pool.handles:
            self._pool.handles.remove(handle)
        self._ray.kill(handle.actor)
        if handle.receiving is not None:
            await asyncio.wait([handle.receiving], timeout=15)
            handle.receiving.cancel()
        await _quiet(self._gate_actor.lost.remote(handle.name))
        await self._session.journal.flush()
        if not self._stopping.is_set():
            self._spawn(self._start_worker()).add_done_callback(_ignore)

    async def _place(self) -> WorkerHandle:
        """Return the least busy worker, waiting until one has room."""
        loop = asyncio.get_running_loop()
        alone_since = loop.time()
        while True:
            if self._failure is not None:
                raise self._failure
            if self._stopping.is_set():
                raise Stopped("stopped")
            if free := [handle for handle in self._pool.handles if handle.load < self.options.worker_matches]:
                handle = min(free, key=lambda p: p.load)
                handle.load += 1
                return handle
            if self._pool.handles:
                alone_since = loop.time()
            elif loop.time() - alone_since > NO_WORKER:
                raise RunError(
                    f"the cluster has had no worker for {NO_WORKER:.0f} seconds; "
                    "add machines and run the same command to go on"
                )
            with suppress(TimeoutError):
                await asyncio.wait_for(self._pool.changed.wait(), 5.0)

    # -- playing -------------------------------------------------------------------------------------

    async def play(self, assignment: Assignment) -> UnitEnd:
        """Play one unit on a worker; if the worker dies, on another one."""
        journal, index = self._session.journal, assignment.unit.index
        journaled, replies = assignment.known(journal)
        old = journal.replies(index) if assignment.resume and assignment.again else {}
        for _ in range(MOST_DEATHS):
            try:
                handle = await self._place()
            except OstromError as error:
                return UnitEnd(error=error)
            try:
                ended, failure, stray = await self._report(
                    handle.actor.play.remote(assignment.unit, assignment.facts, journaled, replies)
                )
            except self._ray.exceptions.RayActorError:
                await self._remove_dead(handle)
            except self._ray.exceptions.RayError as error:
                return UnitEnd(error=RunError(f"match {index}: a worker failed: {_last_line(error)}"))
            except OstromError as error:
                return UnitEnd(error=error)
            else:
                self._session.tally.invalid += stray
                return ended if failure is None else replace(ended, error=failure.error())
            finally:
                handle.load -= 1
                self._pool.change()
            # Replies that were there before are to be requested again.
            journaled = journal.answers(index)
            replies = {key: reply for key, reply in journal.replies(index).items() if old.get(key) != reply}
        return UnitEnd(
            error=RunError(f"match {index}: {MOST_DEATHS} workers died while they played it; is it too large?")
        )

    async def _report(self, work: Any) -> tuple[UnitEnd, Failure | None, int]:
        """Return the worker's report (``Worker.play``), unless the journal fails first."""
        playing = asyncio.ensure_future(_wait(work))
        failing = asyncio.ensure_future(self._failed.wait())
        try:
            await asyncio.wait([playing, failing], return_when=asyncio.FIRST_COMPLETED)
        finally:
            failing.cancel()
            if not playing.done():
                playing.cancel()
        if self._failure is not None and not playing.done():
            raise self._failure
        return cast("tuple[UnitEnd, Failure | None, int]", await playing)

    def _fail(self, error: OstromError) -> None:
        self._failure = self._failure or error
        self._failed.set()
        self.stop()

    async def _watch(self) -> None:
        """Update the number of calls in flight for the progress display."""
        tally = self._session.tally
        try:
            while True:
                tally.in_flight = await self._gate_actor.in_flight.remote()
                await asyncio.sleep(0.5)
        except self._ray.exceptions.RayActorError:
            return
        finally:
            tally.in_flight = 0

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


async def _wait(reference: Any) -> Any:
    return await reference


async def _quiet(reference: Any) -> None:
    with suppress(Exception):
        await reference


def _ignore(task: asyncio.Task[None]) -> None:
    """Retrieve a task's error silently: one message about failing workers is enough."""
    if not task.cancelled():
        task.exception()


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
