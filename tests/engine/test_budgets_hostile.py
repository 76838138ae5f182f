"""A budget holds whatever a server reports: what it bills is counted on its side and compared."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.batch_server import BatchServer
from tests.engine.test_batches import batched

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import RetryPolicy
from ostrom.engine.runner import Result, Runner
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import BudgetRule, StudyFile
from ostrom.testing.faults import Faults
from ostrom.testing.replies import answer, openai_document

Small = Callable[..., StudyFile]
MOST = 60
"""``max_tokens`` of every call."""
BYTES_PER_TOKEN = 4
USAGES: dict[str, Any] = {
    "none": None,
    "an empty object": {},
    "a list": [3],
    "nulls": {"prompt_tokens": None, "completion_tokens": None},
    "negative": {"prompt_tokens": -400, "completion_tokens": -60},
    "absurd": {"prompt_tokens": 10**18, "completion_tokens": 10**18},
    "too large for any model": {"prompt_tokens": 900_000_000, "completion_tokens": 900_000_000},
    "floats": {"prompt_tokens": 250.0, "completion_tokens": 12.5},
    "texts": {"prompt_tokens": "250", "completion_tokens": "12"},
    "truths": {"prompt_tokens": True, "completion_tokens": True},
    "zeros": {"prompt_tokens": 0, "completion_tokens": 0},
    "one": {"prompt_tokens": 1, "completion_tokens": 1},
    "the prompt alone": {"prompt_tokens": 400},
}


class Bill:
    """A server's own count of what it bills: a token for four bytes."""

    def __init__(self, usage: Any = "true", text: Callable[[int, str], str] | None = None, cut: bool = False) -> None:
        self.usage, self.text, self.cut = usage, text or (lambda _, said: said), cut
        self.calls = self.tokens = 0

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        said = self.text(self.calls, answer(body))[: body["max_tokens"] * BYTES_PER_TOKEN]
        document = openai_document(body, said, "length" if self.cut else "stop")
        asked = sum(len(message["content"].encode()) for message in body["messages"]) // BYTES_PER_TOKEN
        written = body["max_tokens"] if self.cut else len(said.encode()) // BYTES_PER_TOKEN + 1
        self.calls += 1
        self.tokens += asked + written
        usage = {"prompt_tokens": asked, "completion_tokens": written} if self.usage == "true" else self.usage
        return {**document, "usage": usage}


def study_of(
    small: Small, *servers: BatchServer, tokens: int | None = None, timeout: float = 60.0, **changes: Any
) -> StudyFile:
    types: dict[str, Any] = {f"model{n}": {"model": server.model} for n, server in enumerate(servers)}
    study = small(
        types=types | {"tft": "tit_for_tat"},
        agent={"style": "direct", "params": {"max_tokens": MOST}, "settings": {"timeout": timeout}},
        **{"vary": {}, "seeds": 3, "invalid": {"retries": 3, "policy": "uniform"}, **changes},
    )
    return study.model_copy(update={"budget": BudgetRule(tokens=tokens)})


def options(tries: int = 4, **more: Any) -> PlayOptions:
    return PlayOptions(retry=RetryPolicy(tries, first=0.001, longest=0.01), **more)


def refused(result: Result, tokens: int) -> bool:
    return not result.complete and f"the budget of {tokens} tokens is used up" in str(result.why)


@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", USAGES)
@pytest.mark.parametrize("batch", [False, True], ids=["directly", "batched"])
def test_a_budget_holds_whatever_usage_says(small: Small, runs: Path, kind: str, batch: bool) -> None:
    bill, tokens = Bill(USAGES[kind]), 9000
    with BatchServer(bill) as server:
        how = batched() if batch else options()
        result = play(study_of(small, server, tokens=tokens), runs=runs, options=how)
        assert refused(result, tokens), result.why
        assert bill.calls >= 2 and bill.tokens <= tokens
        tally = result.tally
        assert tally.assumed == tally.calls == bill.calls
        assert bill.tokens <= tally.tokens_in + tally.tokens_out + tally.assumed_tokens <= tokens
        assert f"with an upper estimate for {tally.assumed} calls" in str(result.why)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["true", "none"])
def test_what_earlier_sessions_spent_counts_and_a_larger_budget_goes_on(small: Small, runs: Path, kind: str) -> None:
    bill = Bill(USAGES.get(kind, "true"))
    with BatchServer(bill) as server:
        for tokens in (6000, 6000, 12_000, 12_000):
            result = play(study_of(small, server, tokens=tokens), runs=runs, options=options())
            assert refused(result, tokens) and bill.tokens <= tokens
        first = bill.calls
        assert play(study_of(small, server, tokens=10**6), runs=runs, options=options()).complete
        assert bill.calls > first
        with open_run(runs / "small") as run:
            assert sum(call["error"] is None for call in run.rows.calls()) == bill.calls


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", ["true", "none"])
@pytest.mark.parametrize("batch", [False, True], ids=["directly", "batched"])
def test_short_replies_first_and_long_ones_later(small: Small, runs: Path, kind: str, batch: bool) -> None:
    bill = Bill(USAGES.get(kind, "true"), lambda n, said: said if n < 1 else said + " because" * 1000)
    with BatchServer(bill) as server:
        how = batched() if batch else options(max_connections=64, start_connections=64)
        result = play(study_of(small, server, tokens=8000, seeds=20), runs=runs, options=how)
        assert refused(result, 8000) and bill.calls > 3 and bill.tokens <= 8000


