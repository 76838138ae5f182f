"""A budget holds in batches; tables, kills and bills are compared in `test_batches_outside.py`."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.batch_server import BatchServer

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import PollingPolicy, RetryPolicy
from ostrom.engine.runner import Runner
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

QUICK = RetryPolicy(tries=12, first=0.001, longest=0.02)
POLLING = PollingPolicy(first=0.01, longest=0.05, lag=0.3, patience=0.5)
Small = Callable[..., StudyFile]


def batched(**more: Any) -> PlayOptions:
    return PlayOptions(retry=QUICK, batch=True, polling=POLLING, **more)


def paid(run: Path) -> int:
    with open_run(run) as opened:
        return sum(call["error"] is None for call in opened.rows.calls())


def stop_when(seen: Callable[[], bool]) -> Any:
    async def watch(runner: Runner) -> None:
        while not seen():
            await asyncio.sleep(0.005)
        runner.stop("interrupted", interrupted=True)

    return watch


PRICES = {"input": 1000, "output": 1000, "batch": 0.5}


@pytest.mark.slow
@pytest.mark.parametrize("budget", [{"calls": 7}, {"usd": 2.0}, {"tokens": 4000}], ids=str)
def test_waves_keep_to_the_budget(small: Small, runs: Path, budget: dict[str, Any]) -> None:
    with BatchServer() as server:
        prices = {server.model: PRICES}
        study = small(
            types={"model": {"model": server.model}, "tft": "tit_for_tat"},
            seeds=4,
            agent={"style": "direct", "params": {"max_tokens": 60}},
        )
        study = study.model_copy(update={"budget": study.budget.model_copy(update=budget)})
        result = play(study, runs=runs, options=batched(prices=prices))
        tally = result.tally
        assert not result.complete and "does not cover another call" in str(result.why)
        spent = {"calls": tally.calls, "usd": tally.usd, "tokens": tally.tokens_in + tally.tokens_out}
        ((of, most),) = budget.items()
        assert 0.3 * most < spent[of] <= most
        assert tally.usd == pytest.approx((tally.tokens_in + tally.tokens_out) * 1000 / 1e6 / 2)
        assert server.batches.stats()["billed"] == paid(runs / "small") == tally.calls
