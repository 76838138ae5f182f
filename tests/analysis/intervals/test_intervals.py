"""What every interval must do, whatever the data."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from ostrom.analysis.intervals import (
    Combination,
    Exact,
    Limits,
    combination_of,
    difference_of,
    mean_of,
    paired_difference_of,
    share_of,
    slope_of,
)
from ostrom.analysis.intervals.group import group_of
from ostrom.analysis.intervals.limits import gamma_quantile, t_quantile
from ostrom.analysis.statistics.samples import BadSample, Undefined

UNIT = (0.0, 1.0)
shares = st.lists(st.integers(0, 20).map(lambda k: k / 20), min_size=2, max_size=12)
numbers = st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=12)


def ends(limits: Limits) -> tuple[float, float]:
    assert limits.low is not None and limits.high is not None, limits.note
    return limits.low, limits.high


@given(shares)
def test_a_mean_of_shares_lies_within_its_interval_and_that_within_the_bounds(values: list[float]) -> None:
    found = mean_of(values, bounds=UNIT).limits()
    low, high = ends(found)
    assert 0.0 <= low <= found.value <= high <= 1.0
    assert high - low > 0.01  # also where all are alike


@given(shares, st.integers(-3, 3), st.sampled_from([0.25, 3.0, 100.0]))
@example([0.0, 0.0, 0.0, 0.3, 0.3, 0.55], 0, 0.25)
def test_intervals_follow_the_scale(values: list[float], shift: int, factor: float) -> None:
    data = np.array(values)
    low, high = ends(mean_of(data, bounds=UNIT).limits())
    moved = mean_of(data * factor + shift, bounds=(float(shift), shift + factor)).limits()
    assert ends(moved) == pytest.approx((low * factor + shift, high * factor + shift), abs=1e-9 * factor)
    mirrored = mean_of(1 - data, bounds=UNIT).limits()
    assert ends(mirrored) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@given(numbers, st.integers(-3, 3))
def test_intervals_without_bounds_follow_the_scale_too(values: list[float], shift: int) -> None:
    data = np.array(values)
    assume(len(set(values)) > 1)
    low, high = ends(mean_of(data).limits())
    assert ends(mean_of(2 * data + shift).limits()) == pytest.approx(
        (2 * low + shift, 2 * high + shift), abs=1e-6
    )
    assert ends(mean_of(-data).limits()) == pytest.approx((-high, -low), abs=1e-6)
    least = float(data.min())
    half, mirrored = (
        mean_of(data, bounds=(least, None)).limits(),
        mean_of(-data, bounds=(None, -least)).limits(),
    )
    assert ends(mirrored) == pytest.approx((-ends(half)[1], -ends(half)[0]), abs=1e-6)


@given(shares, st.randoms(use_true_random=False))
def test_order_changes_no_digit(values: list[float], random: object) -> None:
    mixed = list(values)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert mean_of(mixed, bounds=UNIT).limits() == mean_of(values, bounds=UNIT).limits()
    labels = [i % 3 for i in range(len(values))]
    order = sorted(range(len(values)), key=lambda i: -i)
    turned = mean_of([values[i] for i in order], bounds=UNIT, clusters=[labels[i] for i in order])
    assert turned.limits() == mean_of(values, bounds=UNIT, clusters=labels).limits()


@settings(max_examples=40)
@given(shares, shares)
def test_more_confidence_is_a_wider_interval(first: list[float], second: list[float]) -> None:
    kinds: list[Combination] = [
        mean_of(first, bounds=UNIT),
        difference_of(first, second, bounds=UNIT),
        slope_of([0] * len(first) + [1] * len(second), [*first, *second], bounds=UNIT),
    ]
    for kind in kinds:
        made = [ends(kind.limits(level)) for level in (1e-9, 0.1, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)]
        for (low, high), (lower, higher) in pairwise(made):
            assert lower <= low + 1e-12 and high <= higher + 1e-12


@given(shares, shares)
def test_a_difference_turned_round_is_its_mirror_image(first: list[float], second: list[float]) -> None:
    low, high = ends(difference_of(first, second, bounds=UNIT).limits())
    assert ends(difference_of(second, first, bounds=UNIT).limits()) == pytest.approx((-high, -low), abs=1e-9)
    assert -1 <= low < high <= 1
    n = min(len(first), len(second))
    paired = paired_difference_of(first[:n], second[:n], bounds=UNIT).limits()
    turned = paired_difference_of(second[:n], first[:n], bounds=UNIT).limits()
    assert ends(turned) == pytest.approx((-ends(paired)[1], -ends(paired)[0]), abs=1e-9)


@given(shares, shares)
@example([0.0, 0.35], [0.05, 0.25, 0.6, 0.6, 0.6])
def test_a_slope_over_two_levels_is_a_difference(first: list[float], second: list[float]) -> None:
    slope = slope_of([1] * len(first) + [3] * len(second), [*first, *second], bounds=UNIT).limits()
    half = difference_of(second, first, bounds=UNIT).limits()
    assert ends(slope) == pytest.approx(tuple(end / 2 for end in ends(half)), abs=1e-9)


@given(st.integers(2, 200), st.data())
def test_a_share_is_the_mean_of_zeros_and_ones(n: int, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, n))
    written = mean_of([1.0] * k + [0.0] * (n - k), bounds=UNIT).limits()
    assert ends(share_of(k, n).limits()) == pytest.approx(ends(written), abs=1e-9)


def test_all_alike_is_the_exact_limit_of_clopper_and_pearson() -> None:
    assert ends(share_of(8, 8).limits()) == pytest.approx((0.025 ** (1 / 8), 1.0))
    inside = ends(mean_of([0.6] * 8, bounds=UNIT).limits())
    seen = 0.025 ** (1 / 8)
    assert inside == pytest.approx((0.6 * seen, 0.6 + 0.4 * (1 - seen)))


@given(shares)
@example([0.0, 0.0, 0.05])
def test_the_same_values_seen_more_often_narrow_the_interval(values: list[float]) -> None:
    made = [ends(mean_of(values * times, bounds=UNIT).limits()) for times in (1, 3, 10)]
    widths = [high - low for low, high in made]
    assert widths == sorted(widths, reverse=True)


@pytest.mark.parametrize("off", [1e-8, 1e-4, 4e-4])
@pytest.mark.parametrize("centre", [1.0, 0.5])
def test_values_that_are_nearly_alike_have_the_interval_of_values_that_are(centre: float, off: float) -> None:
    values = [centre - off * i for i in range(10)]
    near, alike = (ends(mean_of(of, bounds=UNIT).limits()) for of in (values, [centre] * 10))
    assert near == pytest.approx(alike, abs=0.01)
    other, same = ([*of[:9], 0.3] for of in (values, [centre] * 10))
    assert ends(mean_of(other, bounds=UNIT).limits()) == pytest.approx(
        ends(mean_of(same, bounds=UNIT).limits()), abs=0.02
    )
    apart, sure = (
        ends(difference_of(of, [0.2, 0.5, 0.6], bounds=UNIT).limits()) for of in (values, [centre] * 10)
    )
    assert apart == pytest.approx(sure, abs=0.01)


@pytest.mark.parametrize("size", [6, 7, 10, 13, 27, 49, 59])
@pytest.mark.parametrize("conditions", [1, 2, 3, 7])
def test_a_mean_of_ones_is_one_and_its_interval_holds_it(size: int, conditions: int) -> None:
    """Also where an average of ones was rounded before it came here."""
    for one in (1.0, 1 - 2**-53, 1 + 2**-52):
        strata = [i % conditions for i in range(size * conditions)]
        made = mean_of([one] * (size * conditions), bounds=UNIT, strata=strata)
        for found in (made.limits(), made.guaranteed()):
            assert found.value == found.high == 1.0
        turned = mean_of([1 - one] * (size * conditions), bounds=UNIT, strata=strata).limits()
        assert turned.value == turned.low == 0.0
    inside = mean_of([0.1] * size, weights=[1 / 3] * size, bounds=UNIT).value
    assert inside == 0.1


@given(st.lists(st.integers(1, 5), min_size=2, max_size=6))
def test_the_variance_of_a_weighted_mean_is_right_on_average(weights: list[int]) -> None:
    """Over all outcomes of fair coins: the variance of the mean is the sum of the squared shares."""
    shares = np.array(weights) / sum(weights)
    outcomes = [[code >> i & 1 for i in range(len(weights))] for code in range(2 ** len(weights))]
    found = [group_of(np.array(of) * 2.0 - 1.0, weights=weights).variance for of in outcomes]
    assert np.mean(found) == pytest.approx(float(shares @ shares))


def test_pairing_uses_what_pairs_have_in_common() -> None:
    rng = np.random.default_rng(2)
    base = rng.random(20)
    first, second = base * 0.9, base * 0.9 + rng.random(20) * 0.1
    paired, apart = (
        ends(of(first, second, bounds=UNIT).limits()) for of in (paired_difference_of, difference_of)
    )
    assert paired[1] - paired[0] < 0.4 * (apart[1] - apart[0])


def test_conditions_that_the_design_fixes_are_no_sampling_error() -> None:
    values, games = [0.1, 0.12, 0.08, 0.9, 0.92, 0.88], ["a"] * 3 + ["b"] * 3
    fixed, drawn = mean_of(values, bounds=UNIT, strata=games), mean_of(values, bounds=UNIT)
    assert fixed.value == pytest.approx(drawn.value)
    (low, high), (lower, higher) = ends(fixed.limits()), ends(drawn.limits())
    assert high - low < 0.5 * (higher - lower)
    single = mean_of([*values, 0.5], bounds=UNIT, strata=[*games, "c"])
    assert single.value == pytest.approx(3.5 / 7) and "pooled" in single.note


def test_clusters_count_and_not_their_members() -> None:
    means = [0.2, 0.5, 0.6, 0.9]
    labels = [i for i in range(4) for _ in range(10)]
    many = mean_of([m for m in means for _ in range(10)], bounds=UNIT, clusters=labels).limits()
    assert ends(many) == pytest.approx(ends(mean_of(means, bounds=UNIT).limits()))
    assert many.method == "bounded t over clusters"
    weighted = mean_of([0.0, 1.0], bounds=UNIT, weights=[3.0, 1.0])
    assert weighted.value == 0.25


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (lambda: mean_of([0.4], bounds=UNIT), "too few matches"),
        (lambda: mean_of([2.0, 2.0, 2.0]), "no bounds"),
        (lambda: mean_of([0.0, 0.0, 0.0], bounds=(0.0, None)), "no bounds"),
        (lambda: difference_of([0.4], [0.1, 0.2], bounds=UNIT), "too few matches"),
        (
            lambda: mean_of([0.1, 0.2, 0.3], bounds=UNIT, clusters=[1, 1, 1], unit="scenario"),
            "too few scenarios",
        ),
        (lambda: slope_of([1, 2], [0.1, 0.2], bounds=UNIT), "too few matches"),
    ],
)
def test_where_no_interval_is_honest_there_is_none(made: Callable[[], Combination], why: str) -> None:
    found = made().limits()
    assert (found.low, found.high, found.method) == (None, None, "none")
    assert why in found.note


def test_a_slope_with_single_units_assumes_a_line_and_says_so() -> None:
    found = slope_of([1, 2, 4, 8], [0.1, 0.2, 0.35, 0.4], bounds=UNIT, log=True).limits()
    assert found.low is not None and "straight line" in found.note
    assert slope_of([0, 1, 3], [0.5, 0.4, 0.3], bounds=UNIT, log="1+x").value == pytest.approx(
        -0.144, abs=1e-3
    )


def test_a_count_has_the_exact_limits_on_either_side_of_a_difference() -> None:
    group = group_of([1.0] * 8 + [0.0] * 2, bounds=UNIT)
    assert ends(combination_of([group], [1]).limits()) == pytest.approx((0.4439, 0.9748), abs=1e-4)
    assert ends(combination_of([group], [-2]).limits()) == pytest.approx((-1.9496, -0.8878), abs=1e-4)


def test_one_odd_value_may_be_rarer_than_it_looks() -> None:
    """With a chance of 1 in 100 of 0.3, one match in twenty is soon odd: the interval must still hold 0.894."""
    low, high = ends(mean_of([0.9] * 19 + [0.3], bounds=UNIT).limits())
    assert low < 0.81 and high > 0.897


def test_a_mean_near_a_bound_reaches_further_away_from_it() -> None:
    values = np.array([0.9, 0.95, 0.97, 0.93, 0.99, 0.88, 0.94, 0.96, 0.92, 0.98])
    low, high = ends(mean_of(values, bounds=UNIT).limits())
    student = t_quantile(0.975, 9) * float(values.std(ddof=1)) / 10**0.5
    down, up = values.mean() - low, high - values.mean()
    assert 1.5 * student < down < 2.5 * student and 0.8 * student < up < 1.2 * student
    few = mean_of(values[:5], bounds=UNIT).limits()
    assert few.value - ends(few)[0] > 3 * down


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_pairs_that_all_differ_alike_are_no_surer_than_the_sign_test(n: int) -> None:
    found = paired_difference_of([1.0] * n, [0.0] * n, bounds=UNIT)
    p = 2 * 0.5**n
    assert found.limits(1 - p).low == pytest.approx(0.0, abs=1e-9)
    assert ends(found.limits(1 - p / 2))[0] < 0


def test_an_interaction_is_a_combination() -> None:
    cells = [group_of(v, bounds=UNIT) for v in ([0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.9, 1.0])]
    assert combination_of(cells, [1, -1, -1, 1]).value == pytest.approx(0.2)


def test_an_exact_value_has_no_width_at_any_level() -> None:
    assert ends(Exact(0.5).limits(0.999)) == (0.5, 0.5)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: mean_of([0.2, 1.4], bounds=UNIT),
        lambda: mean_of([], bounds=UNIT),
        lambda: mean_of([0.2, float("nan")], bounds=UNIT),
        lambda: mean_of([0.2, 0.3], bounds=(1.0, 0.0)),
        lambda: mean_of([0.2, 0.3], bounds=UNIT, weights=[1.0, 0.0]),
        lambda: share_of(3, 2),
        lambda: share_of(0, 0),
        lambda: slope_of([0, 1, 2], [0.1, 0.2, 0.3], bounds=UNIT, log=True),
        lambda: mean_of([0.2, 0.3], bounds=UNIT).limits(1.0),
    ],
)
def test_bad_input_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(BadSample):
        wrong()


def test_a_constant_x_has_no_slope() -> None:
    with pytest.raises(Undefined):
        slope_of([2, 2, 2], [0.1, 0.2, 0.3])


@given(st.floats(0.3, 400), st.sampled_from([0.6, 0.9, 0.975, 0.9995]))
def test_quantiles_agree_with_scipy(df: float, probability: float) -> None:
    from scipy.special import stdtrit

    assert t_quantile(probability, df) == pytest.approx(float(stdtrit(df, probability)), rel=1e-6)
    assert t_quantile(1 - probability, df) == pytest.approx(-t_quantile(probability, df), rel=1e-6)


def test_gamma_quantiles_are_near() -> None:
    from scipy.special import gammaincinv

    for shape in (1.0, 2.0, 5.0, 20.0):
        assert gamma_quantile(0.05, shape) == pytest.approx(float(gammaincinv(shape, 0.05)), rel=0.25)


def test_intervals_need_no_scipy() -> None:
    code = (
        "import sys\nfrom ostrom.analysis.intervals import mean_of\n"
        "mean_of([0.2, 0.5, 0.6], bounds=(0, 1)).limits()\n"
        "assert not [m for m in sys.modules if m.split('.')[0] in ('scipy', 'polars', 'duckdb')]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_is_only_rounding_is_zero() -> None:
    """Differences of equal sums and slopes over a constant are 0, in the value and in its limits."""
    same, other = [0.1 + 0.2, 0.7, 0.3], [0.3, 0.1 * 7, 0.1 * 3]
    assert paired_difference_of(same, other).value == 0.0
    assert paired_difference_of(same, other, bounds=(0, 1)).value == 0.0
    assert difference_of([0.1, 0.1, 0.1], [0.3 - 0.2, 0.1, 0.1], bounds=(0, 1)).value == 0.0
    assert slope_of([1, 2, 4, 8], [0.1, 0.1, 0.1, 0.1], bounds=(0, 1), log=True).value == 0.0
    small = mean_of([1e-13, 3e-13, 2e-13]).value
    assert small == pytest.approx(2e-13)  # small values are no rounding
