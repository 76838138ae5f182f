"""What a run may spend: calls under way are reserved at what they may take at most, and counted when they end."""

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.engine.batching.scheduler import BatchGate
from ostrom.engine.gate import BREAKER, RunGate, Spending, Stopped, may_be_billed, plausible_usage
from ostrom.engine.plan import Budget, Tally
from ostrom.ground.errors import BudgetSpent
from ostrom.models.base import Usage
from ostrom.models.pending_call import NO_SIZE, CallSize, PendingCall

TEN = CallSize(prompt=6, most=4)
PRICES = {name: {"input": 100_000.0, "output": 100_000.0} for name in ("m", "n")}
"""A token costs 0.1 USD."""


def gate(budget: Budget, tally: Tally | None = None) -> RunGate:
    made = RunGate(tally or Tally(), budget, asyncio.Event(), PRICES)
    made.open("m", 100, 100)
    return made


def places(made: RunGate, size: CallSize = TEN) -> int:
    """How many calls are let in before one has to wait for them, or the budget refuses one."""
    for number in range(101):
        try:
            if made.try_acquire("m", size) is None:
                return number
        except BudgetSpent:
            return number
    raise AssertionError("the budget refused nothing")


class Waiting(PendingCall):
    """A call that waits for its slot."""

    def __init__(self, size: CallSize) -> None:
        super().__init__()
        self.size, self.outcome = size, "waits"

    def start(self, era: int = 0) -> None:
        self.outcome = f"started in era {era}"

    def refuse(self, error: Exception) -> None:
        self.outcome = f"{type(error).__name__}: {error}"


@pytest.mark.parametrize(
    ("budget", "tally"), [(Budget(tokens=100), Tally(tokens_in=12, tokens_out=8)), (Budget(usd=10.0), Tally(usd=2.0))]
)
def test_calls_under_way_are_reserved_at_what_they_may_take_at_most(budget: Budget, tally: Tally) -> None:
    made = gate(budget, tally)
    assert places(made) == 8 == made.spending.reserved == made.tally.in_flight
    waiting = Waiting(TEN)
    made.request_slot("m", waiting)
    assert waiting.outcome == "waits"
    # It took a tenth of what was reserved for it: the rest is there for the next call.
    made.succeeded("m", Usage(1, 0), 0.1, TEN)
    assert waiting.outcome == "waits"  # 21 spent, 70 reserved, 10 more do not fit into 100
    made.succeeded("m", Usage(1, 0), 0.1, TEN)
    assert waiting.outcome == "started in era 0"


def test_a_call_of_another_model_goes_when_one_ends() -> None:
    made = gate(Budget(tokens=15))
    made.open("n", 1, 1)
    assert made.try_acquire("m", TEN) == 0
    waiting = Waiting(TEN)
    made.request_slot("n", waiting)
    assert waiting.outcome == "waits"
    made.failed("m", 0, None, size=TEN)
    assert waiting.outcome == "started in era 0"


def test_nothing_waits_when_nothing_is_under_way() -> None:
    made = gate(Budget(tokens=15), Tally(tokens_in=6))
    waiting = Waiting(TEN)
    made.request_slot("m", waiting)
    assert waiting.outcome == (
        "BudgetSpent: the budget of 15 tokens is used up: it does not cover another call (6 spent; one call may take "
        "10: 6 bytes of prompt and a reply of at most 4 tokens); raise it and run again to go on"
    )
    assert made.spending.reserved == made.tally.in_flight == 0


def test_a_call_that_is_refused_lets_a_smaller_one_behind_it_go() -> None:
    made = gate(Budget(tokens=15))
    made.open("n", 1, 1)
    assert made.try_acquire("n", TEN) == 0
    large, small = Waiting(CallSize(6, 6)), Waiting(CallSize(1, 1))
    made.request_slot("m", large)
    made.request_slot("m", small)
    assert (large.outcome, small.outcome) == ("waits", "waits")
    made.succeeded("n", Usage(4, 4), 0.0, TEN)
    assert large.outcome.startswith("BudgetSpent") and small.outcome == "started in era 0"


def test_calls_under_way_are_counted() -> None:
    assert places(gate(Budget(calls=5), Tally(calls=2))) == 3


def test_a_reservation_is_settled_by_every_end_of_a_call() -> None:
    made = gate(Budget(calls=4, tokens=40, usd=4.0))
    assert places(made) == 4 == made.spending.reserved
    made.succeeded("m", Usage(input=3, output=4), 0.5, TEN)
    made.failed("m", 0, None, size=TEN)
    made.refused("m", size=TEN)
    assert made.spending.reserved == 1 and made.tally.calls == 3
    made.abandoned("m", TEN)
    assert made.spending.reserved == 0 and made.tally.calls == 3
    assert (made.spending._tokens, made.spending._usd, made.tally.assumed) == (0, 0.0, 0)
    assert made.try_acquire("m", TEN) is not None  # what was abandoned may be spent on another call
    with pytest.raises(BudgetSpent, match="the budget of 4 calls is used up"):
        made.try_acquire("m", TEN)


