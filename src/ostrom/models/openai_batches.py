"""OpenAI's batch endpoint: a file is uploaded, a batch made from it, and its output files are read.

The rules are those of the published reference (platform.openai.com, Files and Batch): at most 50,000 requests and
200 MB a file, one model a file, a window of 24 hours. Requests that were not run are not charged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson

from ostrom.ground.errors import MalformedReply
from ostrom.models.base import Reply, Request
from ostrom.models.batches import (
    BYTES_A_SECOND,
    BatchLimits,
    BatchProblem,
    BatchRequest,
    BatchStatus,
    BatchWire,
    ResultLine,
    Wanted,
    count,
    identifier,
    is_identifier,
)
from ostrom.models.connection import Route
from ostrom.models.failures import from_error_object, from_status
from ostrom.models.openai_wire import read
from ostrom.models.transport import Transport

ENDED = frozenset({"completed", "failed", "expired", "cancelled", "canceled"})
UNRUN = frozenset(
    {"batch_expired", "batch_cancelled", "batch_canceled", "request_cancelled", "request_expired"}
)
"""Codes of requests that were never run."""


class OpenAIBatches(BatchWire):
    """The batch endpoint below one OpenAI-compatible address."""

    limits = BatchLimits(50_000, 200_000_000)
    root = "/batches"
    after = "after"

    def __init__(self, transport: Transport, endpoint: str, encode: Callable[[Request], bytes]) -> None:
        self.transport, self._endpoint, self.encode = transport, endpoint, encode
        self.who = transport.who

    def read(self, line: ResultLine, request: Request) -> Reply:
        """The reply in a line of results."""
        who, secrets = self.who, self.transport.secrets
        if line.kind == "error" and line.status != 200:
            raise from_status(line.status, {}, orjson.dumps(line.document), who=who, secrets=secrets)
        if line.kind == "error":
            raise from_error_object(line.document, who=who, secrets=secrets)
        return self.transport.redactor.clean_reply(read(line.document, request, who=who, secrets=secrets))

    async def upload(self, marker: str, requests: Sequence[BatchRequest]) -> str:
        """Upload the file of requests."""
        boundary = f"ostrom-{marker}"
        parts = [
            f'--{boundary}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n',
            f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{marker}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n",
        ]
        lines = [
            orjson.dumps(
                {"custom_id": r.id, "method": "POST", "url": self._endpoint, "body": orjson.Fragment(r.body)}
            )
            for r in requests
        ]
        body = b"".join(
            [*(part.encode() for part in parts), b"\n".join(lines), f"\n\r\n--{boundary}--\r\n".encode()]
        )
        kind = f"multipart/form-data; boundary={boundary}"
        more_time = len(body) / BYTES_A_SECOND
        response = await self.transport.exchange(Route("POST", "/files", kind), body, more_time=more_time)
        try:
            document = orjson.loads(response.body)
        except orjson.JSONDecodeError:
            document = None
        if not isinstance(document, dict):
            raise MalformedReply(f"{self.who} sent no JSON object from /files")
        return identifier(document, self.who)

    async def create(self, marker: str, file: str | None, requests: Sequence[BatchRequest]) -> BatchStatus:  # noqa: ARG002
        """Make a batch from an uploaded file."""
        wanted = {
            "input_file_id": file,
            "endpoint": self._endpoint,
            "completion_window": "24h",
            "metadata": {"ostrom": marker},
        }
        return self._status(await self.json("POST", self.root, wanted))

    def is_ours(self, found: BatchStatus, wanted: Wanted) -> bool:
        """By the marker in its metadata or by the file it was made from, which no other batch has."""
        return found.marker == wanted.marker or (wanted.file is not None and found.input == wanted.file)

    async def results(self, found: BatchStatus, output: str) -> list[ResultLine]:
        """The lines of an output or error file."""
        return [_line(entry) for entry in await self.lines(f"/files/{output}/content", found.total)]

    def _status(self, document: dict[str, Any]) -> BatchStatus:
        how = document.get("status")
        if not isinstance(how, str):
            raise MalformedReply(f"{self.who} sent a batch without a status")
        how = how.lower()
        counts = document.get("request_counts")
        counts = counts if isinstance(counts, dict) else {}
        done, failed = count(counts.get("completed")), count(counts.get("failed"))
        metadata, created = document.get("metadata"), document.get("created_at")
        marker = metadata.get("ostrom") if isinstance(metadata, dict) else None
        source = document.get("input_file_id")
        outputs = [document.get(name) for name in ("output_file_id", "error_file_id")]
        return BatchStatus(
            identifier(document, self.who),
            how in ENDED,
            how,
            count(counts.get("total")),
            None if done is None or failed is None else done + failed,
            done,
            float(created) if isinstance(created, int | float) else None,
            source if isinstance(source, str) else None,
            marker if isinstance(marker, str) else None,
            tuple(name for name in outputs if isinstance(name, str) and is_identifier(name)),
            _problems(document.get("errors")),
        )


def _line(entry: dict[str, Any]) -> ResultLine:
    name, response, error = entry["custom_id"], entry.get("response"), entry.get("error")
    if isinstance(response, dict) and isinstance(response.get("body"), dict):
        body, status = response["body"], response.get("status_code")
        if status in (None, 200):
            if body.get("error"):
                return ResultLine(name, "error", body["error"])
            return ResultLine(name, "reply" if isinstance(body.get("choices"), list) else "bad", body)
        if type(status) is int and 300 <= status <= 599:
            return ResultLine(name, "error", body, status)
    if isinstance(error, dict):
        return ResultLine(name, "unrun" if str(error.get("code")).lower() in UNRUN else "error", error)
    return ResultLine(name, "bad", None)


def _problems(errors: Any) -> tuple[BatchProblem, ...]:
    data = errors.get("data") if isinstance(errors, dict) else errors
    return tuple(
        BatchProblem(
            str(entry.get("code") or "")[:100],
            str(entry.get("message") or "")[:1000],
            count(entry.get("line")),
        )
        for entry in (data if isinstance(data, list) else [])
        if isinstance(entry, dict)
    )
