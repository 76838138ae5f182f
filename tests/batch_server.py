"""A loopback server with batch endpoints: OpenAI's files and batches, Anthropic's message batches.

Batches end after a given time, in any of the ways that the published references name. What is charged for is counted:
each reply of a batch once, however often its results are read.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

from ostrom.ground.errors import StudyError
from ostrom.testing.http1 import Received, response
from ostrom.testing.replies import anthropic_document, openai_document
from ostrom.testing.server import LoopbackServer

BATCH_KINDS: dict[str, str] = {
    "late_error": "500 although the batch was made",
    "failed": "the batch fails its validation, and nothing is run",
    "expired": "the batch expires when half of its requests have been run",
    "cancelled": "somebody cancels the batch when half of its requests have been run",
    "line_error": "a request is answered with an error",
    "line_missing": "a line is missing when the results are first read",
    "line_malformed": "a line is not JSON when the results are first read",
    "line_double": "a line stands twice",
    "line_unknown": "a line with an identifier that nobody sent",
}

Document = dict[str, Any]
Shape = Callable[[Document, str], Document]


@dataclass(frozen=True, slots=True)
class BatchFaults:
    """How batches and their lines go wrong: probabilities by kind, drawn anew for each batch and line."""

    rates: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    """How long a batch takes."""
    seed: int = 0

    def __post_init__(self) -> None:
        for kind in self.rates:
            if kind not in BATCH_KINDS:
                raise StudyError("unknown kind of fault", key="batch faults", actual=kind, allowed=BATCH_KINDS)


@dataclass(slots=True)
class _Served:
    id: str
    anthropic: bool
    requests: list[tuple[str, Document]]
    created: float
    due: float
    fate: str
    file: str | None = None
    metadata: Any = None
    how: str = "in_progress"
    lines: list[bytes] = field(default_factory=list)
    errors: list[bytes] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    reads: Counter[str] = field(default_factory=Counter)


class ServedBatches:
    """The state of both endpoints: what was uploaded, made, run and charged for."""

    def __init__(self, faults: BatchFaults, respond: Callable[[Document], Any], shapes: Mapping[str, Shape]) -> None:
        self.faults, self.respond, self.shapes = faults, respond, shapes
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, _Served] = {}
        self.billed: Counter[str] = Counter()
        """Replies that were charged for, by the body of the request."""
        self.met: Counter[str] = Counter()
        """Faults of batches and lines by kind."""
        self.made: Callable[[], object] = lambda: None
        """Called when a batch has been made, before that is answered."""
        self._random = random.Random(faults.seed)

    def takes(self, path: str) -> bool:
        """Whether a path belongs to these endpoints."""
        plain = urlsplit(path).path
        return any(part in ("files", "batches") for part in plain.split("/"))

    def stats(self) -> Document:
        """Counts so far; every batch whose time has come is ended first."""
        for batch in self.batches.values():
            self._look(batch)
        ways = Counter(batch.how for batch in self.batches.values())
        return {"batches": dict(ways), "billed": self.billed.total(), "faults": dict(self.met)}

    def handle(self, received: Received) -> bytes:
        """The response to one request."""
        parts = urlsplit(received.path)
        where = [part for part in parts.path.split("/") if part]
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        anthropic = "messages" in where
        at = where.index("files") if "files" in where else where.index("batches")
        rest = where[at + 1 :]
        if where[at] == "files":
            return self._serve_files(received, rest)
        if not rest:
            return self._create(received, anthropic) if received.method == "POST" else self._list(query, anthropic)
        batch = self.batches.get(rest[0])
        if batch is None or batch.anthropic != anthropic:
            return _error(404, "not_found_error", f"no batch {rest[0]}")
        self._look(batch)
        if rest[1:] == ["results"]:
            ended = batch.how != "in_progress"
            return self._results(batch, "lines") if ended else _error(400, "invalid_request_error", "not ended")
        if rest[1:] == ["cancel"] and batch.how == "in_progress":
            batch.fate = "cancelled"
            self._end(batch)
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
        return self._results(batch, "lines" if kind == "output" else "errors")

    def _create(self, received: Received, anthropic: bool) -> bytes:
        body = orjson.loads(received.body)
        file, metadata = body.get("input_file_id"), body.get("metadata")
        if anthropic:
            requests = [(entry["custom_id"], entry["params"]) for entry in body["requests"]]
        elif file not in self.files:
            return _error(400, "invalid_request_error", "no such input file")
        else:
            entries = [orjson.loads(line) for line in self.files[file].splitlines() if line.strip()]
            requests = [(entry["custom_id"], entry["body"]) for entry in entries]
        names = [name for name, _ in requests]
        if not names or len(set(names)) < len(names) or any(not 0 < len(name) <= 64 for name in names):
            return _error(400, "invalid_request_error", "custom_id must be unique and have 1 to 64 characters")
        number = f"{len(self.batches) + 1:06d}"
        fate = self._draw(("failed", "expired", "cancelled") if not anthropic else ("expired", "cancelled"))
        now = time.time()
        batch = _Served(
            f"{'msgbatch' if anthropic else 'batch'}_{number}", anthropic, requests, now,
            now + self.faults.seconds, fate, file, metadata,
        )  # fmt: skip
        self.batches[batch.id] = batch
        self.made()
        if self._draw(("late_error",)):
            return _error(500, "server_error", "something broke")
        return _ok(self._document(batch))

    def _draw(self, kinds: tuple[str, ...]) -> str:
        left = self._random.random()
        for kind in kinds:
            left -= self.faults.rates.get(kind, 0.0)
            if left < 0:
                self.met[kind] += 1
                return kind
        return ""

    def _look(self, batch: _Served) -> None:
        if batch.how == "in_progress" and time.time() >= batch.due:
            self._end(batch)

    def _end(self, batch: _Served) -> None:
        batch.how = batch.fate or "completed"
        if batch.fate == "failed":
            return
        run = len(batch.requests) if not batch.fate else len(batch.requests) // 2
        shape = self.shapes["anthropic" if batch.anthropic else "openai"]
        for place, (name, body) in enumerate(batch.requests):
            if place >= run:
                batch.errors.append(_line(batch, name, unrun=batch.fate))
                batch.counts["unrun"] += 1
                continue
            said = (500, {"error": {"type": "api_error", "message": "something broke"}})
            if not self._draw(("line_error",)):
                said = self.respond(body)
            if isinstance(said, tuple):
                batch.errors.append(_line(batch, name, error=said))
                batch.counts["errored"] += 1
                continue
            document = said if isinstance(said, dict) else shape(body, said)
            batch.lines.append(_line(batch, name, document))
            batch.counts["succeeded"] += 1
            self.billed[orjson.dumps(body, option=orjson.OPT_SORT_KEYS).decode()] += 1
        if batch.anthropic:
            batch.lines += batch.errors
            batch.errors = []
        self._random.shuffle(batch.lines)

    def _results(self, batch: _Served, of: str) -> bytes:
        lines = list(batch.lines if of == "lines" else batch.errors)
        batch.reads[of] += 1
        if batch.reads[of] == 1:
            kept = []
            for line in lines:
                kind = self._draw(("line_missing", "line_malformed", "line_double", "line_unknown"))
                kept += {
                    "line_missing": [],
                    "line_malformed": [line[: len(line) // 2]],
                    "line_double": [line, line],
                    "line_unknown": [line, line.replace(b'"custom_id":"', b'"custom_id":"x')],
                }.get(kind, [line])
            lines = kept
        return response(200, b"".join(line + b"\n" for line in lines))

    def _list(self, query: Mapping[str, str], anthropic: bool) -> bytes:
        batches = [batch for batch in reversed(self.batches.values()) if batch.anthropic == anthropic]
        after = query.get("after") or query.get("after_id")
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
        counts = batch.counts
        if batch.anthropic:
            ended = batch.how != "in_progress"
            left = len(batch.requests) - counts.total()
            return {
                "id": batch.id,
                "type": "message_batch",
                "processing_status": "ended" if ended else "in_progress",
                "created_at": datetime.fromtimestamp(batch.created, UTC).isoformat(),
                "request_counts": {
                    "processing": left,
                    "succeeded": counts["succeeded"],
                    "errored": counts["errored"],
                    "canceled": counts["unrun"] if batch.how == "cancelled" else 0,
                    "expired": counts["unrun"] if batch.how == "expired" else 0,
                },
                "results_url": f"/v1/messages/batches/{batch.id}/results" if ended else None,
            }
        number = batch.id.partition("_")[2]
        problems = [{"code": "server_error", "message": "the file could not be validated", "line": None}]
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
            "errors": {"object": "list", "data": problems} if batch.how == "failed" else None,
            "request_counts": {
                "total": len(batch.requests),
                "completed": counts["succeeded"],
                "failed": counts["errored"],
            },
        }


def _line(
    batch: _Served,
    name: str,
    document: Document | None = None,
    error: tuple[int, Document] | None = None,
    unrun: str = "",
) -> bytes:
    if batch.anthropic:
        result: Document = {"type": "canceled" if unrun == "cancelled" else "expired"}
        if document is not None:
            result = {"type": "succeeded", "message": document}
        elif error is not None:
            result = {"type": "errored", "error": {"type": "error", **error[1]}}
        return orjson.dumps({"custom_id": name, "result": result})
    line: Document = {"id": f"batch_req_{name[-8:]}", "custom_id": name, "response": None, "error": None}
    if document is not None:
        line["response"] = {"status_code": 200, "request_id": "r", "body": document}
    elif error is not None:
        line["response"] = {"status_code": error[0], "request_id": "r", "body": error[1]}
    else:
        line["error"] = {"code": f"batch_{unrun}", "message": "this request was not run"}
    return orjson.dumps(line)


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
    """The loopback server with the batch endpoints of both wires."""

    def __init__(self, *arguments: Any, batch_faults: BatchFaults | None = None, **options: Any) -> None:
        super().__init__(*arguments, **options)
        shapes = {"openai": openai_document, "anthropic": anthropic_document}
        self.batches = ServedBatches(batch_faults or BatchFaults(), lambda body: self.respond(body), shapes)
        """The batch endpoints, with what they charged for."""

    def stats(self) -> Document:
        """Counts so far, of batches too."""
        return {**super().stats(), "batches": self.batches.stats()}

    def endpoint(self, received: Received) -> Callable[[Received], bytes] | None:
        """The batch endpoints beside the chat wires."""
        return self.batches.handle if self.batches.takes(received.path) else None
