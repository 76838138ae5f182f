"""Each normaliser takes away what differs between machines, and hides no change that a reader must see."""

from pathlib import Path

import pytest
from tests.golden.normalise import NORMALISERS, document, normalised

from ostrom.ground.version import __version__

HOME = Path("/tmp/golden-abcdefgh")

CASES: dict[str, tuple[tuple[str, str], ...]] = {
    "time": (("played 2026-11-18T00:34:48Z", "played 2027-01-02 13:00:01.25 UTC"),),
    "seconds": (("9 matches in 0.31 s", "9 matches in 12 s"), ("seen 3 s ago", "seen 40 s ago")),
    "latency": (('"latency": 0.02', '"latency": 1e-05'), ("\nlatency         0.02", "\nlatency         0")),
    "progress": (("2/6 matches · 2.5 decisions/s · 9.8k tokens · $0.00 · 9s left\n6 of 6 done", "6 of 6 done"),),
    "version": ((f"ostrom {__version__}", f"ostrom {__version__}"),),
    "hash": (
        (f"hash: {'0a' * 32}", f"hash: {'1b' * 32}"),
        ("registration 68e8e84a5bdd872e of", "registration c3d70f9353b73fae of"),
    ),
    "person": (("Your personal code\n <p.code>\n  4m7ravjwqv", "Your personal code\n <p.code>\n  zzzravjwqv"),),
    "port": (("http://127.0.0.1:8000/", "http://127.0.0.1:41233/"),),
    "number": (("0.12345678901234567", "0.12345678904234567"),),
}
"""Pairs that differ only in what is taken away."""
KEPT: dict[str, tuple[tuple[str, str], ...]] = {
    "time": (("2026 matches", "2027 matches"), ("page 2026-11-18", "page 2026-11-19")),
    "seconds": (("3 s per round", "4 s per round"), ("in 3 rounds", "in 4 rounds"), ("12 s", "13 s")),
    "latency": (("latency of 3 s", "latency of 4 s"), ("mean latency  0.5", "mean latency  0.6")),
    "progress": (("2/6 matches · 1 refused\n", ""), ("1 of 6 matches done\n", "2 of 6 matches done\n")),
    "version": ((f"journal {__version__}1", f"journal {__version__}2"), ("ostrom 1.0.0", "ostrom 0.1.0")),
    "hash": (("agent ab811e059852", "agent ef5e3f2b77de"), ("1" * 64, "2" * 64)),
    "person": (("Your completion code\n <p.code>\n  4m7ravjwqv", "Your completion code\n <p.code>\n  zzzravjwqv"),),
    "port": (("10.0.0.1:8000", "10.0.0.1:8001"), ("--port 8000", "--port 8001")),
    "number": (("0.123456789", "0.123456788"), ("12345.6789", "12345.6788"), ("0.10", "0.1"), ("-0.5", "0.5")),
}
"""Pairs whose difference must be seen."""


@pytest.mark.parametrize("normaliser", NORMALISERS, ids=lambda one: one.name)
def test_what_is_taken_away(normaliser: object) -> None:
    name = normaliser.name  # type: ignore[attr-defined]
    for one, other in CASES[name]:
        assert normalised(one, HOME) == normalised(other, HOME)


@pytest.mark.parametrize("normaliser", NORMALISERS, ids=lambda one: one.name)
def test_what_is_not_hidden(normaliser: object) -> None:
    for one, other in KEPT[normaliser.name]:  # type: ignore[attr-defined]
        assert normalised(one, HOME) != normalised(other, HOME)


def test_every_normaliser_has_a_reason() -> None:
    assert all(one.reason for one in NORMALISERS)


def test_a_path_is_that_of_the_folder_alone() -> None:
    assert normalised(f"{HOME}/runs/a", HOME) == "HOME/runs/a" != normalised(f"{HOME}/runs/b", HOME)


def test_documents_keep_order_kinds_and_nine_digits() -> None:
    text = '{"b": 0.1234567890123, "a": [1, true, null, "x"]}'
    assert document(text) == '{\n "b": 0.123456789,\n "a": [1, true, null, "x"]\n}\n'
    assert document('{"a": 1}') != document('{"a": 1.0}')
    assert document('{"a": 1, "b": 2}') != document('{"b": 2, "a": 1}')
