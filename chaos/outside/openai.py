"""OpenAI's files, batches and chat completions, as the published reference has them."""

from __future__ import annotations

import json
import time
from typing import Any

from chaos.outside import rules
from chaos.outside.rules import Document, need
from chaos.outside.store import Batch, Line, Store, content, reply
from chaos.outside.wire import Answer, Asked, as_json, not_found

ENDPOINTS = {"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings", "/v1/moderations"}


class OpenAI:
    """One organisation's files and batches."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.files: dict[str, bytes] = {}

    def answer(self, asked: Asked) -> Answer:
        """What the service answers to one request below /v1."""
        need(asked.headers.get("authorization", "") == f"Bearer {asked.key}", "no or a wrong API key", 401)
        match [asked.method, *asked.path[1:]]:
            case ["POST", "chat", "completions"]:
                return self._complete(asked)
            case ["POST", "files"]:
                return self._upload(asked)
            case ["GET", "files", file, "content"]:
                return self._content(file)
            case ["POST", "batches"]:
                return self._create(asked)
            case ["GET", "batches"]:
                return self._list(asked)
            case ["GET", "batches", name]:
                batch = self.store.batches.get(name)
                return not_found(name) if batch is None else as_json(self._shown(batch))
            case ["POST", "batches", name, "cancel"]:
                batch = self.store.batches.get(name)
                if batch is None:
                    return not_found(name)
                self.store.look(batch)
                if batch.done:
                    return as_json({"error": {"message": "cannot cancel an ended batch", "code": None}}, 409)
                batch.cancelled = True
                return as_json(self._shown(batch))
        return not_found("/".join(asked.path))

    def _complete(self, asked: Asked) -> Answer:
        asked.is_json()
        body = rules.document(asked.body)
        rules.chat(body)
        self.store.direct[content(body)] += 1
        return as_json(completion(body, reply(body)))

    def _upload(self, asked: Asked) -> Answer:
        parts = rules.form(asked.headers.get("content-type", ""), asked.body)
        need(set(parts) == {"purpose", "file"}, f"the form has the fields {sorted(parts)}")
        need(parts["purpose"] == (None, b"batch"), "the purpose is not batch")
        name, data = parts["file"]
        need(name is not None and name.endswith(".jsonl"), f"the file is named {name!r}")
        file = f"file-{len(self.files):05d}in"
        self.files[file] = data
        about = {"object": "file", "bytes": len(data), "created_at": int(time.time()), "filename": name}
        return as_json({"id": file, **about, "purpose": "batch", "status": "processed"})

    def _create(self, asked: Asked) -> Answer:
        asked.is_json()
        body = rules.document(asked.body)
        required = {"input_file_id", "endpoint", "completion_window"}
        rules.known(body, required | {"metadata", "output_expires_after"}, required, "batch")
        need(body["endpoint"] in ENDPOINTS, f"the endpoint is {body['endpoint']!r}")
        need(body["completion_window"] == "24h", "the completion window is not 24h")
        metadata = body.get("metadata") or {}
        fits = all(len(k) <= 64 and isinstance(v, str) and len(v) <= 512 for k, v in metadata.items())
        need(len(metadata) <= 16 and fits, "the metadata do not fit")
        need(body["input_file_id"] in self.files, f"no file {body['input_file_id']}")
        found = rules.input_file(self.files[body["input_file_id"]], body["endpoint"])
        requests = [entry for entry in found if isinstance(entry, tuple)]
        wrong = [entry for entry in found if isinstance(entry, dict)]
        if wrong:
            self.store.draws.met["refused lines"] += len(wrong)
        batch = self.store.add(
            f"batch_{len(self.store.batches):05d}",
            requests,
            input=body["input_file_id"],
            endpoint=body["endpoint"],
            metadata=body.get("metadata"),
            **({"errors": wrong} if wrong else {}),
        )
        return as_json(self._shown(batch))

    def _list(self, asked: Asked) -> Answer:
        need(set(asked.query) <= {"limit", "after"}, f"unknown parameters {sorted(asked.query)}")
        limit = int(asked.query.get("limit", "20"))
        need(1 <= limit <= 100, f"the limit is {limit}")
        now = time.monotonic()
        shown = [b for b in reversed(self.store.batches.values()) if b.listed <= now and b.input]
        if "after" in asked.query:
            names = [batch.id for batch in shown]
            need(asked.query["after"] in names, f"no batch {asked.query['after']}")
            shown = shown[names.index(asked.query["after"]) + 1 :]
        page = [self._shown(batch) for batch in shown[:limit]]
        ends = {"first_id": page[0]["id"], "last_id": page[-1]["id"]} if page else {}
        return as_json({"object": "list", "data": page, **ends, "has_more": len(shown) > limit})

    def _shown(self, batch: Batch) -> Document:
        store, now = self.store, time.monotonic()
        store.look(batch)
        third = (batch.ends - batch.made) / 3
        how = "validating" if now < batch.made + third else "in_progress"
        if now > batch.ends - third:
            how = "finalizing"
        if batch.done:
            how = batch.fate if batch.fate in ("failed", "expired", "cancelled") else "completed"
        ended = batch.done and how != "failed"
        late = now < batch.readable
        errors = batch.errors
        if how == "failed" and errors is None:
            errors = [{"code": "server_error", "message": "Please try again.", "param": None, "line": None}]
        counts = {"total": len(batch.requests) if how not in ("validating", "failed") else 0}
        counts |= {"completed": len(batch.replies), "failed": len(batch.failed)}
        if ended and late:  # the counts of an ended batch may lag like its files
            counts = dict.fromkeys(counts, 0)
        return {
            "id": batch.id,
            "object": "batch",
            "endpoint": batch.endpoint,
            "errors": {"object": "list", "data": errors} if how == "failed" else None,
            "input_file_id": batch.input,
            "completion_window": "24h",
            "status": how,
            "output_file_id": f"{batch.id}_out" if ended and batch.replies and not late else None,
            "error_file_id": f"{batch.id}_err" if ended and (batch.failed or batch.unrun) and not late else None,
            "created_at": int(time.time() - (now - batch.made)),
            "expires_at": int(time.time() + 86_400),
            "request_counts": counts,
            "metadata": batch.metadata,
        }

    def _content(self, file: str) -> Answer:
        name, _, kind = file.rpartition("_")
        batch = self.store.batches.get(name)
        if batch is None or kind not in ("out", "err"):
            return not_found(file)
        self.store.look(batch)
        lines = self._replies(batch) if kind == "out" else self._errors(batch)
        found = self.store.spoiled(batch, kind, lines) if batch.done and lines else None
        return not_found(file) if found is None else Answer(200, found, "application/octet-stream")

    def _replies(self, batch: Batch) -> list[Line]:
        bodies = dict(batch.requests)
        return [
            _line(batch, name, {"status_code": 200, "body": completion(bodies[name], text)}, None)
            for name, text in batch.replies.items()
        ]

    def _errors(self, batch: Batch) -> list[Line]:
        busy = {"error": {"message": "The server had an error", "type": "server_error", "code": None}}
        lines = [
            _line(batch, name, {"status_code": (429, 500, 503)[len(name) % 3], "body": busy}, None)
            for name in sorted(batch.failed)
        ]
        code = "batch_expired" if batch.fate == "expired" else "batch_cancelled"
        error = {"code": code, "message": "This request could not be executed."}
        return lines + [_line(batch, name, None, error) for name in batch.unrun]


def _line(batch: Batch, name: str, response: Document | None, error: Document | None) -> Line:
    full = None if response is None else {"request_id": f"req_{name[-8:]}", **response}
    return {"id": f"{batch.id}_req", "custom_id": name, "response": full, "error": error}


def completion(body: Document, text: str) -> dict[str, Any]:
    """A chat completion."""
    size, length = len(json.dumps(body["messages"])) // 4, len(text) // 4 + 1
    return {
        "id": "chatcmpl-outside",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": size, "completion_tokens": length, "total_tokens": size + length},
    }
