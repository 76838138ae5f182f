"""All model calls of a run: journal, cache, gate and retries.

A cache, if the user names one, keeps replies across runs, but never errors or truncated replies.
"""

import asyncio
import hashlib
import logging
import sqlite3
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Protocol

import orjson

from ostrom.agents.base import OutsideSeats
from ostrom.engine.entries import CallRecord, dump, load
from ostrom.engine.gate import NO_LOAD, Gate, Stopped, is_out_of_reach, may_be_billed, plausible_usage, schema_bytes
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Tally, Unit
from ostrom.engine.retries import RetryPolicy
from ostrom.ground.errors import AccessRefused, ContentRefused, ContextExceeded, ModelError, RunError
from ostrom.ground.files import require_regular_file
from ostrom.ground.streams import key_of
from ostrom.ground.values import Derived
from ostrom.models.base import Model, Reply, Request, Usage
from ostrom.models.http1 import TOKENS_IF_UNSET, longest_reply
from ostrom.models.pending_call import CallSize, PendingCall, Prepare, preparing
from ostrom.models.prices import price_of

_CANONICAL = orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS


def model_key_part(description: Mapping[str, Any]) -> bytes:
    """The part of a model's description that enters every call key, serialized once.

    How a client connects (its timeouts, its number of connections) does not affect replies and is left out.
    """
    return _canonical({k: v for k, v in description.items() if k != "client"})


def prompt_of(request: Request) -> bytes:
    """The messages of a request as they are journaled and hashed: a JSON list of [role, content] pairs."""
    return orjson.dumps([[m.role, m.content] for m in request.messages])


def call_key(model: bytes, prompt: bytes, request: Request, replicate: tuple[int, int, int, int, str]) -> bytes:
    """A hash of everything that decides a reply: endpoint, parameters, messages, constraint, and the place.

    The replicate is (seed, match key, step, player, part): two draws of the same prompt in different places
    are different draws and never share a reply.
    """
    constraint, limits, tools = request.constraint, b"null,0", b""
    if constraint is not None or request.top_logprobs:
        allowed = None if constraint is None else [constraint.choices, constraint.schema]
        limits = _canonical([allowed, request.top_logprobs])[1:-1]
    if request.tools:  # requests without tools keep the keys of earlier versions
        tools = b"," + _canonical([[tool.name, tool.description, tool.schema] for tool in request.tools])
    seed, match, step, player, part = replicate
    place = b'["%d","%d","%d","%d",%b]' % (seed, match, step, player, orjson.dumps(part))
    return hashlib.blake2b(
        b"[%b,%b,%b,%b,%b%b]" % (model, prompt, _params_text(request.params), limits, place, tools), digest_size=16
    ).digest()


def _canonical(data: Any) -> bytes:
    return orjson.dumps(data, option=_CANONICAL, default=str)


_params_text = Derived(_canonical)


class Cache:
    """Replies by key in one SQLite file shared by runs; replies older than ``since`` are ignored."""

    def __init__(self, path: Path, since: float = 0.0) -> None:
        self.path, self.since = path, since
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            require_regular_file(path.resolve())  # the path may come from a stranger's run
            self._db = sqlite3.connect(path, timeout=30)
        except (sqlite3.Error, OSError) as error:
            raise RunError(f"{path}: the cache cannot be opened: {error}") from None
        try:
            for statement in (
                "PRAGMA journal_mode=WAL",
                "PRAGMA synchronous=NORMAL",
                "CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, reply TEXT) WITHOUT ROWID",
            ):
                self._db.execute(statement)
        except (sqlite3.Error, OSError) as error:
            self._db.close()
            raise RunError(f"{path}: the cache cannot be opened: {error}") from None

    async def get(self, key: bytes) -> Reply | None:
        """The cached reply of a key, or None. Asynchronous, because a cache may be on another machine."""
        row = self._db.execute("SELECT reply FROM replies WHERE key=?", (key,)).fetchone()
        if row is None:
            return None
        data = load(row[0])
        if data.pop("at", 0.0) < self.since:
            return None
        return Reply(**{**data, "usage": Usage(**data["usage"])})

    def put(self, key: bytes, reply: Reply) -> None:
        """Store a complete reply; a truncated or filtered one is not stored."""
        if reply.finish not in ("stop", "tools"):
            return
        data = {
            "text": reply.text,
            "reasoning": reply.reasoning,
            "reasoning_kind": reply.reasoning_kind,
            "finish": reply.finish,
            "usage": {name: getattr(reply.usage, name) for name in ("input", "output", "cached", "reasoning")},
            "logprobs": None if reply.logprobs is None else dict(reply.logprobs),
            "model": reply.model,
            "at": time.time(),
        }
        with self._db:  # with a bound on age, an existing reply was too old to be used
            self._db.execute(
                f"INSERT OR {'REPLACE' if self.since else 'IGNORE'} INTO replies VALUES (?,?)", (key, dump(data))
            )

    def close(self) -> None:
        """Close the file."""
        self._db.close()


