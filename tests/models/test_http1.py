"""Responses from bytes, however they are cut into pieces; what is not a response is refused at once."""

import gzip
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.models.http1 import FRAMING, LARGEST_HEAD, MOST_HEADERS, InvalidResponse, Response, ResponseReader


def packed_gzip(data: bytes) -> bytes:
    """The same bytes at any time, so that the names of tests do not change."""
    return gzip.compress(data, mtime=0)


BODY = b'{"choices": []}'
OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: Chunked\r\n\r\n"
SIZED = OK + b"Content-Length: 2\r\n\r\n{}"
WHOLE = {
    "sized": OK + b"Content-Length: 15\r\nX-A: 1\r\nx-a: 2\r\n\r\n" + BODY,
    "chunked": CHUNKED + b"5;a=b\r\n" + BODY[:5] + b"\r\nA \r\n" + BODY[5:] + b"\r\n0\r\nTrailer: x\r\n\r\n",
    "early hints": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200\r\ncontent-length:15\r\n\r\n" + BODY,
    "gzip": OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed_gzip(BODY))
    + packed_gzip(BODY),
}  # fmt: skip


def read(*pieces: bytes, hang_up: bool = False, largest: int = 1 << 20) -> Response | None:
    reader = ResponseReader()
    reader.expect(largest)
    for piece in pieces:
        if (response := reader.feed(piece)) is not None:
            return response
    return reader.end() if hang_up else None


def outcome(*pieces: bytes, largest: int = 1 << 20) -> object:
    """The response, or "refused"; whether the connection is kept depends on the pieces, so it is left out."""
    try:
        found = read(*pieces, hang_up=True, largest=largest)
    except InvalidResponse as error:
        assert str(error)
        return "refused"
    return found and found[:3]


