"""What a run may spend: calls under way are reserved at the mean of those made, and settled when they end."""

from __future__ import annotations

import asyncio

import pytest

from ostrom.engine.gate import BREAKER, RunGate, Stopped
from ostrom.engine.plan import Budget, Tally
from ostrom.ground.errors import BudgetSpent
from ostrom.models.base import Usage


def gate(budget: Budget, tally: Tally | None = None) -> RunGate:
    made = RunGate(tally or Tally(), budget, asyncio.Event())
    made.open("m", 100, 100)
    return made


def places(made: RunGate) -> int:
    """How many calls are let in before the budget refuses one."""
    for number in range(100):
        try:
            assert made.try_acquire("m") is not None
        except BudgetSpent:
            return number
    raise AssertionError("the budget refused nothing")


def test_tokens_of_calls_under_way_are_reserved() -> None:
    made = gate(Budget(tokens=100), Tally(calls=2, tokens_in=12, tokens_out=8))
    # 20 tokens for 2 calls: 10 a call, so 8 more fill 100.
    assert places(made) == 8
    with pytest.raises(BudgetSpent, match="the budget of 100 tokens is used up"):
        made.try_acquire("m")


def test_money_of_calls_under_way_is_reserved() -> None:
    made = gate(Budget(usd=1.0), Tally(calls=1, usd=0.125))
    assert places(made) == 7
    with pytest.raises(BudgetSpent, match="the budget of 1 USD is used up"):
        made.try_acquire("m")


def test_calls_under_way_are_reserved() -> None:
    assert places(gate(Budget(calls=5), Tally(calls=2))) == 3


def test_a_reservation_is_settled_by_every_end_of_a_call() -> None:
    made = gate(Budget(calls=4))
    assert places(made) == 4 == made.reserved
    made.succeeded("m", Usage(input=3, output=4), 0.5)
    made.failed("m", 0, None)
    made.refused("m")
    assert made.reserved == 1 and made.tally.calls == 3
    made.abandoned("m")
    assert made.reserved == 0 and made.tally.calls == 3
    assert made.try_acquire("m") is not None  # what was abandoned may be spent on another call
    with pytest.raises(BudgetSpent):
        made.try_acquire("m")


def test_what_a_call_took_is_added_up() -> None:
    made = gate(Budget())
    made.succeeded("m", Usage(input=3, output=4), 0.5)
    made.succeeded("m", Usage(input=10, output=20), 0.25)
    tally = made.tally
    assert (tally.calls, tally.tokens_in, tally.tokens_out, tally.usd, tally.unpriced) == (2, 13, 24, 0.75, 0)
    made.succeeded("m", Usage(), None)
    assert (tally.calls, tally.tokens_in, tally.usd, tally.unpriced) == (3, 13, 0.75, 1)


@pytest.mark.parametrize("budget", [Budget(usd=9.0), Budget(tokens=900)])
def test_the_first_call_goes_alone_until_it_shows_what_a_call_takes(budget: Budget) -> None:
    made = gate(budget)
    assert made.try_acquire("m") == 0 and made.try_acquire("m") is None
    made.failed("m", 0, None)
    made.release("m")
    assert made.try_acquire("m") == 1 and made.try_acquire("m") is None  # a failure shows nothing
    made.succeeded("m", Usage(input=50, output=50), 1.0)
    made.release("m")
    # Of 2 calls one was free: 16 more of half the price fit beside what was spent.
    assert places(made) == 16
    again = gate(budget, Tally(calls=1, tokens_in=100, usd=1.0))
    assert places(again) == 8


def test_a_budget_in_money_needs_a_price_for_every_call() -> None:
    made = gate(Budget(usd=100.0), Tally(calls=1, unpriced=1))
    with pytest.raises(BudgetSpent, match="--prices FILE"):
        made.try_acquire("m")
    assert gate(Budget(tokens=100), Tally(calls=1, unpriced=1)).try_acquire("m") == 0


@pytest.mark.parametrize(
    ("budget", "tally", "spent"),
    [
        (Budget(calls=3), Tally(calls=3), True),
        (Budget(calls=3), Tally(calls=2), False),
        (Budget(tokens=50), Tally(calls=9, tokens_in=20, tokens_out=30), True),
        (Budget(tokens=50), Tally(calls=4, tokens_in=20, tokens_out=20), False),
        (Budget(tokens=50), Tally(calls=4, tokens_in=21, tokens_out=20), True),
        (Budget(usd=0.5), Tally(calls=9, usd=0.5), True),
        (Budget(usd=0.5), Tally(calls=9, usd=0.45), False),
        (Budget(usd=0.5), Tally(calls=9, usd=0.4501), True),
        (Budget(usd=0.0), Tally(), True),
        (Budget(calls=9, tokens=50, usd=1.0), Tally(calls=1, tokens_in=1, usd=1.0), True),
        (Budget(calls=9, tokens=50, usd=1.0), Tally(calls=1, tokens_in=50), True),
    ],
)
def test_a_budget_is_spent_when_it_does_not_cover_one_more_mean_call(
    budget: Budget, tally: Tally, spent: bool
) -> None:
    made = gate(budget, tally)
    if spent:
        with pytest.raises(BudgetSpent):
            made.try_acquire("m")
        assert made.reserved == made.tally.in_flight == 0
    else:
        assert made.try_acquire("m") == 0 and made.reserved == made.tally.in_flight == 1


def test_a_model_that_never_answered_is_hopeless_and_one_that_did_after_many_failures_in_a_row() -> None:
    made = gate(Budget())
    assert not made.models_to_abort(tries=2)
    made.refused("m")
    assert made.models_to_abort(tries=2)  # it never gave a reply
    made.succeeded("m", Usage(), 0.0)
    assert not made.models_to_abort(tries=2)
    for _ in range(2 * BREAKER - 1):
        made.failed("m", 0, None)
    assert BREAKER == 20 and not made.models_to_abort(tries=2)
    made.failed("m", 0, None)
    assert made.models_to_abort(tries=2)
    made.succeeded("m", Usage(), 0.0)
    assert not made.models_to_abort(tries=2)


def test_one_hopeless_model_among_good_ones_is_enough() -> None:
    made = gate(Budget())
    made.open("other", 1, 1)
    made.succeeded("m", Usage(), 0.0)
    made.refused("other")
    assert made.models_to_abort(tries=8)


def test_places_of_all_models_are_added() -> None:
    made = gate(Budget())
    made.open("n", 3, 7)
    assert (made.places, made.most) == (103, 107)
    made.failed("n", 0, None)
    assert (made.places, made.most) == (101, 107)  # 3 halved is 1.5, which is one place


def test_nobody_is_let_in_after_the_stop() -> None:
    made = gate(Budget())
    made.stop()
    with pytest.raises(Stopped):
        made.try_acquire("m")
    assert made.stopping.is_set() and made.reserved == made.tally.in_flight == 0
