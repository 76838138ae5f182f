"""Connections: kept, dropped, shared between calls. Servers are real ones on the loopback."""

import asyncio

import pytest
from tests.models.servers import REPLY, Server, client, in_a_loop, listening, plain, post, posting, transport

from ostrom.ground.errors import ConnectionFailed, MalformedReply, ModelError, RateLimited
from ostrom.models import transport as module
from ostrom.models.base import Request
from ostrom.models.connection import Address
from ostrom.models.http1 import BASE, BYTES_PER_TOKEN
from ostrom.models.transport import PendingPost, Transport


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
        "Accept: application/json", "Accept-Encoding: identity", server.heads[0].split("\r\n")[5],
        "X-Key: k", "Content-Length: 3", "", "",
    ]  # fmt: skip


@in_a_loop
async def test_an_idle_connection_is_dropped_before_the_server_drops_it(monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("closing", [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", REPLY], ids=["said", "unsaid"])
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
async def test_the_place_is_passed_on_when_a_good_reply_arrives_and_the_next_call_takes_its_connection() -> None:
    server = Server()
    async with listening(server.serve) as port, client(transport(port)) as line:
        second = posting(line, b"second")
        first = posting(line, b"first", second.start)
        first.start()
        async with asyncio.timeout(10):
            while not second.begun:
                await asyncio.sleep(0)
        assert first.took is not None and not second.dropped  # nobody has looked at the first reply yet
        assert [(await first.reply()).text, (await second.reply()).text] == ["{}", "{}"]
        assert server.connections == 1 and second.took is not None
        first.release()
        assert len(server.heads) == 2  # a place is left once


@in_a_loop
async def test_the_place_is_kept_until_trouble_was_heard_of() -> None:
    server = Server(b"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 0\r\n\r\n")
    left: list[str] = []
    async with listening(server.serve) as port, client(transport(port)) as line:
        call = posting(line, b"", lambda: left.append("left"))
        call.start()
        with pytest.raises(RateLimited):
            await call.reply()
        assert not left
        call.release()
        assert left == ["left"]


@in_a_loop
async def test_a_call_dropped_on_its_way_to_a_connection_is_never_sent() -> None:
    server = Server()
    async with listening(server.serve) as port, client(transport(port)) as line:
        call = posting(line, b"")
        call.start()
        call.drop()
        with pytest.raises(asyncio.CancelledError):
            await call.reply()
        assert await post(line, b"x") == b"{}"
        assert len(server.heads) == 1


@in_a_loop
async def test_whatever_goes_wrong_on_the_way_to_a_connection_is_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
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
async def test_bare_line_feeds_are_refused_at_once() -> None:
    server = Server(REPLY.replace(b"\r\n", b"\n"))
    async with listening(server.serve) as port, client(transport(port, timeout=300)) as line:
        async with asyncio.timeout(30):
            with pytest.raises(MalformedReply, match="no valid HTTP response: Missing expected CR"):
                await post(line, b"")


@in_a_loop
async def test_the_bound_on_a_body_follows_the_request() -> None:
    size = BASE + 10 * BYTES_PER_TOKEN
    server = Server(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (size + 1), hang_up=True)
    async with listening(server.serve) as port, client(transport(port)) as line:
        for tokens, why in (
            (10, f"more than the {size:,} bytes that max_tokens allows for"),
            (11, "cut its reply short"),
        ):
            asked = Request((), params={"max_tokens": tokens})
            with pytest.raises(MalformedReply, match=why):
                await PendingPost(line, b"", plain, asked).send_now()


@in_a_loop
async def test_what_a_server_sent_is_redacted_before_it_is_cut() -> None:
    key = "opensesame" * 10
    server = Server(b"your key is " + key.encode() + b" and wrong\r\n")
    async with listening(server.serve) as port:
        line = Transport(f"http://127.0.0.1:{port}/", {}, who="m", timeout=600, secrets=(key,))
        async with client(line):
            with pytest.raises(MalformedReply, match=r"begin with HTTP/1 \(it sent 'your key is \[key\] and wrong'\)"):
                await post(line, b"")
