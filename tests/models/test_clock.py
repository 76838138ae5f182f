"""How long a connection is kept and a call is waited for, on a clock that the test moves."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from tests.clock import Clock, on_a_clock

from ostrom.ground.errors import TimedOut
from ostrom.models import Message, Request, open_model

HI = Request((Message("user", "hi"),))
BODY = b'{"choices": [{"message": {"content": "[A0]"}, "finish_reason": "stop"}]}'


class Server:
    """Answers every request, or none; counts its connections."""

    def __init__(self) -> None:
        self.made, self.lost, self.requests, self.silent = 0, 0, 0, False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.made += 1
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                await reader.readexactly(int(head.partition("content-length:")[2].split("\r\n")[0]))
                self.requests += 1
                if not self.silent:
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY))
        except (asyncio.IncompleteReadError, ConnectionError):
            self.lost += 1
        finally:
            writer.close()


def with_a_server(test: Callable[[Clock, Server, Any], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def main(clock: Clock) -> None:
        server = Server()
        listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        model = open_model(f"http://127.0.0.1:{port}/v1#m", **settings)
        try:
            await test(clock, server, model)
        finally:
            await model.close()
            listening.close()

    on_a_clock(main)


def test_a_connection_is_used_again_within_four_seconds_and_dropped_after() -> None:
    async def test(clock: Clock, server: Server, model: Any) -> None:
        await model.complete(HI)
        await clock.forward(3.9)
        await model.complete(HI)
        assert server.made == 1
        await clock.forward(3.9)  # idle since the second call, not since the first
        await model.complete(HI)
        assert (server.made, server.lost) == (1, 0)
        await clock.forward(4.1)
        for _ in range(100):
            await asyncio.sleep(0)
        assert server.lost == 1  # dropped though nobody calls: a server that hangs up after five is not met
        await model.complete(HI)
        assert server.made == 2

    with_a_server(test)


@pytest.mark.parametrize(("settings", "seconds"), [({}, 120.0), ({"timeout": 30}, 30.0)])
def test_a_call_is_given_up_after_its_timeout_and_not_before(settings: Any, seconds: float) -> None:
    async def test(clock: Clock, server: Server, model: Any) -> None:
        server.silent = True
        call = asyncio.ensure_future(model.complete(HI))
        while not server.requests:
            await asyncio.sleep(0)
        await clock.forward(seconds - 0.5)
        assert not call.done()
        await clock.forward(1.0)
        with pytest.raises(TimedOut, match=f"within {seconds:g} s"):
            await call
        server.silent = False
        await model.complete(HI)
        assert server.made == 2  # the connection of a call that was given up is not used again

    with_a_server(test, **settings)


def test_every_call_has_a_deadline_of_its_own() -> None:
    async def test(clock: Clock, server: Server, model: Any) -> None:
        server.silent = True
        first = asyncio.ensure_future(model.complete(HI))
        while server.requests < 1:
            await asyncio.sleep(0)
        await clock.forward(20)
        second = asyncio.ensure_future(model.complete(HI))
        while server.requests < 2:
            await asyncio.sleep(0)
        await clock.forward(11)
        assert first.done() and not second.done()
        await clock.forward(18)
        assert not second.done()
        await clock.forward(2)
        for call in (first, second):
            with pytest.raises(TimedOut):
                await call

    with_a_server(test, timeout=30)
