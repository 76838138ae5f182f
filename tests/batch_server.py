"""A loopback server with OpenAI's batch endpoints, which counts each reply that it charges for.

A second, strict service with both wires and all faults is `chaos.outside`; this one shares the models of the tests.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

from ostrom.testing.http1 import Received, response
from ostrom.testing.replies import openai_document
from ostrom.testing.server import LoopbackServer

Document = dict[str, Any]


@dataclass(slots=True)
class _Served:
    id: str
    requests: list[tuple[str, Document]]
    created: float
    file: str
    metadata: Any = None
    how: str = "in_progress"
    lines: list[bytes] = field(default_factory=list)
    errors: list[bytes] = field(default_factory=list)


class ServedBatches:
    """The state of the endpoints: what was uploaded, made, run and charged for."""

    def __init__(self, seconds: float, respond: Callable[[Document], Any]) -> None:
        self.seconds, self.respond = seconds, respond
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, _Served] = {}
        self.billed = 0
        """Replies that were charged for."""

    def takes(self, path: str) -> bool:
        """Whether a path belongs to these endpoints."""
        plain = urlsplit(path).path
        return any(part in ("files", "batches") for part in plain.split("/"))

    def stats(self) -> Document:
        """Counts so far; every batch whose time has come is ended first."""
        for batch in self.batches.values():
            self._look(batch)
        ways = Counter(batch.how for batch in self.batches.values())
        return {"batches": dict(ways), "billed": self.billed}

    def handle(self, received: Received) -> bytes:
        """The response to one request."""
        parts = urlsplit(received.path)
        where = [part for part in parts.path.split("/") if part]
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        at = where.index("files") if "files" in where else where.index("batches")
        rest = where[at + 1 :]
        if where[at] == "files":
            return self._serve_files(received, rest)
        if not rest:
            return self._create(received) if received.method == "POST" else self._list(query)
        batch = self.batches.get(rest[0])
        if batch is None:
            return _error(404, "not_found_error", f"no batch {rest[0]}")
        self._look(batch)
        if rest[1:] == ["cancel"] and batch.how == "in_progress":
            self._end(batch, cancelled=True)
        return _ok(self._document(batch))

    def _serve_files(self, received: Received, rest: list[str]) -> bytes:
        if not rest:
            name = f"file-{len(self.files) + 1:06d}"
            self.files[name] = _uploaded(received)
            return _ok({"id": name, "object": "file", "bytes": len(self.files[name]), "purpose": "batch"})
        kind, _, of = rest[0].partition("-")
        batch = self.batches.get(f"batch_{of}")
        if batch is None or kind not in ("output", "error"):
            return _error(404, "invalid_request_error", f"no file {rest[0]}")
        lines = batch.lines if kind == "output" else batch.errors
        return response(200, b"".join(line + b"\n" for line in lines))

    def _create(self, received: Received) -> bytes:
        body = orjson.loads(received.body)
        file, metadata = body.get("input_file_id"), body.get("metadata")
        if file not in self.files:
            return _error(400, "invalid_request_error", "no such input file")
        entries = [orjson.loads(line) for line in self.files[file].splitlines() if line.strip()]
        requests = [(entry["custom_id"], entry["body"]) for entry in entries]
        names = [name for name, _ in requests]
        if not names or len(set(names)) < len(names) or any(not 0 < len(name) <= 64 for name in names):
            return _error(400, "invalid_request_error", "custom_id must be unique and have 1 to 64 characters")
        batch = _Served(f"batch_{len(self.batches) + 1:06d}", requests, time.time(), file, metadata)
        self.batches[batch.id] = batch
        return _ok(self._document(batch))

    def _look(self, batch: _Served) -> None:
        if batch.how == "in_progress" and time.time() >= batch.created + self.seconds:
            self._end(batch)

    def _end(self, batch: _Served, cancelled: bool = False) -> None:
        batch.how = "cancelled" if cancelled else "completed"
        run = len(batch.requests) // (2 if cancelled else 1)
        for name, body in batch.requests[:run]:
            said = self.respond(body)
            if isinstance(said, tuple):
                batch.errors.append(_line(name, {"status_code": said[0], "request_id": "r", "body": said[1]}))
                continue
            document = said if isinstance(said, dict) else openai_document(body, said)
            batch.lines.append(_line(name, {"status_code": 200, "request_id": "r", "body": document}))
            self.billed += 1
        unrun = {"code": "batch_cancelled", "message": "this request was not run"}
        batch.errors += [_line(name, None, unrun) for name, _ in batch.requests[run:]]
        batch.lines.reverse()

    def _list(self, query: Mapping[str, str]) -> bytes:
        batches = list(reversed(self.batches.values()))
        after = query.get("after")
        names = [batch.id for batch in batches]
        start = names.index(after) + 1 if after in names else 0
        page = batches[start : start + int(query.get("limit", "20"))]
        for batch in page:
            self._look(batch)
        return _ok(
            {
                "object": "list",
                "data": [self._document(batch) for batch in page],
                "first_id": page[0].id if page else None,
                "last_id": page[-1].id if page else None,
                "has_more": start + len(page) < len(batches),
            }
        )

    def _document(self, batch: _Served) -> Document:
        number = batch.id.partition("_")[2]
        failed = len(batch.errors) if batch.how == "completed" else 0
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "status": batch.how,
            "input_file_id": batch.file,
            "metadata": batch.metadata,
            "created_at": int(batch.created),
            "output_file_id": f"output-{number}" if batch.lines else None,
            "error_file_id": f"error-{number}" if batch.errors else None,
            "errors": None,
            "request_counts": {"total": len(batch.requests), "completed": len(batch.lines), "failed": failed},
        }


def _line(name: str, said: Document | None, error: Document | None = None) -> bytes:
    return orjson.dumps({"id": f"batch_req_{name[-8:]}", "custom_id": name, "response": said, "error": error})


def _uploaded(received: Received) -> bytes:
    """The file in a multipart body."""
    kind = received.headers.get("content-type", "")
    boundary = b"--" + kind.rpartition("boundary=")[2].strip('"').encode()
    for part in received.body.split(boundary):
        head, _, data = part.partition(b"\r\n\r\n")
        if b'name="file"' in head:
            return data.removesuffix(b"\r\n")
    return b""


def _ok(document: Document) -> bytes:
    return response(200, orjson.dumps(document))


def _error(status: int, kind: str, message: str) -> bytes:
    return response(status, orjson.dumps({"error": {"type": kind, "message": message}}))


class BatchServer(LoopbackServer):
    """The loopback server with batch endpoints; a batch takes so many seconds."""

    def __init__(self, *arguments: Any, batch_seconds: float = 0.0, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.batches = ServedBatches(batch_seconds, lambda body: self.respond(body))
        """The batch endpoints, with what they charged for."""

    def stats(self) -> Document:
        """Counts so far, of batches too."""
        return {**super().stats(), "batches": self.batches.stats()}

    def endpoint(self, received: Received) -> Callable[[Received], bytes] | None:
        """The batch endpoints beside the chat wires."""
        return self.batches.handle if self.batches.takes(received.path) else None
