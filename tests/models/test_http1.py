"""Responses from bytes, however they are cut into pieces; what is no response is said to be none."""

from __future__ import annotations

import gzip
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.models.http1 import Garbled, Response, ResponseReader

BODY = b'{"choices": []}'
WHOLE = {
    "sized": b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\nX-A: 1\r\nx-a: 2\r\n\r\n" + BODY,
    "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
    b"5;a=b\r\n" + BODY[:5] + b"\r\nA \r\n" + BODY[5:] + b"\r\n0\r\nTrailer: x\r\n\r\n",
    "early hints": b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200\r\ncontent-length:15\r\n\r\n" + BODY,
}  # fmt: skip


def read(*pieces: bytes, hang_up: bool = False) -> Response | None:
    reader = ResponseReader()
    found = [response for piece in pieces if (response := reader.feed(piece)) is not None]
    if not found and hang_up:
        return reader.end()
    return found[0] if found else None


@pytest.mark.parametrize("kind", WHOLE)
@given(cuts=st.lists(st.integers(0, 150), max_size=6))
def test_the_same_response_however_it_is_cut(kind: str, cuts: list[int]) -> None:
    data = WHOLE[kind]
    places = [0, *sorted(min(c, len(data)) for c in cuts), len(data)]
    response = read(*(data[a:b] for a, b in pairwise(places)))
    assert response is not None and (response.status, response.body, response.keep) == (200, BODY, True)


@pytest.mark.parametrize("kind", WHOLE)
def test_no_response_before_its_last_byte(kind: str) -> None:
    data = WHOLE[kind]
    assert all(read(data[:end], hang_up=True) is None for end in range(len(data)))


def test_one_byte_at_a_time() -> None:
    for data in WHOLE.values():
        response = read(*(bytes([b]) for b in data))
        assert response is not None and response.body == BODY


def test_any_number_of_interim_responses_is_skipped() -> None:
    response = read(b"HTTP/1.1 102 Processing\r\n\r\n" * 20_000 + WHOLE["sized"])
    assert response is not None and response.body == BODY


def test_repeated_headers_are_joined() -> None:
    response = read(WHOLE["sized"])
    assert response is not None and response.headers == {"content-length": "15", "x-a": "1, 2"}


def test_a_body_without_length_ends_with_the_connection() -> None:
    response = read(b"HTTP/1.1 200 OK\r\n\r\nab", b"c", hang_up=True)
    assert response is not None and response.body == b"abc" and not response.keep


@pytest.mark.parametrize(
    ("head", "keep"),
    [
        (b"HTTP/1.1 200 OK\r\n", True), (b"HTTP/1.1 200 OK\r\nConnection: Close\r\n", False),
        (b"HTTP/1.0 200 OK\r\n", False), (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n", True),
    ],
)  # fmt: skip
def test_whether_the_connection_may_be_used_again(head: bytes, keep: bool) -> None:
    response = read(head + b"Content-Length: 0\r\n\r\n")
    assert response is not None and response.keep is keep


def test_more_than_one_response_spoils_the_connection() -> None:
    for data in (WHOLE["sized"], WHOLE["chunked"]):
        response = read(data + b"HTTP/1.1 200 OK\r\n")
        assert response is not None and response.body == BODY and not response.keep


def test_a_packed_body_is_unpacked() -> None:
    packed = gzip.compress(BODY)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
    response = read(head % len(packed) + packed)
    assert response is not None and response.body == BODY
    with pytest.raises(Garbled, match="not whole"):
        read(head % (len(packed) - 9) + packed[:-9])
    with pytest.raises(Garbled, match="content encoding is 'br'"):
        read(head.replace(b"gzip", b"br") % 1 + b"x")


def test_an_answer_to_a_tunnel_has_no_body() -> None:
    response = ResponseReader(bodies=False).feed(b"HTTP/1.1 200 Connection established\r\n\r\n")
    assert response is not None and response.status == 200 and response.keep


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"SSH-2.0-OpenSSH_9.6\r\n", "it sent b'SSH"), (b"HTTP/2 200\r\n\r\n", "it sent b'HTTP/2"),
        (b"HTTP/1.1 999 x\r\n\r\n", "it sent b'HTTP/1.1 999"), (b"HTTP/1.1 200\r\nno colon\r\n\r\n", "header line"),
        (b"HTTP/1.1 200\r\nA: 1\r\n folded: 2\r\n\r\n", "header line"),
        (b"HTTP/1.1 200\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", "two lengths"),
        (b"HTTP/1.1 200\r\nContent-Length: -1\r\n\r\n", "length of the body"),
        (b"HTTP/1.1 200\r\nContent-Length: 99999999999\r\n\r\n", "length of the body"),
        (b"HTTP/1.1 200\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "transfer encoding"),
        (b"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", "length of a chunk"),
        (b"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n", "longer than it said"),
        (b"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFF\r\n", "more than"),
        (b"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"A" * 4097 + b"\r\n\r\n", "does not end"),
        (b"HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"A" * 4098, "does not end"),
        (b"HTTP/1.1 101 Switching\r\n\r\n", "another protocol"),
        (b"HTTP/1.1 200\r\n" + b"A: b\r\n" * 20_000, "its headers have more than"),
    ],
)  # fmt: skip
def test_what_is_no_response(data: bytes, why: str) -> None:
    with pytest.raises(Garbled, match=why):
        read(data)


@given(st.binary(max_size=200), st.sampled_from(sorted(WHOLE)), st.integers(0, 120))
def test_any_bytes_are_a_response_or_garbled(noise: bytes, kind: str, at: int) -> None:
    data = WHOLE[kind]
    try:
        found = read(data[:at] + noise + data[at:], hang_up=True)
    except Garbled as error:
        assert str(error)
    else:
        assert found is None or 100 <= found.status < 600
