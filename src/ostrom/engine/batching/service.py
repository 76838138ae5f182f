"""One batch at its service: created exactly once, polled until it ends, and read until all results are there."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from ostrom.engine.batching.ledger import JournaledBatch, Ledger
from ostrom.engine.retries import PollingPolicy, RetryPolicy
from ostrom.ground.errors import ModelError, RateLimited, RequestRefused, RunError, ServerFailed
from ostrom.models.batches import (
    PAGES,
    BatchEndpoint,
    BatchProblem,
    BatchRequest,
    BatchStatus,
    ResultLine,
    Wanted,
    no_endpoint,
)

logger = logging.getLogger("ostrom.batches")
T = TypeVar("T")
REFUSALS = 3
"""Refusals before a batch counts as refused: a file that was just uploaded may not be visible yet."""
BROKEN_OFF = ("expired", "cancelled", "canceled", "failed")
"""Final states in which a request without a result was not run, or its result is lost."""
ABSENT = (404, 405, 410, 501)
"""HTTP statuses of a server without such a route."""


async def with_retries(
    work: Callable[[], Awaitable[T]],
    retry: RetryPolicy,
    resting: Callable[[int, ModelError], Awaitable[None]] | None = None,
) -> T:
    """Repeat an idempotent operation until it succeeds or the retry policy is exhausted."""
    for attempt in range(1, retry.tries + 1):
        try:
            return await work()
        except ModelError as error:
            if not error.retryable or not retry.allows(error.retry_after) or attempt == retry.tries:
                raise
            await (
                asyncio.sleep(retry.wait(attempt, error.retry_after)) if resting is None else resting(attempt, error)
            )
    raise AssertionError("unreachable: the last try returns or raises")


async def check(endpoint: BatchEndpoint, retry: RetryPolicy) -> None:
    """Refuse a server without a batch endpoint, before anything is written."""
    try:
        await with_retries(lambda: endpoint.page(count=1), retry)
    except ModelError as error:
        if not isinstance(error, RequestRefused) and error.status not in ABSENT:
            raise
        raise no_endpoint(endpoint.who, error) from None


class Lost(Exception):
    """Raised when the service does not know a batch that it had created, or its results."""


class ForeignResults(Lost):
    """Raised when the results of a batch belong to other requests, so it is a different batch."""


class BatchService:
    """The batch endpoint of one model, with retries and the journal."""

    def __init__(self, endpoint: BatchEndpoint, ledger: Ledger, retry: RetryPolicy, polling: PollingPolicy) -> None:
        self.endpoint, self.ledger, self.retry, self.polling = endpoint, ledger, retry, polling
        self.on_retry_after: Callable[[float], None] = lambda _: None
        """Called with the number of seconds that the service asks to wait."""

    async def with_retries(self, work: Callable[[], Awaitable[T]]) -> T:
        """Repeat an idempotent operation until it succeeds or the retry policy is exhausted."""
        return await with_retries(work, self.retry, self._rest)

    async def _rest(self, attempt: int, error: ModelError) -> None:
        logger.info("%s: try %d failed: %s", self.endpoint.who, attempt, error)
        if error.retry_after is not None:
            self.on_retry_after(error.retry_after)
        await asyncio.sleep(self.retry.wait(attempt, error.retry_after))

    # -- making --------------------------------------------------------------------------------------

    async def make(self, batch: JournaledBatch, requests: Sequence[BatchRequest]) -> None:
        """Create a planned batch at the service, exactly once.

        Whatever a service answers to ``create`` except a plain refusal, the batch may exist: it is looked up in the
        listing before another try, for as long as listings may lag.
        """
        endpoint, ledger = self.endpoint, self.ledger
        await ledger.flush()
        try:
            file = await self.with_retries(partial(endpoint.upload, batch.marker, requests))
            since = None if file is not None else await self._newest()
        except ModelError:
            ledger.tell(batch, "void")
            raise
        ledger.tell(batch, "uploaded", file=file, since=since)
        await ledger.flush()
        for attempt in range(1, self.retry.tries + 1):
            try:
                created = await endpoint.create(batch.marker, batch.file, requests)
            except ModelError as error:
                if not error.retryable and not (isinstance(error, RequestRefused) and attempt < REFUSALS):
                    ledger.tell(batch, "void")
                    raise
                await self._rest(attempt, error)
                # Each further batch could be a duplicate: listings are read further to find the last one.
                if not isinstance(error, RateLimited) and await self.find(batch, min(8, 2 ** (attempt - 1))):
                    return
                if attempt == self.retry.tries or not self.retry.allows(error.retry_after):
                    ledger.tell(batch, "void")
                    raise
            else:
                ledger.tell(batch, "created", id=created.id)
                await ledger.flush()
                return

    async def find(self, batch: JournaledBatch, patience: int = 1) -> bool:
        """Return whether a batch exists whose creation had no clear answer; waits as long as listings may lag."""
        others = (self.ledger.claimed() - {batch.id}) | batch.refuted
        wanted = Wanted(batch.marker, batch.file, len(batch.keys), batch.since)
        late = loop_time() + self.polling.lag * patience
        looks = 0
        while True:
            last = loop_time() >= late
            for status in await self.listing():
                if status.id not in others and self.endpoint.is_ours(status, wanted):
                    self.ledger.tell(batch, "created", id=status.id, found=True)
                    await self.ledger.flush()
                    return True
            if last:
                return False
            await asyncio.sleep(min(self.polling.wait(looks), max(0.0, late - loop_time())))
            looks += 1

    async def listing(self) -> list[BatchStatus]:
        """All batches of the account, newest first where the service lists them so."""
        statuses: list[BatchStatus] = []
        after: str | None = None
        for _ in range(PAGES):
            page, after = await self.with_retries(partial(self.endpoint.page, after))
            statuses += page
            if after is None:
                break
        return statuses

    async def _newest(self) -> float | None:
        page, _ = await self.with_retries(self.endpoint.page)
        return max((status.created for status in page if status.created is not None), default=None)

    # -- waiting -------------------------------------------------------------------------------------

    async def wait(self, batch: JournaledBatch) -> BatchStatus:
        """Poll until the batch has ended. Raises Lost if the service does not know the batch."""
        assert batch.id is not None
        polls = failures = absent = 0
        while True:
            try:
                status = await self.endpoint.retrieve(batch.id)
            except ModelError as error:
                failures += 1
                absent += error.status in ABSENT
                if absent >= self.retry.tries:
                    raise Lost(str(error)) from None
                if not (error.retryable or error.status in ABSENT) or failures >= self.polling.failures:
                    raise
                logger.info("%s, batch %s: %s", self.endpoint.who, batch.id, error)
                if error.retry_after is not None:
                    self.on_retry_after(error.retry_after)
                await asyncio.sleep(
                    min(error.retry_after or 0.0, self.retry.longest_wait) + self.polling.wait(min(failures, 8))
                )
                continue
            failures = absent = 0
            if status.ended:
                return status
            await asyncio.sleep(self.polling.wait(polls))
            polls += 1

    # -- reading -------------------------------------------------------------------------------------

    async def read(
        self, batch: JournaledBatch, ended: BatchStatus, on_part: Callable[[dict[bytes, ResultLine]], None]
    ) -> dict[bytes, ResultLine]:
        """Return the result of each request of an ended batch, by key.

        A request without a readable line may have been paid for: the results are read again until they are complete or
        no more can come. ``on_part`` receives the results that are there while others are still awaited.
        """
        keys = {batch.request_id(key): key for key in batch.keys}
        lines: dict[bytes, ResultLine] = {}
        strange = readings = 0
        late = loop_time() + self.polling.patience
        while True:
            last = loop_time() >= late and readings >= self.polling.readings - 1
            for line in await self._lines(replace(ended, total=len(keys))):
                key = keys.get(line.id)
                if key is None:
                    strange += 1
                elif key not in lines or RANK[line.kind] > RANK[lines[key].kind]:
                    lines[key] = line
            kinds = Counter(line.kind for line in lines.values())
            all_there = len(lines) == len(keys)
            if (all_there and not kinds["bad"]) or (ended.how == "failed" and not ended.outputs):
                break
            if last and strange and not lines:
                raise ForeignResults("its results belong to other requests")
            if last and (all_there or self._is_over(batch, ended, kinds["reply"])):
                break
            if last:
                on_part(lines)
                if readings == self.polling.readings - 1 or not readings % 60:
                    logger.warning(
                        "%s, batch %s: the service says %s, but %d of %d results are missing; they are waited for",
                        self.endpoint.who, ended.id, ended.how, len(keys) - len(lines), len(keys),
                    )  # fmt: skip
            await asyncio.sleep(self.polling.wait(readings))
            readings += 1
            with suppress(ModelError):  # the lines read so far are read again
                ended = await self.with_retries(partial(self.endpoint.retrieve, ended.id))
        if strange:
            logger.warning("%s, batch %s: %d lines of results are of no request", self.endpoint.who, ended.id, strange)
        if (ended.ended_requests if ended.replied is None else ended.replied) and not lines:
            raise Lost("its results cannot be read")
        return lines

    def _is_over(self, batch: JournaledBatch, ended: BatchStatus, replies: int) -> bool:
        """Return whether missing results will not come: the batch was cancelled or its time is over.

        Or all replies that the service counts are there, and it counts all requests as ended; counts may lag, too.
        """
        counted = ended.ended_requests == len(batch.keys) and replies >= (ended.replied or 0)
        return ended.how in BROKEN_OFF or counted or time.monotonic() - batch.begun >= self.polling.lifetime

    async def _lines(self, ended: BatchStatus) -> list[ResultLine]:
        """Return the results readable now; empty if the file does not exist (yet or any longer)."""
        lines: list[ResultLine] = []
        for output in ended.outputs:
            try:
                lines += await self.with_retries(partial(self.endpoint.results, ended, output))
            except ModelError as error:
                if error.status not in ABSENT:
                    raise
                logger.info("%s, batch %s: %s", self.endpoint.who, ended.id, error)
        return lines


def loop_time() -> float:
    """Return the time of a monotonic clock, in seconds."""
    return asyncio.get_running_loop().time()


RANK = {"bad": 0, "unrun": 1, "error": 2, "reply": 3}
"""The rank of result lines: of several lines for a request the highest counts."""


def unanswered(batch: JournaledBatch) -> ServerFailed:
    """Return the error of a request without an answer that may not be sent again."""
    why = f": {batch.why}" if batch.why else ""
    error = ServerFailed(f"batch {batch.id} ended ({batch.how}) without a reply to this request{why}")
    error.retryable = False
    return error


def sent_twice(batch: JournaledBatch | None = None) -> ServerFailed:
    """Return the error of a request that two batches left without a result."""
    last = "" if batch is None else f", the last of them {batch.id} ({batch.how})"
    error = ServerFailed(
        f"two batches ended without a result for this request{last}, and both may have been paid for: it is not sent "
        "a third time; without --batch it is asked directly"
    )
    error.retryable = False
    return error


def lost(batch: JournaledBatch, error: Lost, run: Path) -> RunError:
    """Return the error for a batch that its service does not know: sending it again could be billed again."""
    return RunError(
        f"batch {batch.id} of {batch.model} is not to be had ({error}): use the key of the account that made it, or "
        f"give it up, and pay for its requests again, with `ostrom more batches {run} --forget`"
    )


def says_full(problem: BatchProblem) -> bool:
    """Whether a batch was refused because too many tokens are queued.

    >>> says_full(BatchProblem("token_limit_exceeded", "Enqueued token limit reached"))
    True
    """
    return "token_limit" in problem.code or "enqueued token" in problem.message.lower()
