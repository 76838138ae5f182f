"""Played in batches against a second, strict implementation of both endpoints that shares no code with the package."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from chaos.batch import MODELS, killed
from chaos.outside.anthropic import Anthropic
from chaos.outside.faults import Plan
from chaos.outside.openai import OpenAI
from chaos.outside.server import KEY, Service
from chaos.outside.wire import as_json
from tests.engine.test_batches import stop_when

from ostrom.engine.batching.ledger import read_batches
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import PollingPolicy, RetryPolicy
from ostrom.engine.runner import Result
from ostrom.ground.errors import RunError, UsageError
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

Small = Callable[..., StudyFile]


@pytest.fixture(params=list(MODELS))
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    with Service() as service:
        for name, value in service.environment().items():
            monkeypatch.setenv(name, value)
        yield service


def options(tries: int = 12, **more: Any) -> PlayOptions:
    polling = PollingPolicy(first=0.01, longest=0.05, lag=0.3, patience=0.5, **more)
    return PlayOptions(retry=RetryPolicy(tries, first=0.001, longest=0.02), batch=True, polling=polling)


def study_of(small: Small, wire: str, rounds: int = 2, timeout: float = 60, **changes: Any) -> StudyFile:
    model = {"model": MODELS[wire], "settings": {"timeout": timeout}}
    return small(
        types={"model": model, "tft": "tit_for_tat"},
        **{"vary": {}, "seeds": 2, "mechanism": {"name": "repetition", "rounds": rounds}, **changes},
    )


def billed_once(service: Service, run: Path) -> bool:
    """Whether what was billed is what the journal holds, each request once."""
    service.end_all()
    with open_run(run) as opened:
        replies = sum(call["error"] is None for call in opened.rows.calls())
    ids = service.store.billed_ids
    return not service.violations and ids.total() == len(ids) == replies


@pytest.mark.parametrize("wire", MODELS)
def test_faults_and_kills_change_neither_tables_nor_bill(wire: str) -> None:
    """The small version of ``python -m chaos batch``."""
    found = killed(wire, kills=2, seeds=1, rounds=2)
    assert found.verdict == "held", found


def left_behind(service: Service, study: StudyFile, runs: Path) -> Result:
    """Play until the first batch is made, and stop."""
    service.begin_faults(Plan(seconds=0.3))
    return play(study, runs=runs, options=options(), watch=stop_when(lambda: bool(service.store.batches)))


@pytest.mark.slow
def test_a_batch_that_the_service_does_not_know_is_never_asked_again(
    service: Service, small: Small, runs: Path, wire: str
) -> None:
    """The run was copied to a machine with the key of another account."""
    study = study_of(small, wire)
    left_behind(service, study, runs)
    (name,) = service.store.batches
    batch = service.store.batches.pop(name)
    with pytest.raises(RunError, match=rf"batch {name} of {MODELS[wire]} is not to be had .* --forget"):
        play(study, runs=runs, options=options())
    assert not service.store.batches
    service.store.batches[name] = batch
    assert play(study, runs=runs, options=options()).complete
    assert billed_once(service, runs / "small")


@pytest.mark.slow
def test_a_batch_that_is_too_large_for_any_queue_ends_with_a_line(service: Service, small: Small, runs: Path) -> None:
    service.begin_faults(Plan(tokens=10))
    result = play(study_of(small, "openai", seeds=1), runs=runs, options=options(tries=2, failures=3))
    assert not result.complete and not service.store.billed
    assert "Enqueued token limit" in str(result.tally.trouble)


def test_keys_are_in_no_file_of_the_run(service: Service, small: Small, runs: Path, wire: str) -> None:
    service.begin_faults(Plan(0.2))
    play(study_of(small, wire), runs=runs, options=options())
    for file in runs.rglob("*"):
        assert KEY not in file.name
        assert file.is_dir() or KEY.encode() not in file.read_bytes()


@pytest.mark.slow
def test_the_journal_names_each_batch_before_it_is_awaited(
    service: Service, small: Small, runs: Path, wire: str
) -> None:
    study = study_of(small, wire)
    stopped = left_behind(service, study, runs)
    assert stopped.interrupted and not stopped.complete
    with open_run(runs / "small") as run:
        assert [batch.id for batch in read_batches(run.journal).values()] == list(service.store.batches)


@pytest.mark.parametrize(
    ("wire", "status", "said"),
    [("openai", 405, r"lists no batches \(405\)"), ("anthropic", 404, r"has no batch endpoint \(404\)")],
)
def test_a_server_that_lists_no_batches_is_refused(
    wire: str, status: int, said: str, service: Service, small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that speaks Anthropic's wire for messages alone."""
    error = as_json({"error": {"message": "method not allowed"}}, status)
    monkeypatch.setattr({"openai": OpenAI, "anthropic": Anthropic}[wire], "_list", lambda *_: error)
    with pytest.raises(UsageError, match=f"{said}.*run without --batch"):
        play(study_of(small, wire), runs=runs, options=options())
    assert not service.openai.files and not service.store.batches and not runs.exists()
