"""Servers for tests of the HTTP client: real ones on the loopback that send what a test wants."""

import asyncio
import contextlib
import functools
import ssl
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

from ostrom.ground import loop
from ostrom.models.base import Reply, Request
from ostrom.models.pending_call import Release
from ostrom.models.transport import PendingPost, Transport

PEM = Path(__file__).parent / "tls" / "localhost.pem"
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


def in_a_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test on the loop that a run would use; OSTROM_LOOP chooses another."""

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        loop.run(test(*args, **kwargs))

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
    tls: bool | ssl.SSLContext = False,
) -> AsyncIterator[int]:
    """A port where somebody serves; all connections are shut in the end."""
    context = None if isinstance(tls, bool) else tls
    if tls is True:
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


def posting(line: Transport, body: bytes, release: Release | None = None) -> PendingPost:
    return PendingPost(line, body, plain, Request(()), release)


async def post(line: Transport, body: bytes) -> bytes:
    return (await posting(line, body).send_now()).text.encode()


@contextlib.asynccontextmanager
async def client(line: Transport) -> AsyncIterator[Transport]:
    try:
        yield line
    finally:
        await line.close()


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