@pytest.mark.parametrize("kind", ["true", "none"])
def test_cut_replies_count_as_much_as_was_allowed(small: Small, runs: Path, kind: str) -> None:
    bill = Bill(USAGES.get(kind, "true"), lambda *_: "[", cut=True)
    with BatchServer(bill) as server:
        result = play(study_of(small, server, tokens=8000), runs=runs, options=options())
        assert refused(result, 8000) and bill.calls > 3 and bill.tokens <= 8000


@pytest.mark.parametrize(
    "fault", [pytest.param("hang", marks=pytest.mark.slow), "reset", "cut_body", "malformed", "wrong_schema"]
)
def test_tries_that_may_have_been_billed_stay_reserved(small: Small, runs: Path, fault: str) -> None:
    """The server bills what it was asked, although no reply arrives; also over sessions."""
    bill, tokens = Bill(), 9000
    with BatchServer(bill, faults=Faults({fault: 0.6})) as server:
        for _ in range(2):
            study = study_of(small, server, tokens=tokens, timeout=3 if fault == "hang" else 600)
            result = play(study, runs=runs, options=options(tries=12))
            assert refused(result, tokens), result.why
            billed = bill.tokens / bill.calls * server.count  # some faults are not answered by the bill
            assert server.fault_counts[fault] > 2 and billed <= tokens
            tally = result.tally
            assert tally.assumed == server.fault_counts[fault] and tally.calls == server.count


@pytest.mark.slow
def test_a_call_that_was_cancelled_on_its_way_is_counted_and_journaled(small: Small, runs: Path) -> None:
    """Two interrupts leave at once; the calls under way may be billed all the same."""

    def leave(runner: Runner) -> Coroutine[Any, Any, None]:
        playing = asyncio.current_task()
        assert playing is not None

        async def watch() -> None:
            while not server.count:
                await asyncio.sleep(0.005)
            playing.cancel()

        return watch()

    with BatchServer(latency=0.4) as server:
        study = study_of(small, server, tokens=9000)
        with suppress(asyncio.CancelledError, KeyboardInterrupt):
            play(study, runs=runs, options=options(), watch=leave)
        with open_run(runs / "small") as run:
            errors = [call["error"] for call in run.rows.calls()]
        assert errors and all(error.startswith("Abandoned: ") for error in errors)
        result = play(study, runs=runs, options=options(limit=1))
        assert result.tally.assumed == len(errors)


def test_two_models_share_one_budget(small: Small, runs: Path) -> None:
    one, other = Bill(), Bill(None)
    with BatchServer(one) as first, BatchServer(other) as second:
        result = play(study_of(small, first, second, tokens=12_000), runs=runs, options=options())
        assert refused(result, 12_000) and min(one.calls, other.calls) > 1
        assert one.tokens + other.tokens <= 12_000


def test_a_budget_too_small_for_one_call_makes_none(small: Small, runs: Path) -> None:
    with BatchServer() as server:
        result = play(study_of(small, server, tokens=500), runs=runs, options=options())
        assert refused(result, 500) and not server.count
        assert f"a reply of at most {MOST} tokens" in str(result.why)


def sizeless(text: str) -> str:
    """A message without the cost and size of the call that was refused."""
    return re.sub(r"take [\d.]+: [\d,]+ bytes", "take COST: SIZE bytes", text)


def test_money_holds_without_usage_where_prices_are_known(small: Small, runs: Path) -> None:
    bill = Bill(None)
    with BatchServer(bill) as server:
        study = study_of(small, server).model_copy(update={"budget": BudgetRule(usd=0.9)})
        prices = {server.model: {"input": 100.0, "output": 100.0}}
        result = play(study, runs=runs, options=options(prices=prices))
        assert "the budget of 0.9 USD is used up" in str(result.why)
        assert bill.calls > 2 and bill.tokens * 1e-4 <= 0.9
        again = play(study, runs=runs, options=options(prices=prices))
        # Which of several calls is the first that the budget refuses, and so its size, depends on their order.
        assert sizeless(str(again.why)) == sizeless(str(result.why)) and bill.tokens * 1e-4 <= 0.9


def test_replies_of_a_cache_are_not_counted_when_a_run_goes_on(small: Small, runs: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache.db"
    with BatchServer(Bill()) as server:
        play(study_of(small, server, name="first"), runs=runs, options=options(cache=cache))
        asked = server.count
        for limit in (1, None):
            result = play(study_of(small, server), runs=runs, options=options(cache=cache, limit=limit))
            assert result.tally.calls == result.tally.tokens_in == 0 and result.tally.cached
        assert result.complete and server.count == asked
