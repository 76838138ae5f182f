"""Exact values: computed by hand, by another library, or by resampling rows one by one with the same draws."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.analysis.statistics.two_samples import permutation_two_sample

from ostrom.analysis.statistics import (
    BadSample,
    Undefined,
    chi_square,
    cohens_d,
    cohens_d_paired,
    cohens_kappa,
    holm,
    jzs_from_t,
    jzs_two_sample,
    paired_t,
    pearson,
    permutation_grouped,
    permutation_paired,
    student_t,
    welch_t,
    wilson,
)
from ostrom.analysis.statistics.resampling import EXACT_LIMIT

Array = np.ndarray[Any, np.dtype[Any]]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


A, B = [5.0, 6, 7, 9, 4, 6], [3.0, 4, 4, 5, 6, 8]


# -- tests of means ------------------------------------------------------------------------------------


def test_all_fields_of_paired_tests() -> None:
    ours, theirs = paired_t(A, B, unit="p", level=0.9), stats.ttest_rel(A, B)
    assert (ours.statistic, ours.p, ours.df) == pytest.approx((theirs.statistic, theirs.pvalue, 5))
    assert (ours.low, ours.high) == pytest.approx(tuple(stats.ttest_rel(A, B).confidence_interval(0.9)))
    assert (ours.method, ours.sizes, ours.level) == ("paired", (6,), 0.9)
    assert ours.value == pytest.approx(37 / 6 - 5.0) and ours.se == pytest.approx(stats.sem(np.subtract(A, B)))
    assert paired_t(A, B, unit="p").level == 0.95


@pytest.mark.parametrize("test", [welch_t, student_t, paired_t])
def test_a_test_knows_levels_between_0_and_1(test: Any) -> None:
    for level in (0.0, 1.0, 95):
        with pytest.raises(BadSample, match="level"):
            test(A, B, unit="m", level=level)


def test_effect_sizes_by_hand() -> None:
    d = cohens_d(A, B, unit="m", level=0.9)
    pooled = math.sqrt((np.var(A, ddof=1) + np.var(B, ddof=1)) / 2)
    assert d.value == pytest.approx((37 / 6 - 5.0) / pooled)
    assert (d.method, d.sizes, d.level) == ("Cohen's d, pooled", (6, 6), 0.9)
    t = student_t(A, B, unit="m").statistic
    assert stats.nct.cdf(t, 10, d.low * math.sqrt(3)) == pytest.approx(0.95)
    paired = cohens_d_paired(A, B, unit="m")
    difference = np.subtract(A, B)
    assert paired.value == pytest.approx(difference.mean() / difference.std(ddof=1))


def test_bayes_factors_need_enough_units_and_keep_what_they_were_made_of() -> None:
    for sizes in ((1,), (1, 1), (0, 5), (5, 0)):
        with pytest.raises(BadSample, match="too few"):
            jzs_from_t(1.0, *sizes, unit="m")
    one = jzs_from_t(1.0, 2, unit="m")
    assert (one.df, one.n, one.design, one.r) == (1.0, (2,), "one-sample or paired", math.sqrt(2) / 2)
    two = jzs_from_t(1.0, 1, 2, unit="m")
    assert (two.df, two.n, two.design, two.alternative) == (1.0, (1, 2), "two-sample", "two-sided")
    with pytest.raises(BadSample, match="alternative"):
        jzs_from_t(1.0, 5, unit="m", alternative="up")  # type: ignore[arg-type]
    for r in (math.inf, -1.0, math.nan):
        with pytest.raises(BadSample, match="prior scale"):
            jzs_from_t(1.0, 5, unit="m", r=r)
    pooled = student_t(A, B[:5], unit="m").statistic
    assert jzs_two_sample(A, B[:5], unit="m").bf10 == jzs_from_t(pooled, 6, 5, unit="m").bf10


@pytest.mark.parametrize(("t", "n"), [(2.0, 5), (-0.5, 4)])
@pytest.mark.parametrize(("alternative", "sign"), [("greater", 1.0), ("less", -1.0)])
def test_a_one_sided_bayes_factor_is_the_mean_likelihood_under_half_a_cauchy(
    t: float, n: int, alternative: Any, sign: float
) -> None:
    effects = np.linspace(0.0, 12.0, 1201)
    likely = stats.nct.pdf(t, n - 1, sign * effects * math.sqrt(n)) / stats.t.pdf(t, n - 1)
    prior = 2 * stats.cauchy.pdf(effects, scale=math.sqrt(2) / 2)
    heights = likely * prior
    expected = 0.01 * float(heights.sum() - (heights[0] + heights[-1]) / 2)
    assert jzs_from_t(t, n, unit="m", alternative=alternative).bf10 == pytest.approx(expected, rel=2e-3)


@pytest.mark.slow
def test_no_difference_at_all_is_evidence_for_none_that_grows_with_the_sample() -> None:
    factors = [1 / jzs_from_t(0.0, n, unit="m").bf10 for n in (5, 50, 500)]
    # t = 0: the factor is the integral of (1 + n r^2 g)^-1/2 over the inverse chi-square prior of g.
    g = 1 / stats.chi2(1).ppf((np.arange(400_000) + 0.5) / 400_000)
    expected = [1 / float(np.mean((1 + n * 0.5 * g) ** -0.5)) for n in (5, 50, 500)]
    assert factors == pytest.approx(expected, rel=1e-4)


# -- counts --------------------------------------------------------------------------------------------


def test_chi_square_by_hand() -> None:
    result = chi_square([[10, 20], [20, 10]], unit="trace")
    # phi^2 = 1/9; corrected: (1/9 - 1/59) / (2 - 1/59 - 1).
    assert result.cramers_v_corrected == pytest.approx(math.sqrt((1 / 9 - 1 / 59) / (1 - 1 / 59)))
    assert (result.n, result.shape, result.df, result.small_expected) == (60, (2, 2), 1, 0.0)
    thin = chi_square([[1, 9], [3, 27]], unit="trace")
    assert thin.small_expected == 0.5 and thin.cramers_v_corrected == 0.0 and thin.p == pytest.approx(1)
    exact = chi_square([[5, 15], [5, 15]], unit="trace")
    assert exact.small_expected == 0.0  # five expected are enough
    wide = chi_square([[12, 30, 8], [20, 15, 25]], unit="trace")
    phi2, n = wide.statistic / 110, 110
    room = min(2 - 1 / (n - 1), 3 - 4 / (n - 1)) - 1
    assert wide.cramers_v_corrected == pytest.approx(math.sqrt((phi2 - 2 / (n - 1)) / room))
    perfect = chi_square([[1, 0], [0, 1]], unit="trace")
    assert perfect.cramers_v == 1.0 and perfect.cramers_v_corrected == 0.0  # two rows say nothing
    with pytest.raises(Undefined, match="column 1 of the table is empty"):
        chi_square([[1, 0], [2, 0]], unit="trace")
    with pytest.raises(BadSample, match="whole counts"):
        chi_square([[1.0, math.nan], [2.0, 3.0]], unit="trace")


def test_kappa_by_hand() -> None:
    # 20 and 15 of 50 on the diagonal: agreement 0.7, chance 0.5, kappa 0.4.
    first = ["y"] * 25 + ["n"] * 25
    second = ["y"] * 20 + ["n"] * 5 + ["y"] * 10 + ["n"] * 15
    found: Any = cohens_kappa(first, second, unit="r", level=0.9)
    assert (found.agreement, found.chance, found.estimate.value) == pytest.approx((0.7, 0.5, 0.4))
    reach = stats.norm.ppf(0.95) * found.estimate.se
    assert (found.estimate.low, found.estimate.high) == pytest.approx((0.4 - reach, 0.4 + reach))
    assert found.estimate.level == 0.9
    assert (found.estimate.n, found.categories, found.estimate.unit) == (50, ("n", "y"), "r")
    good = cohens_kappa(["a", "b", "c", "a"], ["a", "b", "c", "a"], unit="r").estimate
    assert (good.value, good.se, good.low, good.high) == pytest.approx((1.0, 0.0, 1.0, 1.0))
    almost = cohens_kappa(list("aaabbbccca"), list("aaabbbcccb"), unit="r").estimate
    assert almost.high == 1.0  # cut at 1
    opposite: Any = cohens_kappa(list("abababab"), list("babababb"), unit="r").estimate
    assert opposite.value < 0 and opposite.low >= -1.0
    for first_, second_ in (("ab", ["a", "b"]), (["a", "b"], "ab"), (["a"], ["a"]), (["a", "b"], ["a"])):
        with pytest.raises(BadSample):
            cohens_kappa(first_, second_, unit="r")


def test_proportions_keep_their_level_and_their_counts() -> None:
    found: Any = wilson(8, 10, unit="match", level=0.8)
    assert (found.level, found.value, found.n) == (0.8, 0.8, 10)
    z = stats.norm.ppf(0.9)
    centre, reach = (0.8 + z * z / 20) / (1 + z * z / 10), math.sqrt(0.16 / 10 + z * z / 400)
    assert (found.low, found.high) == pytest.approx(
        (centre - z * reach / (1 + z * z / 10), centre + z * reach / (1 + z * z / 10))
    )
    none: Any = wilson(0, 4, unit="m")
    all_: Any = wilson(4, 4, unit="m")
    assert none.low == 0.0 and all_.high == 1.0
    assert none.high == pytest.approx(1 - all_.low) and 0.4 < none.high < 0.6
    for bad in ((-1, 4), (5, 4)):
        with pytest.raises(BadSample, match="between 0 and n"):
            wilson(*bad, unit="m")
    with pytest.raises(BadSample, match="level"):
        wilson(9, 10, unit="m", level=1.5)


def test_corrections_at_their_limits() -> None:
    assert holm([0.025, 0.5]) == (0.05, 0.5)
    assert holm([0.0, 1.0]) == (0.0, 1.0)
    assert holm([0.9, 0.8]) == (1.0, 1.0)  # never above 1, and in the order they came
    for p in (-0.01, 1.01):
        with pytest.raises(BadSample, match="between 0 and 1"):
            holm([p, 0.5])


def test_correlations_by_hand() -> None:
    x, y = [1.0, 2, 3, 4, 5, 6], [2.0, 1, 4, 3, 6, 5]
    r = float(np.corrcoef(x, y)[0, 1])
    found = pearson(x, y, unit="c", level=0.9)
    assert (found.value, found.df, found.n) == pytest.approx((r, 4, 6))
    assert found.statistic == pytest.approx(r * math.sqrt(4 / (1 - r * r)))
    reach = stats.norm.ppf(0.95) * math.sqrt(1 / 3)
    ends = math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)
    assert (found.low, found.high) == pytest.approx(ends) and found.level == 0.9
    down = pearson([1, 2, 3, 4], [4, 3, 2, 1], unit="c")
    assert (down.value, down.p, down.statistic) == (-1.0, 0.0, -math.inf)
    with pytest.raises(Undefined, match="first sample is constant"):
        pearson([1, 1, 1, 1], [1, 2, 3, 4], unit="c")
    with pytest.raises(BadSample, match="level"):
        pearson(x, y, unit="c", level=2.0)


# -- permutations --------------------------------------------------------------------------------------


def test_all_rearrangements_are_listed_up_to_fifty_thousand() -> None:
    assert EXACT_LIMIT == 50_000
    generator = rng(1)
    many = permutation_two_sample(generator.random(9), generator.random(9), unit="m", rng=rng())
    assert (many.exact, many.arrangements) == (True, math.comb(18, 9))
    more = permutation_two_sample(generator.random(9), generator.random(10), unit="m", rng=rng())
    assert (more.exact, more.arrangements, more.estimate.sizes) == (False, 9_999, (9, 10))
    grouped = permutation_grouped(generator.random(20), np.arange(20) % 2, unit="m", rng=rng())
    assert (grouped.exact, grouped.arrangements) == (False, 9_999)
    pairs = permutation_paired(generator.random(15), generator.random(15), unit="m", rng=rng())
    assert (pairs.exact, pairs.arrangements, pairs.estimate.sizes) == (True, 2**15, (15,))
    wide = permutation_paired(generator.random(16), generator.random(16), unit="m", rng=rng(), draws=99)
    assert (wide.exact, wide.arrangements, wide.estimate.method) == (False, 99, "paired")


def test_ties_count_as_extreme_though_sums_differ_in_the_last_digit() -> None:
    first, second = [0.3, 0.1, 0.2], [0.1 + 0.2, 0.0, 0.0]  # the first difference is -5.6e-17, not 0
    found = permutation_paired(first, second, unit="m", rng=rng())
    assert found.estimate.p == 4 / 8


def test_mirrored_samples_have_one_p() -> None:
    a, b = [0.1, 0.7, 0.3, 0.9], [0.2, 0.2, 0.7, 0.4, 0.1]
    up = permutation_two_sample(a, b, unit="m", rng=rng())
    down = permutation_two_sample(b, a, unit="m", rng=rng())
    assert up.estimate.p == down.estimate.p
    assert up.estimate.value == pytest.approx(-down.estimate.value) == pytest.approx(0.5 - 0.32)


def test_a_random_test_counts_its_own_arrangement() -> None:
    values, treated = rng(3).normal(size=30), np.repeat([1.0, 0.0], 15)
    found = permutation_grouped(values, treated, unit="m", rng=rng(5), draws=199)
    generator, hits = rng(5), 0
    labels = generator.permuted(np.tile(treated, (199, 1)), axis=1)
    observed = values[:15].mean() - values[15:].mean()
    for label in labels:
        hits += abs(values[label == 1].mean() - values[label == 0].mean()) >= abs(observed)
    assert found.estimate.p == pytest.approx((1 + hits) / 200) and found.estimate.value == pytest.approx(observed)
    assert (found.estimate.method, found.estimate.sizes, found.n_clusters) == ("two-sample", (15, 15), None)


def test_random_sign_flips_by_hand() -> None:
    difference = rng(4).normal(0.2, 1, 20)
    found = permutation_paired(difference, np.zeros(20), unit="m", rng=rng(6), draws=499)
    generator = rng(6)
    first = [generator.permuted(np.tile([1.0, 0.0], (499, 1)), axis=1)[:, 0] for _ in range(20)]
    hits = sum(abs(float(s @ difference)) / 20 >= abs(difference.mean()) - 1e-12 for s in 2 * np.array(first).T - 1)
    assert found.estimate.p == pytest.approx((1 + hits) / 500)


def test_grouped_tests_name_what_moves() -> None:
    found = permutation_grouped([1, 2, 3, 4], [1, 1, 0, 0], clusters=[1, 1, 2, 2], unit="m", rng=rng())
    assert (found.estimate.method, found.n_clusters, found.estimate.sizes, found.arrangements, found.estimate.p) == (
        "clustered",
        2,
        (2, 2),
        2,
        1.0,
    )
    with pytest.raises(BadSample):
        permutation_grouped([1, 2, 3], [1, 0, 0], rng=rng(), unit=" ")
    with pytest.raises(BadSample):
        permutation_grouped([1, 2, 3], [1, 0], unit="m", rng=rng())
    with pytest.raises(BadSample, match="blocks: differs within a cluster"):
        permutation_grouped([1, 2, 3, 4], [1, 1, 0, 0], clusters=[1, 1, 2, 2], blocks=[1, 2, 1, 1], unit="m", rng=rng())
