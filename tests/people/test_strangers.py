"""A stranger with the code open in front of them: what they send, and that it gets them nowhere."""

import socket
from collections.abc import Iterator
from http.client import HTTPResponse

import pytest
from tests.people.served import Served, Visitor, served, small_study, wait_for

from ostrom.web.tokens import sign

IMPATIENT = "import ostrom.web.server as s, ostrom.web.security as t\ns.HEAD_WITHIN = 1\nt.SLOWEST = 1\n"
LINK = "link=1.AAAAAAAAAAAAAAAAAAAAAA"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(
        tmp_path_factory.mktemp("open"), small_study(source={"name": "link", "places": 500}), prelude=IMPATIENT
    ) as made:
        yield made


def exchanged(server: Served, *pieces: bytes) -> bytes:
    """Everything that comes back until the server closes the connection, or has nothing more to say."""
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.settimeout(15)
        got = b""
        try:
            for piece in pieces:
                line.sendall(piece)
            while more := line.recv(65536):
                got += more
        except (ConnectionResetError, BrokenPipeError):
            pass
        return got


def head(server: Served, *lines: str, start: str = "GET / HTTP/1.1") -> bytes:
    return "\r\n".join([start, f"Host: 127.0.0.1:{server.port}", *lines]).encode() + b"\r\n"


@pytest.mark.parametrize(
    "pieces",
    [
        [b"GET / HTTP/1.1\r\nX: " + b"a" * 5_000_000],
        [b"GET /" + b"a" * 5_000_000],
        [b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 500_000],
    ],
    ids=["one header", "the path", "many headers"],
)
def test_heads_are_bounded_in_size(server: Served, pieces: list[bytes]) -> None:
    assert exchanged(server, *pieces)[:12] in (b"HTTP/1.1 431", b"HTTP/1.1 400", b"")
    assert server.visitor(join=True).title == "Consent"


def test_heads_and_bodies_that_never_end_are_cut_off(server: Served) -> None:
    """Every one of these returns because the server closes the connection."""
    form = ("Content-Type: application/x-www-form-urlencoded", f"Origin: {server.base}")
    assert exchanged(server) == exchanged(server, b"GET / HT") == exchanged(server, head(server)) == b""
    post = head(server, *form, "Content-Length: 100", start="POST /join HTTP/1.1") + b"\r\nlink="
    assert exchanged(server, post).startswith(b"HTTP/1.1 408")
    large = head(server, *form, "Content-Length: 99999999", start="POST /join HTTP/1.1") + b"\r\n"
    assert exchanged(server, large, b"a" * 100_000).startswith((b"HTTP/1.1 413", b""))


def test_bounds_hold_for_every_request_of_a_connection(server: Served) -> None:
    request = head(server, f"X: {'a' * 20_000}", start="GET /nothing HTTP/1.1") + b"\r\n"
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.settimeout(15)
        for _ in range(3):  # each is within the bound, all of them together are not
            line.sendall(request)
            reply = HTTPResponse(line)
            reply.begin()
            assert reply.status == 404 and reply.read()
        line.sendall(b"GET / HT")
        assert line.recv(1) == b""


@pytest.mark.parametrize(
    "path", ["/nothing", "/.git/config", "/admin", "/people.db", "/%00", "/static/", "//evil.example"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "OPTIONS"])
def test_unknown_pages_say_nothing_and_carry_the_same_headers(server: Served, method: str, path: str) -> None:
    stranger = server.visitor()
    stranger.request(method, path, {"x": "1"} if method == "POST" else None)
    assert stranger.status in (400, 403, 404, 405) and len(stranger.page) < 100
    if stranger.status != 400:
        assert "default-src 'none'" in stranger.headers["content-security-policy"]
        assert "access-control-allow-origin" not in stranger.headers and "server" not in stranger.headers


def test_links_cookies_and_return_links_of_one_kind_are_no_other(server: Served) -> None:
    person = server.visitor(join=True)
    name, _, token = person.cookie.partition("=")
    code, _, signature = token.partition(".")
    number = server.link(1).partition("link=")[2]
    for query in (f"return={token}", f"return={code}", f"return={number}", f"link={token}", LINK, "link=1", "link=2"):
        stranger = server.visitor()
        stranger.request("GET", f"/?{query}")
        assert not stranger.cookie and person.at not in stranger.page, query
    for forged in (number, f"{code}.{number.partition('.')[2]}", f"{code}..{signature}", f".{signature}", "."):
        stranger = server.visitor()
        stranger.cookie = f"{name}={forged}"
        stranger.request("POST", "/answer", {"place": person.at, "answer": "decline"})
        assert stranger.status == 403, forged
        stranger.request("POST", "/leave", {"how": "withdrawn"})
        assert person.look() and person.title == "Consent"
    key = b"0" * 32
    for purpose in ("visit", "link", "return", "admin"):
        stranger.cookie = f"{name}={sign(key, purpose, code)}"
        stranger.request("POST", "/answer", {"place": person.at, "answer": "decline"})
        assert stranger.status == 403


