"""Anthropic's Message Batches: requests are sent with the batch, results are read as one file.

The rules are those of the published reference (Message Batches API): at most 100,000 requests and 256 MB a batch,
24 hours, results in any order. Requests that failed, expired or were cancelled are not charged. A batch carries no
mark of its own: it is recognised by its size and time, and for certain by the identifiers in its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import orjson

from ostrom.ground.errors import MalformedReply
from ostrom.models.anthropic_wire import decode
from ostrom.models.base import Reply, Request
from ostrom.models.batches import (
    BatchLimits,
    BatchRequest,
    BatchStatus,
    BatchWire,
    ResultLine,
    Wanted,
    count,
    identifier,
)
from ostrom.models.failures import make, message_in, one_line
from ostrom.models.transport import Transport

STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
    "not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500,
    "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip
"""The status that a type of error has outside of batches."""


class AnthropicBatches(BatchWire):
    """The batch endpoint below one address of the Anthropic wire."""

    limits = BatchLimits(100_000, 256_000_000)
    root = "/batches"
    after = "after_id"

    def __init__(self, transport: Transport, encode: Callable[[Request], bytes]) -> None:
        self.transport, self.encode = transport, encode
        self.who = transport.who

    def read(self, line: ResultLine, request: Request) -> Reply:
        """The reply in a line of results."""
        who, secrets = self.who, self.transport.secrets
        if line.kind == "error":
            said = one_line(message_in({"error": line.document}, b""), secrets)
            code = line.document.get("type") if isinstance(line.document, dict) else None
            raise make(line.status, who, said, code=str(code) if code else None)
        return self.transport.redactor.clean_reply(
            decode(orjson.dumps(line.document), request, who=who, secrets=secrets)
        )

    async def upload(self, marker: str, requests: Sequence[BatchRequest]) -> None:
        """Nothing is stored beforehand."""

    async def create(self, marker: str, file: str | None, requests: Sequence[BatchRequest]) -> BatchStatus:  # noqa: ARG002
        """Send the requests as one batch."""
        body = orjson.dumps(
            {"requests": [{"custom_id": r.id, "params": orjson.Fragment(r.body)} for r in requests]}
        )
        return self._status(await self.json("POST", self.root, body))

    def is_ours(self, found: BatchStatus, wanted: Wanted) -> bool:
        """By its size, if it is not older than the newest that was there before."""
        since = wanted.since
        recent = since is None or found.created is None or found.created >= since
        return recent and found.total in (None, wanted.requests)

    async def results(self, found: BatchStatus, output: str) -> list[ResultLine]:
        """The lines of the results."""
        path = f"{self.root}/{output}/results"
        return [_line(entry) for entry in await self.lines(path, found.total)]

    def _status(self, document: dict[str, Any]) -> BatchStatus:
        how = document.get("processing_status")
        if not isinstance(how, str):
            raise MalformedReply(f"{self.who} sent a batch without a processing_status")
        found = document.get("request_counts")
        counts = [count(n) for n in found.values()] if isinstance(found, dict) else []
        known = [n for n in counts if n is not None]
        ran = [count(found.get(name)) for name in ("succeeded", "errored")] if isinstance(found, dict) else []
        name = identifier(document, self.who)
        return BatchStatus(
            name,
            how == "ended",
            how,
            sum(known) if known and len(known) == len(counts) else None,
            sum(n for n in ran if n is not None) if ran else None,
            ran[0] if ran else None,
            _time(document.get("created_at")),
            outputs=(name,) if how == "ended" else (),
        )


def _line(entry: dict[str, Any]) -> ResultLine:
    name, result = entry["custom_id"], entry.get("result")
    if not isinstance(result, dict):
        return ResultLine(name, "bad", None)
    kind = result.get("type")
    if kind in ("canceled", "cancelled", "expired"):
        return ResultLine(name, "unrun", None)
    if kind == "succeeded" and isinstance(message := result.get("message"), dict):
        return ResultLine(name, "reply" if isinstance(message.get("content"), list) else "bad", message)
    if kind == "errored":
        error = result.get("error")
        if isinstance(error, dict) and isinstance(error.get("error"), dict):
            error = error["error"]  # the error stands in a whole error response
        code = error.get("type") if isinstance(error, dict) else None
        return ResultLine(name, "error", error, STATUS.get(str(code), 500))
    return ResultLine(name, "bad", None)


def _time(text: object) -> float | None:
    """Seconds of an RFC 3339 date.

    >>> _time("1970-01-01T00:01:00Z"), _time("soon")
    (60.0, None)
    """
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return None
