"""Played in batches: the same tables as played directly, each request paid for once."""

import asyncio
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.batch_server import BatchFaults, BatchServer
from tests.run_tables import tables

from ostrom.engine.batching.ledger import read_batches
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import PollingPolicy, RetryPolicy
from ostrom.engine.runner import Result, Runner
from ostrom.ground.errors import RunError
from ostrom.models.batches import BatchLimits
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile
from ostrom.testing.faults import Faults

QUICK = RetryPolicy(tries=12, first=0.001, longest=0.02)
POLLING = PollingPolicy(first=0.01, longest=0.05, lag=0.3, patience=0.5)
Small = Callable[..., StudyFile]


def batched(**more: Any) -> PlayOptions:
    return PlayOptions(retry=QUICK, batch=True, polling=POLLING, **more)


def types_of(model: str, **settings: Any) -> dict[str, Any]:
    return {"model": {"model": model, "settings": settings} if settings else {"model": model}, "tft": "tit_for_tat"}


def both(server: BatchServer, study: StudyFile, runs: Path) -> tuple[Result, Path, Path]:
    """A study played directly, then in batches."""
    quiet, server.faults = server.faults, Faults()
    play(study, runs=runs / "direct", options=PlayOptions(retry=QUICK))
    server.faults = quiet
    result = play(study, runs=runs / "batched", options=batched())
    return result, runs / "direct" / "small", runs / "batched" / "small"


def paid(run: Path) -> int:
    with open_run(run) as opened:
        return sum(call["error"] is None for call in opened.rows.calls())


def decisions(run: Path) -> list[Any]:
    with open_run(run) as opened:
        return list(opened.rows.decisions())


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def study_for(wire: str, server: BatchServer, small: Small, **changes: Any) -> StudyFile:
    if wire == "openai":
        return small(types=types_of(server.model), **changes)
    return small(types=types_of("anthropic/claude-test", base_url=server.origin), **changes)


@pytest.mark.slow
def test_the_tables_are_those_of_the_direct_run(small: Small, runs: Path, wire: str) -> None:
    with BatchServer() as server:
        result, direct, batched_run = both(server, study_for(wire, server, small), runs)
        assert result.complete
        assert tables(batched_run, runs / "b") == tables(direct, runs / "a")
        assert server.batches.stats()["billed"] == paid(batched_run)
        # Six rounds, all matches side by side: six waves.
        assert len(server.batches.batches) == 6
    with open_run(batched_run) as run:
        assert {batch.state for batch in read_batches(run.journal).values()} == {"settled"}
        assert {call["source"] for call in run.rows.calls()} == {"batch"}


def stop_when(seen: Callable[[], bool]) -> Any:
    async def watch(runner: Runner) -> None:
        while not seen():
            await asyncio.sleep(0.005)
        runner.stop("interrupted", interrupted=True)

    return watch


@pytest.mark.slow
def test_a_stopped_run_leaves_its_batch_and_resuming_collects_it(small: Small, runs: Path, wire: str) -> None:
    with BatchServer(batch_faults=BatchFaults(seconds=0.4)) as server:
        study = study_for(wire, server, small, vary={}, seeds=1, mechanism={"name": "repetition", "rounds": 2})
        watch = stop_when(lambda: bool(server.batches.batches))
        stopped = play(study, runs=runs, options=batched(), watch=watch)
        assert not stopped.complete and stopped.interrupted
        with pytest.raises(RunError, match="1 batch under way"):
            play(study, runs=runs, options=PlayOptions(retry=QUICK))
        assert play(study, runs=runs, options=batched()).complete
        assert len(server.batches.batches) == 2
        assert server.batches.stats()["billed"] == paid(runs / "small")


KILLED = """
import sys
from ostrom.engine.retries import PollingPolicy
from ostrom.engine.retries import RetryPolicy
from ostrom.engine.play_options import PlayOptions
from ostrom.studies.load import load_study
from ostrom.studies.run import play
polling = PollingPolicy(first=0.01, longest=0.05, lag=0.3, patience=0.5)
options = PlayOptions(retry=RetryPolicy(first=0.001, longest=0.01), batch=True, polling=polling)
sys.exit(0 if play(load_study(sys.argv[1]), runs=sys.argv[2], options=options).complete else 1)
"""


@pytest.mark.slow
def test_killed_at_the_moment_of_creation_it_finds_its_batch(small: Small, runs: Path, wire: str) -> None:
    """The server makes the batch and the client is dead before it hears of that."""
    with BatchServer() as server:
        study = study_for(wire, server, small, vary={}, seeds=1, mechanism={"name": "repetition", "rounds": 2})
        file = runs.with_suffix(".yaml")
        file.write_text(study.model_dump_json(exclude_unset=True))
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(file), str(runs)])
        server.batches.made = process.kill
        process.wait(300)
        server.batches.made = lambda: None
        with open_run(runs / "small") as run:
            assert [batch.id for batch in read_batches(run.journal).values()] == [None]
        result = play(study, runs=runs, options=batched())
        assert result.complete
        assert len(server.batches.batches) == 2
        assert server.batches.stats()["billed"] == paid(runs / "small")


PRICES = {"input": 1000, "output": 1000, "batch": 0.5}


@pytest.mark.slow
@pytest.mark.parametrize("budget", [{"calls": 7}, {"usd": 2.0}, {"tokens": 4000}], ids=str)
def test_waves_keep_to_the_budget(small: Small, runs: Path, budget: dict[str, Any]) -> None:
    with BatchServer() as server:
        prices = {server.model: PRICES}
        study = study_for("openai", server, small, seeds=4, agent={"style": "direct", "params": {"max_tokens": 60}})
        study = study.model_copy(update={"budget": study.budget.model_copy(update=budget)})
        result = play(study, runs=runs, options=batched(prices=prices))
        tally = result.tally
        assert not result.complete and "does not cover another call" in str(result.why)
        spent = {"calls": tally.calls, "usd": tally.usd, "tokens": tally.tokens_in + tally.tokens_out}
        ((of, most),) = budget.items()
        assert 0.3 * most < spent[of] <= most
        assert tally.usd == pytest.approx((tally.tokens_in + tally.tokens_out) * 1000 / 1e6 / 2)
        assert server.batches.stats()["billed"] == paid(runs / "small") == tally.calls


def test_a_large_wave_is_split_at_the_limits_of_the_service(
    small: Small, runs: Path, wire: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("openai", "anthropic"):
        monkeypatch.setattr(f"ostrom.models.providers.{name}.{CLASSES[name]}.limits", BatchLimits(5, 10**6))
    with BatchServer() as server:
        study = study_for(wire, server, small, vary={}, seeds=3, mechanism={"name": "none"})
        assert play(study, runs=runs, options=batched()).complete
        assert sorted(len(batch.requests) for batch in server.batches.batches.values()) == [2, 5, 5]


CLASSES = {"openai": "OpenAIBatches", "anthropic": "AnthropicBatches"}
