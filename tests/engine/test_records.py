"""What the journal writes down comes back whole, and its sums are those of its rows."""

import asyncio
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ostrom.answers import Answer
from ostrom.engine.entries import TOGETHER, CallRecord, dump, load
from ostrom.engine.executors.local import count_entry, matches_at_once, most_calls
from ostrom.engine.folder import Folder, manifest_bytes, new_manifest, read_manifest
from ostrom.engine.integrity import explain
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Tally
from ostrom.ground.errors import RunError
from ostrom.ground.streams import Streams, key_of
from ostrom.models.base import Reply, Usage

WHOLE = Reply("[A0]", "because", "raw", "stop", Usage(10, 5, 4, 3), {"A": -0.5, "B": -1.0}, "m-2026")


def record(**changes: Any) -> CallRecord:
    fields: dict[str, Any] = {
        "unit": 3, "step": 2, "player": 1, "part": "plan", "model": "m", "key": b"k" * 16,
        "prompt": b'[["user","hi"]]', "params": {"temperature": 0.5}, "try_": 1, "source": "live",
        "at": 100.5, "latency": 0.25,
    }  # fmt: skip
    return CallRecord(**{**fields, **changes})


def journal_of(path: Path, *records: CallRecord, answers: tuple[tuple[Any, ...], ...] = ()) -> Journal:
    async def fill() -> None:
        journal = Journal(path / "journal.db", create=True)
        journal.start()
        for one in records:
            journal.call(one)
        for entry in answers:
            journal.answer(*entry)
        await journal.flush()
        journal.close()

    asyncio.run(fill())
    return Journal(path / "journal.db")


def test_every_column_of_a_call_comes_back(tmp_path: Path) -> None:
    failed = record(try_=1, error="ServerFailed: oops", status=503, at=99.5)
    good = record(try_=2, reply=WHOLE, usd=0.125)
    journal = journal_of(tmp_path, failed, good)
    first, second = journal.call_rows("run")
    shared = {"run": "run", "match": 3, "step": 2, "player": 2, "part": "plan", "model": "m", "source": "live"}
    assert {k: first[k] for k in shared} == {k: second[k] for k in shared} == shared
    assert (first["try"], first["error"], first["status"], first["usd"], first["reply"]) == (
        1, "ServerFailed: oops", 503, None, None,
    )  # fmt: skip
    assert (first["at"], second["at"], second["latency"]) == (99.5, 100.5, 0.25)
    told = {
        "try": 2, "error": None, "status": None, "usd": 0.125, "reply": "[A0]", "reasoning": "because",
        "reasoning_kind": "raw", "finish": "stop",
    }  # fmt: skip
    assert {name: second[name] for name in told} == told
    tokens = ("tokens_in", "tokens_out", "tokens_cached", "tokens_reasoning")
    assert [second[t] for t in tokens] == [10, 5, 4, 3] and [first[t] for t in tokens] == [None] * 4
    assert (load(second["params"]), load(second["logprobs"]), second["version"]) == (
        {"temperature": 0.5}, {"A": -0.5, "B": -1.0}, "m-2026",
    )  # fmt: skip
    assert journal.prompt(first["id"]) == journal.prompt(second["id"]) == [["user", "hi"]]
    assert journal.prompt(999) is None
    journal.close()


def test_replies_that_arrived_are_known_by_place_and_key(tmp_path: Path) -> None:
    journal = journal_of(
        tmp_path,
        record(error="TimedOut: late"),
        record(reply=WHOLE),
        record(step=4, part="", key=b"other", reply=Reply("x")),
        record(unit=5, reply=Reply("y")),
    )
    assert journal.replies(3) == {(2, 1, "plan", b"k" * 16): WHOLE, (4, 1, "", b"other"): Reply("x")}
    assert [row[1:] for row in journal.replies_to(3, 2, 1)] == [("plan", "[A0]", "because")]
    assert journal.replies_to(3, 2, 0) == [] and journal.begun() == {3, 5}
    assert [row["match"] for row in journal.call_rows("r", 5)] == [5]
    journal.close()


