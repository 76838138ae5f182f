"""A server that fails in every way: the study completes and every failure is in the journal."""

import asyncio
import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import RetryPolicy
from ostrom.engine.runner import Runner
from ostrom.ground.errors import AccessRefused
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile
from ostrom.testing.faults import Faults
from ostrom.testing.server import LoopbackServer

WAYS = (
    "rate_limit", "server_error", "unavailable", "overloaded", "error_in_200", "hang", "reset", "cut_body",
    "cut_reply", "malformed", "wrong_schema", "empty", "drip",
)  # fmt: skip
Small = Callable[..., StudyFile]


def against(server: LoopbackServer, **more: object) -> dict[str, object]:
    agent = {"style": "direct", "settings": {"timeout": 0.5}, **more}
    return {"agent": agent, "types": {"model": {"model": server.model}, "tft": "tit_for_tat"}}


def test_a_server_that_fails_one_call_in_five_delays_the_study_and_loses_nothing(small: Small, runs: Path) -> None:
    faults = Faults({way: 0.2 / len(WAYS) for way in WAYS})
    with LoopbackServer(faults=faults) as server:
        options = PlayOptions(retry=RetryPolicy(tries=12, first=0.001, longest=0.02))
        study = small(**against(server), mechanism={"name": "repetition", "rounds": 20}, vary={}, seeds=6)
        result = play(study, runs=runs, options=options)
        served, failed = server.count, server.fault_counts
    assert result.complete and result.tally.done == 24 and result.tally.in_flight == 0
    with open_run(runs / "small") as run:
        calls = list(run.rows.calls())
        decisions = [r for r in run.rows.decisions() if r["agent"] == "model"]
    assert len(decisions) == 24 * 20
    assert len(calls) == served, "every try is journaled"
    assert sum(failed.values()) > 20, "the server did fail"
    errors = [call["error"] for call in calls if call["error"] is not None]
    harmless = {"drip"}
    unread = {"cut_reply", "empty"}
    expected = sum(n for way, n in failed.items() if way not in harmless | unread)
    complaints = sum(failed[way] for way in unread)
    late = sum("TimedOut" in error for error in errors) - failed["hang"]  # a busy machine is late itself
    assert late >= 0 and expected <= len(errors) <= expected + late
    assert complaints - late <= sum(r["complaints"] for r in decisions) <= complaints


def test_a_wrong_key_stops_the_run_at_once_with_one_line(
    small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OSTROM_API_KEY", "sk-canary-1234567890")
    with LoopbackServer(faults=Faults({"refused_key": 1.0})) as server:
        result = play(small(**against(server)), runs=runs)
        assert server.count <= 300
        with pytest.raises(AccessRefused) as caught:  # with no script among them there is nothing to play
            play(small(**against(server) | {"seating": "self", "types": {"model": {"model": server.model}}}),
                 name="alone", runs=runs)  # fmt: skip
    why = str(result.why)
    assert not result.complete and "could not be played: AccessRefused" in why
    assert "\n" not in why + str(caught.value) and "canary" not in why + str(caught.value)


def test_where_no_model_can_be_used_the_first_refusal_is_told(small: Small, runs: Path) -> None:
    asked: list[Request] = []

    def first(request: Request) -> AccessRefused:
        asked.append(request)
        return AccessRefused("the first key", status=401)

    async def second(request: Request) -> AccessRefused:
        for _ in range(1000):
            await asyncio.sleep(0)
        assert asked and request.messages
        return AccessRefused("the second key", status=401)

    register("first", first)
    register("second", second)
    types = {name: {"model": f"scripted/{name}"} for name in ("first", "second")}
    with pytest.raises(AccessRefused, match="the first key"):
        play(small(types=types, seating="self", vary={}, seeds=1), runs=runs)


def test_an_unreachable_server_is_named_and_what_was_played_is_kept(
    small: Small, runs: Path, quick: PlayOptions
) -> None:
    with LoopbackServer() as server:
        study = small(**against(server))
        origin = server.origin
    result = play(study, runs=runs, options=quick)
    assert not result.complete and result.tally.done == result.tally.matches - result.tally.failed
    assert "ConnectionFailed" in str(result.why)
    assert origin.removeprefix("http://").split(":")[1] in str(result.why)


def test_a_run_outlasts_a_server_that_is_exchanged(small: Small, runs: Path) -> None:
    retry = RetryPolicy(tries=2, first=0.001, longest=0.02)

    async def watch(runner: Runner) -> None:
        while runner.tally.calls < 10:
            await asyncio.sleep(0)
        await asyncio.to_thread(servers.close)
        while runner.tally.retries < 40:  # more tries than its four calls have
            await asyncio.sleep(0)
        servers.enter_context(LoopbackServer(port=server.port))

    with ExitStack() as servers:
        server = servers.enter_context(LoopbackServer(latency=0.002))
        options = PlayOptions(retry=retry, max_connections=4)
        result = play(small(**against(server)), runs=runs, options=options, watch=watch)
    assert result.complete and result.tally.failed == 0 and result.tally.retries >= 40


def test_no_byte_that_a_run_writes_holds_the_key(
    small: Small, runs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], quick: PlayOptions
) -> None:
    canary = "sk-canary-9f8e7d6c5b4a"
    monkeypatch.setenv("OSTROM_API_KEY", canary)
    faults = Faults({"refused_key": 0.05, "server_error": 0.1, "malformed": 0.1})
    with LoopbackServer(faults=faults) as server:
        try:
            play(small(**against(server), seeds=4), runs=runs, options=quick)
        except AccessRefused as error:
            assert canary not in str(error)
        sent = {r.headers.get("authorization", "") for r in server.requests}
    assert any(canary in value for value in sent), "the key was not even sent"
    for path in runs.rglob("*"):
        if path.is_file():
            assert canary.encode() not in path.read_bytes(), path
    out = capfd.readouterr()
    assert canary not in out.out + out.err
    assert canary not in " ".join(f"{k}={v}" for k, v in os.environ.items() if k != "OSTROM_API_KEY")