logger = logging.getLogger("ostrom.calls")
# Applications choose where the log goes; without a handler Python would print warnings on stderr.
logging.getLogger("ostrom").addHandler(logging.NullHandler())


class CallLog(Protocol):
    """The interface to record calls (the journal, or a worker's outbox)."""

    def call(self, record: CallRecord) -> None:
        """Queue the record of a call."""


class ReplyCache(Protocol):
    """A cache of replies that runs share, on this machine or another."""

    async def get(self, key: bytes) -> Reply | None:
        """The cached reply of a key, or None."""

    def put(self, key: bytes, reply: Reply) -> None:
        """Store a reply under its key."""


class Caller:
    """Makes calls for all matches that are played in this process."""

    source = "live"
    """The source of replies, as recorded in the journal."""

    def __init__(
        self,
        journal: CallLog,
        tally: Tally,
        gate: Gate,
        stopping: asyncio.Event,
        retry: RetryPolicy,
        cache: ReplyCache | None = None,
        prices: Mapping[str, Any] | None = None,
    ) -> None:
        self.journal, self.tally, self.gate, self.stopping = journal, tally, gate, stopping
        self.retry, self.cache, self.prices = retry, cache, prices
        self._settled: dict[str, bytes] = {}
        self._prepare: dict[str, list[Prepare]] = {}
        """For each model one prepare function per server."""
        self._longest: dict[str, Derived[Mapping[str, Any], int]] = {}
        """For each model the longest reply in tokens, by call parameters."""
        self._in_reach: dict[str, bool] = {}
        """The models that have replied in this session, and whether they are in reach now."""

    def open(self, model: Model) -> None:
        """Register a model with this run."""
        description = model.describe()
        self._settled[model.name] = model_key_part(description)
        unset = description.get("max_tokens_if_unset") or (description.get("sampling_if_unset") or {}).get("max_tokens")
        self._longest[model.name] = Derived(partial(longest_reply, unset=unset or TOKENS_IF_UNSET))
        self._prepare[model.name] = [preparing(member) for member in getattr(model, "replicas", (model,))]

    async def call(self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request) -> Reply:
        """Make one call with retries; every try is journaled."""
        name, gate = model.name, self.gate
        prompt = prompt_of(request)
        key = self.key(unit, step, player, part, model, request, prompt)
        record = partial(CallRecord, unit.index, step, player, part, name, key, prompt, journaled_params(request))
        if self.cache is not None and (cached := await self.cache.get(key)) is not None:
            self.tally.cached += 1
            self.journal.call(record(0, "cache", time.time(), 0.0, cached, 0.0))
            return cached
        size = CallSize(len(prompt) + schema_bytes(request.constraint), self._longest[name](request.params))
        first_failure = None
        for attempt in count(1):
            pending = self._pending(unit, model, request, key, attempt)
            pending.measure(size)
            pending.rank = unit.index
            try:
                gate.request_slot(name, pending)
                reply = await pending.reply()
            except (ContentRefused, ContextExceeded) as error:
                # The server works and would refuse this prompt again: a success for the limiter, and no retry.
                gate.succeeded(name, Usage(0, 0), 0.0, pending.size)
                pending.release()
                declined = isinstance(error, ContentRefused)
                cached = Reply("", finish="filter", facts={"refusal": str(error)}) if declined else None
                message = f"{type(error).__name__}: {error}"
                self.journal.call(
                    record(attempt, self.source, pending.begun, pending.latency, cached, 0.0, message, error.status)
                )
                if cached is None:
                    raise
                self.tally.refused += 1
                return cached
            except ModelError as error:
                message = f"{type(error).__name__}: {error}"
                self.journal.call(
                    record(attempt, self.source, pending.begun, pending.latency, error=message, status=error.status)
                )
                first_failure = time.monotonic() if first_failure is None else first_failure
                again = error.retryable and self.retry.allows(error.retry_after)
                outlasts = name in self._in_reach and is_out_of_reach(message, error.status) and (
                    time.monotonic() - first_failure < self.retry.outage
                )  # fmt: skip
                last = not again or (attempt >= self.retry.tries and not outlasts)
                logger.warning(
                    "%s, match %d: try %d of %d failed (%s)%s",
                    name, unit.index, attempt, max(attempt, self.retry.tries), message, "; given up" if last else "",
                )  # fmt: skip
                self.tally.trouble = message
                billed = self._sent(pending) and may_be_billed(message, error.status)
                if again:
                    # An outage is one sign of load, however many calls notice it.
                    era = NO_LOAD if outlasts and not self._in_reach[name] else pending.era
                    gate.failed(name, era, error.retry_after, last, pending.size, billed)
                else:
                    gate.refused(name, isinstance(error, AccessRefused), pending.size, billed)
                pending.release()
                if outlasts:
                    self._in_reach[name] = False
                if last:
                    raise
                self.tally.retries += 1
                await self._rest(self.retry.wait(attempt, error.retry_after))
                continue
            except BaseException:
                pending.drop()
                if pending.begun:
                    if sent := self._sent(pending):
                        message = "Abandoned: the call was cancelled before its reply arrived"
                        with suppress(RunError):  # the journal may be what failed
                            self.journal.call(
                                record(attempt, self.source, pending.begun, pending.latency, error=message)
                            )
                    gate.abandoned(name, pending.size, sent)
                    pending.release()
                raise
            text = reply.text if reply.reasoning is None else reply.text + reply.reasoning
            written = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
            usage = plausible_usage(reply.usage, size.prompt, written)
            if usage is not reply.usage:
                reply = replace(reply, usage=usage)
            usd = self._price(name, reply.usage)
            if logger.isEnabledFor(logging.DEBUG):
                logger.debug(
                    "%s, match %d, step %d, player %d: %.2f s, %s tokens in, %s out, %s",
                    name, unit.index, step, player + 1, pending.latency, reply.usage.input, reply.usage.output,
                    reply.finish,
                )  # fmt: skip
            gate.succeeded(name, reply.usage, usd, pending.size, written, reply.finish == "length")
            pending.release()
            self._in_reach[name] = True
            self.tally.trouble = None
            self.tally.refused += reply.finish == "filter"
            self.journal.call(record(attempt, self.source, pending.begun, pending.latency, reply, usd))
            if self.cache is not None:
                self.cache.put(key, reply)
            return reply
        raise AssertionError("unreachable: the last try returns or raises")

    def _pending(self, unit: Unit, model: Model, request: Request, key: bytes, attempt: int) -> PendingCall:  # noqa: ARG002
        """Prepare one try at a call, to be sent later. A match stays with its server until that fails."""
        servers = self._prepare[model.name]
        return servers[(unit.index + attempt - 1) % len(servers)](request, partial(self.gate.release, model.name))

    def _sent(self, pending: PendingCall) -> bool:
        """Return whether a try has left this process."""
        return pending.begun > 0

    def _price(self, model: str, usage: Usage) -> float | None:
        """Return the price of a call; None if unknown."""
        return price_of(model, usage, self.prices)

    def key(
        self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request, prompt: bytes | None = None
    ) -> bytes:
        """The key under which a call is journaled; ``prompt`` is that of the request, if it is serialized already."""
        place = (unit.seed, key_of(unit.key), step, player, part)
        return call_key(self._settled[model.name], prompt or prompt_of(request), request, place)

    async def _rest(self, seconds: float) -> None:
        """Wait before another try, unless the run is being stopped."""
        try:
            await asyncio.wait_for(self.stopping.wait(), seconds)
        except TimeoutError:
            return
        raise Stopped("stopped")


class SeatCalls:
    """Calls to external agents at seats; their answers are journaled like replies."""

    def __init__(self, caller: Caller, seats: OutsideSeats, journal: Journal) -> None:
        self.caller, self.seats, self.journal, self.key = caller, seats, journal, caller.key
        caller.open(seats)

    async def call(self, unit: Unit, step: int, player: int, part: str, model: Model, request: Request) -> Reply:
        """Make one call; a seat's answer is on disk before its agent gets the acknowledgement."""
        if model is not self.seats:
            return await self.caller.call(unit, step, player, part, model, request)
        begun, clock = time.time(), time.monotonic()
        reply = await self.seats.ask(unit.index, player, part, request)
        self.journal.call(
            CallRecord(
                unit.index, step, player, part, model.name, self.key(unit, step, player, part, model, request),
                prompt_of(request), {}, 1, "seat", begun, time.monotonic() - clock, reply, 0.0,
            )
        )  # fmt: skip
        await self.journal.flush()
        return reply


def journaled_params(request: Request) -> Mapping[str, Any]:
    """Return the journaled parameters of a call, with the constraint on the reply."""
    if (constraint := request.constraint) is None:
        return request.params
    return {**request.params, "constraint": {"choices": constraint.choices, "schema": constraint.schema}}
