"""Proportions, agreement, contingency tables, corrections, correlation and slopes."""

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ostrom.analysis.statistics import BadSample, Undefined, chi_square, cohens_kappa, holm, pearson, wilson


@given(st.integers(0, 50), st.integers(1, 50))
def test_wilson_equals_the_reference_and_holds_its_estimate(k: int, extra: int) -> None:
    n = k + extra
    result = wilson(k, n, unit="match")
    assert result is not None and result.low is not None and result.high is not None
    from statsmodels.stats.proportion import proportion_confint  # where it is used: it takes long to import

    assert (result.low, result.high) == pytest.approx(proportion_confint(k, n, method="wilson"), abs=1e-12)
    assert result.value in result and 0 <= result.low <= result.high <= 1


def test_no_trials_is_an_explicitly_undefined_proportion() -> None:
    assert wilson(0, 0, unit="match") is None
    with pytest.raises(BadSample):
        wilson(3, 2, unit="match")
    with pytest.raises(BadSample):
        wilson(0.5, 2, unit="match")  # type: ignore[arg-type]


@settings(max_examples=50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_corrections_follow_their_definitions(p: list[float]) -> None:
    m = len(p)
    steps = [min(1.0, (m - sum(q < other for q in p)) * other) for other in p]
    expected = [max(s for s, q in zip(steps, p, strict=True) if q <= own) for own in p]
    assert holm(p) == pytest.approx(expected)


def test_corrections_equal_the_reference() -> None:
    p = [0.001, 0.04, 0.03, 0.2, 0.04]
    from statsmodels.stats.multitest import multipletests

    _, adjusted, *_ = multipletests(p, 0.05, method="holm")
    assert holm(p) == pytest.approx(adjusted.tolist())


def test_corrections_refuse_what_is_not_a_p_value() -> None:
    for bad in ([], [math.nan, 0.1], [1.2]):
        with pytest.raises(BadSample):
            holm(bad)


def test_kappa_equals_the_reference() -> None:
    rng = np.random.default_rng(5)
    a = rng.integers(0, 4, 200)
    b = np.where(rng.random(200) < 0.6, a, rng.integers(0, 4, 200))
    from statsmodels.stats.inter_rater import cohens_kappa as reference_kappa

    theirs = reference_kappa(stats.contingency.crosstab(a, b).count)
    ours = cohens_kappa(a, b, unit="rationale").estimate
    assert ours.value == pytest.approx(theirs.kappa)
    assert ours.se == pytest.approx(theirs.std_kappa)


def test_kappa_without_any_variety_is_undefined() -> None:
    with pytest.raises(Undefined, match="only the label 'a'"):
        cohens_kappa(["a", "a"], ["a", "a"], unit="trace")
    with pytest.raises(BadSample):
        cohens_kappa(["a", None], ["a", "b"], unit="trace")
    with pytest.raises(BadSample):
        cohens_kappa([], [], unit="trace")


def test_chi_square_equals_the_reference() -> None:
    table = [[12, 30, 8], [20, 15, 25]]
    theirs = stats.chi2_contingency(table, correction=False)
    ours = chi_square(table, unit="trace")
    assert (ours.statistic, ours.p, ours.df) == pytest.approx((theirs.statistic, theirs.pvalue, theirs.dof))
    assert ours.cramers_v == pytest.approx(stats.contingency.association(table, method="cramer"))
    assert 0 < ours.cramers_v_corrected < ours.cramers_v


def test_independent_labels_have_no_corrected_association() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 5, 300), rng.integers(0, 6, 300)
    result = chi_square(stats.contingency.crosstab(a, b).count, unit="trace")
    assert result.cramers_v > 0.05 and result.cramers_v_corrected < 0.1
    same = chi_square(stats.contingency.crosstab(a, a).count, unit="trace")
    assert same.cramers_v == pytest.approx(1) and same.cramers_v_corrected == pytest.approx(1)


def test_empty_rows_of_a_table_are_refused() -> None:
    with pytest.raises(Undefined, match="row 1"):
        chi_square([[1, 2], [0, 0]], unit="trace")
    for bad in ([[1, 2]], [[1, -2], [3, 4]], [[1.5, 2], [3, 4]], [[1], [2, 3]]):
        with pytest.raises(BadSample):
            chi_square(bad, unit="trace")  # type: ignore[arg-type]


def test_correlations_equal_the_reference() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=40)
    y = np.round(x + rng.normal(size=40), 1)
    one = stats.pearsonr(x, y)
    ours = pearson(x, y, unit="cell")
    assert (ours.value, ours.p) == pytest.approx((one.statistic, one.pvalue))
    assert (ours.low, ours.high) == pytest.approx((one.confidence_interval().low, one.confidence_interval().high))


def test_perfect_and_constant_columns_have_no_silent_correlation() -> None:
    assert [pearson([1, 2, 3, 4], [2, 4, 6, 8], unit="cell").low] == [1.0]
    with pytest.raises(Undefined, match="second sample is constant"):
        pearson([1, 2, 3, 4], [5, 5, 5, 5], unit="cell")
    with pytest.raises(BadSample):
        pearson([1, 2, 3], [1, 2, 4], unit="cell")


def test_importing_the_facade_does_not_import_scipy() -> None:
    code = (
        "import sys, ostrom.analysis.statistics, ostrom.features.inference;"
        "print([m for m in ('scipy', 'statsmodels', 'pandas') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_limits_stay_within_what_can_be() -> None:
    for n in range(1, 200):
        none, all_ = wilson(0, n, unit="match"), wilson(n, n, unit="match")
        assert none is not None and all_ is not None
        assert none.low == 0.0 and all_.high == 1.0 and none.high is not None and none.high < 1
        perfect = chi_square(np.diag([n, n + 1, n + 1]), unit="match").cramers_v_corrected
        assert 1 - 1e-12 < perfect <= 1
    apart = cohens_kappa(list("YYYNNNYN"), list("NNNYYYYY"), unit="item").estimate
    assert apart.low == -1.0 and -1 < apart.value < 0
    alike = cohens_kappa(list("YYYNNNYN"), list("YYYNNNYY"), unit="item").estimate
    assert alike.high == 1.0 and 0 < alike.value < 1


def test_a_cell_that_expects_five_is_not_small() -> None:
    assert chi_square([[4, 6], [6, 4]], unit="trace").small_expected == 0.0
    assert chi_square([[4, 5], [5, 4]], unit="trace").small_expected == 1.0