@pytest.mark.parametrize("how", ["failed", "refused", "abandoned"])
def test_a_call_without_a_reply_that_may_be_billed_stays_reserved(how: str) -> None:
    made = gate(Budget(tokens=25, usd=2.5))
    assert places(made) == 2
    for _ in range(2):
        if how == "failed":
            made.failed("m", 0, None, size=TEN, billed=True)
        elif how == "refused":
            made.refused("m", size=TEN, billed=True)
        else:
            made.abandoned("m", TEN, billed=True)
    tally = made.tally
    assert (tally.assumed, tally.assumed_tokens, tally.tokens_in + tally.tokens_out) == (2, 20, 0)
    assert tally.assumed_usd == pytest.approx(2.0) and tally.calls == 2
    with pytest.raises(BudgetSpent, match=r"20 spent, with an upper estimate for 2 calls; one call may take 10"):
        made.try_acquire("m", TEN)


def test_what_a_call_took_is_added_up() -> None:
    made = gate(Budget())
    made.succeeded("m", Usage(input=3, output=4), 0.5)
    made.succeeded("m", Usage(input=10, output=20), 0.25)
    tally = made.tally
    assert (tally.calls, tally.tokens_in, tally.tokens_out, tally.usd, tally.unpriced) == (2, 13, 24, 0.75, 0)
    made.succeeded("m", Usage(), None)
    assert (tally.calls, tally.tokens_in, tally.usd, tally.unpriced) == (3, 13, 0.75, 1)


def counted(made: RunGate, usage: Usage, size: CallSize, written: int, cut: bool = False) -> int:
    """The tokens that a call adds to what the budget counts."""
    tally = made.tally
    before = tally.tokens_in + tally.tokens_out + tally.assumed_tokens
    made.succeeded("m", usage, None, size, written, cut)
    return tally.tokens_in + tally.tokens_out + tally.assumed_tokens - before


