"""Batches of a stranger: results that are too large, foreign or none, journals that were edited, lines refused."""

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from chaos.outside.faults import Draws, Plan
from chaos.outside.openai import OpenAI
from chaos.outside.server import Service
from chaos.outside.store import Store
from chaos.outside.wire import Answer
from tests.engine.test_batches import stop_when
from tests.engine.test_batches_outside import Small, billed_once, options, service, study_of, wire

from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import RunError
from ostrom.studies.run import play
from ostrom.studies.schema import BudgetRule

__all__ = ["service", "wire"]


def line(name: str) -> bytes:
    body = {"choices": [{"message": {"content": "[A0]"}, "finish_reason": "stop"}]}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return json.dumps({"custom_id": name, "response": response, "error": None}).encode() + b"\n"


HOSTILE: dict[str, tuple[Callable[[], Answer], str]] = {
    "a page": (lambda: Answer(200, b"<html>hello</html>", "text/html"), "its results cannot be read"),
    "strangers": (
        lambda: Answer(200, line("x") + line("y"), "application/octet-stream"),
        "its results belong to other requests",
    ),
    "nothing": (lambda: Answer(200, b""), "its results cannot be read"),
    "a bomb": (
        lambda: Answer(200, gzip.compress(bytes(9 << 20)), headers={"Content-Encoding": "gzip"}),
        r"more than (the )?1,048,576 bytes",
    ),
    "too many lines": (lambda: Answer(200, line("x") * 2000), "more lines of results than requests"),
    "one endless line": (lambda: Answer(200, b"x" * (9 << 20)), r"more than (the )?1,048,576 bytes"),
}


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", HOSTILE)
def test_results_that_are_none_are_neither_believed_nor_paid_for_again(
    kind: str, service: Service, small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, said = HOSTILE[kind]
    answer = made()
    monkeypatch.setattr("ostrom.models.batches.largest_results", lambda _: 1 << 20)
    monkeypatch.setattr(OpenAI, "_content", lambda *_: answer)
    study = study_of(small, "openai", rounds=1, seeds=1)
    how = options(tries=2, lifetime=0)
    try:
        result = play(study, runs=runs, options=how)
    except RunError as error:
        told = str(error)
    else:
        assert not result.complete
        told = str(result.tally.trouble)
    assert re.search(said, told), told
    monkeypatch.undo()
    for name, value in service.environment().items():
        monkeypatch.setenv(name, value)
    assert len(service.store.batches) == 1
    assert play(study, runs=runs, options=options()).complete
    assert billed_once(service, runs / "small")


def test_requests_that_all_failed_without_a_file_go_into_the_next_batch(
    service: Service, small: Small, runs: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No reply was made, so none is lost and nothing is paid for twice."""
    monkeypatch.setattr(Draws, "line_fails", lambda _: len(service.store.batches) == 1)
    shown, spoiled = OpenAI._shown, Store.spoiled
    monkeypatch.setattr(
        OpenAI, "_shown", lambda self, batch: shown(self, batch) | ({"error_file_id": None} if batch.failed else {})
    )
    monkeypatch.setattr(Store, "spoiled", lambda self, batch, *of: None if batch.failed else spoiled(self, batch, *of))
    assert play(study_of(small, wire, rounds=1, seeds=1), runs=runs, options=options()).complete
    assert billed_once(service, runs / "small") and len(service.store.batches) >= 2


def test_a_reply_counts_before_an_error_line_of_the_same_request(
    service: Service, small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reply was made and paid for, so the request does not go into another batch."""
    replies = OpenAI._replies
    busy = {"status_code": 500, "body": {"error": {"message": "The server had an error"}}}
    monkeypatch.setattr(
        OpenAI,
        "_replies",
        lambda self, batch: [m for one in replies(self, batch) for m in (one, {**one, "response": busy})],
    )
    assert play(study_of(small, "openai", rounds=1, seeds=1), runs=runs, options=options()).complete
    assert billed_once(service, runs / "small")


@pytest.mark.slow
def test_what_is_under_way_counts_against_the_budget_of_the_next_session(
    service: Service, small: Small, runs: Path, wire: str
) -> None:
    """Half of the matches were in play when the session ended; the budget covers no more than theirs."""
    study = study_of(small, wire, rounds=1, seeds=4)
    calls = len(left_calls(service, study, runs))
    study = study.model_copy(update={"budget": BudgetRule(calls=calls)})
    result = play(study, runs=runs, options=options())
    assert not result.complete and "does not cover another call" in str(result.why)
    service.end_all()
    assert service.store.billed.total() == calls == result.tally.calls


def left_calls(service: Service, study: Any, runs: Path) -> list[Any]:
    service.begin_faults(Plan(seconds=0.3))
    some: PlayOptions = replace(options(), limit=6)
    play(study, runs=runs, options=some, watch=stop_when(lambda: bool(service.store.batches)))
    (batch,) = service.store.batches.values()
    return batch.requests
