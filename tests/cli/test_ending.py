"""What a command says at its end: counts, money, the first failures, and the exit code."""

from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.cli.commands.estimate import _columns, _one_of, _short, _split
from ostrom.cli.ending import (
    count_text,
    exit_code,
    forecast_data,
    forecast_text,
    headline,
    money,
    spending_text,
    spent_data,
    trouble,
)
from ostrom.cli.options import check_level
from ostrom.costs.forecast import Forecast
from ostrom.costs.waves import Waves
from ostrom.engine.plan import Budget, Counted, Tally
from ostrom.ground.errors import UsageError
from ostrom.ground.results import Remark, TextTable


@pytest.mark.parametrize(
    ("counted", "text"),
    [
        (Counted(4, 4, 0, 0), "4 of 4 matches done"),
        (Counted(4, 1, 2, 0), "1 of 4 matches done, 2 skipped"),
        (Counted(4, 1, 1, 2), "1 of 4 matches done, 1 skipped, 2 failed"),
    ],
)
def test_how_units_ended(counted: Counted, text: str) -> None:
    assert count_text(counted, "matches") == text


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({}, "3 calls, 150 tokens, 0.2500 USD"),
        ({"unpriced": 1}, "3 calls, 150 tokens, unknown price"),
        ({"tokens_cached": 25}, "3 calls, 150 tokens (25% of the prompts cached), 0.2500 USD"),
        (
            {"assumed": 2, "assumed_tokens": 9},
            "3 calls, 150 tokens, 0.2500 USD (and at most 9 tokens of 2 calls that no server reported)",
        ),
        ({"tokens_cached": 25, "tokens_in": 0}, "3 calls, 50 tokens, 0.2500 USD"),
    ],
)
def test_what_was_spent(more: dict[str, Any], text: str) -> None:
    tally = Tally(**{"calls": 3, "tokens_in": 100, "tokens_out": 50, "usd": 0.25, "invalid": 7, **more})
    assert spending_text(tally) == text
    assert spent_data(tally)["usd"] == (None if tally.unpriced else 0.25)
    assert spent_data(tally)["tokens"] == {"in": tally.tokens_in, "out": 50, "cached": tally.tokens_cached}
    assert (spent_data(tally)["calls"], spent_data(tally)["unreadable_replies"]) == (3, 7)


def test_the_first_failures_and_what_goes_on() -> None:
    failures = [f"match {n}" for n in range(7)]
    result: Any = SimpleNamespace(tally=Tally(failures=failures), why="the budget is spent", complete=False)
    assert trouble(result, " (dearer)", "resume") == [
        *(f"  match {n}" for n in range(5)),
        "stopped: the budget is spent",
        "resume goes on from here (dearer)",
    ]
    whole: Any = SimpleNamespace(tally=Tally(), why="", complete=True)
    assert trouble(whole) == []


@pytest.mark.parametrize(
    ("complete", "interrupted", "code"), [(True, False, 0), (True, True, 0), (False, True, 130), (False, False, 1)]
)
def test_the_exit_code(complete: bool, interrupted: bool, code: int) -> None:
    result: Any = SimpleNamespace(complete=complete, interrupted=interrupted)
    assert exit_code(result) == code


def test_amounts_below_one_cent_have_four_digits() -> None:
    assert [money(usd) for usd in (0.0, 0.0099, 0.01, 1234.5)] == ["0.00", "0.0099", "0.01", "1,234.50"]


def test_a_forecast_as_a_table_with_a_line_for_all_that_is_not_known() -> None:
    bound = Forecast(
        decisions=1000, calls=1000, likely_calls=900, tokens_in=10, tokens_out=None, usd=None, likely_usd=0.5,
        unbounded=("m",), retries_per_decision=2, likely_decisions=950, likely_tokens_in=8, likely_tokens_out=7,
        assumes=("it rains",), waves=Waves(2, 2.0, 48.0), likely_batch_usd=0.25, usual_price=("m",),
        measured="an old run",
    )  # fmt: skip
    facts, table, *lines = forecast_text("s", "1,200 matches", bound, Budget(calls=3000), batch=True)
    assert facts == {
        "size": "1,200 matches, likely 900 calls",
        "hours": "likely 2",
        "money": "likely 0.25 USD, no bound",
    }
    assert isinstance(table, TextTable) and table.title == "s: what it takes"
    assert table.columns == ["", "decisions", "calls", "tokens in", "tokens out", "USD", "hours"]
    assert table.rows == [
        ["likely", "950", "900", "8", "7", "0.25", "2"],
        ["at most, without retries", "1,000", "1,000", "10", "no bound", "no bound", ""],
        ["at most", "1,000", "3,000", "no bound", "no bound", "no bound", ""],
    ]
    assert all(isinstance(line, Remark) for line in lines)
    assert lines == [
        "likely: it rains",
        "nothing bounds the replies of m: set agent.params.max_tokens",
        "likely: as in an old run",
        "with --batch: 0.25 USD likely, no bound; 2 waves, about 2 h, at most 2 days (before retries)",
        "the batch price of m is not known, and counted as the usual one: state it with --prices FILE (batch: 0.5)",
        "budget of 3000 calls: suffices (likely 900, at most 3000)",
    ]
    unpriced = Forecast(usd=None, likely_usd=None, unpriced=("m", "n"))
    facts, table, *lines = forecast_text("s", "1 match", unpriced, Budget())
    assert facts == {
        "size": "1 match, likely 0 calls",
        "hours": "likely less than 0.01",
        "money": "no price known for m, n: give one with --prices FILE",
    }
    zeros = ["0", "0", "0", "0", "unknown"]
    assert isinstance(table, TextTable) and table.rows == [["likely", *zeros, "0"], ["at most", *zeros, ""]]
    assert not lines
    direct = Forecast(calls=3, likely_calls=2, busy_seconds=57_600, likely_usd=0.5, usd_with_retries=2)
    assert headline("1 match", direct)["hours"] == "likely 1"
    assert headline("1 match", direct)["money"] == "likely 0.50 USD, at most 2.00 USD"
    assert headline("1 match", Forecast()) == {
        "size": "1 match", "hours": "no model to wait for", "money": "no calls of a model",
    }  # fmt: skip
    assert forecast_data(bound, Budget(calls=3000))["budget"][0]["verdict"] == "suffices"


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("p", 0.00012345, "0.000123"), ("p_holm", 0.5, "0.5"), ("bf10", 1234.5, "1.23e+03"), ("log_bf10", 2.0, "2"),
        ("t", 0.00012345, 0.00012345), ("n", [3, 4], "3, 4"), ("p", None, None),
    ],
)  # fmt: skip
def test_p_values_and_bayes_factors_keep_three_digits(column: str, value: Any, text: Any) -> None:
    assert _short(column, value) == text


def test_wrong_use_of_estimate_is_refused() -> None:
    assert _split(["r", "s", "cooperation"]) == (["r", "s"], "cooperation") and _columns(" a,, b ") == ["a", "b"]
    assert _split(["r", "cooperation"]) == (["r"], "cooperation")
    _one_of(json=True, csv=False)
    with pytest.raises(UsageError, match="--json and --csv exclude each other"):
        _one_of(json=True, csv=True)
    with pytest.raises(UsageError, match="name a run"):
        _split(["cooperation"])


def test_a_level_lies_from_one_half_to_below_one() -> None:
    for level in (0.5, 0.999):
        check_level(level)
    for level in (0.499, 1.0):
        with pytest.raises(UsageError, match=f"between 0.5 and 1 .found {level:g}"):
            check_level(level)