def test_what_was_spent_is_the_sum_of_what_was_journaled(tmp_path: Path) -> None:
    journal = journal_of(
        tmp_path,
        record(error="ServerFailed: oops"),
        record(reply=WHOLE, usd=0.125),
        record(step=3, reply=Reply("x", usage=Usage(7, 2)), usd=None),
        record(step=4, source="cache", reply=Reply("z", usage=Usage(1, 1)), usd=0.0, try_=0),
        answers=(
            (3, 2, 1, "", Answer("C", "exact"), 2),
            (3, 2, 1, "plan", Answer("x", "policy"), 1),
            (3, 3, 1, "", Answer("C", "policy", None, "uniform: no"), 3),
        ),
    )
    assert journal.spent() == {
        "calls": 3, "tokens_in": 17, "tokens_out": 7, "usd": 0.125, "failed_tries": 1, "unpriced": 1, "cached": 1,
        "refused": 0, "decisions": 2, "complaints": 6, "policies": 2, "tokens_cached": 4,
    }  # fmt: skip
    journal.close()


def test_answers_come_back_with_all_they_carry(tmp_path: Path) -> None:
    full = Answer({"C": 40, "D": 60}, "exact", {"C": 0.4, "D": 0.6}, "a note", {"order": ["D", "C"]})
    plain = Answer('a "quoted" \\ word', "exact")
    journal = journal_of(
        tmp_path, answers=((0, 1, 0, "", full, 4, "asked"), (0, 0, 1, "p", plain, 0), (1, 0, 0, "", plain, 0))
    )
    assert journal.answers(0) == {(0, 1, "p"): (plain, 0, None), (1, 0, ""): (full, 4, "asked")}
    assert list(journal.answers(0)) == [(0, 1, "p"), (1, 0, "")]  # in the order of steps
    journal.close()


def test_prompts_are_packed_by_the_hundred_and_found_one_by_one(tmp_path: Path) -> None:
    assert TOGETHER == 256
    records = [record(step=n, prompt=b'[["user","%d"]]' % n, reply=WHOLE) for n in range(600)]
    journal = journal_of(tmp_path, *records)
    rows = list(journal.call_rows("r"))
    assert [journal.prompt(row["id"]) for row in rows] == [[["user", str(n)]] for n in range(600)]
    raw = sqlite3.connect(tmp_path / "journal.db")
    (packages,) = raw.execute("SELECT count(*) FROM prompts").fetchone()
    raw.close()
    assert packages >= 3 and journal.entries == 600 + packages
    journal.close()


def test_endings_come_back(tmp_path: Path) -> None:
    async def fill() -> None:
        journal = Journal(tmp_path / "journal.db", create=True)
        journal.start()
        journal.finish(0, "done", None, 6, [1.5, 2.0], {"winner": 1})
        journal.finish(1, "failed", "no valid answer", 3)
        journal.record_array_play(2, 6, b"\x01\x02")
        journal.answer(1, 0, 0, "", Answer("C"), 0)
        journal.answer(0, 0, 0, "", Answer("C"), 0)
        journal.close()

    asyncio.run(fill())
    journal = Journal(tmp_path / "journal.db")
    assert journal.states() == {0: "done", 1: "failed"}
    assert journal.outcome_of(0) == ("done", None, [1.5, 2.0], {"winner": 1})
    assert journal.outcome_of(1) == ("failed", "no valid answer", None, {}) and journal.outcome_of(9) is None
    assert list(journal.endings()) == [(0, "done", None), (1, "failed", "no valid answer")]
    assert journal.play(2) == (6, b"\x01\x02") and journal.play(0) is None
    assert journal.begun() == {1}  # a done match has not merely begun, a failed one has
    assert journal.backlog == 0 and journal.entries == 5
    journal.close()


def test_a_tally_counts_what_workers_send() -> None:
    tally = Tally()
    for entry in (
        (0, 0, 0, "", Answer("C", "exact"), 2, None),
        (0, 0, 0, "plan", Answer("x", "policy"), 1, None),
        record(source="cache", reply=WHOLE, usd=0.0),
        record(error="x"),
        record(reply=WHOLE, usd=0.5),
        record(reply=Reply("x"), usd=None),
    ):
        count_entry(tally, entry)
    assert (tally.decisions, tally.invalid, tally.policies) == (1, 3, 1)
    assert (tally.cached, tally.calls, tally.retries) == (1, 3, 1)
    assert (tally.tokens_in, tally.tokens_out, tally.usd, tally.unpriced) == (10, 5, 0.5, 1)