def cut(data: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(min(c, len(data)) for c in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(places)]


@pytest.mark.parametrize("kind", WHOLE)
@given(cuts=st.lists(st.integers(0, 150), max_size=6))
def test_the_same_response_however_it_is_cut(kind: str, cuts: list[int]) -> None:
    response = read(*cut(WHOLE[kind], cuts))
    assert response is not None and (response.status, response.body, response.keep) == (200, BODY, True)


@pytest.mark.parametrize("kind", WHOLE)
def test_no_response_before_its_last_byte(kind: str) -> None:
    data = WHOLE[kind]
    assert all(read(data[:end], hang_up=True) is None for end in range(len(data)))


def test_one_byte_at_a_time() -> None:
    for data in WHOLE.values():
        response = read(*(bytes([b]) for b in data))
        assert response is not None and response.body == BODY


def test_one_reader_reads_one_response_after_another() -> None:
    reader = ResponseReader()
    for data in (*WHOLE.values(), *WHOLE.values()):
        reader.expect(1 << 20)
        response = reader.feed(data)
        assert response is not None and response.body == BODY and response.keep


def test_interim_responses_are_skipped_up_to_the_bound_on_headers() -> None:
    interim = b"HTTP/1.1 102 Processing\r\nA: b\r\n\r\n"
    response = read(interim * 300 + WHOLE["sized"])
    assert response is not None and response.body == BODY and "a" not in response.headers
    with pytest.raises(InvalidResponse, match="headers have more than 131,072 bytes"):
        read(interim * (LARGEST_HEAD // len(interim) + 1) + WHOLE["sized"])


def test_repeated_headers_are_joined() -> None:
    response = read(WHOLE["sized"])
    assert response is not None and response.headers == {"content-length": "15", "x-a": "1, 2"}


def test_trailers_are_not_headers() -> None:
    response = read(CHUNKED + b"2\r\n{}\r\n0\r\nRetry-After: 9\r\n\r\n")
    assert response is not None and response.headers == {"transfer-encoding": "Chunked"}


def test_a_body_without_length_ends_with_the_connection() -> None:
    response = read(OK + b"\r\nab", b"c", hang_up=True)
    assert response is not None and response.body == b"abc" and not response.keep


@pytest.mark.parametrize(
    ("head", "keep"),
    [
        (b"HTTP/1.1 200 OK\r\n", True), (b"HTTP/1.1 200 OK\r\nConnection: Close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False), (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n", True),
        (b"HTTP/1.1 200 OK\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n", True),
    ],
)  # fmt: skip
def test_whether_the_connection_may_be_used_again(head: bytes, keep: bool) -> None:
    response = read(head + b"Content-Length: 0\r\n\r\n")
    assert response is not None and response.keep is keep


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_these_have_no_body(status: bytes) -> None:
    response = read(b"HTTP/1.1 " + status + b"\r\n\r\n")
    assert response is not None and response.body == b"" and response.keep


@pytest.mark.parametrize("more", [OK, SIZED, b"garbage", b"\x00"])
def test_bytes_behind_a_response_spoil_the_connection_and_nothing_else(more: bytes) -> None:
    for data in (WHOLE["sized"], WHOLE["chunked"], WHOLE["gzip"]):
        response = read(data + more)
        assert response is not None and response.body == BODY and not response.keep


def test_a_byte_behind_a_response_counts_where_a_piece_ends_with_it() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
    size = LARGEST_HEAD - len(head % LARGEST_HEAD)
    whole = head % size + b"x" * size
    assert len(whole) == LARGEST_HEAD
    for more in (b"", b"x"):
        response = ResponseReader().feed(whole + more)
        assert response is not None and len(response.body) == size and response.keep is not bool(more)


def test_the_answer_to_a_tunnel_has_no_body() -> None:
    head = b"HTTP/1.1 200 Connection established\r\n"
    for framing in (b"\r\n", b"Content-Length: 5\r\n\r\n"):
        response = ResponseReader(tunnel=True).feed(head + framing)
        assert response is not None and response.status == 200 and response.keep
    response = ResponseReader(tunnel=True).feed(head + b"\r\nmore")
    assert response is not None and not response.keep
    reader = ResponseReader(tunnel=True)
    assert reader.feed(b"HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\n") is None
    refused = reader.feed(b"no")
    assert refused is not None and refused.status == 407


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "does not begin with HTTP/1"),
        (b"HTTP/2 200\r\n\r\n", "does not begin"), (b"RTSP/1.0 200 OK\r\n\r\n", "does not begin"),
        (b"\r\n" + SIZED, "does not begin"), (b"\x15\x03\x01\x00\x02\x02\x46", "speaks TLS"),
        (b"HTTP/1.1 999 x\r\n\r\n", "status is 999"), (b"HTTP/1.1 000 x\r\n\r\n", "status is 000"),
        (b"HTTP/1.1 20 x\r\n\r\n", "status"), (b"HTTP/1.1 2000 x\r\n\r\n", "status"),
        (b"HTTP/1.7 200 x\r\n\r\n", "version"),
        (OK + b"no colon\r\n\r\n", "header token"), (OK + b"A : b\r\n\r\n", "header token"),
        (OK + b": b\r\n\r\n", "header token"), (OK + b"A: \x01\r\n\r\n", "header value char"),
        (OK + b"A: 1\r\n folded: 2\r\n\r\n", "whitespace after header value"),
        (SIZED.replace(b"\r\n", b"\n"), "expected CR"), (OK + b"Content-Length: 2\n\n{}", "expected CR"),
        (CHUNKED + b"2\n{}\n0\n\n", "expected CR"), (OK.replace(b"\r\n", b"\r") + b"A: b\r\r", "LF"),
        (OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n", "Duplicate Content-Length"),
        (OK + b"Content-Length: 2, 2\r\n\r\n", "Content-Length"), (OK + b"Content-Length:\r\n\r\n", "Content-Length"),
        (OK + b"Content-Length: -1\r\n\r\n", "Content-Length"), (OK + b"Content-Length: +1\r\n\r\n", "Content-Length"),
        (OK + b"Content-Length: 1048577\r\n\r\n", "more than the 1,048,576 bytes that max_tokens allows"),
        (OK + b"Content-Length: 99999999999999999999999999\r\n\r\n", "Content-Length overflow"),
        (OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", "can't be present with Content-Length"),
        (OK + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n", "can't be present with Transfer-Encoding"),
        (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n", "transfer encoding"),
        (OK + b"Transfer-Encoding: gzip\r\n\r\n", "transfer encoding"),
        (OK + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "transfer encoding"),
        (CHUNKED + b"x\r\n", "chunk size"), (CHUNKED + b"0x2\r\n", "chunk size"), (CHUNKED + b"-2\r\n", "chunk size"),
        (CHUNKED + b"2\r\nabcd\r\n", "chunk data"), (CHUNKED + b"FFFFFFFFFFFFFFFFFF\r\n", "overflow"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", "another protocol"),
        (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nabc", "another protocol"),
        (OK + b"A: " + b"b" * LARGEST_HEAD, "headers have more than 131,072 bytes"),
        (OK + b"A:" + b" " * LARGEST_HEAD + b"\r\n\r\n", "headers have more than"),
        (OK + b"A: b\r\n" * (MOST_HEADERS + 1) + b"\r\n", "more than 256 headers"),
        (CHUNKED + b"0\r\n" + b"A: b\r\n" * (MOST_HEADERS + 1) + b"\r\n", "more than 256 headers"),
    ],
)  # fmt: skip
def test_what_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(InvalidResponse, match=why):
        read(data)
    with pytest.raises(InvalidResponse):
        read(*(data[i : i + 1] for i in range(len(data))))


def test_headers_up_to_the_bounds_are_read() -> None:
    head = OK + b"A: b\r\n" * (MOST_HEADERS - 1) + b"Content-Length: 0\r\n\r\n"
    assert read(head) is not None
    room = LARGEST_HEAD - len(SIZED) + 2 - len(b"A: \r\n")
    assert read(SIZED[:-4] + b"A: " + b"b" * room + b"\r\n" + SIZED[-4:]) is not None
    with pytest.raises(InvalidResponse, match="headers have more"):
        read(SIZED[:-4] + b"A: " + b"b" * (room + 1) + b"\r\n" + SIZED[-4:])


def test_a_body_is_bounded_however_it_comes() -> None:
    body, chunk = b"x" * 100, b"64\r\n" + b"x" * 100 + b"\r\n"
    forms = [OK + b"Content-Length: 100\r\n\r\n" + body, OK + b"\r\n" + body, CHUNKED + chunk + b"0\r\n\r\n"]
    for data in forms:
        found = read(data, hang_up=True, largest=100)
        assert found is not None and found.body == body
        with pytest.raises(InvalidResponse, match="more than the 99 bytes"):
            read(data, hang_up=True, largest=99)


def test_framing_without_content_does_not_go_on_for_ever() -> None:
    stuffed = CHUNKED + b"1;" + b"e" * (LARGEST_HEAD + FRAMING * 1000)
    for pieces in ([stuffed], [stuffed[:9000], stuffed[9000:]]):
        with pytest.raises(InvalidResponse, match="framing of its chunks"):
            read(*pieces, largest=1000)


def packed(coding: bytes, body: bytes, largest: int = 1 << 20) -> bytes:
    data = OK + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (coding, len(body)) + body
    response = read(data, largest=largest)
    assert response is not None
    return response.body


RAW = zlib.compressobj(wbits=-15)
RAW_DEFLATE = RAW.compress(BODY) + RAW.flush()


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        (b"gzip", packed_gzip(BODY)), (b"X-GZip", packed_gzip(BODY)), (b"identity", BODY), (b"", BODY),
        (b"gzip", packed_gzip(BODY[:4]) + packed_gzip(b"") + packed_gzip(BODY[4:])),
        (b"gzip", packed_gzip(BODY) + b"\0" * 9), (b"deflate", zlib.compress(BODY)), (b"deflate", RAW_DEFLATE),
    ],
)  # fmt: skip
def test_a_compressed_body_is_read_whole(coding: bytes, body: bytes) -> None:
    assert packed(coding, body) == BODY
    assert packed(coding, b"") == b""


@pytest.mark.parametrize(
    ("coding", "body", "why"),
    [
        (b"gzip", packed_gzip(BODY)[:-9], "incomplete"), (b"gzip", packed_gzip(BODY)[:5], "incomplete"),
        (b"gzip", packed_gzip(BODY)[:-8] + b"\1" * 8, "damaged"), (b"gzip", BODY, "damaged"),
        (b"gzip", packed_gzip(BODY) * 2 + packed_gzip(BODY)[:-3], "incomplete"),
        (b"gzip", packed_gzip(BODY) + b"x", "bytes follow"),
        (b"gzip", packed_gzip(BODY) + b"\x1f\x8bxx", "damaged"),
        (b"deflate", zlib.compress(BODY)[:-3], "incomplete"), (b"deflate", RAW_DEFLATE[:-1], "incomplete"),
        (b"deflate", zlib.compress(BODY) * 2, "bytes follow"), (b"deflate", RAW_DEFLATE * 2, "bytes follow"),
        (b"deflate", zlib.compress(BODY)[:-1] + b"\0", "damaged"),
        (b"gzip", packed_gzip(b"0" * 1001), "more than 1,000 bytes"),
        (b"gzip", packed_gzip(b"0" * 600) * 2, "more than 1,000 bytes"),
        (b"deflate", zlib.compress(b"0" * 1001), "more than 1,000 bytes"),
        (b"br", b"x", "not offered"), (b"zstd", b"x", "not offered"), (b"gzip, gzip", b"x", "not offered"),
    ],
)  # fmt: skip
def test_a_compressed_body_that_is_not_whole_is_refused(coding: bytes, body: bytes, why: str) -> None:
    with pytest.raises(InvalidResponse, match=why):
        packed(coding, body, largest=1000)


@given(st.binary(max_size=200), st.sampled_from(sorted(WHOLE)), st.integers(0, 120), st.lists(st.integers(0, 300)))
def test_any_bytes_are_a_response_or_refused_however_they_are_cut(
    noise: bytes, kind: str, at: int, cuts: list[int]
) -> None:
    data = WHOLE[kind]
    data = data[:at] + noise + data[at:]
    assert outcome(data) == outcome(*cut(data, cuts))


PIECES = [
    b"HTTP/1.1 200 OK", b"HTTP/1.1 100 Continue", b"HTTP/1.0 204 x", b"\r\n", b"\n", b"\r", b"\r\n\r\n", b": ", b" ",
    b"Content-Length: 2", b"Transfer-Encoding: chunked", b"Content-Encoding: deflate", b"Connection: close",
    b"Upgrade: x", b"0", b"2", b"{}", b";", b"\0", b"HTTP/", b"A: b", zlib.compress(b"{}"),
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=16), st.lists(st.integers(0, 200), max_size=8))
def test_any_parts_of_http_are_read_the_same_however_they_are_cut(parts: list[bytes], cuts: list[int]) -> None:
    data = b"HTTP/1.1 200 OK\r\n" + b"".join(parts)
    assert outcome(data, largest=50) == outcome(*cut(data, cuts), largest=50)