def test_tokens_that_are_not_reported_are_estimated_by_the_highest_seen_per_byte(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    made, size = gate(Budget(tokens=10**6, usd=1e6)), CallSize(100, 50)
    assert counted(made, Usage(), size, 30) == 130  # bytes, before any report
    assert counted(made, Usage(20, 3), size, 30) == 23
    assert counted(made, Usage(50, 3), size, 10) == 53  # half a token per byte, and three tenths
    assert counted(made, Usage(10, 1), size, 10) == 11
    assert counted(made, Usage(), size, 30) == 50 + 9
    assert counted(made, Usage(7, None), size, 30) == 7 + 9
    assert counted(made, Usage(None, 7), size, 0) == 50 + 7
    assert counted(made, Usage(7, None), size, 30, cut=True) == 7 + 50  # it wrote all that it was allowed to
    assert made.tally.assumed == 8  # with those whose price alone is not known
    assert made.tally.assumed_usd == pytest.approx(0.1 * (130 + 23 + 53 + 11 + 59 + 16 + 57 + 57))
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("m: a call without a believable report") and "upper estimate" in line


def test_what_an_earlier_session_sent_counts_with_the_schema_that_servers_add() -> None:
    schema = {"type": "object"}
    params = {"max_tokens": 10, "constraint": {"schema": schema}}
    row = ("m", params, 100, Usage(), None, 5, False, None, 200)
    journal: Any = SimpleNamespace(unreported=lambda: [row])
    tally = Tally()
    Spending(tally, Budget(tokens=1000)).recount_from_journal(journal)
    assert (tally.assumed, tally.assumed_tokens) == (1, 100 + len(b'{"type":"object"}') + 5)
    Spending(tally, Budget(calls=9)).recount_from_journal(journal)
    assert tally.assumed == 1, "calls are counted without an estimate"


def test_hidden_reasoning_makes_no_estimate_larger_than_the_longest_reply() -> None:
    made, size = gate(Budget(tokens=10**6)), CallSize(100, 50)
    assert counted(made, Usage(20, 40), size, 2) == 60  # 20 tokens per byte
    assert counted(made, Usage(20, None), size, 30) == 20 + 50
    assert counted(made, Usage(20, None), size, 80) == 20 + 80


@pytest.mark.parametrize(("tokens", "more"), [(100, 4), (99, 3), (59, 1)])
def test_a_server_that_bills_more_than_was_allowed_is_expected_to_do_so_again(tokens: int, more: int) -> None:
    made = gate(Budget(tokens=tokens))
    assert made.try_acquire("m", TEN) == 0
    made.succeeded("m", Usage(6, 14), None, TEN, 4)  # twice what it may take at most
    assert places(made) == more
    with pytest.raises(BudgetSpent, match="one call may take 20"):
        made.spending.budget = Budget(tokens=39)
        made.try_acquire("m", TEN)


def test_the_dearest_way_to_read_a_prompt_is_reserved() -> None:
    prices = {"m": {"input": 1.0, "output": 0.0, "kept": 2.0, "cached": 0.1}}
    made = RunGate(Tally(), Budget(usd=10.0), asyncio.Event(), prices)
    made.open("m", 100, 100)
    assert places(made, CallSize(1_000_000, 0)) == 5


@pytest.mark.parametrize(
    ("usage", "prompt", "written", "kept"),
    [
        (Usage(10, 10), 1000, 1000, Usage(10, 10)),
        (Usage(9, 10), 1000, 1000, Usage(None, 10)),
        (Usage(10, 9), 1000, 1000, Usage(10, None)),
        (Usage(0, 0, cached=3), 1, 1, Usage(None, None, cached=3)),
        (Usage(0, 0), 0, 0, Usage(0, 0)),
        (Usage(), 1000, 1000, Usage()),
    ],
)
def test_fewer_tokens_than_any_tokenizer_makes_are_not_believed(
    usage: Usage, prompt: int, written: int, kept: Usage
) -> None:
    assert plausible_usage(usage, prompt, written) == kept


@pytest.mark.parametrize(
    ("error", "status", "billed"),
    [
        ("TimedOut: m gave no complete reply within 1 s", None, True),
        ("ConnectionFailed: m hung up without a reply", None, True),
        ("ConnectionFailed: cannot reach m: refused", None, False),
        ("MalformedReply: m cut its reply short", None, True),
        ("Abandoned: the call was cancelled before its reply arrived", None, True),
        ("RequestRefused: m is not known to give log-probabilities", None, False),
        ("RequestRefused: m gives no log-probabilities", 200, True),
        ("ServerFailed: m failed (500)", 500, True),
        ("ServerFailed: m failed (502)", 502, True),
        ("ServerFailed: m cannot do this (501)", 501, False),
        ("ServerFailed: m is overloaded (503)", 503, False),
        ("ServerFailed: m is overloaded (529)", 529, False),
        ("RateLimited: m asks for patience", 429, False),
        ("TimedOut: m gave up waiting (408)", 408, True),
        ("ServerFailed: m failed (504)", 504, True),
        ("ServerFailed: m failed (524)", 524, True),
        ("AccessRefused: m refused the key (401)", 401, False),
    ],
)
def test_which_failures_may_be_billed(error: str, status: int | None, billed: bool) -> None:
    assert may_be_billed(error, status) is billed


def test_a_budget_in_money_needs_a_price_before_the_first_call() -> None:
    made = RunGate(Tally(), Budget(usd=100.0), asyncio.Event())
    made.open("lab/own", 4, 4)
    with pytest.raises(BudgetSpent, match="--prices FILE"):
        made.try_acquire("lab/own", TEN)
    assert gate(Budget(tokens=100), Tally(calls=1, unpriced=1)).try_acquire("m", TEN) == 0


@pytest.mark.parametrize(
    ("budget", "tally", "spent"),
    [
        (Budget(calls=3), Tally(calls=3), True),
        (Budget(calls=3), Tally(calls=2), False),
        (Budget(tokens=50), Tally(tokens_in=20, tokens_out=30), True),
        (Budget(tokens=50), Tally(tokens_in=20, tokens_out=20), False),
        (Budget(tokens=50), Tally(tokens_in=21, tokens_out=20), True),
        (Budget(tokens=50), Tally(tokens_in=21, tokens_out=10, assumed_tokens=10), True),
        (Budget(tokens=50), Tally(tokens_in=20, tokens_out=10, assumed_tokens=10), False),
        (Budget(usd=5.0), Tally(usd=5.0), True),
        (Budget(usd=5.0), Tally(usd=4.0), False),
        (Budget(usd=5.0), Tally(usd=4.001), True),
        (Budget(usd=5.0), Tally(usd=3.0, assumed_usd=1.001), True),
        (Budget(usd=0.0), Tally(), True),
        (Budget(tokens=0), Tally(), True),
        (Budget(calls=9, tokens=50, usd=9.0), Tally(calls=1, tokens_in=1, usd=9.0), True),
        (Budget(calls=9, tokens=50, usd=9.0), Tally(calls=1, tokens_in=50), True),
    ],
)
def test_a_budget_is_spent_when_it_does_not_cover_one_more_call(budget: Budget, tally: Tally, spent: bool) -> None:
    made = gate(budget, tally)
    if spent:
        with pytest.raises(BudgetSpent):
            made.try_acquire("m", TEN)
        assert made.spending.reserved == made.tally.in_flight == 0
    else:
        assert made.try_acquire("m", TEN) == 0 and made.spending.reserved == made.tally.in_flight == 1


def test_a_free_call_is_not_covered_by_a_budget_of_nothing() -> None:
    with pytest.raises(BudgetSpent):
        gate(Budget(usd=0.0)).try_acquire("m", NO_SIZE)


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
    assert made.stopping.is_set() and made.spending.reserved == made.tally.in_flight == 0


def test_what_was_never_sent_in_a_wave_has_reserved_nothing() -> None:
    made, size = BatchGate(Tally(), Budget(calls=5, tokens=1000), asyncio.Event()), CallSize(10, 20)
    made._free("m", NO_SIZE)
    assert made.spending.reserved == 0 and made.spending.reserve("m", size)
    made._free("m", NO_SIZE)
    assert made.spending.reserved == 1
    made._free("m", size)
    assert made.spending.reserved == 0
