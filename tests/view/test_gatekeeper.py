"""What every request passes, whichever server it is for: hosts, origins and addresses."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ostrom.ground.errors import RunError, UsageError
from ostrom.web import security
from ostrom.web.security import HEADERS, Gatekeeper, Refused
from ostrom.web.server import KINDS, MOST_HEAD, BoundedConnection, listen_on, password_in, static

HERE = b"127.0.0.1:80"
OWN = (b"origin", b"http://127.0.0.1:80")


async def page(_: Request) -> Response:
    return PlainTextResponse("served")


def asked(
    path: str, *headers: tuple[bytes, bytes], method: str = "GET", keeper: Gatekeeper | None = None
) -> tuple[int, dict[str, str]]:
    """Status and headers of a reply to a request with these headers."""
    application = (keeper or Gatekeeper(None, [80])).application([("/a", page, ["GET", "POST"])])
    scope: dict[str, Any] = {
        "type": "http", "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": list(headers), "client": ("127.0.0.1", 5), "server": ("127.0.0.1", 80), "scheme": "http",
        "http_version": "1.1", "root_path": "",
    }  # fmt: skip
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(application(scope, receive, send))
    return sent[0]["status"], {name.decode(): value.decode() for name, value in sent[0]["headers"]}


@pytest.mark.parametrize("path", ["/a", "/a/", "/b", "/b/", "/", "//", "//evil.example/a/"])
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
@pytest.mark.parametrize(
    "hosts", [[b"evil.example"], [], [HERE, b"evil.example"], [b"evil.example", HERE], [HERE, HERE]]
)
def test_a_foreign_host_is_refused_whatever_it_asks_for(path: str, method: str, hosts: list[bytes]) -> None:
    status, headers = asked(path, *((b"host", host) for host in hosts), OWN, method=method)
    assert status == 421 and "location" not in headers and headers.keys() >= HEADERS.keys()


def test_a_page_has_one_address() -> None:
    assert asked("/a", (b"host", HERE))[0] == 200
    status, headers = asked("/a/", (b"host", HERE))
    assert status == 404 and "location" not in headers
    assert asked("/a", (b"host", HERE), OWN, method="PUT")[0] == 405


SITE, OTHER = (b"sec-fetch-site", b"same-origin"), (b"sec-fetch-site", b"cross-site")
NEAR = (b"sec-fetch-site", b"same-site")
EVIL = (b"origin", b"http://evil.example")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([OWN], 200), ([SITE], 200), ([OWN, SITE], 200), ([(b"origin", b"null"), SITE], 200),
        ([EVIL], 403), ([OTHER], 403), ([OWN, OTHER], 403), ([], 403), ([(b"origin", b"null")], 403),
        ([OWN, EVIL], 400), ([EVIL, OWN], 400), ([OWN, OWN], 400), ([OWN, SITE, OTHER], 400), ([OTHER, SITE], 400),
        ([(b"origin", b"http://127.0.0.1:80, http://evil.example")], 403), ([OWN, NEAR], 403),
    ],
)  # fmt: skip
def test_a_request_says_once_which_site_it_came_from(headers: list[tuple[bytes, bytes]], status: int) -> None:
    assert asked("/a", (b"host", HERE), *headers, method="POST")[0] == status


def test_a_site_with_a_name_is_reached_by_its_own_scheme_alone() -> None:
    keeper, host = Gatekeeper("https://Lab.example", [80]), (b"host", b"lab.example")
    status, headers = asked("/a", host, keeper=keeper)
    assert status == 200 and headers["strict-transport-security"].startswith("max-age=")
    for origin, status in ((b"https://lab.example", 200), (b"http://lab.example", 403), (OWN[1], 200)):
        assert asked("/a", host, (b"origin", origin), method="POST", keeper=keeper)[0] == status
    plain = Gatekeeper("http://lab.example", [80])
    assert "strict-transport-security" not in asked("/a", host, keeper=plain)[1]


@pytest.mark.parametrize(("pieces", "status"), [(2, None), (3, 413)])
def test_a_body_is_bounded_whatever_its_head_says(pieces: int, status: int | None) -> None:
    kind = (b"content-type", b"application/x-www-form-urlencoded")
    for headers in ([kind], [kind, (b"content-length", b"7")]):
        left = [b"a=" + b"b" * 8_000] * pieces

        async def receive(left: list[bytes] = left) -> dict[str, Any]:
            return {"type": "http.request", "body": left.pop(), "more_body": bool(left)}

        form = Gatekeeper(None, [80]).form(Request({"type": "http", "method": "POST", "headers": headers}, receive))
        if status is None:
            assert len(asyncio.run(form)["a"]) > 8_000
        else:
            with pytest.raises(Refused) as refused:
                asyncio.run(form)
            assert refused.value.status == status


@pytest.mark.parametrize("length", ["20001", "9" * 5_000, "-1", "1e3", "\u0663", "7 "])
def test_a_length_that_is_none_or_too_much_is_refused_before_anything_is_read(length: str) -> None:
    async def receive() -> dict[str, Any]:
        raise AssertionError("nothing is read")

    headers = [(b"content-type", b"application/x-www-form-urlencoded"), (b"content-length", length.encode("utf-8"))]
    form = Gatekeeper(None, [80]).form(Request({"type": "http", "method": "POST", "headers": headers}, receive))
    with pytest.raises(Refused) as refused:
        asyncio.run(form)
    assert refused.value.status == 413


def test_a_proxy_is_believed_what_it_says_last() -> None:
    keeper = Gatekeeper("https://lab.example", [80])

    def address(*told: bytes, peer: str = "127.0.0.1", keeper: Gatekeeper = keeper) -> str:
        headers = [(b"x-forwarded-for", value) for value in told]
        return keeper.address(Request({"type": "http", "headers": headers, "client": (peer, 5)}))

    assert address(b"10.0.0.1, 10.0.0.2") == "10.0.0.2"
    assert address(b"10.0.0.1", b"10.0.0.2") == "10.0.0.2"  # a proxy that adds a line instead
    assert address() == "127.0.0.1" == address(b"not an address")
    assert address(b"2001:db8::1") == address(b"2001:db8::2") == "2001:db8::/64", "one network is one address"
    assert address(b"10.0.0.1", peer="203.0.113.9") == "203.0.113.9", "a stranger is no proxy"
    assert address(b"10.0.0.1", keeper=Gatekeeper(None, [80])) == "127.0.0.1", "there is no proxy"


def test_so_many_people_may_join_in_a_minute_from_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(security, "time", SimpleNamespace(monotonic=lambda: now))
    keeper = Gatekeeper(None, [80], joins_a_minute=2)

    def joins(peer: str) -> bool:
        try:
            keeper.joining(Request({"type": "http", "headers": [], "client": (peer, 5)}))
        except Refused as refused:
            assert refused.status == 429
            return False
        return True

    assert joins("192.0.2.1") and joins("192.0.2.1")
    now += 30
    assert not any(joins("192.0.2.1") for _ in range(5))  # being refused starts nothing anew
    assert joins("192.0.2.2")
    now += 29.9
    assert not joins("192.0.2.1")
    now += 0.2
    assert joins("192.0.2.1") and joins("192.0.2.1") and not joins("192.0.2.1")
    free = Gatekeeper(None, [80])
    for _ in range(100):
        free.joining(Request({"type": "http", "headers": [], "client": ("192.0.2.1", 5)}))


def fields(body: bytes, kind: bytes = b"application/x-www-form-urlencoded") -> dict[str, str] | int:
    """The fields of a form, or the status of its refusal."""

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    request = Request({"type": "http", "method": "POST", "headers": headers}, receive)
    try:
        return asyncio.run(Gatekeeper(None, [80]).form(request))
    except Refused as refused:
        return refused.status


@pytest.mark.parametrize(
    ("body", "kind", "found"),
    [
        (b"a=1&b=&a=2", b"application/x-www-form-urlencoded", {"a": "2", "b": ""}),
        (b"a=%C3%A4+b", b" Application/X-WWW-Form-urlencoded ; charset=utf-8", {"a": "ä b"}),
        (b"", b"application/x-www-form-urlencoded", {}),
        (b"a=1", b"text/plain", 415),
        (b"a=1", b"multipart/form-data; boundary=application/x-www-form-urlencoded", 415),
        (b"a=\xff", b"application/x-www-form-urlencoded", 400),
        (b"&".join([b"a=1"] * 200), b"application/x-www-form-urlencoded", {"a": "1"}),
        (b"&".join([b"a=1"] * 201), b"application/x-www-form-urlencoded", 400),
        (b"a=" + b"b" * 16_382, b"application/x-www-form-urlencoded", {"a": "b" * 16_382}),
        (b"a=" + b"b" * 16_383, b"application/x-www-form-urlencoded", 413),
    ],
)
def test_a_form_is_read_or_refused(body: bytes, kind: bytes, found: dict[str, str] | int) -> None:
    assert fields(body, kind) == found


def test_a_form_without_a_length_is_read_and_one_without_a_kind_is_refused() -> None:
    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"a=1", "more_body": False}

    kind = (b"content-type", b"application/x-www-form-urlencoded")
    for headers, status in (([kind], None), ([], 415)):
        form = Gatekeeper(None, [80]).form(Request({"type": "http", "method": "POST", "headers": headers}, receive))
        if status is None:
            assert asyncio.run(form) == {"a": "1"}
        else:
            with pytest.raises(Refused, match=r"^Send a form\.$") as refused:
                asyncio.run(form)
            assert refused.value.status == status


def test_a_body_that_comes_too_slowly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "SLOWEST", 0.001)

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(30)
        raise AssertionError("nobody waits so long")

    headers = [(b"content-type", b"application/x-www-form-urlencoded")]
    with pytest.raises(Refused, match=r"^That took too long\.$") as refused:
        asyncio.run(
            Gatekeeper(None, [80]).form(Request({"type": "http", "method": "POST", "headers": headers}, receive))
        )
    assert refused.value.status == 408


@pytest.mark.parametrize(
    ("error", "status", "told", "reported"),
    [
        (Refused(403, "Log in first."), 403, "Log in first.\n", []),
        (RunError("the disk is full"), 503, "The server cannot keep answers right now.\n", ["the disk is full"]),
        (ValueError("secret"), 500, "Something is wrong with this server.\n", ["a request failed: ValueError in"]),
    ],
)  # fmt: skip
def test_what_a_handler_raises_becomes_a_reply_without_its_words(
    error: Exception, status: int, told: str, reported: list[str]
) -> None:
    said: list[str] = []
    keeper = Gatekeeper(None, [80], report=said.append)

    async def fails(_: Request) -> Response:
        raise error

    scope = {"type": "http", "method": "GET", "headers": [(b"host", HERE)]}
    reply = asyncio.run(keeper(Request(scope), fails))
    assert (reply.status_code, bytes(reply.body).decode()) == (status, told)
    assert HEADERS.items() <= dict(reply.headers).items()
    assert len(said) == len(reported) and all(one.startswith(two) for one, two in zip(said, reported, strict=True))
    assert not any("secret" in line for line in said)


def test_a_reply_keeps_the_headers_that_it_has() -> None:
    async def kept(_: Request) -> Response:
        return PlainTextResponse("x", headers={"cache-control": "public, max-age=300"})

    scope = {"type": "http", "method": "GET", "headers": [(b"host", b"LOCALHOST:80")]}
    reply = asyncio.run(Gatekeeper(None, [80])(Request(scope), kept))
    assert reply.headers["cache-control"] == "public, max-age=300" and reply.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize(
    ("headers", "browsers", "status"),
    [
        ([], False, 200), ([EVIL], False, 403), ([OTHER], False, 403), ([], True, 403),
        ([(b"sec-fetch-site", b"none")], True, 200), ([(b"origin", b"HTTP://LOCALHOST:80")], True, 200),
        ([(b"origin", b"http://[::1]:80")], True, 200), ([(b"origin", b"http://127.0.0.1:81")], True, 403),
    ],
)  # fmt: skip
def test_programs_need_not_say_where_they_come_from(
    headers: list[tuple[bytes, bytes]], browsers: bool, status: int
) -> None:
    keeper = Gatekeeper(None, [80], browsers=browsers)
    assert asked("/a", (b"host", HERE), *headers, method="POST", keeper=keeper)[0] == status
    assert asked("/a", (b"host", HERE), method="HEAD", keeper=keeper)[0] == 200, "reading needs no origin"


@pytest.mark.parametrize(
    ("password", "host", "found"),
    [
        (None, "localhost", None), (None, "127.0.0.1", None), (None, "::1", None), ("", "localhost", None),
        ("a" * 12, "0.0.0.0", "a" * 12), ("a" * 11, "localhost", "WORD: must have at least 12 characters"),
        (None, "0.0.0.0", "--host 0.0.0.0: other machines can reach this address; set WORD"),
        ("", "lab.example", "--host lab.example: other machines can reach this address; set WORD"),
    ],
)  # fmt: skip
def test_a_server_that_others_reach_needs_a_long_password(
    monkeypatch: pytest.MonkeyPatch, password: str | None, host: str, found: str | None
) -> None:
    if password is None:
        monkeypatch.delenv("WORD", raising=False)
    else:
        monkeypatch.setenv("WORD", password)
    try:
        assert password_in("WORD", host) == found
    except UsageError as error:
        assert str(error) == found


def test_a_port_is_listened_on_once() -> None:
    with listen_on("localhost", 0) as first:
        address, port = first.getsockname()
        assert address == "127.0.0.1" and not first.getblocking()
        with pytest.raises(UsageError, match=rf"^port {port} of 127\.0\.0\.1 cannot be used: Address already"):
            listen_on("127.0.0.1", port)


@pytest.mark.parametrize("name", [*KINDS, "server.py", "../server.py", ""])
def test_only_the_listed_files_are_served(name: str) -> None:
    request = Request({"type": "http", "headers": [], "path_params": {"name": name}})
    if name in KINDS:
        reply = asyncio.run(static(request))
        assert reply.media_type == KINDS[name] and reply.headers["cache-control"] == "public, max-age=300"
        assert len(bytes(reply.body)) > 100
    else:
        with pytest.raises(Refused, match=r"^There is no such file\.$") as refused:
            asyncio.run(static(request))
        assert refused.value.status == 404


def test_the_end_of_a_head_is_found_across_two_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(HttpToolsProtocol, "data_received", lambda *_: None)
    line, sent = BoundedConnection.__new__(BoundedConnection), list[bytes]()
    some: Any = line
    some.cycle, some._waiting = None, SimpleNamespace(cancel=lambda: None)
    some.transport = SimpleNamespace(write=sent.append, close=lambda: None)
    line.data_received(b"POST / HTTP/1.1\r\nA: b\r\n\r")
    line.data_received(b"\n" + b"x" * MOST_HEAD)  # a body, which is bounded elsewhere
    assert not sent
    line.data_received(b"x" * (MOST_HEAD + 1))
    assert sent[0].startswith(b"HTTP/1.1 431")
