"""Connections: kept, dropped, secured, led through a proxy. Servers are real ones on the loopback."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from ostrom.errors import (
    CertificateRefused,
    ConnectionFailed,
    MalformedReply,
    ModelError,
    RateLimited,
    UsageError,
)
from ostrom.models import transport as module
from ostrom.models.base import Reply, Request
from ostrom.models.connection import Address, Proxy
from ostrom.models.sending import Leave
from ostrom.models.transport import Posting, Transport

PEM = Path(__file__).parent / "tls" / "localhost.pem"
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


class Server:
    """Answers every request with the same bytes; counts connections and keeps what it was sent."""

    def __init__(self, reply: bytes = REPLY, *, hang_up: bool = False) -> None:
        self.reply, self.hang_up = reply, hang_up
        self.connections, self.gone = 0, 0
        self.heads: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                self.heads.append(head)
                length = int(head.lower().partition("content-length:")[2].split("\r\n")[0])
                await reader.readexactly(length)
                writer.write(self.reply)
                await writer.drain()
                if self.hang_up:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            self.gone += 1


@contextlib.asynccontextmanager
async def listening(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]],
    tls: bool = False,
) -> AsyncIterator[int]:
    """A port where somebody serves; all connections are shut in the end."""
    context = None
    if tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(PEM)
    serving: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.add(task)
        with contextlib.suppress(asyncio.CancelledError, asyncio.IncompleteReadError, OSError):
            await serve(reader, writer)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    yield server.sockets[0].getsockname()[1]
    server.close()
    for task in serving:
        task.cancel()
    await asyncio.gather(*serving, return_exceptions=True)


def transport(port: int, scheme: str = "http", host: str = "127.0.0.1", timeout: float = 20) -> Transport:
    return Transport(f"{scheme}://{host}:{port}/v1/chat", {"X-Key": "k"}, who="m", timeout=timeout)


def plain(data: bytes, request: Request, *, who: str, secrets: tuple[str, ...]) -> Reply:
    return Reply(data.decode())


def posting(line: Transport, body: bytes, leave: Leave | None = None) -> Posting:
    return Posting(line, body, plain, Request(()), leave)


async def post(line: Transport, body: bytes) -> bytes:
    return (await posting(line, body).at_once()).text.encode()


@contextlib.asynccontextmanager
async def client(line: Transport) -> AsyncIterator[Transport]:
    try:
        yield line
    finally:
        await line.close()


@in_a_loop
async def test_calls_in_a_row_share_a_connection_and_calls_at_once_do_not() -> None:
    server = Server()
    async with listening(server.serve) as port, client(transport(port)) as line:
        for _ in range(3):
            assert await post(line, b"abc") == b"{}"
        assert server.connections == 1
        await asyncio.gather(*(post(line, b"") for _ in range(5)))
        assert server.connections == 5
    assert server.heads[0].split("\r\n") == [
        "POST /v1/chat HTTP/1.1", f"Host: 127.0.0.1:{port}", "Content-Type: application/json",
        "Accept: application/json", server.heads[0].split("\r\n")[4], "X-Key: k", "Content-Length: 3", "", "",
    ]  # fmt: skip


@in_a_loop
async def test_an_idle_connection_is_dropped_before_the_server_drops_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "KEEP_ALIVE", 0.05)
    server = Server()
    async with listening(server.serve) as port, client(transport(port)) as line:
        await post(line, b"")
        for _ in range(100):
            await asyncio.sleep(0.02)
            if server.gone:
                break
        assert server.gone == 1
        await post(line, b"")
        assert server.connections == 2


@pytest.mark.parametrize(
    "closing", [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", REPLY], ids=["said", "unsaid"]
)
@in_a_loop
async def test_a_server_that_hangs_up_after_its_reply_costs_nothing(closing: bytes) -> None:
    server = Server(closing, hang_up=True)
    async with listening(server.serve) as port, client(transport(port)) as line:
        for number in range(1, 4):
            assert await post(line, b"") == b"{}"
            assert server.connections == number
            await asyncio.sleep(0.05)


@in_a_loop
async def test_a_reply_nobody_asked_for_never_answers_the_next_call() -> None:
    server = Server(REPLY + REPLY.replace(b"{}", b"[]"))
    async with listening(server.serve) as port, client(transport(port)) as line:
        for number in range(1, 4):
            assert await post(line, b"") == b"{}"
            assert server.connections == number


@in_a_loop
async def test_a_cancelled_call_takes_its_connection_with_it() -> None:
    server = Server(b"HTTP/1.1 200 OK\r\n")
    async with listening(server.serve) as port, client(transport(port)) as line:
        call = asyncio.create_task(post(line, b""))
        while not server.heads:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        server.reply = REPLY
        assert await post(line, b"") == b"{}"
        assert server.connections == 2


@in_a_loop
async def test_the_place_is_passed_on_when_a_good_reply_arrives_and_the_next_call_takes_its_connection() -> (
    None
):
    server = Server()
    async with listening(server.serve) as port, client(transport(port)) as line:
        second = posting(line, b"second")
        first = posting(line, b"first", second.go)
        first.go()
        async with asyncio.timeout(10):
            while not second.begun:
                await asyncio.sleep(0)
        assert first.took is not None and not second.dropped  # nobody has looked at the first reply yet
        assert [(await first.reply()).text, (await second.reply()).text] == ["{}", "{}"]
        assert server.connections == 1 and second.took is not None
        first.leave()
        assert len(server.heads) == 2  # a place is left once


@in_a_loop
async def test_the_place_is_kept_until_trouble_was_heard_of() -> None:
    server = Server(b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")
    left: list[str] = []
    async with listening(server.serve) as port, client(transport(port)) as line:
        call = posting(line, b"", lambda: left.append("left"))
        call.go()
        with pytest.raises(RateLimited):
            await call.reply()
        assert not left
        call.leave()
        assert left == ["left"]


@in_a_loop
async def test_a_call_dropped_on_its_way_to_a_connection_is_never_sent() -> None:
    server = Server()
    async with listening(server.serve) as port, client(transport(port)) as line:
        call = posting(line, b"")
        call.go()
        call.drop()
        with pytest.raises(asyncio.CancelledError):
            await call.reply()
        assert await post(line, b"x") == b"{}"
        assert len(server.heads) == 1


@in_a_loop
async def test_whatever_goes_wrong_on_the_way_to_a_connection_is_heard_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fails(_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Address, "connect", fails)
    async with client(transport(1)) as line, asyncio.timeout(10):
        with pytest.raises(ZeroDivisionError):
            await post(line, b"")


@in_a_loop
async def test_closing_ends_calls_under_way_and_refuses_new_ones() -> None:
    server = Server(b"HTTP/1.1 200 OK\r\n")
    async with listening(server.serve) as port:
        line = transport(port)
        call = asyncio.create_task(post(line, b""))
        while not server.heads:
            await asyncio.sleep(0.01)
        await line.close()
        with pytest.raises(ConnectionFailed, match="hung up"):
            await call
        with pytest.raises(ModelError, match="was closed before this call"):
            await post(line, b"")


@in_a_loop
async def test_a_reply_cut_short_is_malformed() -> None:
    server = Server(REPLY[:-1], hang_up=True)
    async with listening(server.serve) as port, client(transport(port)) as line:
        with pytest.raises(MalformedReply, match="cut its reply short"):
            await post(line, b"")


@in_a_loop
async def test_tls_is_spoken_and_certificates_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    async with listening(server.serve, tls=True) as port:
        async with client(transport(port, "https")) as line:
            with pytest.raises(CertificateRefused, match=r"m at 127\.0\.0\.1:\d+: self-signed") as caught:
                await post(line, b"")
            assert not caught.value.retryable
        monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
        async with client(transport(port, "https", "localhost")) as line:
            assert [await post(line, b"") for _ in range(2)] == [b"{}", b"{}"]
            await asyncio.gather(*(post(line, b"x" * 300_000) for _ in range(4)))
    assert server.connections == 4 and server.heads[0].startswith(
        "POST /v1/chat HTTP/1.1\r\nHost: localhost:"
    )


class ProxyServer:
    """Opens tunnels to one port, whatever is asked for; other requests it answers itself."""

    def __init__(self, port: int, status: bytes = b"200 Connection established") -> None:
        self.port, self.status, self.heads = port, status, [""]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        self.heads.append(head.decode())
        if not head.startswith(b"CONNECT"):
            writer.write(REPLY)
        else:
            writer.write(b"HTTP/1.1 " + self.status + b"\r\n\r\n")
        if head.startswith(b"CONNECT") and self.status.startswith(b"200"):
            there, back = await asyncio.open_connection("127.0.0.1", self.port)
            await asyncio.gather(_pass(reader, back), _pass(there, writer))
        await writer.drain()


async def _pass(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await source.read(1 << 16):
            target.write(data)
    target.close()
    with contextlib.suppress(OSError):
        await target.wait_closed()


@in_a_loop
async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
    monkeypatch.setattr("ostrom.models.connection.is_local", lambda _: False)
    async with listening(server.serve, tls=True) as port:
        proxy = ProxyServer(port)
        async with listening(proxy.serve) as door:
            for name in ("http_proxy", "https_proxy"):
                monkeypatch.setenv(name, f"http://me:p%40ss@127.0.0.1:{door}")
            async with client(transport(port, "https", "localhost")) as line:
                assert await post(line, b"abc") == b"{}"
            assert server.connections == 1 and "X-Key: k" in server.heads[0]
            assert proxy.heads[-1].startswith(f"CONNECT localhost:{port} HTTP/1.1\r\n")
            assert "Proxy-Authorization: Basic bWU6cEBzcw==\r\n" in proxy.heads[-1]
            assert "X-Key" not in proxy.heads[-1]
            async with client(transport(80, "http", "models.example")) as line:
                assert await post(line, b"abc") == b"{}"
            assert proxy.heads[-1].startswith("POST http://models.example:80/v1/chat HTTP/1.1\r\n")
            proxy.status = b"407 Who are you"
            async with client(transport(port, "https", "localhost")) as line:
                with pytest.raises(
                    ConnectionFailed, match=rf"through the proxy 127\.0\.0\.1:{door}: it answers 407"
                ):
                    await post(line, b"")
            proxy.status = b""
            async with client(transport(port, "https", "localhost")) as line:
                with pytest.raises(
                    ConnectionFailed, match=rf"through the proxy 127\.0\.0\.1:{door}: it sent b'HTTP"
                ):
                    await post(line, b"")


def test_which_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inside.example")
    assert Proxy.towards("https://api.example/v1") == Proxy("proxy.example", 3128, False, ())
    assert Proxy.towards("https://inside.example/v1") is None
    assert Proxy.towards("https://localhost/v1") is None
    for wrong in ("socks5://proxy.example", "http://127.0.0.1:99999", "http://:80", "http://[::1"):
        monkeypatch.setenv("https_proxy", wrong)
        with pytest.raises(UsageError, match="https_proxy: not the address of an HTTP proxy"):
            Proxy.towards("https://api.example/v1")
