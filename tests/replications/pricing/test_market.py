"""The market of the pricing study against an independent computation, and its measures against tables."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import optimize

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.games import build_game
from ostrom.games.function import FunctionGame
from ostrom.games.summary import summary
from ostrom.ground.errors import RequestRefused, StudyError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.replications.pricing.market import Market
from ostrom.replications.pricing.profits import market_of, profit_gain
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

MARKETS = [
    (2, 2.0, 0.25, 0.0, 1.0, 100.0, 1.0),
    (2, 2.0, 0.25, 0.0, 1.0, 100.0, 3.2),
    (3, 2.0, 0.25, 0.0, 1.0, 100.0, 1.0),
    (4, 1.5, 0.1, -1.0, 0.5, 1000.0, 10.0),
    (2, 0.0, 2.0, 3.0, 0.0, 1.0, 1.0),
]

NASH, MONOPOLY = Market(2, *MARKETS[0][1:]).nash, Market(2, *MARKETS[0][1:]).monopoly


def earned(market: tuple[float, ...], own: float, other: float) -> float:
    """What a seller earns at its own price if all others name another one, by the formula as printed."""
    n, quality, spread, outside, cost, customers, scale = market
    weights = [math.exp((quality - price / scale) / spread) for price in (own, other)]
    share = weights[0] / (weights[0] + (n - 1) * weights[1] + math.exp(outside / spread))
    return (own - cost * scale) * customers * share


def best(function: object, low: float, high: float) -> float:
    """Where a function with one peak is highest, by shrinking thirds."""
    assert callable(function)
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if function(left) < function(right) else (low, right)
    return (low + high) / 2


@pytest.mark.parametrize("numbers", MARKETS)
def test_prices_are_those_of_an_independent_search(numbers: tuple[float, ...]) -> None:
    market = Market(int(numbers[0]), *numbers[1:])
    cost, scale, top = numbers[4] * numbers[6], numbers[6], (numbers[4] + 20) * numbers[6]
    price = cost
    for _ in range(400):  # best replies to the same price of all others, until none pays
        price = (price + best(lambda own, other=price: earned(numbers, own, other), cost, top)) / 2
    assert market.nash == pytest.approx(price, abs=1e-5 * scale)
    together = best(lambda own: earned(numbers, own, own), cost, top)
    assert market.monopoly == pytest.approx(together, abs=1e-5 * scale)
    assert market.nash < market.monopoly
    assert market.gain(earned(numbers, market.nash, market.nash)) == pytest.approx(0, abs=1e-9)
    assert market.gain(earned(numbers, together, together)) == pytest.approx(1, abs=1e-9)


def all_earn(market: tuple[float, ...], prices: Any) -> Any:
    """What all sellers earn, by the formula as printed, with whole numpy arrays."""
    _, quality, spread, outside, cost, customers, scale = market
    weights = np.exp((quality - np.asarray(prices) / scale) / spread)
    return customers * (prices - cost * scale) * weights / (weights.sum(axis=0) + math.exp(outside / spread))


FEW = [
    (2, *MARKETS[0][1:]),
    (3, *MARKETS[0][1:]),
    (2, 1.0, 0.5, 0.0, 0.3, 40.0, 3.2),
    (3, 3.0, 0.4, 1.0, 2.0, 1.0, 1.0),
]


@pytest.mark.parametrize("numbers", FEW)
def test_prices_solve_the_first_order_conditions_of_every_seller(numbers: tuple[float, ...]) -> None:
    """Solved for all sellers at once, from uneven prices: nothing says that they are alike."""
    n, quality, spread, outside, cost, _, scale = numbers
    market, start = (Market(int(n), *numbers[1:]), np.array([cost + 0.2 + 0.3 * seat for seat in range(int(n))]))

    def shares(prices: Any) -> Any:
        weights = np.exp((quality - prices) / spread)
        return weights / (weights.sum() + math.exp(outside / spread))

    def own(prices: Any) -> Any:
        return spread - (prices - cost) * (1 - shares(prices))

    def total(prices: Any) -> Any:
        return spread - (prices - cost) + ((prices - cost) * shares(prices)).sum()

    for price, conditions in ((market.nash, own), (market.monopoly, total)):
        solved = optimize.root(conditions, start, tol=1e-12)
        assert solved.success and solved.x * scale == pytest.approx([price] * int(n), abs=1e-8 * scale)


@pytest.mark.parametrize("numbers", FEW)
def test_no_price_of_a_fine_grid_is_better_than_theirs(numbers: tuple[float, ...]) -> None:
    market, n, scale = Market(int(numbers[0]), *numbers[1:]), int(numbers[0]), numbers[6]
    grid = np.arange(0, (numbers[4] + 6) * scale, 0.0005 * scale)
    others = np.full((n - 1, len(grid)), market.nash)
    reply = grid[np.argmax(all_earn(numbers, np.vstack([grid, others]))[0])]
    assert abs(reply - market.nash) <= 0.0005 * scale
    coarse = np.arange(numbers[4], numbers[4] + 3, 0.05) * scale
    everything = np.stack(np.meshgrid(*[coarse] * n, indexing="ij")).reshape(n, -1)
    together = all_earn(numbers, everything).sum(axis=0)
    assert everything[:, np.argmax(together)] == pytest.approx([market.monopoly] * n, abs=0.05 * scale)
    assert together.max() <= n * market.alike(market.monopoly) + 1e-9


@pytest.mark.parametrize("params", [{}, {"n": 3}, {"step": 0.1}, {"n": 3, "scale": 3.2, "step": 0.25}])
def test_the_price_of_theory_is_an_equilibrium_of_the_prices_that_may_be_named(params: dict[str, float]) -> None:
    game = build_game({"name": "logit_pricing", **params})
    assert isinstance(game, FunctionGame) and game.theory is not None
    named = game.theory(0, "price", {})
    assert named is not None
    usual = game.index(0, named)
    others = (usual,) * (game.seats - 1)
    levels = game.actions[0].levels  # type: ignore[union-attr]
    earned_by = [game.payoff((place, *others))[0] for place in range(levels)]
    assert max(range(levels), key=earned_by.__getitem__) == usual


@pytest.mark.parametrize(
    ("params", "apart"),
    [
        ({"quality": -50}, "0 apart"),
        ({"outside": 50}, "0 apart"),
        ({"step": 0.5}, "found 0.5, where these are 0.4521 apart"),
    ],
)
def test_markets_without_a_price_between_competition_and_monopoly_are_refused(
    params: dict[str, float], apart: str
) -> None:
    """Nobody buys, or prices are too coarse: profits could not be placed between the two."""
    with pytest.raises(StudyError, match=rf"step must be at most the distance .*{apart}"):
        build_game({"name": "logit_pricing", **params})


def test_the_default_market_is_the_published_one() -> None:
    market = market_of(build_game("logit_pricing"))
    assert market is not None
    assert (round(market.nash, 3), round(market.monopoly, 3)) == (1.473, 1.925)
    assert market_of(build_game("prisoners_dilemma")) is None


def test_prices_that_overflow_a_power_are_still_paid() -> None:
    game = build_game({"name": "logit_pricing", "quality": 50, "differentiation": 0.01, "ceiling": 100, "cost": 0})
    assert all(math.isfinite(paid) for paid in game.payoff((0, 10_000)))


def test_a_ceiling_below_the_monopoly_is_refused() -> None:
    with pytest.raises(StudyError, match=r"ceiling must be at least a monopoly's price \(found 1.5, where .* 1.925\)"):
        build_game({"name": "logit_pricing", "ceiling": 1.5})


def test_measures_are_those_of_the_tables(tmp_path: Path) -> None:
    study = load_study(
        {
            "name": "market",
            "game": "logit_pricing",
            "mechanism": {"name": "repetition", "rounds": 13},  # the last sixth, rounded up, is three
            "types": {"rival": "conditional_cooperator:1.1,0.3", "high": "proportional:0.4"},
            "seating": "unordered",
            "seeds": 1,
        }
    )
    play(study, name="market", runs=tmp_path)
    low, high = (earned(MARKETS[0], price, price) for price in (NASH, MONOPOLY))
    with open_run("market", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        rows = data.query("SELECT match, player, agent, round, action, payoff FROM decisions WHERE kind = 'act'")
        gain = (pl.col("payoff").mean() - low) / (high - low)
        level = (pl.col("action").cast(pl.Float64).mean() - NASH) / (MONOPOLY - NASH)
        late = rows.filter(pl.col("round") > 10)
        for measure, part, value in (
            ("profit_gain", rows, gain),
            ("late_profit_gain", late, gain),
            ("price_level", rows, level),
        ):
            # A match weighs by the seats that the agent holds, so every seat counts the same.
            players = part.group_by("agent", "match", "player").agg(value.alias("value"))
            means = players.group_by("agent").agg(pl.col("value").mean())
            ours = {e.key["agent"]: e.value for e in estimate(data, measure, ["agent"])}
            assert ours == pytest.approx(dict(means.iter_rows()))
            assert len(set(ours.values())) == 2


def test_prices_of_markets_of_several_scales_are_compared_on_one(tmp_path: Path) -> None:
    """Sellers who name the price of a monopoly are at 1 in every round, whatever a dollar is."""
    study = load_study(
        {
            "name": "scales",
            "game": "logit_pricing",
            "mechanism": {"name": "repetition", "rounds": 2},
            "types": {"high": "proportional:0.385"},
            "seating": "self",
            "vary": {"scale": {"set": "game.scale", "to": [1, 10]}},
            "seeds": 1,
        }
    )
    play(study, name="scales", runs=tmp_path)
    with open_run("scales", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        levels = [e.value for e in estimate(data, "price_level_by_round", ["scale", "round"])]
    assert levels == pytest.approx([1.0] * 4, abs=0.02)
    measures = [panel.get("measure") for panel in load_study("pricing").report.panels if isinstance(panel, dict)]
    assert "price_level_by_round" in measures and "amount_by_round" not in measures


def test_the_prices_of_theory_are_named_on_and_off_the_grid() -> None:
    marks = summary(build_game({"name": "logit_pricing", "step": 0.1}))["landmarks"]
    assert marks["Nash price"] == pytest.approx(NASH, abs=1e-5)
    assert marks["monopoly price"] == pytest.approx(MONOPOLY, abs=1e-5)
    assert (marks["Nash price that may be named"], marks["monopoly price that may be named"]) == (1.5, 1.9)


def test_a_match_that_broke_off_has_no_profits(tmp_path: Path) -> None:
    once = iter([True])

    def seller(request: Request) -> str:
        if "Round 1:" in request.messages[-1].content and next(once, False):
            raise RequestRefused("no", status=400)
        return "[1.9]"

    register("seller", seller)
    study = {
        "name": "market",
        "game": "logit_pricing",
        "mechanism": {"name": "repetition", "rounds": 2},
        "types": {"m": {"model": "scripted/seller", "style": "direct"}},
        "agent": {"memory": "full"},
        "seeds": 2,
    }
    try:
        play(load_study(study), runs=tmp_path)
    finally:
        unregister("seller")
    with open_run("market", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        assert {row["match"] for row in data.records("SELECT match FROM decisions")} == {0, 1}
        assert len({row["match"] for row in profit_gain(data)}) == 1


def test_sellers_see_all_prices_and_their_own_sales_alone(tmp_path: Path) -> None:
    asked: list[str] = []

    def seller(request: Request) -> str:
        text = request.messages[-1].content
        asked.append(text)
        if '"message": your message' in text:
            return '{"message": "I keep 1.90."}'
        return "[1.9]" if "You are Player 1" in text else "[1.6]"

    register("seller", seller)
    try:
        result = play(load_study("pricing", preset="smoke", models=["scripted/seller"]), runs=tmp_path)
    finally:
        unregister("seller")
    assert result.complete
    sold = [f"you sold {units:.2f}".rstrip("0") for units in Market(2, *MARKETS[0][1:]).sold((1.9, 1.6))]
    later = [text for text in asked if "Round 1:" in text]
    assert len(later) == 2 * 2 * 2 * (4 + 3)  # two later rounds, two emphases, two sellers: four kinds of talk
    private, overseen = ([t for t in asked if words in t] for words in ("by nobody else", "by an overseer"))
    assert len(private) == len(overseen) == 2 * 2 * 3 * 2
    for text in later:
        own = 0 if "You are Player 1" in text else 1
        assert "asked 1.9" in text and "asked 1.6" in text
        assert sold[own] in text and sold[1 - own] not in text
    assert not any("1.47" in text or "1.92" in text for text in asked)
    assert sum("undersold" in text for text in asked) == len(asked) // 2
