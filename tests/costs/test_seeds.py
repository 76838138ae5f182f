"""The price of more seeds: how prices add up, and how often they fit into a budget."""

from dataclasses import replace

import pytest

from ostrom.costs.seeds import SeedPrice
from ostrom.engine.plan import Budget

ONE = SeedPrice(1, 4, 10, 1000, 0.5, 0.25)


def test_seeds_multiply_and_two_runs_add_up() -> None:
    assert ONE.times(3) == SeedPrice(3, 12, 30, 3000, 1.5, 0.75)
    assert replace(ONE, usd=None).times(3).usd is None
    assert ONE.times(3).plus(ONE) == SeedPrice(3, 16, 40, 4000, 2.0, 1.0)
    assert ONE.plus(ONE.times(3)).seeds == 3
    unknown = replace(ONE, usd=None)
    assert ONE.plus(unknown).usd is None and unknown.plus(ONE).usd is None


@pytest.mark.parametrize(
    ("budget", "price", "times"),
    [
        (Budget(), ONE, float("inf")),
        (Budget(calls=25), ONE, 2.5),
        (Budget(tokens=1500), ONE, 1.5),
        (Budget(usd=2), ONE, 4.0),
        (Budget(usd=2, calls=10), ONE, 1.0),
        (Budget(usd=0), ONE, 0.0),
        (Budget(usd=2), replace(ONE, usd=None), float("inf")),
        (Budget(usd=2, calls=30), replace(ONE, usd=0.0), 3.0),
    ],
)
def test_the_scarcest_bound_says_how_often_seeds_fit(budget: Budget, price: SeedPrice, times: float) -> None:
    assert price.affordable(budget) == times


def test_a_price_in_words_and_as_data() -> None:
    assert (
        ONE.words == "10 calls, 0.50 USD, 0.25 hours"
        and replace(ONE, calls=0.9).words == "1 call, 0.50 USD, 0.25 hours"
    )
    assert (
        replace(ONE, usd=None).words == "10 calls, price unknown, 0.25 hours"
        and replace(ONE, calls=0).words == "no calls"
    )
    assert replace(ONE, usd=None).as_dict()["usd"] is None
    assert ONE.times(0.333).as_dict() == {
        "seeds": 0, "matches": 1, "calls": 3, "tokens": 333, "usd": pytest.approx(0.1665),
        "hours": pytest.approx(0.08325),
    }  # fmt: skip
