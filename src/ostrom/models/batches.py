"""The batch endpoint interface: many requests sent together, answered within a day at a lower price.

A client whose service has one offers a method ``batches()``. Every method of an endpoint makes one exchange and raises
a ModelError; when to try again, and what was paid for, is the engine's concern.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable
from urllib.parse import quote

import orjson

from ostrom.ground.errors import MalformedReply, ModelError, UsageError
from ostrom.ground.moved import FormerNames
from ostrom.models.base import Reply, Request
from ostrom.models.connection import Route
from ostrom.models.failures import in_text, json_or_none
from ostrom.models.services import SERVICES
from ostrom.models.transport import Transport

LARGEST_RESULTS = 1 << 30
"""The most bytes of results that are read at once."""
BATCH_TIMEOUT = 60.0
"""The longest small exchange in seconds: a hanging one is better retried."""
BYTES_A_SECOND, RESULTS_A_SECOND = 100_000, 100
"""Extra time for large exchanges: per byte sent, and per result read."""
SPARE_LINES = 1000
"""A result file with more lines than twice its requests plus this number is refused."""
PAGES, PER_PAGE = 100, 100
"""Limits of a listing."""


class BatchRequest(NamedTuple):
    """One request of a batch."""

    id: str
    body: bytes


@dataclass(frozen=True, slots=True)
class BatchProblem:
    """The reason why a service rejected a batch after its creation."""

    code: str
    message: str
    line: int | None = None
    """The line of the input file, from 1."""


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """A service's status of a batch."""

    id: str
    ended: bool
    how: str
    """The service's own word: in_progress, completed, expired, ..."""
    total: int | None = None
    """The number of requests."""
    ended_requests: int | None = None
    """The number of ended requests: replied, failed, or never run."""
    replied: int | None = None
    """The number of requests with a reply; these are billed."""
    created: float | None = None
    """The creation time by the service's clock, in seconds."""
    input: str | None = None
    """The uploaded input file."""
    marker: str | None = None
    outputs: tuple[str, ...] = ()
    """The result files."""
    problems: tuple[BatchProblem, ...] = field(default=())


class ResultLine(NamedTuple):
    """One result line: the outcome of a request."""

    id: str
    kind: Literal["reply", "error", "unrun", "bad"]
    """``unrun``: the request expired or was cancelled; ``bad``: an unreadable reply."""
    document: Any
    status: int = 200


class Wanted(NamedTuple):
    """The known facts of a batch whose creation had no clear answer."""

    marker: str
    file: str | None
    requests: int
    since: float | None
    """The creation time of the newest batch before it."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The size limits of one batch."""

    requests: int
    bytes: int


