"""Bounds that promise an error rate: for every distribution, at every size, and however often one looks."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.analysis.intervals import Inference, difference_of, exactly, mean_of, paired_difference_of, slope_of
from ostrom.analysis.intervals.betting import BETS, MASS, exceeds, least_multiple, lower_bound
from ostrom.analysis.statistics.samples import BadSample

UNIT = (0.0, 1.0)
Draw = Callable[[np.random.Generator, tuple[int, ...]], Any]


def mixed(first: Draw, second: Draw, chance: float) -> Draw:
    return lambda rng, size: np.where(rng.random(size) < chance, second(rng, size), first(rng, size))


def uniform(rng: np.random.Generator, size: tuple[int, ...]) -> Any:
    return rng.random(size)


def twenty_rounds(rng: np.random.Generator, size: tuple[int, ...]) -> Any:
    return rng.binomial(20, np.where(rng.random(size) < 0.9, 0.99, rng.random(size))) / 20


GENERATORS: dict[str, tuple[Draw, float]] = {
    "nearly 1, one in ten anything": (
        mixed(lambda rng, size: rng.beta(60, 1, size), uniform, 0.1),
        0.9 * 60 / 61 + 0.05,
    ),
    "20 rounds, one match in ten anything": (twenty_rounds, 0.9 * 0.99 + 0.05),
    "all but one in twenty": (lambda rng, size: (rng.random(size) < 0.95) * 1.0, 0.95),
    "all or nothing": (lambda rng, size: (rng.random(size) < 0.5) * 1.0, 0.5),
    "Beta(9, 1)": (lambda rng, size: rng.beta(9, 1, size), 0.9),
    "one value, rarely 0": (lambda rng, size: np.where(rng.random(size) < 0.03, 0.0, 0.9), 0.97 * 0.9),
    "uniform": (uniform, 0.5),
}
TIMES = 240


def wrong(mean: Inference, truth: float, level: float = 0.95) -> tuple[bool, bool]:
    """Whether either bound of a mean excludes the truth, without the search (``test_bounds_hold...`` compares)."""
    above, below = (truth + 1e-12, math.inf), (-math.inf, truth - 1e-12)
    return mean.surely_within(*above, level), mean.surely_within(*below, level)


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize("n", [10, 30])
def test_a_bound_is_wrong_in_at_most_its_share_of_samples(name: str, n: int) -> None:
    draw, mean = GENERATORS[name]
    for level, most in ((0.95, 0.025), (0.5, 0.25)):
        rng = np.random.default_rng([n, len(name)])
        said = [wrong(mean_of(values, bounds=UNIT), mean, level) for values in draw(rng, (TIMES, n))]
        for side in zip(*said, strict=True):
            assert sum(side) / TIMES <= most


@pytest.mark.sample(4)
@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize(("n", "m"), [(10, 10), (3, 30)])
def test_so_is_that_of_a_difference(name: str, n: int, m: int) -> None:
    draw, _ = GENERATORS[name]
    rng = np.random.default_rng([n, m])
    for first, second in zip(draw(rng, (TIMES // 2, n)), draw(rng, (TIMES // 2, m)), strict=True):
        low, high = difference_of(first, second, bounds=UNIT).guaranteed(0.999).both
        assert low <= 0 <= high


@settings(deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=5),
    st.lists(st.integers(0, 4), min_size=5, max_size=5),
    st.integers(1, 19),
)
def test_no_chances_of_the_single_units_make_a_bound_wrong_more_often(
    parts: list[int], places: list[int], level: int
) -> None:
    """Values are 0 or 1 with chances of their own, of which the weighted mean is the one that is bet against."""
    weights = np.array(parts) / sum(parts)
    chances = np.array(places[: len(parts)]) / 4
    mean = float(weights @ chances)
    if not 0 < mean < 1:
        return
    rise = level / 20 * (1 - mean)  # betting against more than the mean is no better
    for against in (mean, mean + rise):
        for tail in (0.025, 0.2, 0.6):
            reached = sum(
                float(np.prod(np.where(values > 0, chances, 1 - chances)))
                for code in range(2 ** len(parts))
                for values in [np.array([code >> i & 1 for i in range(len(parts))], dtype=float)]
                if exceeds(values, weights, against, tail)
            )
            assert reached <= tail + 1e-12


def test_all_at_the_bound_is_near_what_no_bound_can_beat() -> None:
    for n, table in ((10, 0.641), (20, 0.804), (35, 0.881), (60, 0.929), (100, 0.9585)):
        low = mean_of([1.0] * n, bounds=UNIT).guaranteed().both[0]
        assert table < low < 0.025 ** (1 / n)
    assert float(MASS.sum()) == pytest.approx(1) and MASS[-1] > 0.5 and BETS[-1] == 1 and BETS.min() > 0


@pytest.mark.slow
def test_it_is_at_least_as_near_as_bets_by_running_means_are() -> None:
    rng = np.random.default_rng(8)
    draws: tuple[tuple[Draw, list[float]], ...] = (
        (lambda r, size: r.beta(60, 1, size), [0.631, 0.869, 0.941]),
        (GENERATORS["nearly 1, one in ten anything"][0], [0.600, 0.798, 0.859]),
        (lambda r, size: r.beta(9, 1, size), [0.574, 0.791, 0.856]),
        (lambda r, size: r.beta(5, 5, size), [0.257, 0.419, 0.454]),
    )
    for draw, medians in draws:
        for n, median in zip((10, 35, 100), medians, strict=True):
            lows = [mean_of(v, bounds=UNIT).guaranteed().both[0] for v in draw(rng, (61, n))]
            assert float(np.median(lows)) > median - 0.01


@pytest.mark.slow
def test_looking_again_and_again_costs_nothing() -> None:
    """The truth leaves the bounds at any of 40 looks in no more samples than at a single one."""
    rng = np.random.default_rng(5)
    out = 0
    for values in rng.random((150, 200)) < 0.5:
        out += any(any(wrong(mean_of(values[:n] * 1.0, bounds=UNIT), 0.5)) for n in range(5, 201, 5))
    assert out / 150 <= 0.05


@given(st.lists(st.integers(0, 20).map(lambda k: k / 20), min_size=1, max_size=15))
def test_bounds_hold_their_value_and_mirror(values: list[float]) -> None:
    found = mean_of(values, bounds=UNIT).guaranteed()
    low, high = found.both
    assert 0 <= low <= found.value <= high <= 1 and found.method == "betting"
    turned = mean_of([1 - x for x in values], bounds=UNIT).guaranteed().both
    assert turned == pytest.approx((1 - high, 1 - low), abs=1e-9)
    scaled = mean_of([3 * x - 1 for x in values], bounds=(-1, 2)).guaranteed().both
    assert scaled == pytest.approx((3 * low - 1, 3 * high - 1), abs=1e-9)
    weights = np.full(len(values), 1 / len(values))
    data = np.array(values)
    if low > 0.01:
        assert exceeds(data, weights, low - 1e-6, 0.025) and not exceeds(data, weights, low + 1e-6, 0.025)
        assert lower_bound(data, weights, 0.025) == pytest.approx(low)
        assert lower_bound(data, weights, 0.01) < low


def test_what_is_bet_on_is_the_independent_unit() -> None:
    values, people = [1.0] * 40, [i // 10 for i in range(40)]
    whole = mean_of(values, bounds=UNIT, clusters=people).guaranteed().both
    assert whole == mean_of([1.0] * 4, bounds=UNIT).guaranteed().both
    assert whole[0] < mean_of(values, bounds=UNIT).guaranteed().both[0] - 0.3
    shared = slope_of([1, 1, 2, 2], [0.1, 0.2, 0.3, 0.4], bounds=UNIT, clusters=["a", "b", "a", "b"])
    assert shared.guaranteed().low is None and "several levels" in shared.guaranteed().note
    apart = slope_of([1, 1, 2, 2], [0.1, 0.2, 0.3, 0.4], bounds=UNIT, clusters=list("abcd"))
    assert apart.guaranteed().low is not None
    both = difference_of([0.1, 0.2], [0.3, 0.4], bounds=UNIT, clusters=(["a", "b"], ["b", "c"]))
    parts = [mean_of(of, bounds=UNIT).bounds(0.975) for of in ([0.1, 0.2], [0.3, 0.4])]
    assert parts[0] is not None and parts[1] is not None
    assert both.guaranteed().both[0] == pytest.approx(parts[0][0] - parts[1][1])


def test_without_bounds_there_is_none_and_exact_values_need_none() -> None:
    assert mean_of([0.1, 0.2, 0.3], bounds=(0, None)).guaranteed().low is None
    assert "no declared bounds" in mean_of([0.1, 0.2, 0.3]).guaranteed().note
    assert exactly(0.4).guaranteed().both == (0.4, 0.4)


def test_differences_and_slopes_bet_on_all_units_at_once() -> None:
    """Ten ones against ten zeros are 20 units that are all at their far end: 1 - 2 (1 - .80)."""
    low = difference_of([1.0] * 10, [0.0] * 10, bounds=UNIT).guaranteed().both[0]
    of_twenty = mean_of([1.0] * 20, bounds=UNIT).guaranteed(1 - 0.05 * 2 / 3).both[0]
    assert low == pytest.approx(2 * of_twenty - 1)
    few = difference_of([1.0] * 3, [0.0] * 30, bounds=UNIT).guaranteed().both[0]
    assert 0.04 < few < mean_of([1.0] * 3, bounds=UNIT).guaranteed().both[0]
    pairs = paired_difference_of([1.0] * 10, [0.0] * 10, bounds=UNIT).guaranteed().both[0]
    assert pairs == pytest.approx(2 * mean_of([1.0] * 10, bounds=UNIT).guaranteed().both[0] - 1)
    slope = slope_of([0] * 10 + [1] * 10, [0.0] * 10 + [1.0] * 10, bounds=UNIT).guaranteed().both[0]
    assert slope == pytest.approx(low)


def test_a_difference_near_one_end_is_no_wider_than_that_of_two_bounds() -> None:
    """One bet on both sides gives [-.32, .32] here: each side by itself, with a sixth of the error, says more."""
    rng = np.random.default_rng(5)
    first, second = rng.beta(99, 1, 56), rng.beta(99, 1, 56)
    low, high = difference_of(first, second, bounds=UNIT).guaranteed().both
    one, two = (mean_of(of, bounds=UNIT).guaranteed(1 - 0.05 / 6).both for of in (first, second))
    assert (low, high) == pytest.approx((one[0] - two[1], one[1] - two[0]))
    assert high - low < 0.22
    slope = slope_of([0] * 56 + [1] * 56, [*second, *first], bounds=UNIT).guaranteed().both
    assert slope == pytest.approx((low, high))
    found = difference_of(first, second, bounds=UNIT)
    times = found.likely_multiple_for(-0.05, 0.05)
    many = [
        difference_of(list(first) * k, list(second) * k, bounds=UNIT) for k in (math.floor(times), math.ceil(times))
    ]
    assert [one.surely_within(-0.05, 0.05) for one in many] == [False, True]
    assert found.multiple_for(-0.05, 0.05) <= times and found.multiple_for(0.0, 0.05) < math.inf


@pytest.mark.slow
@pytest.mark.parametrize("drawn", [(99, 1), (9, 1), (5, 5), (0.3, 0.3), (1, 60)])
@pytest.mark.parametrize("sizes", [(8, 8), (5, 40)])
def test_either_bound_of_a_difference_is_wrong_in_a_fortieth_of_samples_at_most(
    drawn: tuple[float, float], sizes: tuple[int, int]
) -> None:
    rng = np.random.default_rng(6)
    wrong = [0, 0]
    for _ in range(300):
        low, high = difference_of(*(rng.beta(*drawn, n) for n in sizes), bounds=UNIT).guaranteed().both
        wrong[0] += low > 0
        wrong[1] += high < 0
    assert max(wrong) <= 0.025 * 300


def test_the_middle_of_a_line_costs_its_slope_nothing() -> None:
    """Values that hardly weigh are hardly bet on, however they vary."""
    ends = ([0.0] * 10 + [1.0] * 10, [0.9] * 10 + [0.1] * 10)
    whole = slope_of([*ends[0], *[0.5] * 40], [*ends[1], *[0.0, 1.0] * 20], bounds=UNIT).guaranteed().both
    assert whole == pytest.approx(slope_of(*ends, bounds=UNIT).guaranteed().both, abs=1e-6)
    near = slope_of([*ends[0], *[0.52] * 40], [*ends[1], *[0.0, 1.0] * 20], bounds=UNIT).guaranteed().both
    assert near[1] < -0.2


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high"), [(0.9, 1.0), (-math.inf, 0.2), (0.4, 0.6), (0.8, 0.95)])
def test_the_price_is_the_fewest_units_with_which_a_bound_can_decide(low: float, high: float) -> None:
    sample = mean_of([0.5] * 10, bounds=UNIT)
    needed = math.ceil(10 * sample.multiple_for(low, high))
    best = {0.9: 1.0, -math.inf: 0.0, 0.4: 0.5}.get(low)
    candidates = [best] if best is not None else list(np.linspace(0.8, 0.95, 301))

    def passes(n: int) -> bool:
        ends = [mean_of([x] * n, bounds=UNIT) for x in candidates]
        return any(of.surely_within(low, high) for of in ends)

    assert passes(needed) and not passes(needed - 1)
    assert sample.multiple_for(1.0, 2.0) == math.inf and sample.multiple_for(-1, 2) == 0


def test_a_weight_counts_by_how_much_it_can_move_the_mean() -> None:
    even = mean_of([1.0] * 10, bounds=UNIT).guaranteed().both[0]
    heavy = mean_of([1.0] * 10, bounds=UNIT, weights=[91.0] + [1.0] * 9).guaranteed().both[0]
    assert heavy < 0.2 < even
    level = [mean_of([x] * 12, bounds=UNIT, strata=[0, 1] * 6).guaranteed().both for x in (1.0, 0.5)]
    assert level[0] == mean_of([1.0] * 12, bounds=UNIT).guaranteed().both


@pytest.mark.parametrize("value", [1.0, 0.9, 0.3])
def test_one_look_at_the_capital_says_what_the_search_does_whatever_the_weights(value: float) -> None:
    weights = np.array([0.001] * 10 + [0.099] * 10)
    values = np.full(20, value)
    assert math.ceil(1e6 * least_multiple(weights, 0.4, 1.0, 0.025)) == math.ceil(
        1e6 * least_multiple(7 * weights, 0.4, 1.0, 0.025)
    )
    bound = lower_bound(values, weights, 0.025)
    assert exceeds(values, weights, bound - 1e-6, 0.025)
    assert not exceeds(values, weights, bound + 1e-6, 0.025)
    assert exceeds(values, weights, 0.0, 0.025) and not exceeds(values, weights, 1.0, 0.025)


@pytest.mark.parametrize("seed", range(4))
def test_so_many_times_as_many_units_like_these_show_the_range(seed: int) -> None:
    """Copies of the same units decide at the stated multiple, and not with a few units less."""
    rng = np.random.default_rng(seed)
    values = rng.beta(4, 2, 10)
    one = mean_of(values, bounds=(0, 1))
    for low, high in ((0.3, 1.0), (0.0, 0.95), (0.4, 0.95), (-math.inf, 0.95), (0.3, math.inf)):
        multiple = one.likely_multiple_for(low, high)
        assert math.isfinite(multiple)

        def shown(times: int, low: float = low, high: float = high) -> bool:
            return mean_of(np.tile(values, times), bounds=(0, 1)).surely_within(max(low, 0), min(high, 1))

        assert shown(math.ceil(multiple)) and (multiple <= 1 or not shown(math.ceil(multiple) - 1))
    assert one.likely_multiple_for(float(one.value), 1.0) == math.inf
    assert one.likely_multiple_for(0.95, 1.0) == math.inf and one.likely_multiple_for(1.0, 2.0) == math.inf


def test_without_guaranteed_bounds_the_multiple_is_that_of_the_interval() -> None:
    one = mean_of([1.0, 2.0, 4.0, 3.0])
    multiple = one.likely_multiple_for(1.9, 3.1)
    for times, inside in ((multiple, True), (0.98 * multiple, False)):
        low, high = one.reach(0.95, times) or (0.0, 0.0)
        assert (low >= 1.9 and high <= 3.1) == inside
    assert one.likely_multiple_for(2.6, 9.0) == math.inf
    # What decides already needs no more; half of two units would have no degree of freedom.
    assert mean_of([1.0, 2.0]).likely_multiple_for(-99, 99) == one.likely_multiple_for(-99, 99) == 1


def test_a_ratio_has_bounds_where_its_largest_weight_is_declared() -> None:
    """Weights that the values depend on: bet on numerator - ratio x denominator."""
    rng = np.random.default_rng(8)
    truth = (sum(range(1, 6)) * 0.2 + sum(range(6, 11)) * 0.9) / 55
    wrong = [0, 0]
    for _ in range(100):
        weights = rng.integers(1, 11, 20)
        values = rng.binomial(weights, np.where(weights > 5, 0.9, 0.2)) / weights
        found = mean_of(values, bounds=UNIT, weights=weights, ratio=True, most_weight=10)
        low, high = found.guaranteed().both
        assert low < found.value < high < low + 0.7
        wrong = [wrong[0] + (low > truth), wrong[1] + (high < truth)]
    assert max(wrong) <= 2
    ends = mean_of(values, bounds=UNIT, weights=weights, ratio=True, most_weight=20).guaranteed().both
    assert ends[0] < low and ends[1] - ends[0] > high - low, "a larger weight is possible, so less is known"
    with pytest.raises(BadSample, match="above the largest weight"):
        mean_of(values, bounds=UNIT, weights=weights, ratio=True, most_weight=5)