@pytest.mark.parametrize(
    ("calls", "in_process", "seats", "matches"),
    [(0, False, 2, 1), (1, False, 2, 8), (4, False, 2, 8), (5, False, 2, 10), (2048, False, 2, 4096),
     (9999, False, 2, 4096), (4, True, 2, 2), (1, True, 2, 1), (9, True, 3, 3), (0, True, 2, 1)],
)  # fmt: skip
def test_how_many_matches_are_under_way(calls: int, in_process: bool, seats: int, matches: int) -> None:
    assert matches_at_once(calls, in_process, seats) == matches


@pytest.mark.parametrize(
    ("connections", "ceiling", "wanted", "most"),
    [(16, None, None, 256), (300, None, None, 300), (16, None, 8, 8), (16, 4, None, 4), (2, 4, 3, 3), (16, 4, 9, 4)],
)
def test_how_many_calls_are_in_flight(connections: int, ceiling: int | None, wanted: int | None, most: int) -> None:
    assert most_calls(connections, ceiling, wanted) == most


def test_streams_are_the_same_in_every_version() -> None:
    """Published runs are repeated by their seeds: a stream that changes makes every one of them another."""
    assert key_of("tremble") == 15248128944707313145
    assert Streams(1, 7).chance(3, 1, "noise") == 0.4628962298963798
    assert Streams(1, 7).generator(3, 1, "noise").random() == 0.6790087561131783
    assert Streams(-1, 7).chance(0) == 0.16744779066835402


def test_a_fork_draws_as_its_origin_did_before_it_and_for_itself_after() -> None:
    origin = Streams(1, 7)
    fork = Streams(1, 99, origin, since=4)
    assert fork.for_round(3, 1, "x").random() == origin.generator(3, 1, "x").random()
    assert (
        fork.for_round(4, 1, "x").random() == fork.generator(4, 1, "x").random() != origin.generator(4, 1, "x").random()
    )


def test_a_lock_names_who_holds_it_and_is_free_after(tmp_path: Path) -> None:
    first, second = Folder(tmp_path / "r"), Folder(tmp_path / "r")
    first.lock()
    with pytest.raises(RunError, match=rf"another process \(pid {os.getpid()}\)"):
        second.lock()
    first.unlock()
    first.unlock()  # twice is fine
    second.lock()
    second.unlock()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("database or disk is full", "the disk is full"), ("No space left on device", "the disk is full"),
        ("attempt to write a readonly database", "cannot be written to"), ("Permission denied", "cannot be written to"),
        ("database disk image is malformed", "is damaged"), ("file is not a database", "is damaged"),
        ("no such table: meta", "is damaged"), ("database is locked", "another process holds"),
        ("something\nelse", "j.db: something else"),
    ],
)  # fmt: skip
def test_what_the_disk_refused_is_one_line_with_what_to_do(said: str, told: str) -> None:
    line = explain(Path("j.db"), sqlite3.OperationalError(said))
    assert told in line and line.startswith("j.db: ") and "\n" not in line


def test_values_are_written_canonically() -> None:
    assert dump({"b": 1, "a": [1.5, None]}) == '{"a":[1.5,null],"b":1}'
    for value in ("plain", 'with "quotes"', "back\\slash", "", "ünï", 3, [1, "x"], None, {"a": True}):
        assert load(dump(value)) == value
    assert load(None) is None


@pytest.mark.parametrize(("created", "sound"), [("2026-11-17T10:00:00+00:00", True), ("yesterday", False)])
def test_a_registration_in_a_manifest_has_a_time(created: str, sound: bool) -> None:
    manifest = new_manifest("study", {"name": "n"}, {}, registered={"hash": "h", "created": created})
    raw = manifest_bytes(manifest)
    if sound:
        assert read_manifest(raw, Path("run.json"))["registered"]["created"] == created
        return
    with pytest.raises(RunError, match=r"run.json.*registered.created"):
        read_manifest(raw, Path("run.json"))
