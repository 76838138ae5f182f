"""Tests of means, effect sizes and Bayes factors agree with independent computations."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from ostrom.analysis.statistics import (
    BadSample,
    StatisticsError,
    Undefined,
    cohens_d,
    cohens_d_paired,
    jzs_from_t,
    jzs_paired,
    jzs_two_sample,
    paired_t,
    student_t,
    welch_t,
)
from ostrom.analysis.statistics.means import noncentrality_interval

numbers = st.lists(st.floats(-100, 100).map(lambda x: round(x, 3)), min_size=3, max_size=12)


def varies(*samples: list[float]) -> bool:
    return all(np.ptp(item) > 1e-3 for item in samples)


@settings(max_examples=60, deadline=None)
@given(numbers, numbers)
def test_two_sample_tests_equal_scipy(a: list[float], b: list[float]) -> None:
    if not varies(a, b):
        return
    for ours, equal in ((welch_t, False), (student_t, True)):
        test = ours(a, b, unit="match")
        theirs = stats.ttest_ind(a, b, equal_var=equal)
        assert test.statistic == pytest.approx(theirs.statistic, rel=1e-8, abs=1e-8)
        assert test.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-12)
        assert test.df == pytest.approx(theirs.df)
        two_sided = theirs.confidence_interval()
        assert (test.low, test.high) == pytest.approx((two_sided.low, two_sided.high), rel=1e-6, abs=1e-8)


def test_paired_tests_equal_scipy() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(1, 2, 15), rng.normal(0, 1, 15)
    assert paired_t(a, b, unit="pair").p == pytest.approx(stats.ttest_rel(a, b).pvalue)
    assert paired_t(a, b, unit="pair").statistic == pytest.approx(stats.ttest_1samp(a - b, 0).statistic)


def test_the_unit_is_part_of_every_call_and_every_result() -> None:
    with pytest.raises(TypeError):
        welch_t([1, 2], [3, 5])  # type: ignore[call-arg]
    with pytest.raises(BadSample, match="unit"):
        welch_t([1, 2], [3, 5], unit=" ")
    row = welch_t([1, 2], [3, 5], unit="match").as_dict()
    assert row["unit"] == "match" and row["low"] < row["value"] < row["high"] and row["n"] == 4


@pytest.mark.parametrize(
    ("first", "second", "problem"),
    [
        ([1.0], [1.0, 2.0], "at least 2"),
        ([], [1.0, 2.0], "at least 2"),
        ([1.0, math.nan], [1.0, 2.0], "missing or infinite"),
        ([1.0, None], [1.0, 2.0], "missing or infinite"),
        ([1.0, math.inf], [1.0, 2.0], "missing or infinite"),
        (["1", "2"], [1.0, 2.0], "must hold numbers"),
        ([[1.0, 2.0]], [1.0, 2.0], "one-dimensional"),
        ([3.0, 3.0], [3.0, 3.0], "no variance"),
        ([0.1 + 0.2, 0.3], [0.3, 0.3], "no variance"),
    ],
)
def test_degenerate_samples_raise_one_clear_line(first: Any, second: Any, problem: str) -> None:
    for function in (welch_t, student_t, cohens_d, jzs_two_sample):
        with pytest.raises(StatisticsError, match=problem) as caught:
            function(first, second, unit="match")
        assert "\n" not in str(caught.value)


def test_one_constant_sample_still_has_a_welch_test() -> None:
    assert welch_t([1, 1, 1], [1, 2, 3], unit="match").df == pytest.approx(2)


def test_pairs_must_match_up() -> None:
    with pytest.raises(BadSample, match="same length"):
        paired_t([1, 2, 3], [1, 2], unit="pair")
    with pytest.raises(Undefined):
        paired_t([1, 2, 3], [0, 1, 2], unit="pair")


def test_the_interval_of_d_holds_exactly_the_effects_that_do_not_surprise() -> None:
    a, b = [5.0, 6, 7, 9, 4, 6], [3.0, 4, 4, 5, 6]
    d = cohens_d(a, b, unit="match")
    scale = math.sqrt(6 * 5 / 11)
    t = student_t(a, b, unit="match").statistic
    assert d.value == pytest.approx(t / scale)
    assert stats.nct.cdf(t, 9, d.low * scale) == pytest.approx(0.975, abs=1e-8)
    assert stats.nct.cdf(t, 9, d.high * scale) == pytest.approx(0.025, abs=1e-8)


def test_effect_sizes_mirror_when_the_samples_swap() -> None:
    a, b = [5.0, 6, 7, 9, 4], [3.0, 4, 4, 5, 6]
    for function in (cohens_d, cohens_d_paired):
        one, two = function(a, b, unit="match"), function(b, a, unit="match")
        assert one.value == pytest.approx(-two.value)
        assert one.low == pytest.approx(-two.high)


def slow_factor(t: float, df: float, n: float, r: float, low: float, high: float) -> float:
    """The definition itself: noncentral t likelihood averaged over a Cauchy prior on the effect size."""
    mass = stats.cauchy.cdf(high, scale=r) - stats.cauchy.cdf(low, scale=r)

    def height(effect: float) -> float:
        return float(stats.nct.pdf(t, df, effect * math.sqrt(n)) * stats.cauchy.pdf(effect, scale=r))

    peak = t / math.sqrt(n)
    edges = sorted({low, high, *(x for x in (peak - 1, peak, peak + 1, 0.0) if low < x < high)})
    area = sum(integrate.quad(height, a, b, epsabs=0, epsrel=1e-10, limit=500)[0] for a, b in pairwise(edges))
    return float(area / mass / stats.t.pdf(t, df))


@pytest.mark.slow
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("t", "n1", "n2", "r"),
    [(0.3, 20, None, 1.0), (2.5, 30, None, math.sqrt(2) / 2), (-1.7, 12, 15, math.sqrt(2) / 2), (3.2, 50, 40, 1.0)],
)
def test_bayes_factors_equal_slow_quadrature_of_their_definition(t: float, n1: int, n2: int | None, r: float) -> None:
    df = n1 - 1 if n2 is None else n1 + n2 - 2
    n = n1 if n2 is None else n1 * n2 / (n1 + n2)
    for alternative, low, high in (("two-sided", -40, 40), ("greater", 0, 40), ("less", -40, 0)):
        ours = jzs_from_t(t, n1, n2, unit="match", r=r, alternative=alternative)  # type: ignore[arg-type]
        mass = stats.cauchy.cdf(high, scale=r) - stats.cauchy.cdf(low, scale=r)
        whole = 1.0 if alternative == "two-sided" else 0.5
        # The far tails of the prior explain nothing, so the truncated average only needs its mass restored.
        assert ours.bf10 == pytest.approx(slow_factor(t, df, n, r, low, high) * mass / whole, rel=1e-6)


@pytest.mark.parametrize(
    ("t", "n", "alternative", "published"),
    [
        (-3.339, (288,), "two-sided", 14.85),
        (7.2701, (288,), "two-sided", 1.81e9),
        (4.6452, (288,), "two-sided", 1969.2),
        (3.4846, (97, 98), "greater", 80.66),
        (0.4693, (97, 98), "greater", 0.233),
    ],
)
def test_bayes_factors_equal_published_ones(t: float, n: tuple[int, ...], alternative: Any, published: float) -> None:
    assert jzs_from_t(t, *n, unit="match", alternative=alternative).bf10 == pytest.approx(published, rel=1.5e-3)


def test_the_two_sided_factor_is_the_mean_of_the_one_sided_ones() -> None:
    for t in (-6.0, -0.5, 0.0, 2.0, 40.0):
        two = jzs_from_t(t, 25, unit="m").bf10
        up = jzs_from_t(t, 25, unit="m", alternative="greater").bf10
        down = jzs_from_t(t, 25, unit="m", alternative="less").bf10
        assert (up + down) / 2 == pytest.approx(two, rel=1e-8)


def test_overwhelming_evidence_stays_finite_on_the_log_scale() -> None:
    result = jzs_from_t(80.0, 5_000, unit="match")
    assert result.log_bf10 > 709 and result.bf10 == math.inf


def test_raw_samples_and_t_values_give_the_same_factor() -> None:
    a, b = [5.0, 6, 7, 9, 4, 6], [3.0, 4, 4, 5, 6, 5]
    t = paired_t(a, b, unit="m").statistic
    assert jzs_paired(a, b, unit="m").bf10 == jzs_from_t(t, 6, unit="m").bf10


@pytest.mark.parametrize("bad", [{"t": math.nan, "n1": 5}, {"t": 1.0, "n1": 1}, {"t": 1.0, "n1": 5, "r": 0.0}])
def test_impossible_factors_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(BadSample):
        jzs_from_t(**bad, unit="match")


@pytest.mark.parametrize("df", [2, 30, 100, 889, 20_000])
@pytest.mark.parametrize("t", [0.1, 3.9, 5.36, 12.0, 80.0])
def test_the_interval_of_an_effect_is_found_for_every_sign_and_size(t: float, df: float) -> None:
    low, high = noncentrality_interval(t, df, 0.95)
    assert (
        low < t
        and stats.nct.cdf(t, df, low) == pytest.approx(0.975)
        and stats.nct.cdf(t, df, high) == pytest.approx(0.025)
    )
    assert noncentrality_interval(-t, df, 0.95) == (-high, -low)
