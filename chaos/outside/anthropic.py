"""Anthropic's messages and message batches, as the published reference has them."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

from chaos.outside import rules
from chaos.outside.rules import Document, need
from chaos.outside.store import Batch, Line, Store, content, reply
from chaos.outside.wire import Answer, Asked, as_json, not_found


class Anthropic:
    """One workspace's message batches."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def answer(self, asked: Asked) -> Answer:
        """What the service answers to one request below /v1/messages."""
        need(asked.headers.get("x-api-key", "") == asked.key, "no or a wrong API key", 401)
        need(asked.headers.get("anthropic-version") == "2023-06-01", "no anthropic-version header")
        match [asked.method, *asked.path[2:]]:
            case ["POST"]:
                return self._complete(asked)
            case ["POST", "batches"]:
                return self._create(asked)
            case ["GET", "batches"]:
                return self._list(asked)
            case [_, "batches", name, *rest]:
                batch = self.store.batches.get(name)
                if batch is None:
                    return not_found(name)
                self.store.look(batch)
                return self._about(asked.method, rest, batch)
        return not_found("/".join(asked.path))

    def _about(self, method: str, rest: list[str], batch: Batch) -> Answer:
        match [method, *rest]:
            case ["GET"]:
                return as_json(self._shown(batch))
            case ["POST", "cancel"]:
                need(not batch.done, "the batch has ended")
                batch.cancelled = True
                return as_json(self._shown(batch))
            case ["GET", "results"]:
                need(batch.done, "the batch has not ended")
                found = self.store.spoiled(batch, "results", self._results(batch))
                return not_found(batch.id) if found is None else Answer(200, found, "application/x-jsonl")
        return not_found("/".join(rest))

    def _complete(self, asked: Asked) -> Answer:
        asked.is_json()
        params = rules.document(asked.body)
        rules.message(params)
        self.store.direct[content(params)] += 1
        return as_json(message(params, reply(params)))

    def _create(self, asked: Asked) -> Answer:
        asked.is_json()
        body = rules.document(asked.body)
        rules.known(body, {"requests"}, {"requests"}, "batch")
        need(len(asked.body) <= rules.MOST_MESSAGE_BYTES, "the batch is too large", 413)
        found = body["requests"]
        need(isinstance(found, list) and 1 <= len(found) <= rules.MOST_MESSAGES, "requests: 1 to 100,000")
        requests: dict[str, Document] = {}
        for entry in found:
            rules.known(entry, {"custom_id", "params"}, {"custom_id", "params"}, "request")
            name = entry["custom_id"]
            need(isinstance(name, str) and rules.CUSTOM_ID.fullmatch(name), f"custom_id {name!r}")
            need(name not in requests, f"custom_id {name} stands twice")
            rules.message(entry["params"])
            requests[name] = entry["params"]
        batch = self.store.add(f"msgbatch_{len(self.store.batches):05d}", list(requests.items()))
        if batch.fate == "failed":
            batch.fate, batch.errors = ("completed", None)  # batches of this service are checked when they are made
        return as_json(self._shown(batch))

    def _list(self, asked: Asked) -> Answer:
        known = {"limit", "after_id", "before_id"}
        need(set(asked.query) <= known, f"unknown parameters {sorted(asked.query)}")
        limit = int(asked.query.get("limit", "20"))
        need(1 <= limit <= 1000, f"the limit is {limit}")
        now = time.monotonic()
        shown = [b for b in reversed(self.store.batches.values()) if b.listed <= now and b.input is None]
        if "after_id" in asked.query:
            names = [batch.id for batch in shown]
            need(asked.query["after_id"] in names, f"no batch {asked.query['after_id']}")
            shown = shown[names.index(asked.query["after_id"]) + 1 :]
        page = [self._shown(batch) for batch in shown[:limit]]
        ends = {"first_id": page[0]["id"] if page else None, "last_id": page[-1]["id"] if page else None}
        return as_json({"data": page, "has_more": len(shown) > limit, **ends})

    def _shown(self, batch: Batch) -> Document:
        self.store.look(batch)
        how = "ended" if batch.done else "canceling" if batch.cancelled else "in_progress"
        unrun = "expired" if batch.fate == "expired" else "canceled"
        counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
        if batch.done:
            counts |= {"succeeded": len(batch.replies), "errored": len(batch.failed), unrun: len(batch.unrun)}
        else:
            counts["processing"] = len(batch.requests)
        if batch.done and time.monotonic() < batch.readable:  # the counts of an ended batch may lag like its results
            counts = dict.fromkeys(counts, 0)
        made = datetime.fromtimestamp(time.time() - (time.monotonic() - batch.made), UTC)
        results = f"https://api.anthropic.com/v1/messages/batches/{batch.id}/results"
        return {
            "id": batch.id,
            "type": "message_batch",
            "processing_status": how,
            "request_counts": counts,
            "created_at": made.isoformat().replace("+00:00", "Z"),
            "expires_at": datetime.fromtimestamp(time.time() + 86_400, UTC).isoformat(),
            "ended_at": datetime.now(UTC).isoformat() if batch.done else None,
            "archived_at": None,
            "cancel_initiated_at": None,
            "results_url": results if batch.done else None,
        }

    def _results(self, batch: Batch) -> list[Line]:
        params = dict(batch.requests)
        busy = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
        unrun = "expired" if batch.fate == "expired" else "canceled"
        return [
            *(
                _line(name, {"type": "succeeded", "message": message(params[name], text)})
                for name, text in batch.replies.items()
            ),
            *(_line(name, {"type": "errored", "error": busy}) for name in sorted(batch.failed)),
            *(_line(name, {"type": unrun}) for name in batch.unrun),
        ]


def _line(name: str, result: Document) -> Line:
    return {"custom_id": name, "result": result}


def message(params: Document, text: str) -> dict[str, Any]:
    """A message."""
    return {
        "id": "msg_outside",
        "type": "message",
        "role": "assistant",
        "model": params["model"],
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": len(json.dumps(params["messages"])) // 4, "output_tokens": len(text) // 4 + 1},
    }
