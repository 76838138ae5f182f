"""Every way a server can fail becomes one error of the tree, on one line, without the key."""

import asyncio
import socket
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.engine.retries import RetryPolicy
from ostrom.ground.errors import (
    AccessRefused,
    ConnectionFailed,
    ContentRefused,
    ContextExceeded,
    MalformedReply,
    ModelError,
    RateLimited,
    RequestRefused,
    ServerFailed,
    TimedOut,
)
from ostrom.models import Reply, open_model
from ostrom.models.base import Message, Request
from ostrom.models.failures import LONGEST, from_error_object, from_status, make, message_in, one_line, retry_after
from ostrom.models.openai_wire import decode
from ostrom.testing.faults import Faults
from ostrom.testing.server import LoopbackServer

Ask = Callable[..., Reply]
CANARY = "canary/5b1e+7f.04=d2"

EXPECTED: dict[str, type[ModelError]] = {
    "rate_limit": RateLimited,
    "server_error": ServerFailed,
    "unavailable": ServerFailed,
    "overloaded": ServerFailed,
    "error_in_200": ServerFailed,
    "refused_key": AccessRefused,
    "hang": TimedOut,
    "drip": TimedOut,
    "reset": ConnectionFailed,
    "cut_body": MalformedReply,
    "malformed": MalformedReply,
    "wrong_schema": MalformedReply,
}


@pytest.mark.parametrize("wire", ["openai", "anthropic"])
@pytest.mark.parametrize("kind", EXPECTED)
def test_every_fault_has_its_error_and_no_error_shows_the_key(
    kind: str, wire: str, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTROM_API_KEY", CANARY)
    with LoopbackServer(faults=Faults({kind: 1.0})) as server:
        base = server.url if wire == "openai" else server.origin
        with pytest.raises(EXPECTED[kind]) as caught:
            ask(f"{wire}/m", base_url=base, timeout=0.15 if kind in ("hang", "drip") else 30)
        assert CANARY in str(server.requests[0].headers)  # the server did see it
    error = caught.value
    shown = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error))
    assert CANARY not in shown
    assert "\n" not in str(error) and len(str(error)) < 500
    assert f"{wire}/m at 127.0.0.1" in str(error)


def test_good_replies_with_odd_content_are_replies(ask: Ask) -> None:
    with LoopbackServer(lambda _: "0123456789", faults=Faults(first=("cut_reply", "empty"))) as server:
        cut, empty = ask(server.model), ask(server.model)
    assert (cut.text, cut.finish) == ("01234", "length")
    assert (empty.text, empty.finish) == ("", "stop")


def test_nobody_there_is_a_failed_connection_that_names_the_host(ask: Ask) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(ConnectionFailed, match=f"cannot reach m at 127.0.0.1:{port}"):
            ask(f"http://127.0.0.1:{port}/v1#m")


def test_an_unknown_host_is_a_failed_connection(ask: Ask) -> None:
    with pytest.raises(ConnectionFailed, match=r"cannot reach m at no-such-host\.invalid"):
        ask("http://no-such-host.invalid/v1#m")


def test_a_redirect_is_not_followed(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OSTROM_API_KEY", CANARY)
    with LoopbackServer() as elsewhere:
        reply = f"HTTP/1.1 307 Moved\r\nLocation: {elsewhere.url}/chat/completions\r\nContent-Length: 0\r\n\r\n"
        with _raw_server(reply.encode()) as port, pytest.raises(RequestRefused, match="redirects elsewhere"):
            ask(f"http://127.0.0.1:{port}/v1#m")
        assert elsewhere.count == 0


def test_a_server_that_does_not_speak_http_is_malformed(ask: Ask) -> None:
    with _raw_server(b"SSH-2.0-OpenSSH_9.6\r\n") as port, pytest.raises((MalformedReply, ConnectionFailed)):
        ask(f"http://127.0.0.1:{port}/v1#m")


def test_an_empty_account_is_not_a_rate_limit() -> None:
    body = b'{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}'
    assert type(from_status(429, {}, body, who="m")) is AccessRefused


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": {"message": "no model x"}}', b'{"error": "no model x"}', b'{"message": "no model x"}',
        b'{"detail": "no model x"}', b'{"detail": [{"loc": ["body"], "msg": "no model x"}]}',
        b'{"errors": [{"message": "no model x"}]}', b"no model x",
    ],
)  # fmt: skip
def test_the_servers_own_words_are_kept(body: bytes) -> None:
    assert str(from_status(404, {}, body, who="m")) == "m refused the request (404): no model x"


