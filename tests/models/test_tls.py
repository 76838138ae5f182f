"""TLS on the loopback, with certificates made here: what is trusted, and the reason for what is not."""

import asyncio
import re
import ssl
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from tests.models.servers import PEM, Server, client, in_a_loop, listening, post, transport

from ostrom.ground.errors import CertificateRefused, ConnectionFailed, MalformedReply, TimedOut, UsageError


@in_a_loop
async def test_tls_is_spoken_and_certificates_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()
    async with listening(server.serve, tls=True) as port:
        async with client(transport(port, "https")) as line:
            with pytest.raises(
                CertificateRefused, match=r"m at 127\.0\.0\.1:\d+: its certificate is self-signed \(SSL_CERT_FILE names"
            ) as caught:
                await post(line, b"")
            assert not caught.value.retryable
        monkeypatch.setenv("SSL_CERT_FILE", str(PEM))
        async with client(transport(port, "https", "localhost")) as line:
            assert [await post(line, b"") for _ in range(2)] == [b"{}", b"{}"]
            await asyncio.gather(*(post(line, b"x" * 300_000) for _ in range(4)))
    assert server.connections == 4 and server.heads[0].startswith("POST /v1/chat HTTP/1.1\r\nHost: localhost:")


class Authority:
    """Makes certificates with the openssl command."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root.pem"
        self._openssl(
            "req", "-x509", *self._key("root"), "-out", self.root, "-days", "2", "-subj", "/CN=test root",
            # Python 3.13 and later refuse an authority that does not say what its key is for.
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
        )  # fmt: skip

    def context(self, name: str, host: str, *, expired: bool = False) -> ssl.SSLContext:
        """A server that proves to be this host."""
        request, signed = self.folder / f"{name}.csr", self.folder / f"{name}.pem"
        names = self.folder / f"{name}.ext"
        names.write_text(f"subjectAltName=DNS:{host}\nauthorityKeyIdentifier=keyid\n")
        self._openssl("req", "-new", *self._key(name), "-out", request, "-subj", f"/CN={host}")
        sign = ("x509", "-req", "-in", request, "-CA", self.root, "-CAkey", self.folder / "root.key",
                "-CAcreateserial", "-out", signed, "-extfile", names)  # fmt: skip
        if not expired:
            self._openssl(*sign, "-days", "2")
        else:
            try:  # OpenSSL 3.4 and later
                self._openssl(*sign, "-not_before", "20200101000000Z", "-not_after", "20200201000000Z")
            except subprocess.CalledProcessError:
                self._openssl(*sign, "-days", "-1")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(signed, self.folder / f"{name}.key")
        return context

    def _key(self, name: str) -> tuple[object, ...]:
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-keyout", self.folder / f"{name}.key")  # fmt: skip

    def _openssl(self, *arguments: object) -> None:
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"))


async def refused(context: ssl.SSLContext, kind: type[Exception], host: str = "localhost") -> str:
    """The message with which a call to this server fails."""
    async with listening(Server().serve, tls=context) as port, client(transport(port, "https", host)) as line:
        with pytest.raises(kind) as caught:
            await post(line, b"")
    return str(caught.value)


@in_a_loop
async def test_each_fault_of_a_certificate_is_named(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    good = authority.context("good", "localhost")
    assert "an authority that this machine does not know (SSL_CERT_FILE" in await refused(good, CertificateRefused)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.root))
    other = await refused(authority.context("other", "elsewhere.example"), CertificateRefused)
    assert "its certificate is for another host (Hostname mismatch" in other
    late = await refused(authority.context("late", "localhost", expired=True), CertificateRefused)
    assert "m at localhost:" in late and "its certificate has expired" in late
    async with listening(Server().serve, tls=good) as port, client(transport(port, "https", "localhost")) as line:
        assert await post(line, b"") == b"{}"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"\x15\x03\x01\x00\x02\x02\x46", "it shares no version of TLS with this machine"),
        (b"\x15\x03\x01\x00\x02\x02\x28", "it shares no cipher with this machine, or demands a client"),
        (b"\x15\x03\x01\x00\x02\x02\x70", "it does not serve this host name"),
        (b"\x15\x03\x01\x00\x02\x02\x50", "TLS failed: tlsv1 alert internal error"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "it does not speak TLS at this port (is its address http://"),
        (b"", "it closed the connection during the TLS handshake"),
    ],
    ids=["version", "cipher", "name", "other", "plain", "closed"],
)
@in_a_loop
async def test_each_failed_handshake_is_named(answer: bytes, why: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(5000)
        writer.write(answer)
        await writer.drain()

    async with listening(serve) as port, client(transport(port, "https", "localhost")) as line:
        with pytest.raises(ConnectionFailed, match=f"cannot reach m at localhost:.*: {re.escape(why)}"):
            await post(line, b"")


@pytest.mark.parametrize("answer", [b"", b"\x16\x03\x03\x40\x00\x02"], ids=["silent", "begun"])
@pytest.mark.parametrize("way", ["address", "name", "proxy"])
@in_a_loop
async def test_a_handshake_that_never_ends_is_given_up_with_the_call(
    answer: bytes, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The call fails in its time, and its socket is closed then."""
    closed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if way == "proxy":
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await reader.read(5000)
        writer.write(answer)
        with suppress(ConnectionError):
            while await reader.read(5000):
                pass
        closed.set()
        writer.close()

    host = {"address": "127.0.0.1", "name": "localhost", "proxy": "far.example"}[way]
    async with listening(serve) as port:
        if way == "proxy":
            monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{port}")
        async with client(transport(port, "https", host, timeout=1.5)) as line:
            _ = line._address._tls  # reading the certificates of the system takes a while
            with pytest.raises(TimedOut, match=rf"m at {host}:\d+ gave no complete reply within 1\.5 s"):
                await post(line, b"")
            await asyncio.wait_for(closed.wait(), 300)


@in_a_loop
async def test_a_demand_for_a_client_certificate_is_named(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.root))
    strict = authority.context("strict", "localhost")
    strict.load_verify_locations(authority.root)
    strict.verify_mode = ssl.CERT_REQUIRED
    said = await refused(strict, ConnectionFailed)
    # TLS 1.3 tells it after the handshake; whether the alert is seen before the connection ends is chance.
    assert "demands a client certificate" in said or "without a reply" in said


@in_a_loop
async def test_tls_at_an_address_of_plain_http_is_named() -> None:
    async def alert(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(5000)
        writer.write(b"\x15\x03\x01\x00\x02\x02\x46")
        await writer.drain()

    async with listening(alert) as port, client(transport(port)) as line:
        with pytest.raises(MalformedReply, match="it speaks TLS at this port: write https:// instead"):
            await post(line, b"")


def test_certificates_that_are_not_there_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(UsageError, match=r"SSL_CERT_FILE: there is no file '.*none\.pem'"):
        transport(443, "https", "models.example")
    transport(80, "http", "models.example")
    monkeypatch.delenv("SSL_CERT_FILE")
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path / "none"))
    with pytest.raises(UsageError, match="SSL_CERT_DIR: there is no folder"):
        transport(443, "https", "models.example")
