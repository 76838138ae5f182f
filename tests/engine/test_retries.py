"""How long a failed call rests, which failures are tried again, and that Retry-After is obeyed."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import pytest

from ostrom.engine.caller import Caller, SeatCalls
from ostrom.engine.entries import CallRecord
from ostrom.engine.gate import Limiter, RunGate, Stopped
from ostrom.engine.plan import Budget, Tally, Unit
from ostrom.engine.retries import RetryPolicy
from ostrom.games import build_game
from ostrom.ground.errors import AccessRefused, ConnectionFailed, ModelError, RateLimited, RequestRefused, ServerFailed
from ostrom.mechanisms import mechanisms
from ostrom.models.base import Abilities, Message, Reply, Request, Usage
from ostrom.models.pending_call import CallSize

REQUEST = Request((Message("user", "hi"),), {"temperature": 0})


def test_the_default_patience() -> None:
    retry = RetryPolicy()
    assert (retry.tries, retry.first, retry.longest, retry.longest_wait) == (8, 0.5, 60.0, 3600.0)
    assert retry.outage == 600.0 and 0 <= retry.wait(10_000) <= 60.0


def test_the_backoff_doubles_from_the_first_wait_up_to_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    bounds: list[tuple[float, float]] = []

    def uniform(low: float, high: float) -> float:
        bounds.append((low, high))
        return high

    monkeypatch.setattr(random, "uniform", uniform)
    retry = RetryPolicy(first=0.5, longest=3.0)
    assert [retry.wait(n) for n in (1, 2, 3, 4, 5)] == [0.5, 1.0, 2.0, 3.0, 3.0]
    assert {low for low, _ in bounds} == {0}  # full jitter: anywhere from none to all of it
    assert retry.wait(1, retry_after=7.0) == 7.5  # never sooner than asked for
    assert retry.wait(4, retry_after=7.0) == 8.0  # and at most a second later
    assert [retry.wait(n, retry_after=0.0) for n in (1, 3, 5)] == [0.5, 2.0, 3.0]  # "at once" does not end backing off


def test_the_waits_of_many_calls_are_spread() -> None:
    waits = [RetryPolicy(first=1.0).wait(3) for _ in range(200)]
    assert min(waits) < 1.0 < 3.0 < max(waits) <= 4.0 and len(set(waits)) == 200


@pytest.mark.parametrize(("asked", "waited"), [(None, True), (0.0, True), (3600.0, True), (3600.1, False)])
def test_a_server_that_asks_for_too_much_is_not_waited_for(asked: float | None, waited: bool) -> None:
    assert RetryPolicy().allows(asked) is waited


@dataclass(frozen=True, slots=True)
class Noting(RetryPolicy):
    """Notes what it is asked and waits for nothing."""

    asked: list[tuple[int, float | None]] = field(default_factory=list)

    def wait(self, failures: int, retry_after: float | None = None) -> float:
        self.asked.append((failures, retry_after))
        return 0.0


class Scripted:
    """A model that fails as told, then replies."""

    name, abilities, connections = "m", Abilities(), 4

    def __init__(self, *failures: Exception) -> None:
        self.failures, self.calls = list(failures), 0

    async def complete(self, request: Request) -> Reply:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        return Reply("[A0]", usage=Usage(10, 5))

    async def close(self) -> None: ...

    def describe(self) -> dict[str, Any]:
        return {}


class Notes:
    def __init__(self) -> None:
        self.records: list[CallRecord] = []

    def call(self, record: CallRecord) -> None:
        self.records.append(record)


def unit() -> Unit:
    return Unit(3, "key", 1, {}, build_game("prisoners_dilemma"), mechanisms.build("none"), ())


def calling(model: Scripted, retry: RetryPolicy, look: Callable[[Caller, RunGate], None] | None = None) -> Notes:
    """Make one call through a caller and a real gate; ``look`` is called once the call has ended."""
    notes = Notes()

    async def main() -> None:
        tally = Tally()
        gate = RunGate(tally, Budget(), asyncio.Event())
        gate.open("m", 8, 8)
        caller = Caller(notes, tally, gate, gate.stopping, retry, prices={"m": {"input": 1, "output": 2}})
        caller.open(model)
        try:
            await caller.call(unit(), 5, 1, "plan", model, REQUEST)
        finally:
            assert tally.in_flight == gate.spending.reserved == 0
            if look is not None:
                look(caller, gate)

    asyncio.run(main())
    return notes


def test_retry_after_decides_how_long_a_call_rests_and_holds_back_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    retry, told = Noting(), list[float | None]()
    original = Limiter.failed

    def noted(limiter: Limiter, era: int, retry_after: float | None = None) -> None:
        told.append(retry_after)
        original(limiter, era, retry_after)

    monkeypatch.setattr(Limiter, "failed", noted)
    failed = RateLimited("slow down", status=429, retry_after=0.05)
    notes = calling(Scripted(failed, ServerFailed("oops", status=500)), retry)
    assert retry.asked == [(1, 0.05), (2, None)] and told == [0.05, None]
    assert [r.status for r in notes.records] == [429, 500, None]
    assert [r.try_ for r in notes.records] == [1, 2, 3]


def test_a_failure_that_is_final_is_not_tried_again() -> None:
    for error in (RequestRefused("no", status=400), AccessRefused("key", status=401)):
        model = Scripted(error)
        with pytest.raises(ModelError):
            calling(model, Noting())
        assert model.calls == 1


def test_a_wish_beyond_patience_is_final() -> None:
    model, retry = Scripted(RateLimited("tomorrow", status=429, retry_after=3601.0)), Noting()
    with pytest.raises(RateLimited):
        calling(model, retry)
    assert model.calls == 1 and retry.asked == []


def test_the_last_failure_is_raised_after_so_many_tries() -> None:
    model, retry = Scripted(*(ServerFailed(str(n), status=500) for n in range(9))), Noting(tries=3)
    with pytest.raises(ServerFailed, match="2"):
        calling(model, retry)
    assert model.calls == 3 and retry.asked == [(1, None), (2, None)]


UNREACHABLE = ConnectionFailed("cannot reach it: refused")


@pytest.mark.parametrize(
    "failure", [UNREACHABLE, ServerFailed("loading", status=503), ServerFailed("busy", status=529)]
)
def test_a_model_that_has_answered_is_waited_for_while_it_is_out_of_reach(failure: ModelError) -> None:
    model, retry, seen = Scripted(), Noting(tries=2), list[int]()

    async def main() -> None:
        gate = RunGate(Tally(), Budget(), asyncio.Event())
        gate.open("m", 8, 8)
        caller = Caller(Notes(), gate.tally, gate, gate.stopping, retry)
        caller.open(model)
        await caller.call(unit(), 0, 0, "", model, REQUEST)
        model.failures = [failure] * 30
        await caller.call(unit(), 1, 0, "", model, REQUEST)
        seen.append(model.calls)
        assert gate.places == 4  # one outage halves the limit once
        model.failures = [ConnectionFailed("it hung up")] * 30  # a server that takes calls and fails is not waited for
        with pytest.raises(ConnectionFailed, match="hung up"):
            await caller.call(unit(), 2, 0, "", model, REQUEST)
        seen.append(model.calls)
        caller.retry = Noting(tries=2, outage=0.0)
        model.failures = [failure] * 30
        with pytest.raises(type(failure)):
            await caller.call(unit(), 3, 0, "", model, REQUEST)
        seen.append(model.calls)

    asyncio.run(main())
    assert seen == [32, 34, 36]


def test_a_model_that_never_answered_is_not_waited_for() -> None:
    model = Scripted(*[UNREACHABLE] * 9)
    with pytest.raises(ConnectionFailed):
        calling(model, Noting(tries=3))
    assert model.calls == 3


def test_every_try_is_journaled_with_what_it_took() -> None:
    notes = calling(Scripted(ServerFailed("oops", status=503)), Noting())
    failed, good = notes.records
    assert (failed.error, failed.status, failed.reply, failed.usd) == ("ServerFailed: oops", 503, None, None)
    assert (good.error, good.status) == (None, None) and good.reply is not None
    assert good.usd == pytest.approx((10 * 1 + 5 * 2) / 1e6)
    assert (good.unit, good.step, good.player, good.part, good.model, good.source) == (3, 5, 1, "plan", "m", "live")
    assert good.prompt == b'[["user","hi"]]' and good.params == {"temperature": 0}


class Seat(Scripted):
    async def ask(self, unit: int, player: int, part: str, request: Request) -> Reply:
        return Reply(f"{unit} {player} {part}")


class FlushedNotes(Notes):
    async def flush(self) -> None:
        self.flushed = len(self.records)


def test_an_answer_from_a_seat_is_written_down_with_the_time_that_it_took() -> None:
    async def main() -> None:
        gate, notes, seat, before = (RunGate(Tally(), Budget(), asyncio.Event()), FlushedNotes(), Seat(), monotonic())
        caller: Any = SeatCalls(Caller(notes, gate.tally, gate, gate.stopping, RetryPolicy()), seat, notes)  # type: ignore[arg-type]
        reply = await caller.call(unit(), 5, 1, "plan", seat, REQUEST)
        (record,) = notes.records
        assert reply.text == "3 1 plan" and record.reply is reply and notes.flushed == 1
        assert 0 <= record.latency <= monotonic() - before and (record.source, record.usd) == ("seat", 0.0)

    asyncio.run(main())


def test_failures_halve_the_limit_and_a_refusal_does_not() -> None:
    limits: list[float] = []

    def look(caller: Caller, gate: RunGate) -> None:
        limits.append(gate._models["m"].limiter.limit)

    def retried(caller: Caller, gate: RunGate) -> None:
        look(caller, gate)
        assert caller.tally.retries == 1

    calling(Scripted(ServerFailed("oops", status=500)), Noting(), retried)
    with pytest.raises(RequestRefused):
        calling(Scripted(RequestRefused("no", status=400)), Noting(), look)
    assert limits == [4.25, 8.0]  # 8 halved and one success, which adds 1/4


def test_a_rest_ends_when_the_run_is_stopped() -> None:
    async def main() -> None:
        gate = RunGate(Tally(), Budget(), asyncio.Event())
        gate.open("m", 1, 1)
        model = Scripted(*(ServerFailed("oops", status=500) for _ in range(9)))
        caller = Caller(Notes(), gate.tally, gate, gate.stopping, RetryPolicy(first=3600.0, longest=3600.0))
        caller.open(model)
        call = asyncio.ensure_future(caller.call(unit(), 0, 0, "", model, REQUEST))
        while model.calls == 0:
            await asyncio.sleep(0)
        gate.stop()
        with pytest.raises(Stopped):
            await asyncio.wait_for(call, 300)

    asyncio.run(main())


@pytest.mark.parametrize("sent", [False, True])
def test_a_call_that_is_cancelled_counts_once_it_was_sent(sent: bool) -> None:
    class Silent(Scripted):
        async def complete(self, request: Request) -> Reply:
            self.calls += 1
            await asyncio.sleep(3600)
            raise AssertionError

    async def main() -> None:
        tally, notes, model = Tally(), Notes(), Silent()
        gate = RunGate(tally, Budget(tokens=100_000), asyncio.Event())
        gate.open("m", 1, 1)
        if not sent:
            assert gate.try_acquire("m") == 0  # somebody else has the only slot
        caller = Caller(notes, tally, gate, gate.stopping, RetryPolicy())
        caller.open(model)
        call = asyncio.ensure_future(caller.call(unit(), 0, 0, "", model, REQUEST))
        for _ in range(20):
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (model.calls, tally.calls, tally.assumed, len(notes.records)) == (sent,) * 4
        assert (tally.assumed_tokens > 0) is sent

    asyncio.run(main())


def nobody_objects(_: CallSize) -> bool:
    return True


def test_a_success_widens_the_limit_by_one_over_the_limit_up_to_the_most() -> None:
    limiter = Limiter(2, 3, nobody_objects)
    limiter.succeeded()
    assert limiter.limit == 2.5
    limiter.succeeded()
    assert limiter.limit == 2.9
    limiter.succeeded()
    assert limiter.limit == 3.0


def test_the_limit_never_falls_below_one_and_never_starts_above_the_most() -> None:
    limiter = Limiter(9, 3, nobody_objects)
    assert (limiter.limit, limiter.most) == (3.0, 3)
    for era in range(5):
        limiter.failed(era)
    assert limiter.limit == 1.0
    least = Limiter(0, 0, nobody_objects)
    assert (least.limit, least.most) == (1.0, 1)


def test_a_shorter_wish_does_not_end_a_longer_one() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        limiter = Limiter(8, 8, nobody_objects)
        limiter.failed(0, retry_after=3600.0)
        limiter.failed(1, retry_after=1.0)
        assert limiter._pause_until > loop.time() + 3000

    asyncio.run(main())