def test_an_html_page_is_not_quoted() -> None:
    assert str(from_status(502, {}, b"<html>\n<h1>Bad Gateway</h1>", who="m")) == "m failed (502): an HTML page"


def test_a_key_at_the_edge_of_a_long_message_is_not_cut_in_half() -> None:
    for padding in range(250, 310):
        assert "canary" not in one_line("x" * padding + CANARY, [CANARY])


@pytest.mark.parametrize("here", ["UTC", "America/New_York", "Asia/Kolkata", "Pacific/Auckland"])
def test_dates_of_every_zone_mean_the_same_wherever_this_machine_stands(
    here: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", here)
    time.tzset()
    try:
        for date in (
            "Thu, 01 Jan 1970 00:02:00 GMT",
            "Thu, 01 Jan 1970 00:02:00 UTC",
            "Thu, 01 Jan 1970 00:02:00 +0000",
            "Thu, 01 Jan 1970 00:02:00 -0000",
            "Thu, 01 Jan 1970 09:02:00 +0900",
            "Wed, 31 Dec 1969 19:02:00 EST",
            "Thursday, 01-Jan-70 00:02:00 GMT",
            "Thu Jan  1 00:02:00 1970",
        ):
            assert retry_after({"Retry-After": date}, now=60.0) == 60.0, date
            by_its_clock = {"Retry-After": date, "Date": "Thu Jan  1 00:01:00 1970"}
            assert retry_after(by_its_clock) == 60.0, date
    finally:
        monkeypatch.undo()
        time.tzset()


def test_dates_that_no_calendar_has_are_no_wish() -> None:
    for nonsense in (
        "Thu, 32 Jan 1970 00:02:00 GMT",
        "Thu, 01 Jan 99999 00:00:00 GMT",
        "Thu, 01 Jan 1970 00:02:00 +9999",
        "Thu, 01 Jan 1970 25:61:61 GMT",
        "Infinity",
        "nan",
        "-inf",
        "1e999",
        "\x00",
        "9" * 5000,
    ):
        wish = retry_after({"Retry-After": nonsense}, now=0.0)
        assert wish is None, nonsense
    for absurd in ("1e300", "9" * 300, "Fri, 31 Dec 9999 23:59:59 GMT"):
        wish = retry_after({"Retry-After": absurd}, now=0.0)
        assert wish is not None and not RetryPolicy().allows(wish), absurd


def test_retry_after_in_all_its_forms() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    in_a_minute = format_datetime(now + timedelta(minutes=1), usegmt=True)
    assert retry_after({"Retry-After": "7"}) == 7.0
    assert retry_after({"Retry-After": "0.25"}) == 0.25
    assert retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    assert retry_after({"Retry-After": in_a_minute}, now=now.timestamp()) == 60.0
    assert retry_after({"Retry-After": in_a_minute, "Date": format_datetime(now, usegmt=True)}) == 60.0
    assert retry_after({"Retry-After": in_a_minute}, now=now.timestamp() + 3600) == 0.0
    assert retry_after({"Retry-After": "-3"}) == 0.0
    for nonsense in ("soon", "", "nan", "inf", "1e999"):
        assert retry_after({"Retry-After": nonsense}) is None
    assert retry_after({}) is None


def test_the_servers_wish_for_patience_reaches_the_error(ask: Ask) -> None:
    faults = Faults({"rate_limit": 1.0}, retry_after="12")
    with LoopbackServer(faults=faults) as server, pytest.raises(RateLimited) as caught:
        ask(server.model)
    assert caught.value.retry_after == 12.0


@settings(max_examples=200)
@given(st.binary(max_size=300) | st.text(max_size=200).map(str.encode))
def test_no_reply_of_any_kind_gives_more_than_a_model_error(data: bytes) -> None:
    request = Request((Message("user", "hi"),), top_logprobs=2)
    try:
        decode(data, request, who="m")
    except ModelError as error:
        assert "\n" not in str(error)


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["choices", "message", "content", "error", "usage", "logprobs", "type", "text", "code"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@settings(max_examples=120)
@given(_json)
def test_no_json_of_any_shape_gives_more_than_a_model_error(document: object) -> None:
    import orjson

    from ostrom.models.providers import anthropic as anthropic_wire

    request = Request((Message("user", "hi"),), top_logprobs=2)
    for message in (document, {"content": document}, {"content": "x", "reasoning_details": document}):
        for shape in (document, {"choices": [{"message": message, "logprobs": document}], "usage": document}):
            for read in (decode, anthropic_wire.decode):
                with suppress(ModelError):
                    read(orjson.dumps(shape), request, who="m")


def test_a_closed_model_says_so(server: LoopbackServer) -> None:
    async def main() -> None:
        model = open_model(server.model)
        await model.close()
        await model.close()
        with pytest.raises(ModelError, match="was closed"):
            await model.complete(Request((Message("user", "hi"),)))

    asyncio.run(main())


class _raw_server:
    """Answers every connection with the same bytes, whatever it is asked."""

    def __init__(self, reply: bytes) -> None:
        self.reply = reply

    def __enter__(self) -> int:
        import threading

        self.socket = socket.create_server(("127.0.0.1", 0))

        def serve() -> None:
            while True:
                try:
                    line, _ = self.socket.accept()
                except OSError:
                    return
                with line:
                    line.recv(65536)
                    line.sendall(self.reply)

        self.thread = threading.Thread(target=serve, daemon=True)
        self.thread.start()
        port: int = self.socket.getsockname()[1]
        return port

    def __exit__(self, *_: object) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.thread.join()


@pytest.mark.parametrize(
    ("status", "code", "said", "kind"),
    [
        (300, None, "", RequestRefused),
        (399, None, "", RequestRefused),
        (400, None, "", RequestRefused),
        (499, None, "", RequestRefused),
        (500, None, "", ServerFailed),
        (409, None, "", ServerFailed),
        (425, None, "", ServerFailed),
        (402, None, "", AccessRefused),
        (408, None, "", TimedOut),
        (413, None, "", ContextExceeded),
        (429, None, "", RateLimited),
        (429, "insufficient_quota", "", AccessRefused),
        (400, "insufficient_quota", "", RequestRefused),
        (400, "content_filter", "", ContentRefused),
        (451, None, "flagged", ContentRefused),
        (403, None, "flagged", ContentRefused),
        (404, None, "flagged", RequestRefused),
        (400, "unsupported_parameter", "moderation is off", RequestRefused),
        (400, None, "the prompt is too long", ContextExceeded),
        (422, "context_length_exceeded", "", ContextExceeded),
        (403, None, "the prompt is too long", AccessRefused),
        (400, "invalid_value", "the context length", RequestRefused),
    ],
)
def test_a_status_a_code_and_words_decide_the_error(
    status: int, code: str | None, said: str, kind: type[ModelError]
) -> None:
    error = make(status, "m", said, code=code)
    assert (type(error), error.status) == (kind, status)
    assert str(error).endswith(f"({status}): {said}" if said else f"({status})")
    assert ("redirects elsewhere" in str(error)) == (status < 400)


@pytest.mark.parametrize(
    ("code", "status"), [(399, 500), (400, 400), (429, 429), (599, 599), (600, 500), ("429", 500), (None, 500)]
)
def test_an_error_within_a_reply_has_the_status_it_names(code: object, status: int) -> None:
    assert from_error_object({"code": code, "message": "no"}, who="m").status == status
    assert from_error_object("no", who="m").status == 500


@pytest.mark.parametrize(
    ("document", "body", "said"),
    [
        (None, b" <html>", "an HTML page"),
        (None, b" busy ", "busy"),
        ([], b"[]", "[]"),
        ({"error": "a", "message": "b"}, b"", "a"),
        ({"error": {}, "message": "b"}, b"", "b"),
        ({"error": {"msg": "m", "type": "t", "code": "c"}}, b"", "m"),
        ({"error": {"type": "t", "code": "c"}}, b"", "t"),
        ({"error": {"code": 7}}, b"", "7"),
        ({"errors": [{"message": "first"}, {"message": "second"}]}, b"", "first"),
        ({"errors": []}, b"x", ""),
        ({"detail": ["d"]}, b"", "d"),
    ],
)
def test_words_are_taken_from_where_servers_put_them(document: object, body: bytes, said: str) -> None:
    assert message_in(document, body) == said


@pytest.mark.parametrize(("length", "cut"), [(LONGEST, False), (LONGEST + 1, True)])
def test_a_line_is_cut_where_it_is_too_long(length: int, cut: bool) -> None:
    line = one_line("x" * length)
    assert (len(line), line.endswith("…")) == (LONGEST, cut)
