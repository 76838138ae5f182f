"""The limiter: in order, never too many, and no place is ever lost."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.engine.gate import Limiter, RunGate, Stopped
from ostrom.engine.plan import Budget, Tally
from ostrom.ground.errors import BudgetSpent
from ostrom.models.base import Usage
from ostrom.models.pending_call import CallSize, PendingCall


class Asking(PendingCall):
    """A request that writes down what becomes of it."""

    def __init__(self, log: list[str], name: str, rank: int = 0) -> None:
        super().__init__()
        self.log, self.name, self.rank = log, name, rank

    def start(self, era: int = 0) -> None:
        self.log.append(f"{self.name}@{era}")

    def refuse(self, error: Exception) -> None:
        self.log.append(f"{self.name}: {error}")


def nobody_objects(_: CallSize) -> bool:
    return True


def test_places_are_handed_on_in_the_order_of_asking_and_not_to_those_who_gave_up() -> None:
    log: list[str] = []
    limiter = Limiter(1, 1, nobody_objects)
    waiters = [Asking(log, name) for name in "abcd"]
    for request in waiters:
        limiter.request_slot(request)
    assert log == ["a@0"] and limiter.try_acquire() is None
    waiters[1].dropped = True
    limiter.release()
    assert log == ["a@0", "c@0"] and limiter.in_flight == 1
    limiter.release()
    limiter.release()
    assert log[-1] == "d@0" and limiter.in_flight == 0 and limiter.try_acquire() == 0


def test_a_call_of_an_earlier_match_is_served_first_and_equal_ones_in_order() -> None:
    log: list[str] = []
    limiter = Limiter(1, 1, nobody_objects)
    for name, rank in [("a", 9), ("b", 7), ("c", 3), ("d", 7), ("e", 3)]:
        limiter.request_slot(Asking(log, name, rank))
    for _ in range(4):
        limiter.release()
    assert log == ["a@0", "c@0", "e@0", "b@0", "d@0"]


def test_nothing_is_reserved_for_a_request_that_was_given_up() -> None:
    reserved: list[int] = []

    def admit(size: CallSize) -> bool:
        reserved.append(size.prompt)
        return True

    limiter = Limiter(1, 1, admit)
    waiters = [Asking([], name) for name in "abc"]
    for number, request in enumerate(waiters):
        request.size = CallSize(prompt=number, most=1)
        limiter.request_slot(request)
    waiters[1].dropped = True
    limiter.release()
    assert reserved == [0, 2]


def test_nobody_overtakes_a_request_that_waits_for_money() -> None:
    log: list[str] = []
    limiter = Limiter(4, 4, lambda size: size.prompt < 10)
    dear = Asking(log, "dear")
    dear.size = CallSize(prompt=100, most=1)
    limiter.request_slot(dear)
    assert not log and limiter.try_acquire(CallSize(prompt=1, most=1)) is None


def test_trouble_halves_the_limit_once_for_all_calls_of_an_era() -> None:
    limiter = Limiter(8, 8, nobody_objects)
    for _ in range(8):
        assert limiter.try_acquire() == 0
    limiter.failed(0)
    limiter.failed(0)
    assert limiter.limit == 4
    limiter.failed(1)
    assert limiter.limit == 2
    for _ in range(8):
        limiter.release()
    assert limiter.try_acquire() == 2


def test_a_wish_for_patience_holds_everyone_back_for_that_long_and_not_longer() -> None:
    async def main() -> None:
        log: list[str] = []
        limiter, loop = Limiter(2, 2, nobody_objects), asyncio.get_running_loop()
        assert limiter.try_acquire() == 0
        limiter.failed(0, retry_after=0.01)
        limiter.failed(0, retry_after=0.05)
        begun = loop.time()
        limiter.release()
        limiter.request_slot(Asking(log, "a"))
        limiter.request_slot(Asking(log, "b"))
        assert not log and limiter.try_acquire() is None
        while not log:
            await asyncio.sleep(0.001)
        assert loop.time() - begun >= 0.04 and log == ["a@1"]  # one, for the limit was halved
        limiter.release()
        assert log == ["a@1", "b@1"]

    asyncio.run(main())


@given(st.integers(1, 5), st.lists(st.sampled_from(["ask", "left", "well", "trouble", "drop"]), max_size=80))
def test_no_place_is_lost_and_none_is_given_twice(most: int, happens: list[str]) -> None:
    log: list[str] = []
    limiter = Limiter(most, most, nobody_objects)
    asked: list[Asking] = []
    left = 0
    for what in happens:
        if what == "ask":
            asked.append(Asking(log, str(len(asked))))
            limiter.request_slot(asked[-1])
        elif what == "drop":
            for request in asked[len(log) : len(log) + 1]:
                request.dropped = not any(entry.startswith(f"{request.name}@") for entry in log)
        elif left < len(log):
            if what == "trouble":
                limiter.failed(limiter._era)
            limiter.release()
            left += 1
            if what == "well":
                limiter.succeeded()
        before = int(limiter.limit) if what != "trouble" else most
        assert limiter.in_flight == len(log) - left <= max(before, most)
        waiting = [w for w in asked if not w.dropped and not any(e.startswith(f"{w.name}@") for e in log)]
        assert not waiting or limiter.in_flight >= int(limiter.limit)
    assert [int(entry.partition("@")[0]) for entry in log] == sorted(int(e.partition("@")[0]) for e in log)


def test_those_who_wait_are_refused_at_once_when_the_run_stops() -> None:
    async def main() -> None:
        log: list[str] = []
        gate = RunGate(Tally(), Budget(), asyncio.Event())
        gate.open("m", 1, 1)
        for number in range(5000):
            gate.request_slot("m", Asking(log, str(number)))
        gate.stop()
        assert len(log) == 5000
        gate.succeeded("m", Usage(), 0.0)
        gate.release("m")
        assert log[:2] == ["0@0", "1: stopped"] and len(log) == 5000
        assert gate.tally.in_flight == gate.spending.reserved == 0
        with pytest.raises(Stopped):
            gate.try_acquire("m")

    asyncio.run(main())


def test_a_call_whose_place_is_left_before_it_is_counted_still_counts_for_the_budget() -> None:
    async def main() -> None:
        log: list[str] = []
        gate = RunGate(Tally(), Budget(calls=2), asyncio.Event())
        gate.open("m", 1, 1)
        for name in "abc":
            gate.request_slot("m", Asking(log, name))
        gate.release("m")
        gate.release("m")
        assert log[:2] == ["a@0", "b@0"] and "budget of 2 calls" in log[2]
        with pytest.raises(BudgetSpent):
            gate.try_acquire("m")
        gate.succeeded("m", Usage(), 0.0)
        gate.abandoned("m")
        assert gate.try_acquire("m") == 0

    asyncio.run(main())
