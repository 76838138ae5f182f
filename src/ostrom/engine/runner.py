"""The runner: keeps every model connection busy with matches until the plan is played."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostrom.agents.cast import Company
from ostrom.agents.language import Invalidity
from ostrom.agents.policy import SkipMatch
from ostrom.engine.arrays import ArrayPlayer
from ostrom.engine.cache import Cache
from ostrom.engine.caller import Caller, Stopped
from ostrom.engine.folder import Folder
from ostrom.engine.journal import Journal
from ostrom.engine.match import Match
from ostrom.engine.plan import Plan, Tally, Unit
from ostrom.engine.retries import Patience
from ostrom.errors import BudgetSpent, InvalidAnswers, ModelError, OstromError, RunError
from ostrom.framing import Library
from ostrom.models.base import Model

ARRAY_BATCH = 4096
"""Matches that are played as arrays at a time."""
BREAKER = 20
"""So many failed calls in a row to one model, each tried to exhaustion, and the run stops."""


@dataclass(frozen=True, slots=True)
class Options:
    """How a run is executed; nothing here changes what is played."""

    max_connections: int | None = None
    limit: int | None = None
    cache: Path | None = None
    prices: Mapping[str, Any] | None = None
    arrays: bool = True
    """Play scripted matches as arrays where that is possible; the results are the same."""
    patience: Patience = Patience()
    grace: float = 600.0
    ask_again: bool = False
    """A unit that failed before is asked anew; else its unreadable replies are read again from the journal."""


@dataclass(frozen=True, slots=True)
class Result:
    """How a run ended."""

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
        options: Options | None = None,
    ) -> None:
        self.plan, self.folder, self.library = plan, folder, library
        self.options = options or Options()
        self.models = models
        self.tally = Tally(matches=len(plan))
        self._arrays = ArrayPlayer()
        self._why: str | None = None
        self._error: OstromError | None = None
        self._interrupted = False
        self._ended: dict[int, asyncio.Event] = {}
        self.caller: Caller | None = None

    def stop(self, why: str, *, interrupted: bool = False) -> None:
        """Stop cleanly: calls under way come to their end and are kept, nothing new is begun."""
        self._why = self._why or why
        self._interrupted = self._interrupted or interrupted
        if self.caller is not None:
            self.caller.stopping.set()

    async def run(self) -> Result:
        """Play until the plan is done, the budget is spent or someone stops it."""
        journal = Journal(self.folder.journal, create=True)
        cache = Cache(self.options.cache) if self.options.cache else None
        try:
            journal.start()
            self._take_stock(journal)
            self.caller = caller = Caller(
                journal, self.tally, self.plan.budget, self.options.patience, cache, self.options.prices
            )
            for model in self.models.values():
                caller.open(model.name, model, self._most(model))
            self._describe(self.models)
            company = Company(self.models, self.library, Invalidity(self.plan.retries, self.plan.policy))
            await self._play_all(journal, caller, company)
            await journal.flush()
        finally:
            if cache is not None:
                cache.close()
            journal.close()
        if self._error is not None:
            raise self._error
        tally = self.tally
        complete = tally.done + tally.skipped >= tally.matches and self._why is None
        return Result(tally, complete, self._why, self._interrupted)

    def _take_stock(self, journal: Journal) -> None:
        """What earlier sessions did counts: ended matches, money, calls."""
        self._states = self._final(journal.states())
        self._begun = journal.begun()
        self._failed_before = {index for index, state in self._states.items() if state == "failed"}
        spent = journal.spent()
        tally = self.tally
        tally.done = sum(state == "done" for state in self._states.values())
        tally.skipped = sum(state == "skipped" for state in self._states.values())
        tally.resumed = tally.done + tally.skipped
        tally.calls, tally.usd = int(spent["calls"]), float(spent["usd"])
        tally.tokens_in, tally.tokens_out = int(spent["tokens_in"]), int(spent["tokens_out"])
        tally.unpriced, tally.cached = int(spent["unpriced"]), int(spent["cached"])
        tally.retries = int(spent["failed_tries"])
        tally.invalid, tally.policies = int(spent["complaints"]), int(spent["policies"])

    def _final(self, states: dict[int, str]) -> dict[int, str]:
        """The states that stand: what was skipped only because a preparation failed is tried again with it."""
        skipped = [index for index, state in states.items() if state == "skipped"]
        again = {i for i in skipped if any(states.get(n) == "failed" for n in self.plan.unit(i).needs)}
        return {index: state for index, state in states.items() if index not in again}

    def _describe(self, models: Mapping[str, Model]) -> None:
        manifest = self.folder.manifest()
        described = {name: dict(model.describe()) for name, model in models.items()}
        if manifest.get("models") != described:
            self.folder.write_manifest({**manifest, "models": described})

    def _most(self, model: Model) -> int:
        """The most calls in flight to one model; a client that serves few at a time is not asked for more."""
        wanted = self.options.max_connections
        ceiling = getattr(model, "most_connections", None)
        most = wanted if wanted is not None else max(model.connections, 256)
        return min(most, ceiling) if ceiling is not None else most

    def _matches_at_once(self, caller: Caller) -> int:
        """As many matches as keep every connection busy, even when each waits for its slowest seat.

        A model in this process keeps the beginning of few conversations warm: more matches than that would
        push each other's prompts out and be slower, not faster.
        """
        lines = caller.lines.values()
        if not lines:
            return 1
        if all(getattr(line.model, "most_connections", None) is not None for line in lines):
            seats = max(1, self.plan.unit(0).game.seats) if len(self.plan) else 1
            return max(1, sum(line.limiter.most for line in lines) // seats)
        return max(8, min(sum(line.limiter.most for line in lines), 4096))

    def _waiting(self) -> Iterator[Unit]:
        """Units that still have to be played, in starting order, never more of them than the limit."""
        begun = 0
        for unit in self.plan.units():
            if self._states.get(unit.index) in ("done", "skipped"):
                continue
            if self.options.limit is not None and begun >= self.options.limit:
                self._why = self._why or f"--limit {self.options.limit} reached"
                return
            begun += 1
            yield unit

    def _one_by_one(self, journal: Journal) -> Iterator[Unit]:
        """The units that need a generator each; those that can be played as arrays are, on the way."""
        ready: list[Unit] = []
        for unit in self._waiting():
            if unit.index in self._begun or not self.options.arrays or not self._arrays.takes(unit):
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
            journal.moves(index, played.rounds, played.intended)
            journal.finish(index, "done", None, played.rounds, played.scores)
            self.tally.done += 1
            self.tally.decisions += 2 * played.rounds

    async def _play_all(self, journal: Journal, caller: Caller, company: Company) -> None:
        units = self._one_by_one(journal)
        workers = self._matches_at_once(caller)
        for index, state in self._states.items():
            if state in ("done", "skipped"):
                self._ended.setdefault(index, asyncio.Event()).set()

        async def work() -> None:
            for unit in units:
                if caller.stopping.is_set():
                    return
                await self._play(unit, journal, caller, company)

        tasks = [asyncio.create_task(work()) for _ in range(workers)]
        try:
            await asyncio.gather(*tasks)
        except asyncio.CancelledError:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise
        except BaseException:
            caller.stopping.set()
            await asyncio.gather(*tasks, return_exceptions=True)
            raise

    async def _play(self, unit: Unit, journal: Journal, caller: Caller, company: Company) -> None:
        """Play one unit and write down how it ended; what stops the run is told to everyone."""
        match: Match | None = None
        try:
            mechanism = await self._prepared(unit, journal)
            agents = company([seated.config for seated in unit.players], unit.streams)
            match = Match(
                unit,
                mechanism.play(unit.game, unit.streams),
                agents,
                journal,
                caller,
                self.tally,
                resume=unit.index in self._begun,
                again=self.options.ask_again and unit.index in self._failed_before,
            )
            outcome = await match.run()
        except SkipMatch as skip:
            journal.finish(unit.index, "skipped", str(skip), match.step if match else 0)
            self.tally.skipped += 1
            self._ended.setdefault(unit.index, asyncio.Event()).set()
        except InvalidAnswers as error:
            self._failed(unit, journal, match, str(error))
        except (ModelError, Stopped, BudgetSpent, RunError) as error:
            self._stopped_by(unit, error, journal, match, caller)
        except OstromError as error:
            self._error = self._error or error
            self.stop(str(error))
        else:
            journal.finish(unit.index, "done", None, match.step, outcome.scores, dict(outcome.facts) or None)
            self.tally.done += 1
            self._ended.setdefault(unit.index, asyncio.Event()).set()
            await (journal.flush() if journal.backlog > 2000 else asyncio.sleep(0))

    async def _prepared(self, unit: Unit, journal: Journal) -> Any:
        """The mechanism, given the outcomes of the units that this one needs."""
        if not unit.needs:
            return unit.mechanism
        assert self.caller is not None
        stopping = asyncio.create_task(self.caller.stopping.wait())
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
        facts = []
        for seat, index in enumerate(unit.needs):
            found = journal.ended(index)
            if found is None or found[0] != "done":
                how = "has no outcome" if found is None else f"{found[0]}: {found[1]}"
                raise SkipMatch(f"the preparation of {unit.players[seat].name} at seat {seat + 1} {how}")
            facts.append(found[3])
        return unit.mechanism.given(facts)

    def _failed(self, unit: Unit, journal: Journal, match: Match | None, reason: str) -> None:
        journal.finish(unit.index, "failed", reason, match.step if match else 0)
        self.tally.failed += 1
        if len(self.tally.failures) < 100:
            self.tally.failures.append(f"match {unit.index}: {reason}")
        self._ended.setdefault(unit.index, asyncio.Event()).set()

    def _stopped_by(
        self, unit: Unit, error: OstromError, journal: Journal, match: Match | None, caller: Caller
    ) -> None:
        if isinstance(error, Stopped):
            return
        if isinstance(error, BudgetSpent):
            self.stop(str(error))
            return
        if isinstance(error, RunError):
            self._error = self._error or error
            self.stop(str(error))
            return
        lines = [line for line in caller.lines.values() if line.failures_in_a_row]
        hopeless = any(
            not line.successes or line.failures_in_a_row >= BREAKER * self.options.patience.tries
            for line in lines
        )
        if hopeless:
            self._error = self._error or error
            self.stop(str(error))
            return
        self._failed(unit, journal, match, f"{type(error).__name__}: {error}")
