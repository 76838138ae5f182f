"""The classical interval: what scipy and statsmodels say, and what must hold for any values."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from ostrom.analysis.intervals import (
    Inference,
    combined,
    difference_of,
    exactly,
    mean_of,
    paired_difference_of,
    share_of,
    slope_of,
)
from ostrom.analysis.intervals.moderated import Prior, prior_of
from ostrom.analysis.statistics.samples import StatisticsError

SHARES = st.floats(0.0, 1.0).map(lambda x: round(x, 3))
VALUES = st.lists(SHARES, min_size=3, max_size=12)


def width(one: Inference, level: float = 0.95) -> float:
    ends = one.reach(level)
    return math.inf if ends is None else ends[1] - ends[0]


def varied(values: Sequence[float]) -> bool:
    return float(np.ptp(values)) > 0.01


@given(VALUES)
def test_a_mean_has_students_interval(values: list[float]) -> None:
    assume(varied(values))
    ends = stats.ttest_1samp(values, 0).confidence_interval()
    assert mean_of(values, bounds=(0, 1)).reach(0.95) == pytest.approx(tuple(ends), abs=1e-12)


@given(VALUES, VALUES)
def test_a_difference_is_welchs_and_of_pairs_the_paired_t(first: list[float], second: list[float]) -> None:
    n = min(len(first), len(second))
    assume(varied(np.subtract(first[:n], second[:n]).tolist()) and varied(first[:n]) and varied(second[:n]))
    welch = stats.ttest_ind(first[:n], second[:n], equal_var=False)
    made = difference_of(first[:n], second[:n], bounds=(0, 1))
    assert made.reach(0.95) == pytest.approx(tuple(welch.confidence_interval()), abs=1e-12)
    assert made.p_value() == pytest.approx(welch.pvalue, rel=1e-9)
    pairs = stats.ttest_rel(first[:n], second[:n])
    made = paired_difference_of(first[:n], second[:n], bounds=(0, 1))
    assert made.reach(0.95) == pytest.approx(tuple(pairs.confidence_interval()), abs=1e-9)
    assert made.p_value() == pytest.approx(pairs.pvalue, rel=1e-6)


@given(VALUES, st.floats(0.1, 0.95))
def test_less_spread_repeated_data_and_a_value_at_the_mean_never_widen(values: list[float], pull: float) -> None:
    assume(varied(values))
    whole = width(mean_of(values, bounds=(0, 1))) * (1 + 1e-9)
    mean = math.fsum(values) / len(values)
    assert width(mean_of([mean + pull * (x - mean) for x in values], bounds=(0, 1))) <= whole
    assert width(mean_of(values * 2, bounds=(0, 1))) <= whole
    assert width(mean_of([*values, mean], bounds=(0, 1))) <= whole
    pairs = width(paired_difference_of(values, [0.5] * len(values), bounds=(0, 1)))
    near = paired_difference_of([mean + pull * (x - mean) for x in values], [0.5] * len(values), bounds=(0, 1))
    assert width(near) <= pairs * (1 + 1e-9)


@given(VALUES, VALUES, st.floats(0.1, 0.95))
def test_pulling_or_repeating_all_groups_never_widens(first: list[float], second: list[float], pull: float) -> None:
    assume(varied(first) and varied(second))
    whole = width(difference_of(first, second, bounds=(0, 1))) * (1 + 1e-9)
    assert width(difference_of(first * 2, second * 2, bounds=(0, 1))) <= whole
    sides = [[float(np.mean(of)) + pull * (x - float(np.mean(of))) for x in of] for of in (first, second)]
    assert width(difference_of(*sides, bounds=(0, 1))) <= whole
    assert width(share_of(6, 20)) <= width(share_of(3, 10))


@given(st.lists(st.tuples(SHARES, SHARES), min_size=4, max_size=10), st.randoms(use_true_random=False))
def test_order_changes_nothing_and_a_contrast_is_the_difference_of_its_levels(
    rows: list[tuple[float, float]], random: Any
) -> None:
    labels = list(range(len(rows)))
    order = labels.copy()
    random.shuffle(order)

    def sides(places: Sequence[int]) -> tuple[Inference, Inference]:
        one, two = (
            mean_of(
                [rows[i][side] for i in places], bounds=(0, 1), clusters=[labels[i] for i in places],
                strata=[i % 2 for i in places], shared=True,
            )
            for side in (0, 1)
        )  # fmt: skip
        return one, two

    first, again = (combined([(1.0, one), (-1.0, two)]) for one, two in (sides(labels), sides(order)))
    assert first.value == pytest.approx(sides(labels)[0].value - sides(labels)[1].value, abs=1e-12)
    assert first.value == pytest.approx(again.value, abs=1e-12)
    assert width(first) == pytest.approx(width(again), rel=1e-6, abs=1e-9)
    assert first.bounds() == pytest.approx(again.bounds(), abs=1e-9)


def test_more_rounds_narrow_the_interval() -> None:
    rng = np.random.default_rng(1)

    def mean_width(rounds: int) -> float:
        made = [
            difference_of(rng.binomial(rounds, 0.6, 8) / rounds, rng.binomial(rounds, 0.5, 8) / rounds, bounds=(0, 1))
            for _ in range(60)
        ]
        return float(np.mean([width(one) for one in made]))

    widths = [mean_width(rounds) for rounds in (5, 20, 100, 400, 1600)]
    assert widths == sorted(widths, reverse=True)
    by_spread = [
        width(mean_of([0.5 + d * (-1) ** i for i in range(10)], bounds=(0, 1))) for d in (0.001, 0.01, 0.03, 0.2)
    ]
    assert by_spread == sorted(by_spread)


def test_independent_conditions_are_added_with_satterthwaites_degrees_of_freedom() -> None:
    one, two = [0.1, 0.3, 0.2, 0.25], [0.8, 0.9, 0.5]
    made = mean_of([*one, *two], bounds=(0, 1), strata=[0] * 4 + [1] * 3)
    parts = [(4 / 7) ** 2 * np.var(one, ddof=1) / 4, (3 / 7) ** 2 * np.var(two, ddof=1) / 3]
    df = sum(parts) ** 2 / (parts[0] ** 2 / 3 + parts[1] ** 2 / 2)
    assert made.spread() == pytest.approx((math.sqrt(sum(parts)), df))
    single = mean_of([*one, 0.8], bounds=(0, 1), strata=[0] * 4 + [1])
    spread = single.spread()
    assert spread is not None and "pooled" in single.method
    assert spread[0] ** 2 == pytest.approx(np.var(one, ddof=1) * ((4 / 5) ** 2 / 4 + (1 / 5) ** 2))
    alone = mean_of([0.1, 0.5, 0.9], bounds=(0, 1), strata=[0, 1, 2])
    assert alone.reach(0.95) == pytest.approx(tuple(stats.ttest_1samp([0.1, 0.5, 0.9], 0).confidence_interval()))
    assert "conditions are the units" in alone.limits().note


def test_seeds_that_share_something_are_the_units() -> None:
    values = [0.1, 0.3, 0.2, 0.8, 0.9, 0.7]
    made = mean_of(values, bounds=(0, 1), strata=[0] * 3 + [1] * 3, clusters=[0, 1, 2] * 2, shared=True)
    seeds = [(a + b) / 2 for a, b in zip(values[:3], values[3:], strict=True)]
    assert made.reach(0.95) == pytest.approx(tuple(stats.ttest_1samp(seeds, 0).confidence_interval()))
    assert made.bounds() == pytest.approx(mean_of(seeds, bounds=(0, 1)).bounds())


def test_weighted_values_are_a_ratio_of_totals_by_the_jackknife() -> None:
    values, weights = np.array([0.2, 0.5, 0.9, 0.4]), np.array([1.0, 2.0, 2.0, 1.0])
    made = mean_of(values, bounds=(0, 1), weights=weights, ratio=True)
    mean = float(weights @ values / weights.sum())
    without = [np.average(np.delete(values, i), weights=np.delete(weights, i)) for i in range(4)]
    variance = 3 / 4 * float(np.sum((np.array(without) - mean) ** 2))
    assert made.value == pytest.approx(mean) and made.method == "Student's t, jackknife"
    assert made.spread() == pytest.approx((math.sqrt(variance), weights.sum() ** 2 / (weights @ weights) - 1))
    assert made.bounds() is None and "ratio" in made.why_approximate


@pytest.mark.parametrize("levels", [[1, 2, 4, 8], [0, 1]])
def test_a_slope_has_hc3_errors_or_is_students_over_seeds(levels: list[int]) -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(len(levels))
    x, seeds = np.repeat(levels, 6), np.tile(range(6), len(levels))
    y = np.clip(0.4 + 0.03 * x + rng.normal(0, 0.1, x.size), 0, 1)
    fit = sm.OLS(y, sm.add_constant(x)).fit(cov_type="HC3", use_t=True)
    made = slope_of(x, y, bounds=(0, 1))
    assert made.reach(0.95) == pytest.approx(tuple(fit.conf_int()[1]), rel=1e-8)
    assert made.p_value() == pytest.approx(fit.pvalues[1], rel=1e-6)
    slopes = [np.polyfit(levels, y[seeds == seed], 1)[0] for seed in range(6)]
    shared = slope_of(x, y, bounds=(0, 1), clusters=seeds.tolist(), shared=True)
    assert shared.reach(0.95) == pytest.approx(tuple(stats.ttest_1samp(slopes, 0).confidence_interval()), rel=1e-8)
    few = slope_of(x, y, bounds=(0, 1), clusters=(seeds % 3).tolist())
    assert few.limits().low is None and "too few clusters" in few.limits().note


def test_declared_trials_have_wilsons_newcombes_and_mcnemars_limits() -> None:
    ends = stats.binomtest(8, 10).proportion_ci(method="wilson")
    assert share_of(8, 10).reach(0.95) == pytest.approx((ends.low, ends.high))
    made = difference_of([1] * 56 + [0] * 14, [1] * 48 + [0] * 32, bounds=(0, 1), zero_one=True)
    assert made.reach(0.95) == pytest.approx((0.0524, 0.3339), abs=5e-4)  # Newcombe 1998, table II, case a
    pairs = paired_difference_of([1] * 7 + [0] * 3, [0] * 6 + [1] * 2 + [0, 0], bounds=(0, 1), zero_one=True)
    assert pairs.p_value() == pytest.approx(stats.binomtest(6, 7).pvalue, rel=1e-6)
    assert share_of(8, 8).limits().low is not None


@pytest.mark.parametrize(("n", "p"), [(3, 0.25), (6, 0.03125), (8, 2.0**-7)])
def test_without_any_spread_there_is_no_interval_and_an_exact_p(n: int, p: float) -> None:
    made = paired_difference_of([0.8] * n, [0.5] * n, bounds=(0, 1))
    assert made.limits().low is None and made.limits().note.startswith(f"all {n} alike")
    assert made.p_value() == pytest.approx(p) and made.bounds() is not None
    apart = difference_of([0.8] * n, [0.5] * n, bounds=(0, 1))
    assert apart.p_value() == pytest.approx(2 / math.comb(2 * n, n))
    assert difference_of([0.8] * n, [0.8] * n).p_value() == 1.0


def test_one_side_alike_is_no_special_case_and_is_noted() -> None:
    values = [0.2, 0.4, 0.3, 0.6, 0.5]
    made = difference_of(values, [0.7] * 5, bounds=(0, 1))
    ends = stats.ttest_1samp(np.subtract(values, 0.7), 0).confidence_interval()
    assert made.reach(0.95) == pytest.approx(tuple(ends)) and "one side is all alike" in made.limits().note


def test_unequal_sizes_ask_the_permutation_test_too() -> None:
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(200):
        p = difference_of(rng.exponential(1, 5), rng.exponential(1, 30)).p_value()
        wrong += p is not None and p < 0.05
    assert wrong <= 18
    equal = difference_of([0.1, 0.2, 0.4, 0.3, 0.5, 0.2, 0.1], [0.5, 0.6, 0.4, 0.7, 0.8, 0.3, 0.6, 0.9])
    assert not equal.uneven  # one failed match does not switch it on


def test_two_units_are_shown_and_never_decide() -> None:
    made = paired_difference_of([0.9, 0.9001], [0.1, 0.1])
    assert made.limits().low is not None and not made.decides and "caution: 2 matches" in made.limits().note
    assert mean_of([0.4]).limits().low is None


def test_the_caution_note_speaks_of_skewed_and_piled_values_alone() -> None:
    rng = np.random.default_rng(2)
    tame = sum("caution" in mean_of(rng.beta(5, 5, 20), bounds=(0, 1)).limits().note for _ in range(200))
    piled = mean_of([1.0] * 6 + [0.9, 0.8, 0.7, 0.2], bounds=(0, 1)).limits().note
    assert tame <= 12 and "caution" in piled


def test_tame_ratios_and_conditions_with_few_units_have_no_note() -> None:
    rng, noted = np.random.default_rng(3), np.zeros(2)
    for _ in range(300):
        ratio = mean_of(rng.beta(6, 5, 10), bounds=(0, 1), weights=rng.integers(1, 5, 10), ratio=True)
        three = mean_of(rng.binomial(6, 0.45, 12) / 6, bounds=(0, 1), strata=[0, 1, 2] * 4)
        noted += [bool(ratio.cautions()), bool(three.cautions())]
    assert noted[0] <= 26 and noted[1] <= 36  # 28 with a skewness of 1.2 instead of 1.5
    both = [1.0, 1.0, 0.9, 1.0, 1.0] * 2 + [0.4, 0.5, 0.6, 0.3, 0.5]
    assert mean_of(both, bounds=(0, 1), strata=[0] * 5 + [1] * 5 + [2] * 5).cautions()


def test_an_interval_is_clipped_for_display_alone() -> None:
    made = mean_of([1.0, 1.0, 0.9, 1.0, 0.6], bounds=(0, 1))
    limits, ends = made.limits(), made.reach(0.95)
    assert ends is not None and ends[1] > 1 == limits.high and "beyond the range" in limits.note


def test_exact_values_have_no_width_and_add_to_others() -> None:
    assert exactly(0.4).limits().both == (0.4, 0.4) == exactly(0.4).bounds()
    assert exactly(0.4).p_value() == 0.0 and exactly(0.0).p_value() == 1.0
    values = [0.2, 0.4, 0.3, 0.6, 0.5]
    made = combined([(1.0, mean_of(values, bounds=(0, 1))), (-1.0, exactly(0.4))])
    assert made.reach(0.95) == pytest.approx(
        tuple(stats.ttest_1samp(np.subtract(values, 0.4), 0).confidence_interval())
    )
    low, high = made.bounds() or (0.0, 0.0)
    assert (low + 0.4, high + 0.4) == pytest.approx(mean_of(values, bounds=(0, 1)).bounds())


def test_units_that_are_partly_the_same_have_bounds_that_add_up() -> None:
    one = mean_of([0.2, 0.4, 0.3], bounds=(0, 1), clusters=[1, 2, 3])
    two = mean_of([0.5, 0.6, 0.9], bounds=(0, 1), clusters=[2, 3, 4])
    made = combined([(1.0, one), (-1.0, two)])
    ends = [of.bounds(0.975) for of in (one, two)]
    assert made.units == 4 and ends[0] is not None and ends[1] is not None
    assert made.bounds() == pytest.approx((ends[0][0] - ends[1][1], ends[0][1] - ends[1][0]))


def test_variances_of_a_table_are_moderated() -> None:
    rng = np.random.default_rng(3)
    alike = prior_of((rng.chisquare(2, 400) / 2).tolist(), [2.0] * 400)
    assert alike.variance == pytest.approx(1.0, rel=0.15) and alike.df > 10
    spread = prior_of((rng.chisquare(2, 4000) / 2 * 4 / rng.chisquare(4, 4000)).tolist(), [2.0] * 4000)
    assert spread.df == pytest.approx(4.0, rel=0.25)
    assert prior_of([1.0, 2.0], [2.0, 2.0]) == Prior(0.0, 0.0)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: mean_of([]),
        lambda: mean_of([0.5, math.nan]),
        lambda: mean_of([0.5, 2.0], bounds=(0, 1)),
        lambda: mean_of([0.5], bounds=(1, 0)),
        lambda: mean_of([0.5], bounds=(0, math.inf)),
        lambda: mean_of([0.5, 0.6], weights=[1, 0]),
        lambda: mean_of([0.5, 0.6], weights=[1]),
        lambda: share_of(3, 2),
        lambda: paired_difference_of([1], [1, 2]),
        lambda: slope_of([1, 1], [0.2, 0.3]),
        lambda: slope_of([0, 1], [0.2, 0.3], log=True),
        lambda: mean_of([0.5, 0.6]).limits(1.0),
    ],
)
def test_bad_input_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(StatisticsError):
        wrong()


def test_a_slope_of_unbounded_values_has_no_least_where_a_level_is_the_mean_of_all() -> None:
    made = slope_of([0, 1, 2] * 3, [1.0, 2.5, 2.0, 1.5, 2.0, 3.0, 0.5, 1.0, 2.5])
    assert (made.least, made.most) == (-math.inf, math.inf) and made.bounds() is None
    half = slope_of([0, 1, 2] * 2, [1.0, 2.5, 2.0, 1.5, 2.0, 3.0], bounds=(0.0, None))
    assert (half.least, half.most) == (-math.inf, math.inf)