def test_a_secret_link_brings_its_own_visit_back_and_so_does_one_of_the_researcher(server: Served) -> None:
    person, again, moved = server.visitor(), server.visitor(), server.visitor()
    person.join(server.link(400))
    again.join(server.link(400))
    assert again.cookie == person.cookie and again.at == person.at, "one link is one visit"
    back = server.ostrom("people", "small", "links", "--return", "--public", server.base).stdout.splitlines()
    mine = next(line.split()[1] for line in back if person.cookie.partition("=")[2].startswith(line.split()[0]))
    moved.request("GET", mine.partition(str(server.port))[2])
    assert moved.title == "Consent" and moved.cookie == person.cookie


@pytest.mark.slow
def test_old_forms_and_places_of_others_change_nothing(server: Served) -> None:
    one, two = server.visitor(join=True), server.visitor(join=True)
    forms = []
    for who in (one, two):
        who.answer("agree")
        forms.append((who.at, {"place": who.at, "answer": "J"}))
        who.answer("F")
    for who, (place, form) in zip((one, two, two, one), forms + forms, strict=True):
        before = who.look() and who.page
        who.request("POST", "/answer", form, X_Part="main")
        assert "out of date" in who.page and who.at != place
        assert who.look() == before
    unit, _, rest = one.at.partition(".")
    for guess in (f"{int(unit) + 1}.{rest}", f"0{one.at}", f"{one.at} ", "", "-1.0.0", "1e9.0.0", "٣.0.0"):
        one.request("POST", "/answer", {"place": guess, "answer": "J"}, X_Part="main")
        assert "out of date" in one.page and one.title == "Round 2 of 3"
    for fields in (
        {"answer": "J"},
        {"place": one.at},
        {"place": one.at, "answer": ""},
        {"place": one.at, "answer": "j"},
    ):
        one.request("POST", "/answer", fields, X_Part="main")
        assert one.title == "Round 2 of 3"


@pytest.mark.slow
def test_streams_are_counted_and_their_places_come_back(server: Served) -> None:
    person = server.visitor(join=True)
    ask = head(server, f"Cookie: {person.cookie}", start="GET /events HTTP/1.1") + b"\r\n"
    lines: list[socket.socket] = []
    try:
        told = []
        for _ in range(9):
            lines.append(socket.create_connection(("127.0.0.1", server.port), timeout=600))
            lines[-1].sendall(ask)
            told.append(lines[-1].recv(12))
        assert told == [b"HTTP/1.1 200"] * 8 + [b"HTTP/1.1 429"]
    finally:
        for line in lines:
            line.close()

    def again() -> bool:
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(ask)
            return line.recv(12) == b"HTTP/1.1 200"

    wait_for(again)
    assert person.look() and person.title == "Consent"


@pytest.mark.slow
def test_requests_that_follow_each_other_on_a_line_are_answered_one_by_one(server: Served) -> None:
    person = server.visitor(join=True)
    ask = head(server, f"Cookie: {person.cookie}") + b"\r\n"
    last = head(server, f"Cookie: {person.cookie}", "Connection: close") + b"\r\n"
    assert exchanged(server, ask * 20 + last).count(b"HTTP/1.1 200") == 21


@pytest.mark.slow
def test_the_admin_page_is_not_on_the_public_port_nor_the_other_way_round(server: Served) -> None:
    stranger, admin = server.visitor(), Visitor(server.admin_port)
    server.visitors.append(admin)
    for path in ("/close", "/unblind", "/login"):
        stranger.request("POST", path, {"closed": "1"})
        assert stranger.status == 404
    admin.request("POST", "/join", {"link": server.link(30).partition("link=")[2]})
    assert admin.status == 404
    stranger.request("POST", "/close", {"closed": "1"}, Host=f"127.0.0.1:{server.admin_port}")
    assert stranger.status == 421
