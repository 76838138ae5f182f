"""Where people come from: what a link must carry, and signed parameters that cannot be made up."""

import base64
import hashlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from ostrom.ground.errors import StudyError
from ostrom.people.schema import Source
from ostrom.people.sources import Invited, LinkReader, verified_claims

# A key pair made for these tests alone.
MODULUS = int(
    (
        "a8d6ca8eed77a06cc3176a7553cf31eef9301b35f5cdf064dc3c40d72f9a76fd899d418d8a573ae1423354775fa267b1"
        "a7012ac7745e937c0fdb851d23ebed8a18e5f07507f53a6c548d7e54ce42bfed752d442ca28eee19bc8974add2daf2ac"
        "f30df9832996543204e7cf6ad6d9ec8545ca3107cab5f2d01975d4e2a5554c110b4cf9225d4f3d4ddc57e4590d62f777"
        "9214198af7cad00321424d047fe9d3a3f5d94a6b375d20e4e0aa3cd801873c4e5f8d522f860f46998f566b262eec6a9f"
        "26c667ae1affffd5a9b643125511334ab4d758eddb78b7b2dc1d6bd9fe009669fc46f9ce29ca4bf7ecc953bc673cae21"
        "383179a704f34dab4c95f1b0ac3a51f5"
    ),
    16,
)
SECRET = int(
    (
        "399e1b400d5fde9a5f35757a16a0c59c94e34ad5ee4d5a3541473aa574b454d90f0660618a0d5ca594aee9ab5732980a"
        "73409db5b54bb52f084654b5ee154c59ed4742f8dd3f5db1ac6520f095f7078264938f09606c406afe0136953f38c2ca"
        "2ca3df3b588cd9acbc29d389d54a4741efe0213d547b2522c91d8209da7c3259acb00dfef8146cdfe63df2916222fcb5"
        "6ea7a34314045f73a42c747c111a41fe70cdf695cc99e3a3d4d2313cc3730f9ff785397e8c18be74b9c1aac4ecf7cd69"
        "27d7484c529d9c11d3d224564e73d841ed5729650c2e515127320178bae23bcfad19a3f82d6ce3969d3bc1bad9bd1974"
        "d7db941c2c77492aa846ee5963ae8ec1"
    ),
    16,
)
PREFIX = bytes.fromhex("3031300d060960864801650304020105000420")


def text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def token(claims: dict[str, Any], *, kid: str = "k1", alg: str = "RS256") -> str:
    signed = f"{text(json.dumps({'alg': alg, 'kid': kid}).encode())}.{text(json.dumps(claims).encode())}"
    told = PREFIX + hashlib.sha256(signed.encode()).digest()
    padded = b"\0\1" + b"\xff" * (256 - len(told) - 3) + b"\0" + told
    return f"{signed}.{text(pow(int.from_bytes(padded, 'big'), SECRET, MODULUS).to_bytes(256, 'big'))}"


@pytest.fixture
def reader(tmp_path: Path) -> LinkReader:
    key = {"kty": "RSA", "kid": "k1", "n": text(MODULUS.to_bytes(256, "big")), "e": "AQAB"}
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [key]}))
    return LinkReader(
        Source(name="prolific", verify=True, keys="keys.json"), b"k" * 32, tmp_path, "https://lab.example"
    )


def claims(**more: Any) -> dict[str, Any]:
    person = {"PROLIFIC_PID": "abc", "SESSION_ID": "s1"}
    return {"exp": time.time() + 60, "aud": "https://lab.example", "prolific": person, **more}


def test_a_signed_link_names_a_person(reader: LinkReader) -> None:
    assert reader.invited({"prolific_token": token(claims())}) == Invited("abc", "s1")
    assert reader.invited({"prolific_token": token(claims()), "PROLIFIC_PID": "abc"}) == Invited("abc", "s1")


