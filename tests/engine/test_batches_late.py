"""Results that come late or never: what was sent is not sent again before that is certain, and at most twice."""

import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from chaos.outside.anthropic import Anthropic
from chaos.outside.faults import Plan
from chaos.outside.openai import OpenAI
from chaos.outside.server import Service
from chaos.outside.store import Batch, Line, Store
from chaos.outside.wire import as_json
from tests.engine.test_batches import stop_when
from tests.engine.test_batches_outside import Small, billed_once, options, service, study_of, wire

from ostrom.engine.batching.ledger import JournaledBatch, read_batches
from ostrom.studies.run import open_run, play

__all__ = ["service", "wire"]

LATE = 1.2
"""Seconds after which results are there: more than twice what results that lack lines are read for."""


class Lag:
    """Makes a service say that a batch has ended while its results are not, or not all, there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, kind: str, seconds: float = LATE) -> None:
        self.seconds, self.kind = seconds, kind
        self.since: dict[str, float] = {}
        openai, anthropic, spoiled = OpenAI._shown, Anthropic._shown, Store.spoiled
        monkeypatch.setattr(OpenAI, "_shown", lambda of, batch: self.shown(batch, openai(of, batch)))
        monkeypatch.setattr(Anthropic, "_shown", lambda of, batch: self.shown(batch, anthropic(of, batch)))
        monkeypatch.setattr(Store, "spoiled", lambda of, batch, *more: self.read(spoiled, of, batch, *more))

    def lasts(self, batch: Batch) -> bool:
        """Whether the results of a batch are still to come; it begins when somebody hears that the batch has ended."""
        return time.monotonic() < self.since.setdefault(batch.id, time.monotonic()) + self.seconds

    def shown(self, batch: Batch, document: dict[str, Any]) -> dict[str, Any]:
        if not batch.done or not self.lasts(batch):
            return document
        total = len(batch.requests) if self.kind == "counts of none" and batch.input is not None else 0
        counts = dict.fromkeys(document["request_counts"], 0)
        if self.kind in ("no counts", "no file", "counts of none", "some lines"):
            document["request_counts"] = {**counts, "total": total} if "total" in counts else counts
        if self.kind in ("no file", "counts of none"):
            document |= dict.fromkeys(document.keys() & {"output_file_id", "error_file_id", "results_url"})
        return document

    def read(self, true: Any, store: Store, batch: Batch, file: str, lines: list[Line]) -> bytes | None:
        if not self.lasts(batch):
            found: bytes | None = true(store, batch, file, lines)
            return found
        if self.kind == "some lines":
            some: bytes | None = true(store, batch, file, lines[: len(lines) // 2])
            return some
        return None if self.kind == "not found" else b""


KINDS = ["no counts", "no file", "counts of none", "not found", "some lines", "empty"]


@pytest.mark.parametrize("hours", [-48, 48])
def test_a_clock_that_jumps_ends_no_batch(
    hours: int, service: Service, small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lag, true = Lag(monkeypatch, "no file"), time.time
    monkeypatch.setattr(time, "time", lambda: true() + (3600 * hours if lag.since else 0))
    result = play(study_of(small, "openai"), runs=runs, options=options())
    assert result.complete, result.why
    assert billed_once(service, runs / "small") and max(sendings(service).values()) == 1


def test_the_age_of_a_batch_goes_on_in_another_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts by the system's clock once; a batch of the future is as old as the session."""
    monkeypatch.setattr(time, "time", lambda: 10_000.0)
    monkeypatch.setattr(time, "monotonic", lambda: 500.0)
    begun = [JournaledBatch(1, "m", "x", [], at).begun for at in (9_900.0, 20_000.0)]
    assert begun == [400.0, 500.0]


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", KINDS)
def test_a_session_that_ends_while_results_lag_sends_nothing_again(
    kind: str, service: Service, small: Small, runs: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lag, study = Lag(monkeypatch, kind, seconds=60), study_of(small, wire, rounds=1)
    seen = stop_when(lambda: bool(lag.since) and time.monotonic() > min(lag.since.values()) + LATE)
    for _ in range(2):
        stopped = play(study, runs=runs, options=options(), watch=seen)
        assert stopped.interrupted and max(sendings(service).values()) == 1
    lag.seconds = 0
    assert play(study, runs=runs, options=options()).complete
    assert billed_once(service, runs / "small")


def sendings(service: Service) -> Counter[str]:
    """How often each request was sent, by the key of its call."""
    return Counter(name.partition("-")[2] for batch in service.store.batches.values() for name, _ in batch.requests)


def test_a_line_that_can_never_be_read_is_asked_for_twice(
    service: Service, small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true, spoilt = OpenAI._replies, list[str]()

    def first_is_bad(self: OpenAI, batch: Batch) -> list[Line]:
        lines = true(self, batch)
        spoilt[:] = spoilt or [lines[0]["custom_id"].partition("-")[2]]
        bad = {"status_code": 200, "body": {"choices": None}}
        return [line | ({"response": bad} if line["custom_id"].endswith(spoilt[0]) else {}) for line in lines]

    monkeypatch.setattr(OpenAI, "_replies", first_is_bad)
    result = play(study_of(small, "openai", rounds=1), runs=runs, options=options())
    assert result.tally.failed == 1 and sendings(service)[spoilt[0]] == 2
    assert sendings(service).total() == len(sendings(service)) + 1


def test_a_refuted_batch_is_looked_for_anew_and_never_taken_again(
    service: Service, small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another program made a batch of the same size; the own one is listed later."""
    service.begin_faults(Plan())
    create = Anthropic._create
    strangers: list[Batch] = []

    def with_a_stranger(self: Anthropic, asked: Any) -> Any:
        answer = create(self, asked)
        if not strangers:
            (mine,) = self.store.batches.values()
            other = self.store.add("msgbatch_other", [(f"x-{n}", body) for n, (_, body) in enumerate(mine.requests)])
            strangers.append(other)
            mine.listed = time.monotonic() + 0.1
            return as_json({"error": {"type": "api_error", "message": "something broke"}}, 500)
        return answer

    monkeypatch.setattr(Anthropic, "_create", with_a_stranger)
    assert play(study_of(small, "anthropic", rounds=1), runs=runs, options=options()).complete
    with open_run(runs / "small") as run:
        batch = read_batches(run.journal)[1]
    assert batch.id == "msgbatch_00000" and batch.refuted == {"msgbatch_other"}
    assert max(sendings(service).values()) == 1
