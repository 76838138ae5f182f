"""`ostrom more batches`: list the batches of a run, ask services for their state, cancel them or give them up."""

import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.options import PlayOptions, RunName, Runs, with_play_options
from ostrom.cli.output import Output, Remark, TextTable, print_stderr
from ostrom.engine.batching.ledger import JournaledBatch, Ledger, batches_in_words, read_batches
from ostrom.engine.batching.service import with_retries
from ostrom.engine.executors.local import batch_endpoint
from ostrom.engine.folder import Folder, refuse_joined
from ostrom.engine.retries import RetryPolicy
from ostrom.ground import loop
from ostrom.ground.errors import ModelError, RunError, UsageError
from ostrom.models import open_model
from ostrom.models.batches import BatchEndpoint
from ostrom.studies.run import find_run, open_run


@with_play_options("allow_key")
def batches(
    run: RunName,
    runs: Runs = Path("runs"),
    ask: Annotated[bool, typer.Option("--ask", help="Ask the services how far they are.")] = False,
    cancel: Annotated[
        bool, typer.Option("--cancel", help="Cancel what is under way; resuming keeps the replies it has.")
    ] = False,
    forget: Annotated[
        bool, typer.Option("--forget", help="Give up what is under way: it may be paid for again.")
    ] = False,
    options: PlayOptions = PlayOptions(),  # noqa: ARG001
) -> Annotated[Output, "Print as JSON."]:
    """List the batches of a run; cancel or give up those under way.

    For runs that were played with --batch; their services are asked how far they are.
    """
    if ask + cancel + forget > 1:
        raise UsageError("--ask, --cancel, --forget: give one of them")
    records = BatchRecords(run, runs)
    if forget:
        count = records.forget()
        records = BatchRecords(run, runs)
        print_stderr(f"{batches_in_words(count)} given up; what was asked there is paid for and will not be read")
    rows = records.rows(loop.run(records.each(cancel_batch if cancel else state_of)) if cancel or ask else None)
    left = len(records.under_way)
    end = f"; `ostrom resume {run}` collects them" if left else ""
    table = TextTable.from_mappings(f"{records.folder.path.name}: batches", rows) if rows else None
    return Output(rows, [table, Remark(f"{batches_in_words(len(rows))}, {left} under way{end}")])


async def state_of(endpoint: BatchEndpoint, batch: str) -> str:
    """Ask a service for the state of a batch."""
    status = await endpoint.retrieve(batch)
    ended = "" if status.ended_requests is None else f", {status.ended_requests} of {status.total} ended"
    return f"{status.how}{ended}"


async def cancel_batch(endpoint: BatchEndpoint, batch: str) -> str:
    """Ask a service to cancel a batch."""
    await endpoint.cancel(batch)
    return "cancelling"


class BatchRecords:
    """The batches that a run has submitted."""

    def __init__(self, run: str | Path, runs: str | Path = "runs") -> None:
        self.folder = find_run(run, runs)
        manifest = self.folder.manifest()
        refuse_joined(self.folder.path, manifest, "has no batches of its own")
        with self.folder.open_journal(manifest) as journal:
            self.batches = list(read_batches(journal).values())
        self._settings = _settings_of(self.folder, manifest["study"])

    @property
    def under_way(self) -> list[JournaledBatch]:
        """The batches that were not given up and whose replies are not all in the journal."""
        return [batch for batch in self.batches if not (batch.settled or batch.void)]

    async def each(self, work: Callable[[BatchEndpoint, str], Awaitable[str]]) -> dict[int, str]:
        """Do something with every batch under way; return what it says, or the error text, by batch number."""
        states: dict[int, str] = {}
        endpoints: dict[str, BatchEndpoint] = {}
        try:
            for batch in self.under_way:
                if batch.id is None:
                    states[batch.number] = "not named yet: `ostrom resume` looks for it"
                    continue
                if batch.model not in endpoints:
                    endpoints[batch.model] = batch_endpoint(
                        open_model(batch.model, **self._settings.get(batch.model, {}))
                    )
                endpoint, name = endpoints[batch.model], batch.id
                try:
                    states[batch.number] = await with_retries(partial(work, endpoint, name), RetryPolicy())
                except ModelError as error:
                    states[batch.number] = str(error)
        finally:
            for endpoint in endpoints.values():
                await endpoint.close()
        return states

    def forget(self) -> int:
        """Give up the batches under way and return how many; their requests may be sent and billed again."""
        self.folder.lock()
        try:
            return loop.run(_forget(self.folder))
        finally:
            self.folder.unlock()

    def rows(self, states: dict[int, str] | None = None) -> list[dict[str, Any]]:
        """Return all batches as plain data; ``states`` are what the services replied, by batch number."""
        return [
            {
                "batch": batch.number,
                "model": batch.model,
                "id": batch.id,
                "requests": len(batch.keys),
                "state": batch.how if batch.settled else batch.state,
                "settled": batch.settled,
                "made": _date(batch.at),
                "ended": None if batch.ended is None else _date(batch.ended),
                **({} if states is None else {"service": states.get(batch.number)}),
            }
            for batch in self.batches
        ]


def _settings_of(folder: Folder, study: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the client settings of each model of a run; a run of judges has none."""
    if study.get("kind") == "judge":
        return {}
    if study.get("kind") == "tree":
        try:
            agents = [tree["agent"] for tree in study["trees"].values()]
            return {str(agent["model"]): dict(agent["settings"]) for agent in agents}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise RunError(f"{folder.path / 'run.json'}: says nothing about the agents of its trees") from None
    with open_run(folder.path) as opened:
        return {model: dict(opened.plan.settings(model)) for model in opened.plan.models}


async def _forget(folder: Folder) -> int:
    with folder.open_journal() as journal:
        journal.start()
        ledger = Ledger(journal)
        dropped = [b for b in ledger.batches.values() if not (b.settled or b.void)]
        for batch in dropped:
            ledger.tell(batch, "void")
        await ledger.flush()
    return len(dropped)


def _date(at: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