def test_a_budget_of_calls_is_never_exceeded_and_can_be_raised(small: Small, runs: Path, quick: PlayOptions) -> None:
    with LoopbackServer(latency=0.002) as server:
        first = play(small(**against(server), budget={"calls": 30}), runs=runs, options=quick)
        assert server.count == 30
        assert not first.complete and "30 calls" in (first.why or "")
        second = play(small(**against(server), budget={"calls": 30}), runs=runs, options=quick)
        assert server.count == 30 and not second.complete
        third = play(small(**against(server)), runs=runs, options=quick)
    assert third.complete


def test_a_budget_in_money_needs_a_price(small: Small, runs: Path) -> None:
    with LoopbackServer() as server:
        study = small(**against(server), budget={"usd": 0.03})
        prices = {server.model: {"input": 5.0, "output": 10.0}}
        result = play(study, runs=runs, options=PlayOptions(prices=prices, max_connections=2))
    assert not result.complete and "USD" in (result.why or "")
    assert 0.003 <= result.tally.usd <= 0.03


def test_a_reply_that_was_paid_for_is_used_after_a_restart_even_if_it_was_unreadable(
    small: Small, runs: Path, quick: PlayOptions
) -> None:
    replies = iter(["nonsense"] * 12 + ["[A0]"] * 1000)
    with LoopbackServer(lambda body: next(replies)) as server:
        study = small(**against(server), seating="self", vary={}, seeds=1, budget={"calls": 7}, invalid={"retries": 9})
        play(study, runs=runs, options=PlayOptions(retry=quick.retry, max_connections=1))
        before = server.count
        done = play(study.model_copy(update={"budget": study.budget.model_copy(update={"calls": None})}), runs=runs)
        assert done.complete
    with open_run(runs / "small") as run:
        places = [(c["step"], c["player"], c["part"]) for c in run.rows.calls()]
    assert before == 7 and len(places) == len(set(places))


def test_the_cache_answers_the_same_draw_and_no_other(small: Small, tmp_path: Path) -> None:
    with LoopbackServer(faults=Faults({"cut_reply": 0.2})) as server:
        study = small(**against(server))
        options = PlayOptions(cache=tmp_path / "cache.db")
        first = play(study, name="first", runs=tmp_path, options=options)
        calls = server.count
        again = play(study, name="again", runs=tmp_path, options=options)
        cut = first.tally.invalid
        assert again.complete and again.tally.cached > 0
        assert server.count - calls <= 2 * cut, "only cut replies and what follows them are asked for again"
        other_seed = play(study.model_copy(update={"seed": 99}), name="other", runs=tmp_path, options=options)
        assert other_seed.tally.cached == 0


def test_an_interruption_that_comes_too_late_stops_nothing(small: Small, runs: Path) -> None:
    async def watch(runner: Runner) -> None:
        while runner.tally.done < runner.tally.matches:
            await asyncio.sleep(0)
        runner.stop("interrupted", interrupted=True)

    with LoopbackServer() as server:
        result = play(small(**against(server)), runs=runs, watch=watch)
    assert result.complete and result.why is None and not result.interrupted


def test_a_run_that_is_told_to_be_patient_can_be_stopped_meanwhile(small: Small, runs: Path) -> None:
    async def watch(runner: Runner) -> None:
        while not runner.tally.calls:
            await asyncio.sleep(0.01)
        runner.stop("interrupted", interrupted=True)

    with LoopbackServer(faults=Faults({"rate_limit": 1.0}, retry_after="600")) as server:
        options = PlayOptions(max_connections=2, start_connections=2)
        result = play(small(**against(server)), runs=runs, options=options, watch=watch)
    assert result.interrupted and not result.complete and server.count == 2


def test_the_first_reason_to_stop_is_the_one_that_is_told(small: Small, runs: Path) -> None:
    async def watch(runner: Runner) -> None:
        runner.stop("the disk is full")
        runner.stop("interrupted", interrupted=True)

    with LoopbackServer() as server:
        result = play(small(**against(server)), runs=runs, watch=watch)
    assert result.why == "the disk is full" and result.interrupted and not result.complete
