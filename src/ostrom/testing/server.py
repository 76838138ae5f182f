"""A loopback server with the OpenAI and Anthropic APIs that answers at once, and fails on demand.

In a test::

    with LoopbackServer(faults=Faults({"rate_limit": 0.2})) as server:
        model = open_model(server.model)

As a process, for benchmarks (GET /stats tells its counts)::

    python -m ostrom.testing.server --port 0 --latency 0.05 --fault rate_limit=0.1
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Self

import orjson

from ostrom.testing.faults import Faults, Latency
from ostrom.testing.http1 import Received, ServedConnection, response
from ostrom.testing.replies import answer, anthropic_document, completion_document, openai_document

Respond = Callable[[dict[str, Any]], str | dict[str, Any] | tuple[int, dict[str, Any]]]
"""A function from a chat body to the reply's text, or to the whole document."""

DRIP_BYTES, DRIP_SECONDS = 16, 0.02


class LoopbackServer:
    """The server, in its own thread while used as a context manager."""

    def __init__(
        self,
        respond: Respond = answer,
        *,
        faults: Faults | None = None,
        latency: float | Latency = 0.0,
        record: bool = True,
        port: int = 0,
    ) -> None:
        self.respond = respond
        self.faults = faults or Faults()
        self.latency = latency if isinstance(latency, Latency) else Latency(latency)
        self.record = record
        self.port = port
        self.requests: list[Received] = []
        """Received requests, if ``record``."""
        self.count = 0
        self.in_flight = 0
        self.max_in_flight = 0
        self.seconds_by_level: dict[int, float] = {}
        """Seconds with exactly this many calls in flight, from one on."""
        self._since = 0.0
        self.fault_counts: Counter[str] = Counter()
        self._seen: Counter[int] = Counter()
        self._open: set[ServedConnection] = set()
        self._drips: set[asyncio.Future[None]] = set()
        self._waiting: dict[ServedConnection, asyncio.TimerHandle | None] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """Return the base URL of the OpenAI API."""
        return f"{self.origin}/v1"

    @property
    def model(self) -> str:
        """A name under which ``open_model`` reaches this server."""
        return f"{self.url}#loopback"

    def bodies(self) -> list[dict[str, Any]]:
        """The recorded bodies, parsed."""
        return [orjson.loads(received.body) for received in self.requests]

    def stats(self) -> dict[str, Any]:
        """Return the counts so far: requests, calls in flight, seconds by number of calls in flight, and faults."""
        return {
            "count": self.count,
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "call_seconds": sum(level * seconds for level, seconds in self.seconds_by_level.items()),
            "busy_seconds": sum(self.seconds_by_level.values()),
            "seconds_by_level": {str(level): seconds for level, seconds in self.seconds_by_level.items()},
            "faults": dict(self.fault_counts),
        }

    def endpoint(self, received: Received) -> Callable[[Received], bytes] | None:  # noqa: ARG002
        """Return the handler of a request outside the chat APIs; subclasses add endpoints here."""
        return None

    async def listen(self) -> asyncio.Server:
        """Start listening in the running loop."""
        self._loop = asyncio.get_running_loop()
        server = await self._loop.create_server(self._connection, "127.0.0.1", self.port, backlog=1024)
        self.port = server.sockets[0].getsockname()[1]
        return server

    def __enter__(self) -> Self:
        ready = Future[None]()
        self._stop = asyncio.Event()

        async def main() -> None:
            try:
                server = await self.listen()
            except OSError as error:
                ready.set_exception(error)
                return
            ready.set_result(None)
            await self._stop.wait()
            server.close()
            for connection in list(self._open):
                connection.reset()
            await asyncio.sleep(0)

        self._thread = threading.Thread(target=lambda: asyncio.run(main()), name="loopback-server", daemon=True)
        self._thread.start()
        ready.result()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None and self._thread is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _connection(self) -> ServedConnection:
        connection = ServedConnection(self._handle, self._lost)
        self._open.add(connection)
        return connection

    def _lost(self, connection: ServedConnection) -> None:
        self._open.discard(connection)
        if connection in self._waiting:
            if (timer := self._waiting.pop(connection)) is not None:
                timer.cancel()
            self._fly(-1)

    def _handle(self, received: Received, connection: ServedConnection) -> None:
        added = self.endpoint(received)
        if received.method != "POST" and added is None:
            page = {
                "/health": {"status": "ok"},
                "/stats": self.stats(),
                "/v1/models": {"object": "list", "data": [{"id": "loopback"}]},
            }.get(received.path)
            connection.send(response(200 if page else 404, orjson.dumps(page or {"error": "no such page"})))
            return
        self.count += 1
        self._fly(1)
        self._waiting[connection] = None
        if self.record:
            self.requests.append(received)
        about = b"" if added is None else f"{received.method} {received.path}\n".encode()
        fault, delay = self._fate(about + received.body, self.count - 1)
        assert self._loop is not None
        due = self._loop.time() + delay
        data = self._good(received, fault) if fault not in FAILURES else FAILURES[fault](self, received)
        if delay > 0:
            self._waiting[connection] = self._loop.call_at(due, self._reply, data, connection, fault)
        else:
            self._reply(data, connection, fault)

    def _fly(self, change: int) -> None:
        now = time.perf_counter()
        if self.in_flight:
            self.seconds_by_level[self.in_flight] = self.seconds_by_level.get(self.in_flight, 0.0) + now - self._since
        self._since = now
        self.in_flight += change
        self.max_in_flight = max(self.max_in_flight, self.in_flight)

    def _fate(self, body: bytes, order: int) -> tuple[str | None, float]:
        """Return fault and latency of a request. Without faults nothing is hashed."""
        if order < len(self.faults.first):
            return self.faults.first[order], self.latency.draw(body, 0)
        attempt = 0
        if self.faults.rates:
            key = hash(body)
            attempt = self._seen[key]
            self._seen[key] += 1
        return self.faults.draw(body, attempt), self.latency.draw(body, attempt)

    def _reply(self, data: bytes, connection: ServedConnection, fault: str | None) -> None:
        if fault is not None:
            self.fault_counts[fault] += 1
            if fault == "hang":
                return  # stays in flight until the client gives up
        if self._waiting.pop(connection, 0) == 0:
            return  # the client is gone
        self._fly(-1)
        if fault == "reset":
            connection.reset()
        elif fault == "cut_body":
            connection.write(data[:-20])
            connection.hang_up()
        elif fault == "drip":
            task = asyncio.ensure_future(_drip(connection, data))
            self._drips.add(task)
            task.add_done_callback(self._drips.discard)
        else:
            connection.send(data)

    def _good(self, received: Received, fault: str | None) -> bytes:
        if (added := self.endpoint(received)) is not None:
            return added(received)
        anthropic = received.path.endswith("/messages")
        if not anthropic and not received.path.endswith("/completions"):
            return response(404, b'{"error": {"message": "no such page"}}')
        body = orjson.loads(received.body)
        reply = self.respond(body)
        if isinstance(reply, tuple):
            return response(reply[0], orjson.dumps(reply[1]))
        if isinstance(reply, dict):
            return response(200, orjson.dumps(reply))
        finish = "stop"
        if fault == "cut_reply":
            reply, finish = reply[: len(reply) // 2], "length"
        elif fault == "empty":
            reply = ""
        return response(200, orjson.dumps(self.document(body, reply, finish, anthropic=anthropic)))

    def document(self, body: dict[str, Any], reply: str, finish: str, *, anthropic: bool) -> dict[str, Any]:
        """Return a reply in the format of the API that was called; subclasses may add to it."""
        shape = completion_document if "prompt" in body else anthropic_document if anthropic else openai_document
        return shape(body, reply, finish)


async def _drip(connection: ServedConnection, data: bytes) -> None:
    for start in range(0, len(data), DRIP_BYTES):
        connection.write(data[start : start + DRIP_BYTES])
        await asyncio.sleep(DRIP_SECONDS)
    connection.send(b"")


def _error(status: int, kind: str, message: str, extra: str = "") -> bytes:
    return response(status, orjson.dumps({"error": {"type": kind, "message": message}}), extra)


def _refused(_: LoopbackServer, received: Received) -> bytes:
    key = received.headers.get("authorization") or received.headers.get("x-api-key") or "no key"
    return _error(401, "authentication_error", f"Incorrect API key provided: {key}")


FAILURES: dict[str | None, Callable[[LoopbackServer, Received], bytes]] = {
    "rate_limit": lambda s, _: _error(429, "rate_limit_error", "slow down", f"Retry-After: {s.faults.retry_after}\r\n"),
    "server_error": lambda *_: _error(500, "server_error", "something broke"),
    "unavailable": lambda *_: _error(503, "unavailable", "try again later"),
    "overloaded": lambda *_: _error(529, "overloaded_error", "Overloaded"),
    "error_in_200": lambda *_: response(200, b'{"error": {"message": "upstream broke", "code": 502}}'),
    "refused_key": _refused,
    "malformed": lambda *_: response(200, b'{"choices": [{"mess'),
    "wrong_schema": lambda *_: response(200, b'{"object": "list", "data": []}'),
}


def main() -> None:
    """Run the server until it is interrupted."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m ostrom.testing.server", description="loopback test server")
    options: dict[str, dict[str, Any]] = {
        "--port": {"type": int, "default": 0, "help": "0 picks a free one"},
        "--latency": {"type": float, "default": 0.0, "help": "seconds; the median with --sigma"},
        "--sigma": {"type": float, "default": 0.0, "help": "spread of log-normal latency"},
        "--fault": {"action": "append", "default": [], "metavar": "KIND=RATE"},
        "--retry-after": {"default": "1", "help": "value of the Retry-After header"},
        "--seed": {"type": int, "default": 0},
    }
    for flag, settings in options.items():
        parser.add_argument(flag, **settings)
    with suppress(KeyboardInterrupt):
        asyncio.run(_serve(parser.parse_args()))


async def _serve(options: Any) -> None:
    rates = {kind: float(rate) for kind, _, rate in (text.partition("=") for text in options.fault)}
    server = LoopbackServer(
        faults=Faults(rates, seed=options.seed, retry_after=options.retry_after),
        latency=Latency(options.latency, options.sigma, options.seed),
        record=False,
        port=options.port,
    )
    listening = await server.listen()
    print(server.url, flush=True)
    await listening.serve_forever()


if __name__ == "__main__":
    main()