class BatchEndpoint(FormerNames, ABC, former={"listed": "list_page"}):
    """The batch endpoint of a model's service: JSON exchanges, listings, and results line by line."""

    transport: Transport
    encode: Callable[[Request], bytes]
    """Encodes the body of one request. Raises a ModelError."""
    limits: BatchLimits
    root: str
    """The path at which batches are listed and created."""
    after: str
    """The query parameter that names the last batch seen."""
    who: str

    def __init__(self, transport: Transport, encode: Callable[[Request], bytes]) -> None:
        self.transport, self.who = transport, transport.who
        self.encode = encode

    @abstractmethod
    def read(self, line: ResultLine, request: Request) -> Reply:
        """Return the reply in a result line; an error line raises a ModelError."""

    @abstractmethod
    async def upload(self, marker: str, requests: Sequence[BatchRequest]) -> str | None:
        """Upload the requests, if the service needs that first; return the file's name."""

    @abstractmethod
    async def create(self, marker: str, file: str | None, requests: Sequence[BatchRequest]) -> BatchStatus:
        """Create a batch. After an error it may exist all the same: ``is_ours`` recognises it in a listing."""

    @abstractmethod
    def is_ours(self, found: BatchStatus, wanted: Wanted) -> bool:
        """Return whether a listed batch is, or may be, the one that ``create`` was to make."""

    @abstractmethod
    async def results(self, found: BatchStatus, output: str) -> list[ResultLine]:
        """Return the lines of a result file; lines that are no JSON are left out."""

    @abstractmethod
    def _status(self, document: dict[str, Any]) -> BatchStatus:
        """Parse a document about a batch."""

    async def json(self, method: str, path: str, body: Any = None, kind: str | None = None) -> dict[str, Any]:
        """One exchange of JSON objects; ``kind`` is the content type of a body that is not JSON."""
        payload = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        response = await self.transport.exchange(
            Route(method, path, kind), payload, more_time=len(payload) / BYTES_A_SECOND
        )
        # Errors are journaled and shown, so keys that a service repeats are removed.
        document = json_or_none(self.transport.redactor.clean(response.body.decode("utf-8", "replace")))
        if not isinstance(document, dict):
            raise MalformedReply(f"{self.who} sent no JSON object from {path.partition('?')[0]}")
        return document

    async def list_page(self, path: str) -> tuple[list[dict[str, Any]], str | None]:
        """Return one page of a listing, and its last identifier if there are more."""
        document = await self.json("GET", path)
        data = document.get("data")
        if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
            raise MalformedReply(f"{self.who} sent a listing of batches without data")
        last = document.get("last_id") or (data[-1].get("id") if data else None)
        return data, in_text(last) if document.get("has_more") and data and last else None

    async def retrieve(self, batch: str) -> BatchStatus:
        """Return the status of a batch."""
        return self._status(await self.json("GET", f"{self.root}/{batch}"))

    async def cancel(self, batch: str) -> None:
        """Ask the service to run no more requests of a batch."""
        await self.json("POST", f"{self.root}/{batch}/cancel")

    async def page(self, after: str | None = None, count: int = PER_PAGE) -> tuple[list[BatchStatus], str | None]:
        """Return batches of the account, and where the next page begins.

        A batch that cannot be read is left out: other programs may make batches of another shape.
        """
        since = "" if after is None else f"&{self.after}={quote(after, safe='')}"
        data, last = await self.list_page(f"{self.root}?limit={count}{since}")
        batches = []
        for entry in data:
            with suppress(MalformedReply):
                batches.append(self._status(entry))
        return batches, last

    async def lines(self, path: str, requests: int | None) -> list[dict[str, Any]]:
        """Return the JSON objects in a result file; other content is left out."""
        response = await self.transport.exchange(
            Route("GET", path),
            largest=largest_results(requests),
            more_time=(10_000 if requests is None else requests) / RESULTS_A_SECOND,
        )
        documents = []
        for document in map(json_or_none, response.body.split(b"\n")):
            if isinstance(document, dict) and isinstance(document.get("custom_id"), str):
                documents.append(document)
                if requests is not None and len(documents) > 2 * requests + SPARE_LINES:
                    raise MalformedReply(f"{self.who} sent more lines of results than requests it was sent")
        return documents

    async def close(self) -> None:
        """Close the connections."""
        await self.transport.close()


@runtime_checkable
class HasBatches(Protocol):
    """A model whose service may have a batch endpoint."""

    def batches(self) -> BatchEndpoint:
        """The batch endpoint of the model's service."""


def largest_results(requests: int | None) -> int:
    """The most bytes of a file of results: 64 MiB plus 256 KiB per request, at most 1 GiB.

    >>> largest_results(16) >> 20, largest_results(None) >> 20
    (68, 1024)
    """
    return LARGEST_RESULTS if requests is None else min(LARGEST_RESULTS, (64 << 20) + (requests << 18))


def count(value: object) -> int | None:
    """Return a count that a service reports; None if the value is no plausible count."""
    return value if type(value) is int and 0 <= value <= 10**9 else None


def identifier(document: Mapping[str, Any], who: str) -> str:
    """Return the identifier of a batch or file; it becomes part of a path, so other characters are refused."""
    if not isinstance(id_ := document.get("id"), str) or not is_identifier(id_):
        raise MalformedReply(f"{who} sent no usable identifier")
    return id_


def is_identifier(text: str) -> bool:
    """Whether a text can be the identifier of a batch or a file.

    >>> is_identifier("batch_abc-123"), is_identifier("../models")
    (True, False)
    """
    return 0 < len(text) <= 256 and all(c.isascii() and (c.isalnum() or c in "-_.:") for c in text) and ".." not in text


def may_batch(model: str) -> bool:
    """Return whether a model's service may have a batch endpoint, by its name.

    >>> [may_batch(f"{name}/m") for name in ("openai", "anthropic", "embedded", "google")]
    [True, True, False, False]
    """
    if model.startswith(("http://", "https://")):
        return True
    service = model.partition("/")[0]
    return service == "anthropic" or (service in SERVICES and SERVICES[service].batches)


def no_endpoint(who: str, error: ModelError) -> UsageError:
    """Return the error for a service without a usable batch endpoint."""
    if error.status in (405, 501):
        return UsageError(
            f"{who} lists no batches ({error.status}), and one whose making was cut off could be paid for twice: "
            "run without --batch"
        )
    return UsageError(f"{who} has no batch endpoint ({error.status}): run without --batch")
