"""The outside service on a real socket, with the faults of networks and of services."""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from chaos.outside.anthropic import Anthropic
from chaos.outside.faults import Draws, Plan
from chaos.outside.openai import OpenAI
from chaos.outside.rules import Refused
from chaos.outside.store import Store
from chaos.outside.wire import Answer, Asked, as_json

KEY = "outside-secret-key"
REFUSALS = (500, 502, 503, 529)


class Service:
    """Both endpoints at one address; ``with Service(plan) as service``."""

    def __init__(self, plan: Plan | None = None) -> None:
        self.store = Store(plan or Plan())
        self.openai, self.anthropic = OpenAI(self.store), Anthropic(self.store)
        self.violations: list[str] = []
        """Requests that the references do not allow."""
        self.count = 0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._http = _Server(self)

    @property
    def origin(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def environment(self) -> dict[str, str]:
        """Variables with which every client of either wire comes here."""
        return {
            "OPENAI_BASE_URL": f"{self.origin}/v1",
            "OPENAI_API_KEY": KEY,
            "ANTHROPIC_BASE_URL": self.origin,
            "ANTHROPIC_API_KEY": KEY,
        }

    def begin_faults(self, plan: Plan) -> None:
        """From now on things go wrong as planned."""
        with self._lock:
            self.store.plan, self.store.draws = plan, Draws(plan)

    def end_all(self) -> None:
        """Let every batch that is under way come to its end, so that all of them are billed."""
        with self._lock:
            for batch in self.store.batches.values():
                batch.ends = min(batch.ends, time.monotonic())
                self.store.look(batch)

    def answer(self, asked: Asked) -> Answer:
        """What the service answers if nothing goes wrong on the way; what it means takes effect."""
        with self._lock:
            try:
                wire = self.anthropic if asked.path[:2] == ["v1", "messages"] else self.openai
                return wire.answer(asked)
            except Refused as error:
                self.violations.append(f"{asked.method} /{'/'.join(asked.path)}: {error}")
                said = {"type": "invalid_request_error", "message": str(error)}
                return as_json({"type": "error", "error": said}, error.status)

    def serve(self, handler: _Handler, asked: Asked) -> None:
        """Answer one request, or fail to."""
        self.count += 1
        kind = self.store.draws.exchange()
        if kind == "reset_before":
            return handler.reset()
        if kind == "rate_limit":
            error = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}}
            return handler.send(as_json(error, 429, **{"Retry-After": "0.02"}))
        if kind == "server_error":
            status = REFUSALS[self.count % len(REFUSALS)]
            return handler.send(as_json({"error": {"message": "try again"}}, status))
        if kind == "slow":
            self._over.wait(0.05)
        found = self.answer(asked)
        if kind == "reset_after":
            return handler.reset()
        if kind == "late_error":
            return handler.send(as_json({"error": {"message": "lost on the way"}}, 500))
        if kind == "hang":
            self._over.wait(self.store.plan.hang)
            return handler.reset()
        if kind == "html":
            return handler.send(Answer(200, b"<html><body>One moment please.</body></html>", "text/html"))
        if kind == "cut_json":
            return handler.send(Answer(found.status, found.body[: len(found.body) // 2], found.kind))
        return handler.send(found, whole=kind != "cut_body")

    def __enter__(self) -> Service:
        threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._http.shutdown()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, service: Service) -> None:
        self.service = service
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed leaves its connection behind: nothing to report."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        self._take()

    def do_POST(self) -> None:
        self._take()

    def _take(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        parts = urlsplit(self.path)
        asked = Asked(
            self.command,
            [part for part in parts.path.split("/") if part],
            dict(parse_qsl(parts.query)),
            {name.lower(): value for name, value in self.headers.items()},
            body,
            KEY,
        )
        self.server.service.serve(self, asked)

    def send(self, answer: Answer, whole: bool = True) -> None:
        """Send a response; one that is not whole ends with its connection."""
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body if whole else answer.body[: len(answer.body) // 2])
        self.close_connection = not whole

    def reset(self) -> None:
        """End the connection without a word."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def summary(service: Service) -> str:
    """What was met, in one line."""
    met = service.store.draws.met
    return f"{service.count} exchanges, {len(service.store.batches)} batches, {met.total()} faults {json.dumps(met)}"
