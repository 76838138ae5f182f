"""Proxies of the environment: which one, for which server, and what goes through it."""

import os

import pytest
from tests.models.servers import PEM, ProxyServer, Server, client, in_a_loop, listening, post, transport

from ostrom.ground.errors import ConnectionFailed, UsageError
from ostrom.models.connection import Proxy


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
                with pytest.raises(ConnectionFailed, match=rf"through the proxy 127\.0\.0\.1:{door}: it answers 407"):
                    await post(line, b"")
            proxy.status = b""
            async with client(transport(port, "https", "localhost")) as line:
                with pytest.raises(
                    ConnectionFailed, match=rf"through the proxy 127\.0\.0\.1:{door}: Invalid status code"
                ):
                    await post(line, b"")


@pytest.fixture(autouse=True)
def _no_proxies_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


def chosen(url: str = "https://api.example/v1") -> str | None:
    proxy = Proxy.towards(url)
    return None if proxy is None else proxy.place


def test_the_scheme_comes_before_all_and_lower_case_before_upper(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen() is None
    for number, name in enumerate(("ALL_PROXY", "all_proxy", "HTTPS_PROXY", "https_proxy"), 1):
        monkeypatch.setenv(name, f"http://p:{number}")
        assert chosen() == f"p:{number}"
    assert chosen("http://api.example/v1") == "p:2"
    monkeypatch.setenv("https_proxy", "")
    assert chosen() is None  # an empty value means: directly


def test_a_request_header_cannot_name_the_proxy_under_cgi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://evil:1")
    assert chosen("http://api.example/v1") == "evil:1"
    monkeypatch.setenv("REQUEST_METHOD", "GET")
    assert chosen("http://api.example/v1") is None


@pytest.mark.parametrize("name", ["no_proxy", "NO_PROXY"])
@pytest.mark.parametrize(
    ("listed", "url", "direct"),
    [
        ("inside.example", "https://inside.example", True), ("inside.example", "https://a.inside.example", True),
        ("inside.example", "https://winside.example", False), (".inside.example", "https://inside.example", True),
        ("*.inside.example", "https://a.inside.example", True), ("INSIDE.example.", "https://Inside.Example", True),
        ("a.b, inside.example", "https://inside.example", True), ("a.b inside.example", "https://inside.example", True),
        ("*", "https://api.example", True), ("", "https://api.example", False), (" , ", "https://api.example", False),
        ("inside.example:8443", "https://inside.example:8443", True),
        ("inside.example:8443", "https://inside.example", False),
        ("inside.example:443", "https://inside.example", True),
        ("10.0.0.0/8", "http://10.1.2.3", True), ("10.0.0.0/8", "http://11.1.2.3", False),
        ("10.1.2.3/8", "http://10.9.9.9", True), ("10.0.0.0/8", "http://ten.example", False),
        ("10.1.2.3", "http://10.1.2.3", True), ("10.1.2.3", "http://10.1.2.30", False),
        ("10.1.2.3:80", "http://10.1.2.3", True), ("10.1.2.3:81", "http://10.1.2.3", False),
        ("fd00::/8", "http://[fd12::1]:8000", True), ("fd00::/8", "http://10.1.2.3", False),
        ("[fd12::1]", "http://[fd12:0::1]", True), ("fd12::1", "http://[fd12:0::1]", True),
        ("[fd12::1]:8000", "http://[fd12::1]:8000", True), ("[fd12::1]:8001", "http://[fd12::1]:8000", False),
    ],
)  # fmt: skip
def test_what_is_reached_directly(
    name: str, listed: str, url: str, direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("all_proxy", "http://p:1")
    monkeypatch.setenv(name, listed)
    assert (chosen(url) is None) is direct


def test_this_machine_is_never_reached_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "socks5://p:1")
    for url in ("http://localhost:8000", "http://127.0.0.1:8000", "http://[::1]:8000"):
        assert chosen(url) is None


@pytest.mark.parametrize("variable", ["https_proxy", "ALL_PROXY"])
def test_what_is_not_a_proxy_that_we_can_use_is_refused(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for scheme in ("socks5", "socks5h", "socks4", "socks"):
        monkeypatch.setenv(variable, f"{scheme}://me:hidden@proxy.example:1080")
        with pytest.raises(UsageError, match=f"^{variable}: SOCKS proxies are not supported") as caught:
            chosen()
        assert "hidden" not in str(caught.value)
    for wrong in ("ftp://proxy.example", "http://me:hidden@127.0.0.1:99999", "http://:80", "http://[::1"):
        monkeypatch.setenv(variable, wrong)
        with pytest.raises(UsageError, match=f"^{variable}: not the address of an HTTP proxy") as caught:
            chosen()
        assert "hidden" not in str(caught.value)


@pytest.mark.parametrize("wrong", ["10.0.0.0/99", "inside.example/8", "inside.example:http"])
def test_an_exception_that_means_nothing_is_refused(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("all_proxy", "http://p:1")
    monkeypatch.setenv("no_proxy", wrong)
    with pytest.raises(UsageError, match=r"^no_proxy: '"):
        chosen()