@pytest.mark.parametrize(
    "made",
    [
        lambda: token(claims(exp=time.time() - 3600)),
        lambda: token(claims(exp="never")),
        lambda: token(claims(aud="https://other.example")),
        lambda: token(claims(prolific="abc")),
        lambda: token(claims(), kid="k2"),
        lambda: token(claims(), alg="none"),
        lambda: token(claims(), alg="HS256"),
        lambda: token(claims())[:-6] + "AAAAAA",
        lambda: ".".join([*token(claims()).split(".")[:2], ""]),
        lambda: "x.y.z",
        lambda: "",
        lambda: "é" * 50,
    ],
)
def test_nothing_else_does(reader: LinkReader, made: Any) -> None:
    assert reader.invited({"prolific_token": made(), "PROLIFIC_PID": "abc", "SESSION_ID": "s1"}) is None


def test_another_id_beside_a_signed_one_is_refused(reader: LinkReader) -> None:
    assert reader.invited({"prolific_token": token(claims()), "PROLIFIC_PID": "other"}) is None


@pytest.mark.parametrize(
    ("source", "given", "who"),
    [
        ("prolific", {"PROLIFIC_PID": "p", "SESSION_ID": "s"}, Invited("p", "s")),
        ("prolific", {"PROLIFIC_PID": "<b>", "SESSION_ID": "s"}, None),
        ("mturk", {"workerId": "w", "assignmentId": "a"}, Invited("w", "a")),
        ("mturk", {"workerId": "w", "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}, None),
        ("sona", {"sona_id": "12"}, Invited("12", "")),
        ("lab", {"seat": "3"}, Invited("3", "")),
        ("lab", {"seat": "1"}, Invited("1", "")),
        ("lab", {"seat": "0"}, None),
        ("lab", {"seat": "4"}, None),
        ("lab", {"seat": "0000003"}, None),
        ("lab", {}, None),
        ("sona", {"sona_id": "a" * 128}, Invited("a" * 128, "")),
        ("sona", {"sona_id": "a" * 129}, None),
        ("mturk", {"workerId": "w", "assignmentId": "<b>"}, None),
        ("mturk", {"workerId": "w"}, None),
        ("lab", {"seat": "٣"}, None),
        ("link", {"link": "1.forged"}, None),
    ],
)
def test_every_source_reads_its_own_parameters(source: Any, given: dict[str, str], who: Invited | None) -> None:
    made = Source(name=source, places=3 if source in ("lab", "link") else None)
    assert LinkReader(made, b"k" * 32, Path()).invited(given) == who


@pytest.mark.parametrize(
    ("now", "begins", "holds"),
    [
        (1060, 0, True), (1061, 0, False), (900, 960, True), (899, 960, False), (1000, "soon", False),
    ],
)  # fmt: skip
def test_a_token_holds_for_its_time_and_a_minute_around_it(now: float, begins: Any, holds: bool) -> None:
    signed = token({"exp": 1000, "nbf": begins})
    found = verified_claims(signed, {"k1": (MODULUS, 65537)}, now)
    assert (found is not None) is holds
    assert verified_claims(f"{signed}.x", {"k1": (MODULUS, 65537)}, 1000) is None


def test_secret_links_work_and_are_all_different() -> None:
    reader = LinkReader(Source(name="link", places=3), b"k" * 32, Path())
    links = reader.links("https://lab.example")
    found = [reader.invited({"link": link.partition("=")[2]}) for link in links]
    assert len(set(links)) == 3 and [who.external for who in found if who] == ["1", "2", "3"]


def test_a_key_file_that_holds_no_keys_is_one_line(tmp_path: Path) -> None:
    for content in ("", "[]", '{"keys": []}', '{"keys": [1]}'):
        (tmp_path / "keys.json").write_text(content)
        with pytest.raises(StudyError, match=r"keys\.json"):
            LinkReader(Source(name="prolific", verify=True, keys="keys.json"), b"k" * 32, tmp_path)
