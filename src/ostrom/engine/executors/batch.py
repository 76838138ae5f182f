"""The batch executor: all matches in this process, their calls in batches at the services of the models."""

import time
from collections.abc import Mapping
from functools import partial

from ostrom.engine.batching.calls import MOST, BatchCaller, BatchGate
from ostrom.engine.batching.ledger import Ledger
from ostrom.engine.batching.scheduler import BatchScheduler
from ostrom.engine.batching.service import BatchService, check
from ostrom.engine.caller import Caller
from ostrom.engine.executors.local import Assignment, LocalExecutor, Session, UnitEnd
from ostrom.engine.gate import RunGate
from ostrom.engine.plan import Tally
from ostrom.engine.play_options import PlayOptions
from ostrom.framing import Library
from ostrom.ground.errors import UsageError
from ostrom.models.base import Model
from ostrom.models.batches import BatchEndpoint, HasBatches, may_batch

MATCHES = 20_000
"""Matches that are in play at once: each holds its prompts in memory until its wave is answered."""


def batch_endpoint(model: Model) -> BatchEndpoint:
    """The batch endpoint of a model; refused where its provider has none."""
    if not isinstance(model, HasBatches) or not may_batch(model.name):
        raise UsageError(
            f"--batch: {model.name} has no batch endpoint (OpenAI's, Anthropic's or a compatible one)"
        )
    return model.batches()


def _wait(tally: Tally, seconds: float) -> None:
    """A service asks to wait: the progress line says so."""
    tally.wait_until = max(tally.wait_until, time.monotonic() + seconds)


class BatchExecutor(LocalExecutor):
    """Plays units with models that answer in batches."""

    def __init__(self, models: Mapping[str, Model], library: Library, options: PlayOptions) -> None:
        self._endpoints = {model.name: batch_endpoint(model) for model in models.values()}
        super().__init__(models, library, options)
        self._scheduler: BatchScheduler | None = None

    async def open(self) -> None:
        """Ask every service whether it has a batch endpoint."""
        await super().open()
        for endpoint in self._endpoints.values():
            await check(endpoint, self.options.retry)

    async def start(self, session: Session) -> None:
        """Take up the batches of earlier sessions."""
        session.journal.keep_batches()
        ledger = Ledger(session.journal)
        options = self.options
        services = {
            name: BatchService(endpoint, ledger, options.retry, self.options.polling)
            for name, endpoint in self._endpoints.items()
        }
        for service in services.values():
            service.on_retry_after = partial(_wait, session.tally)
        gate = BatchGate(session.tally, session.plan.budget, self._stopping, options.rates)
        self._batch_gate = gate
        self._scheduler = BatchScheduler(services, ledger, session.tally, gate.spending)
        await super().start(session)
        await self._scheduler.start()

    def _make_gate(self, session: Session) -> RunGate:  # noqa: ARG002
        return self._batch_gate

    def _open_gate(self, gate: RunGate, model: Model, most: int) -> None:  # noqa: ARG002
        gate.open(model.name, MOST, MOST)

    def _make_caller(self, session: Session, gate: RunGate) -> Caller:
        options = self.options
        assert self._scheduler is not None
        return BatchCaller(
            self._scheduler, session.journal, session.tally, gate, self._stopping, options.retry, self._cache,
            options.rates,
        )  # fmt: skip

    def capacity(self) -> int:
        """As many matches as memory is meant to hold; ``max_connections`` makes it fewer."""
        return self.options.max_connections or MATCHES

    async def play(self, assignment: Assignment) -> UnitEnd:
        """Play one unit."""
        assert self._scheduler is not None
        self._scheduler.enter()
        try:
            return await super().play(assignment)
        finally:
            self._scheduler.leave()

    def stop(self) -> None:
        """Send no more batches; those under way are left to their services, and resuming collects them."""
        super().stop()
        if self._scheduler is not None:
            self._scheduler.stop()

    async def close(self) -> None:
        """End what waits for batches."""
        if self._scheduler is not None:
            await self._scheduler.close()
        for endpoint in self._endpoints.values():
            await endpoint.close()
        await super().close()
