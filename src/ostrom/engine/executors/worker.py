"""A worker of a cluster: an actor that plays whole units with models of its own."""

from __future__ import annotations

import asyncio
import platform
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ostrom.agents.factory import AgentFactory
from ostrom.agents.language import Invalidity
from ostrom.answers import Answer
from ostrom.engine.caller import Caller
from ostrom.engine.entries import CallRecord
from ostrom.engine.executors.base import UnitPlayer
from ostrom.engine.executors.cluster_gate import ClusterGate
from ostrom.engine.executors.wire import AnswerEntry, Batch, Failure, Opened, UnitReport, Work, WorkerConfig
from ostrom.engine.plan import Tally
from ostrom.framing import Library
from ostrom.framing.fingerprint import difference, hashes
from ostrom.ground.errors import OstromError, RunError
from ostrom.ground.version import __version__
from ostrom.models import open_model
from ostrom.models.base import Model
from ostrom.models.grants import restore


class Worker:
    """Plays what it is handed. Models are opened here, with the keys in the environment of this machine."""

    def __init__(self, name: str, worker_config: WorkerConfig) -> None:
        self.name, self.worker_config = name, worker_config
        self._models: dict[str, Model] = {}
        self._folder: TemporaryDirectory[str] | None = None

    async def begin(self) -> dict[str, Opened] | Failure:
        """Check that this machine would ask the same questions as the driver, and open the models."""
        try:
            self._library = self._make_library()
            self._check()
            restore(self.worker_config.grants)
            for name, settings in self.worker_config.models.items():
                self._models[name] = self._open(name, settings)
        except OstromError as error:
            return Failure.of(error)
        return {
            name: Opened(m.connections, getattr(m, "most_connections", None), dict(m.describe()))
            for name, m in self._models.items()
        }

    async def connect_gate(self, gate_actor: Any) -> None:
        """Take up work under the gate of the run."""
        worker_config = self.worker_config
        self._stopping, self._outbox = asyncio.Event(), Outbox()
        ceilings = {m.name: getattr(m, "most_connections", None) for m in self._models.values()}
        gate = ClusterGate(self.name, gate_actor, ceilings)
        cache = None if worker_config.options.cache is None else gate
        self._caller = Caller(
            self._outbox,
            Tally(),
            gate,
            self._stopping,
            worker_config.options.retry,
            cache,
            worker_config.options.rates,
        )
        for model in self._models.values():
            self._caller.open(model)
        self._agent_factory = AgentFactory(
            self._models,
            self._library,
            Invalidity(worker_config.retries, worker_config.policy, worker_config.refused),
        )

    async def play(self, work: Work) -> UnitReport:
        """Play a unit. All that was asked and answered is durable before its end is reported."""
        tally, index = Tally(), work.unit.index
        player = UnitPlayer(self._agent_factory, self._outbox, self._caller, tally)
        ended = await player.play(work.unit, work.facts, work.known, work.replies)
        await self._outbox.flush()
        stray = tally.invalid - self._outbox.complaints.pop(index, 0)
        failure = None if ended.error is None else Failure.of(ended.error)
        return UnitReport(ended.steps, ended.scores, ended.facts, failure, stray)

    async def exchange(self, written: int) -> Batch:
        """The next entries for the journal; the driver has written so many batches."""
        return await self._outbox.exchange(written)

    async def stop(self) -> None:
        """Start nothing more; calls in flight are awaited."""
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
        how = difference(self.worker_config.prompts, hashes(self._library, self.worker_config.prompts))
        if how is not None:
            raise RunError(
                f"{here}: its prompts differ from the driver's: {how}; "
                "install the same packages on every machine"
            )

    def _open(self, name: str, settings: Mapping[str, Any]) -> Model:
        if self.worker_config.open_models is not None:
            return self.worker_config.open_models(name, settings)
        return open_model(name, **settings)


class Outbox:
    """Takes entries like a journal; the driver fetches them in batches and acknowledges what it has made durable.

    Whatever piles up while the driver writes one batch leaves with the next, so that a slow disk or a long
    way costs one exchange for all matches of the worker together.
    """

    def __init__(self) -> None:
        self.complaints: Counter[int] = Counter()
        """Complaints that were journaled, by unit."""
        self._entries: list[AnswerEntry | CallRecord] = []
        self._some = asyncio.Event()
        self._sent = self._written = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def answer(
        self,
        unit: int,
        step: int,
        player: int,
        part: str,
        answer: Answer,
        complaints: int,
        asked: str | None = None,
    ) -> None:
        """Queue an answer and what was asked."""
        self.complaints[unit] += complaints
        self._entries.append((unit, step, player, part, answer, complaints, asked))
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
        """The driver has written so many batches; it gets the next one as soon as there is one."""
        self._written = written
        still = []
        for needed, future in self._waiting:
            if needed > written:
                still.append((needed, future))
            elif not future.done():
                future.set_result(None)
        self._waiting = still
        await self._some.wait()
        self._some.clear()
        entries, self._entries = self._entries, []
        self._sent += 1
        return Batch(self._sent, entries)
