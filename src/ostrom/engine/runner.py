"""The runner: plays the units of a plan, with as many matches at once as the models allow."""

import asyncio
import gc
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ostrom.agents.policy import SkipMatch
from ostrom.engine.arrays import ArrayPlayer
from ostrom.engine.batching.ledger import refuse_batches
from ostrom.engine.executors.local import Assignment, BatchExecutor, LocalExecutor, Session, UnitEnd
from ostrom.engine.folder import Folder
from ostrom.engine.gate import Spending, Stopped
from ostrom.engine.journal import Journal
from ostrom.engine.match import ReplayDiffers
from ostrom.engine.plan import Arrivals, Plan, Tally, Unit
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.rows import Rows
from ostrom.framing import Library
from ostrom.ground.errors import (
    BudgetSpent,
    InvalidAnswers,
    ModelError,
    ModelGivenUp,
    OstromError,
    RunError,
    UsageError,
)
from ostrom.ground.version import __version__
from ostrom.models.base import Model

if TYPE_CHECKING:
    from ostrom.engine.executors.ray import RayExecutor

State = Literal["done", "skipped", "failed"]
"""The final state of a unit; the tally has a counter of each name."""
OpenModel = Callable[[str, Mapping[str, Any]], Model]
"""Opens a model by its name and settings."""
LOOK = 0.25
"""Seconds between checks whether more matches should be started."""
VERIFIED = 16
"""The number of finished matches that a resumed session replays first, to check that the rules are unchanged."""
SPENT = {
    **{name: name for name in ("calls", "tokens_in", "tokens_out", "tokens_cached", "unpriced", "cached")},
    "retries": "failed_tries",
    "invalid": "complaints",
    "policies": "policies",
    "refused": "refused",
}
"""The counters that continue from earlier sessions, with their names in the journal."""
ARRAY_BATCH = 4096
"""The number of matches played as arrays at a time."""


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run: why it stopped, and its counters."""

    tally: Tally
    complete: bool
    why: str | None = None
    interrupted: bool = False


class Runner:
    """Plays a plan into a folder."""

    def __init__(
        self,
        plan: Plan,
        folder: Folder,
        library: Library,
        models: Mapping[str, Model],
        options: PlayOptions | None = None,
        open_models: OpenModel | None = None,
    ) -> None:
        self.plan, self.folder, self.library = plan, folder, library
        self.options = options or PlayOptions()
        self.options.check()
        self.tally = Tally(matches=plan.planned, preparations=plan.preparations)
        self.stopping = asyncio.Event()
        self.executor = self._executor(models, open_models)
        self._arrays = ArrayPlayer()
        self.manifest: Mapping[str, Any] | None = None
        """The manifest to write for a resumed run when play begins."""
        self._why: str | None = None
        self._error: OstromError | None = None
        self._interrupted = False
        self._ended: dict[int, asyncio.Event] = {}
        self._lost: ModelError | None = None
        self._aborted_models: dict[str, str] = {}
        """Models that cannot be used, with the reason."""
        self._unplayed: Counter[str] = Counter()
        """The number of matches that could not be played, by unusable model."""

    def _executor(self, models: Mapping[str, Model], open_models: OpenModel | None) -> "LocalExecutor | RayExecutor":
        options = self.options
        if options.batch and options.on_cluster:
            raise UsageError("--batch: batches are sent from this process, not from a cluster (--executor ray)")
        if options.batch and self.plan.arrivals is not None:
            raise UsageError("--batch: people do not wait a day for an answer; play this study without it")
        if not options.on_cluster:
            return (BatchExecutor if options.batch else LocalExecutor)(models, self.library, options)
        from ostrom.engine.executors.ray import RayExecutor

        return RayExecutor(self.plan, open_models, self.library, options)

    def stop(self, why: str, *, interrupted: bool = False) -> None:
        """Stop cleanly: await and journal the calls in flight, start nothing new."""
        self._why = self._why or why
        self._interrupted = self._interrupted or interrupted
        self.stopping.set()
        self.executor.stop()

    async def open(self) -> None:
        """Open the models, before anything is written."""
        await self.executor.open()

    async def close(self) -> None:
        """Close the executor and what it opened."""
        await self.executor.close()

    async def run(self) -> Result:
        """Play until the plan is done, the budget is spent or the run is stopped."""
        with self.folder.open_journal(create=True) as journal:
            self.plan.use_old_names(journal)
            self._count_units(journal)
            if self.options.close or not self.options.batch:
                refuse_batches(journal)
            self._verify(journal)
            journal.start()
            await self.executor.start(Session(self.plan, journal, self.tally))
            if self.manifest is not None:
                self.folder.write_manifest(self.manifest)
            self.folder.describe_models(self.executor.described)
            try:
                with _few_collections():
                    await self._play_all(journal)
                await journal.flush()
            finally:
                with suppress(RunError):  # the journal or the disk may be what failed
                    self.folder.record_served(journal)
        if self._error is not None:
            raise self._error
        tally = self.tally
        if self._lost is not None and self._no_model_left and not tally.done:
            raise self._lost
        if self._aborted_models:
            self._why = self._why or "; ".join(
                f"{self._unplayed[model]} matches of {model} could not be played: {why}"
                for model, why in self._aborted_models.items()
            )
        # A stop request may come after the last match.
        complete = tally.done + tally.skipped >= tally.matches
        return Result(tally, True) if complete else Result(tally, False, self._why, self._interrupted)

    def _count_units(self, journal: Journal) -> None:
        """Count the ended matches, money and calls of earlier sessions."""
        states = journal.states()
        self._states = {  # a unit skipped because its preparation failed is tried again with it
            index: state
            for index, state in states.items()
            if state != "skipped" or all(states.get(need) != "failed" for need in self.plan.unit(index).needs)
        }
        self._begun = journal.begun()
        self._failed_before = {index for index, state in self._states.items() if state == "failed"}
        tally = self.tally
        ended = Counter(self._states.values())
        tally.done, tally.skipped = ended["done"], ended["skipped"]
        tally.resumed = tally.done + tally.skipped
        if tally.preparations:
            final = ((index, state) for index, state in self._states.items() if state != "failed")
            tally.prepared.update(s for index, s in final if self.plan.unit(index).kind == "preparation")
        count_spent(tally, journal, self.plan, self.options)

    def _verify(self, journal: Journal) -> None:
        """Replay finished matches before new calls are paid for: all of them if other code played some."""
        done = [index for index, state in sorted(self._states.items()) if state == "done"]
        if set(journal.versions) <= {__version__} and not journal.changed_packages:
            done = done[:: max(1, len(done) // VERIFIED)][:VERIFIED]
        rows = Rows(self.plan, journal, self.folder.path.name)
        for index in done:
            rows.verify(index)

    def _waiting(self) -> Iterator[Unit]:
        """Yield units to be played in starting order, never more than the limit."""
        units = (unit for unit in self.plan.units() if self._states.get(unit.index) not in ("done", "skipped"))
        for begun, unit in enumerate(units):
            if self.options.limit is not None and begun >= self.options.limit:
                self._why = self._why or f"--limit {self.options.limit} reached"
                return
            yield unit

    def _one_by_one(self, journal: Journal) -> Iterator[Unit]:
        """Yield the units that are played step by step; those that can be played as arrays are played on the way."""
        ready: list[Unit] = []
        for unit in self._waiting():
            if unit.index in self._begun or not self.options.arrays or not self._arrays.can_play(unit):
                yield unit
                continue
            ready.append(unit)
            if len(ready) == ARRAY_BATCH:
                self._play_arrays(ready, journal)
                ready = []
        self._play_arrays(ready, journal)

    def _play_arrays(self, units: list[Unit], journal: Journal) -> None:
        for played in self._arrays.play(units):
            index = played.unit.index
            journal.record_array_play(index, played.rounds, played.intended)
            journal.finish(index, "done", None, played.rounds, played.scores)
            self.tally.done += 1
            self.tally.decisions += 2 * played.rounds

    async def _play_all(self, journal: Journal) -> None:
        for index, state in self._states.items():
            if state in ("done", "skipped"):
                self._ended.setdefault(index, asyncio.Event()).set()
        if (arrivals := self.plan.arrivals) is not None:
            await arrivals.begin(journal)
            await play_arrivals(arrivals, lambda unit: self._play_arrived(unit, journal), self.stopping)
            return
        if self.options.close:
            for unit in self._waiting():
                if unit.kind == "preparation" or unit.index not in self._failed_before:  # what needs it stays closed
                    self._end(unit, journal, "skipped", "the run was closed before it ended", UnitEnd())
            return
        units = self._one_by_one(journal)
        playing: set[asyncio.Task[None]] = set()
        busy, all_begun = 0, False

        async def work() -> None:
            nonlocal busy, all_begun
            for unit in units:
                if self.stopping.is_set():
                    break
                if (problem := self._unplayable(unit)) is None:
                    await self._conclude(unit, await self._play(unit, journal), journal)
                elif not self._no_model_left:
                    self._failed(unit, journal, 0, problem)
                if busy > self.executor.capacity():
                    break  # the capacity has shrunk; the others continue
            else:
                all_begun = True
            busy -= 1

        try:
            while True:
                while not all_begun and not self.stopping.is_set() and busy < self.executor.capacity():
                    busy += 1
                    playing.add(asyncio.create_task(work()))
                if not playing:
                    return
                done, _ = await asyncio.wait(playing, timeout=LOOK, return_when=asyncio.FIRST_EXCEPTION)
                playing -= done
                for task in done:
                    task.result()
                journal.check_place()
        except (asyncio.CancelledError, RunError):
            # Replies arriving now cannot be journaled, or the user interrupted twice: do not wait for them.
            for task in playing:
                task.cancel()
            await asyncio.gather(*playing, return_exceptions=True)
            raise
        except BaseException:
            self.stopping.set()
            self.executor.stop()
            await asyncio.gather(*playing, return_exceptions=True)
            raise

    async def _play_arrived(self, unit: Unit, journal: Journal) -> OstromError | None:
        """Play a unit of an arrived participant; an error in it ends this unit, not the run."""
        if (problem := self._unplayable(unit)) is not None:
            self._failed(unit, journal, 0, problem)
            return ModelGivenUp(problem)
        ended = await self._play(unit, journal)
        if isinstance(ended.error, BudgetSpent | UsageError):
            self._failed(unit, journal, ended.steps, str(ended.error))
        else:
            await self._conclude(unit, ended, journal)
        return ended.error

    async def _play(self, unit: Unit, journal: Journal) -> UnitEnd:
        again = self.options.ask_again and unit.index in self._failed_before
        try:
            facts = await self._prepared(unit, journal)
        except OstromError as error:
            return UnitEnd(error=error)
        return await self.executor.play(Assignment(unit, facts, unit.index in self._begun, again=again))

    async def _conclude(self, unit: Unit, ended: UnitEnd, journal: Journal) -> None:
        """Journal the end of a unit; an error that concerns the run stops all units."""
        match ended.error:
            case None:
                self._end(unit, journal, "done", None, ended)
                await (journal.flush() if journal.backlog > 2000 else asyncio.sleep(0))
            case SkipMatch() as error:
                self._end(unit, journal, "skipped", str(error), ended)
                self._tell(unit, f"skipped: {error}")
            case InvalidAnswers() as error:
                self._failed(unit, journal, ended.steps, str(error))
            case Stopped():
                pass
            case BudgetSpent() as error:
                self.stop(str(error))
            case ReplayDiffers() as error:
                self._error = self._error or RunError(f"{journal.path}: {error} ({journal.played_by})")
                self.stop(str(error))
            case ModelGivenUp() as error:
                self._failed(unit, journal, ended.steps, self._unplayable(unit) or str(error))
            case ModelError() as error:
                message = f"{type(error).__name__}: {error}"
                for model in models_of(unit) & await self.executor.models_to_abort() - self._aborted_models.keys():
                    self._aborted_models[model] = message
                    self.executor.give_up(model, message)
                    self._lost = self._lost or error
                self._unplayable(unit)
                self._failed(unit, journal, ended.steps, message)
            case error:
                self._error = self._error or error
                self.stop(str(error))
                if journal.failed:
                    raise error

    @property
    def _no_model_left(self) -> bool:
        """Return whether all models are given up; then only matches of scripts are played."""
        return self._aborted_models.keys() >= set(self.plan.models)

    def _unplayable(self, unit: Unit) -> str | None:
        """Return why a unit cannot be played, if a model of it was given up; count it for the summary."""
        for model in sorted(models_of(unit) & self._aborted_models.keys()):
            self._unplayed[model] += 1
            return f"{model} cannot be used: {self._aborted_models[model]}"
        return None

    async def _prepared(self, unit: Unit, journal: Journal) -> list[Mapping[str, Any]] | None:
        """Return the outcomes of the units that this one needs; None if it needs none."""
        if not unit.needs:
            return None
        stopping = asyncio.create_task(self.stopping.wait())
        try:
            for index in unit.needs:
                ended = asyncio.create_task(self._ended.setdefault(index, asyncio.Event()).wait())
                await asyncio.wait([ended, stopping], return_when=asyncio.FIRST_COMPLETED)
                if not ended.done():
                    ended.cancel()
                    raise Stopped("stopped")
        finally:
            stopping.cancel()
        await journal.flush()
        facts: list[Mapping[str, Any]] = []
        for seat, index in enumerate(unit.needs):
            if (outcome := journal.outcome_of(index)) is None or outcome[0] != "done":
                how = "has no outcome" if outcome is None else f"{outcome[0]}: {outcome[1]}"
                raise SkipMatch(f"the preparation of {unit.players[seat].name} at seat {seat + 1} {how}")
            facts.append(outcome[3])
        return facts

    def _failed(self, unit: Unit, journal: Journal, steps: int, reason: str) -> None:
        self._end(unit, journal, "failed", reason, UnitEnd(steps))
        self._tell(unit, reason)

    def _end(self, unit: Unit, journal: Journal, state: State, reason: str | None, ended: UnitEnd) -> None:
        """Journal and count the end of a unit, and wake the units that need it."""
        journal.finish(unit.index, state, reason, ended.steps, ended.scores, ended.facts, ended.rows)
        setattr(self.tally, state, getattr(self.tally, state) + 1)
        self.tally.prepared[state] += unit.kind == "preparation"
        self._ended.setdefault(unit.index, asyncio.Event()).set()

    def _tell(self, unit: Unit, reason: str) -> None:
        """Keep the first 100 reasons for the summary; all are in the journal."""
        if len(self.tally.failures) < 100:
            self.tally.failures.append(
                f"{'design' if unit.kind == 'preparation' else unit.kind} {unit.index}: {reason}"
            )


def count_spent(tally: Tally, journal: Journal, plan: Plan, options: PlayOptions) -> None:
    """Add the spending of earlier sessions to the tally: it is part of the budget."""
    spent = journal.spent()
    tally.usd = float(spent["usd"])
    for counter, total in SPENT.items():
        setattr(tally, counter, int(spent[total]))
    Spending(tally, plan.budget, options.rates, batch=bool(options.batch)).recount_from_journal(journal)


def models_of(unit: Unit) -> set[str]:
    """The model clients that take part in a unit."""
    return {seated.config.client for seated in unit.players if seated.config.client is not None}


@contextmanager
def _few_collections() -> Iterator[None]:
    """Run the cyclic garbage collector less often: play creates hardly any cycles."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], 50_000) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


async def play_arrivals(
    arrivals: Arrivals, play: Callable[[Unit], Awaitable[OstromError | None]], stopping: asyncio.Event
) -> None:
    """Play every unit as participants arrive, until there are no more or the run stops; then cancel the rest.

    All are played concurrently: participants must not wait for each other's units.
    """
    playing: set[asyncio.Task[None]] = set()
    broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def work(unit: Unit) -> None:
        await arrivals.ended(unit, await play(unit))

    def done(task: asyncio.Task[None]) -> None:
        playing.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not broken.done():
            broken.set_exception(error)

    stopped = asyncio.create_task(stopping.wait())
    coming: asyncio.Task[Unit | None] | None = None
    try:
        while True:
            coming = asyncio.create_task(arrivals.next())
            watched: set[asyncio.Future[Any]] = {coming, stopped, broken}
            await asyncio.wait(watched, return_when=asyncio.FIRST_COMPLETED)
            if broken.done():
                broken.result()
            if stopped.done() or (unit := coming.result()) is None:
                return
            task = asyncio.create_task(work(unit))
            playing.add(task)
            task.add_done_callback(done)
    finally:
        waiting = [task for task in (stopped, coming, *playing) if task is not None]
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        broken.cancel()
