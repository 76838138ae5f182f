"""Regressions by closed forms: every variance, degree of freedom and detail, not only the slope."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ostrom.analysis.statistics import BadSample, Undefined, gee_logistic, linear_mixed_model, logistic_regression
from ostrom.analysis.statistics.regression import coefficient_table, design_matrix
from ostrom.features.robustness.variance_shares import variance_shares

Array = np.ndarray[Any, np.dtype[Any]]


def balanced() -> tuple[Array, Array, Array, Array]:
    """12 groups of 5 rows, half of them under a condition, with a predictor that varies within groups."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(12), 5)
    y = 7 + 2 * rng.normal(size=12)[group] + rng.normal(size=60)
    return y, (group % 2).astype(float), np.tile([-2.0, -1, 0, 1, 2], 12), group


def test_a_balanced_mixed_model_has_the_variances_of_the_analysis_of_variance() -> None:
    y, condition, trial, group = balanced()
    found = linear_mixed_model(y, {"condition": condition, "trial": trial}, groups=group, unit="person", level=0.9)
    means = y.reshape(12, 5).mean(axis=1)
    slope = float(trial @ y) / float(trial @ trial)
    rest = y - means[group] - slope * trial
    within = float(rest @ rest) / (60 - 12 - 1)
    arms = [means[0::2], means[1::2]]
    between_mean_square = 5 * sum(float(np.sum((a - a.mean()) ** 2)) for a in arms) / 10
    between = (between_mean_square - within) / 5
    details = found.details
    assert details["variance_within"] == pytest.approx(within, rel=1e-6)
    assert details["variance_between"] == pytest.approx(between, rel=1e-6)
    assert details["intraclass_correlation"] == pytest.approx(between / (between + within), rel=1e-6)
    assert (details["boundary"], details["df"]) == (False, "between-within")
    line: Any = found["trial"]
    assert line.value == pytest.approx(slope)
    assert line.se == pytest.approx(math.sqrt(within / float(trial @ trial)), rel=1e-6)
    assert (line.df, found["condition"].df, found["intercept"].df) == (47.0, 10.0, 10.0)
    reach = stats.t.ppf(0.95, 47) * line.se
    assert (line.low, line.high) == pytest.approx((slope - reach, slope + reach)) and line.level == 0.9
    assert found["intercept"].value == pytest.approx(arms[0].mean())
    assert found["condition"].se == pytest.approx(math.sqrt(between_mean_square / 5 * 2 / 6), rel=1e-6)
    assert (found.n, found.n_clusters, found.unit) == (60, 12, "person")
    assert (line.n, line.unit, line.key) == (12, "person", {"term": "trial"})


def test_z_tests_of_a_mixed_model() -> None:
    y, condition, trial, group = balanced()
    found = linear_mixed_model(y, {"condition": condition, "trial": trial}, groups=group, unit="p", df="normal")
    line: Any = found["trial"]
    assert line.df is None and line.p == pytest.approx(2 * stats.norm.sf(abs(line.statistic)))
    assert line.high - line.low == pytest.approx(2 * stats.norm.ppf(0.975) * line.se)


def test_two_groups_are_enough_and_the_scale_of_the_outcome_does_not_matter() -> None:
    y, _, trial, group = balanced()
    two = linear_mixed_model(y[:10], {"trial": trial[:10]}, groups=group[:10], unit="p")
    assert two.n_clusters == 2 and two["trial"].df == 7.0
    small = linear_mixed_model(1e-6 * y[:10] + 50, {"trial": trial[:10]}, groups=group[:10], unit="p")
    assert small["trial"].statistic == pytest.approx(two["trial"].statistic, rel=1e-4)
    assert small["intercept"].value == pytest.approx(50 + 1e-6 * two["intercept"].value, rel=1e-9)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"df": "satterthwaite"}, "unknown df"),
        ({"level": 1.0}, "level"),
        ({"unit": ""}, "unit"),
        ({"outcome": np.tile([1.0, 2, 3, 4, 5], 12)}, "fit every row exactly"),
    ],
)
def test_mixed_models_check_what_they_are_given(change: dict[str, Any], said: str) -> None:
    y, _, trial, group = balanced()
    good: dict[str, Any] = {"outcome": y, "predictors": {"trial": trial}, "groups": group, "unit": "p"}
    with pytest.raises((BadSample, Undefined), match=said):
        linear_mixed_model(**(good | change))


def test_no_degrees_of_freedom_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(BadSample, match="no degrees of freedom"):
        linear_mixed_model(
            rng.normal(size=4), {"g": [0.0, 0, 1, 1], "x": [0.0, 1, 0, 2]}, groups=[1, 1, 2, 2], unit="p"
        )


def test_lines_of_a_table() -> None:
    z: Any
    t: Any
    z, t = coefficient_table(["a", "b"], [1.0, -2.0], [0.5, 1.0], [None, 7.0], 9, "m", 0.8)
    assert (z.statistic, z.df) == (2.0, None) and z.p == pytest.approx(2 * stats.norm.sf(2.0))
    assert (z.low, z.high) == pytest.approx((1 - stats.norm.ppf(0.9) / 2, 1 + stats.norm.ppf(0.9) / 2))
    assert t.statistic == -2.0 and t.p == pytest.approx(2 * stats.t.sf(2.0, 7))
    assert (t.low, t.high) == pytest.approx((-2 - stats.t.ppf(0.9, 7), -2 + stats.t.ppf(0.9, 7)))
    assert (z.level, z.n, z.unit, z.method, t.method) == (0.8, 9, "m", "z", "t")
    for se in (0.0, -1.0, math.nan, math.inf):
        with pytest.raises(Undefined, match="standard error of a"):
            coefficient_table(["a"], [1.0], [se], [None], 9, "m", 0.95)
    for error in (1.0, None):
        with pytest.raises(Undefined):
            coefficient_table(["a"], [math.nan], [error], [None], 9, "m", 0.95)
    (none,) = coefficient_table(["a"], [2.0], [None], [None], 9, "m", 0.95)
    assert (none.value, none.se, none.p, none.low, none.high) == (2.0, None, None, None, None)
    assert none.note.startswith("no standard error")


def two_by_two() -> tuple[Array, Array]:
    """10 of 40 against 30 of 40: log odds -log 3 and log 3."""
    return np.repeat([1.0, 0, 1, 0], [10, 30, 30, 10]), np.repeat([0.0, 0, 1, 1], [10, 30, 30, 10])


def test_a_logistic_regression_of_a_two_by_two_table_by_hand() -> None:
    y, x = two_by_two()
    found: Any = logistic_regression(y, {"x": x}, unit="answer", level=0.9)
    assert (found["intercept"].value, found["x"].value) == pytest.approx((-math.log(3), 2 * math.log(3)))
    se = math.sqrt(2 / 10 + 2 / 30)
    assert found["x"].se == pytest.approx(se) and found["x"].df is None
    assert found["x"].high - found["x"].low == pytest.approx(2 * stats.norm.ppf(0.95) * se)
    assert found.details["log_likelihood"] == pytest.approx(80 * (0.25 * math.log(0.25) + 0.75 * math.log(0.75)))
    assert (found.model, found.n, found.n_clusters) == ("logistic regression", 80, None)


def test_clustered_logistic_models_say_what_they_are() -> None:
    y, x = two_by_two()
    clusters = np.arange(80) % 16
    robust = logistic_regression(y, {"x": x}, clusters=clusters, unit="person")
    assert (robust.model, robust.n_clusters) == ("logistic regression (cluster-robust)", 16)
    gee = gee_logistic(y, {"x": x}, clusters=clusters, unit="person")
    assert gee.model == "logistic GEE (exchangeable)" and gee.n_clusters == 16
    assert gee.details["covariance"] == "robust" and gee.details["correlation"] == "exchangeable"
    free = gee_logistic(y, {"x": x}, clusters=clusters, unit="person", correlation="independence")
    assert "within_cluster_correlation" not in free.details
    for wrong in ({"correlation": "ar1"}, {"covariance": "naive"}, {"level": 0.0}, {"unit": ""}):
        with pytest.raises(BadSample):
            gee_logistic(y, {"x": x}, clusters=clusters, **({"unit": "p"} | wrong))
    with pytest.raises(Undefined, match="2 clusters cannot carry"):
        logistic_regression(y, {"x": x}, clusters=np.arange(80) % 2, unit="person")
    assert logistic_regression(y, {"x": x}, clusters=np.arange(80) % 3, unit="person").n_clusters == 3
    with pytest.raises(Undefined, match="always 0"):
        logistic_regression(np.zeros(80), {"x": x}, unit="answer")


def test_designs_by_hand() -> None:
    found = design_matrix(
        {"g": ["a", "b", "c", "a", "b", "c", "a"], "x": [1.0, 2, 3, 4, 5, 6, 8]}, 7, interactions=[("g", "x")]
    )
    assert found.terms == ("intercept", "g[b]", "g[c]", "x", "g[b]:x", "g[c]:x")
    assert found.matrix[4].tolist() == [1, 1, 0, 5, 5, 0] and found.matrix[5].tolist() == [1, 0, 1, 6, 0, 6]
    with pytest.raises(BadSample, match="2 rows cannot carry 2 coefficients"):
        design_matrix({"x": [1.0, 2.0]}, 2)
    assert design_matrix({"x": [1.0, 2.0, 4.0]}, 3).matrix.shape == (3, 2)
    with pytest.raises(Undefined, match="z is zero in every row"):
        design_matrix({"z": [0.0] * 4}, 4)
    with pytest.raises(Undefined, match="singular design: y is determined"):
        design_matrix({"x": [1.0, 2, 3, 4], "y": [2.0, 4, 6, 8 + 1e-10]}, 4)
    assert design_matrix({"x": [1.0, 2, 3, 4], "y": [2.0, 4, 6, 8 + 1e-6]}, 4).terms[-1] == "y"
    with pytest.raises(BadSample, match="join at least 2"):
        design_matrix({"x": [1.0, 2, 3, 5]}, 4, interactions=[("x",)])
    with pytest.raises(BadSample, match="single text"):
        design_matrix({"x": "abcd"}, 4)
    with pytest.raises(BadSample, match="same length"):
        design_matrix({"x": [1.0, 2.0]}, 4)
    numbered = design_matrix({"n": [1, 2, 3, 1]}, 4, reference={"n": 2})  # a reference makes labels of numbers
    assert numbered.terms == ("intercept", "n[1]", "n[3]")


def test_variance_shares_keep_their_books() -> None:
    y = np.array([0.0, 1, 2, 3, 5, 9])
    a, b = ["x", "x", "x", "z", "z", "z"], [1, 2, 3, 1, 2, 3]
    found = variance_shares(y, {"a": a, "b": b}, unit="match", interactions=False)
    assert found.total_variance == pytest.approx(np.var(y, ddof=1))
    assert (found.balanced, found.n, found.n_clusters, found.resamples) == (True, 6, None, 0)
    assert [line.df for line in found.shares] == [1, 2, 2] and found["a"].adjusted.low is None
    total = float(np.sum((y - y.mean()) ** 2))
    main = 6 * (17 / 3 - 1) ** 2 / 4 / total
    assert found["a"].share == pytest.approx(main)
    rest = found["residual"].share
    assert found["a"].adjusted.value == pytest.approx(main - rest / 2)
    assert found["b"].adjusted.value == pytest.approx(found["b"].share - 2 * rest / 2)
    assert not variance_shares(y[:5], {"a": a[:5], "b": b[:5]}, unit="m", interactions=False).balanced
    with pytest.raises(BadSample, match="no source 'c'"):
        found["c"]
    many = {f"f{k}": np.random.default_rng(k).integers(0, 2, 60) for k in range(9)}
    outcome = np.random.default_rng(99).normal(size=60)
    with pytest.raises(BadSample, match="between 1 and 8 factors"):
        variance_shares(outcome, many, unit="m", interactions=False)
    del many["f8"]
    eight = variance_shares(outcome, many, unit="m", interactions=False)
    assert len(eight.shares) == 9 and sum(line.share for line in eight.shares) == pytest.approx(1)


def test_the_interaction_of_two_factors_with_three_levels() -> None:
    rng = np.random.default_rng(4)
    a, b = np.repeat([0, 1, 2], 12), np.tile(np.repeat([0, 1, 2], 4), 3)
    y = rng.normal(size=36) + a * b
    found = variance_shares(y, {"a": a, "b": b}, unit="m")
    cells = y.reshape(3, 3, 4).mean(axis=2)
    rest = cells - cells.mean(axis=1, keepdims=True) - cells.mean(axis=0, keepdims=True) + cells.mean()
    assert found["a x b"].share == pytest.approx(4 * np.sum(rest**2) / np.sum((y - y.mean()) ** 2))
    assert [line.df for line in found.shares] == [2, 2, 4, 27]


def test_intervals_of_variance_shares_are_reproducible_and_keep_their_level() -> None:
    rng = np.random.default_rng(0)
    a, match = rng.integers(0, 2, 80), np.repeat(np.arange(20), 4)
    y = a + rng.normal(size=80)

    def found(**more: Any) -> Any:
        return variance_shares(
            y, {"a": a}, unit="m", clusters=match, rng=np.random.default_rng(1), resamples=200, **more
        )

    one, narrow = found()["a"].adjusted, found(level=0.5)["a"].adjusted
    assert one == found()["a"].adjusted and one.level == 0.95
    assert one.high - one.low > 2 * (narrow.high - narrow.low)
    assert one.value in one and found().resamples == 200 and found().n_clusters == 20
    # The draws by hand: the adjusted share of a resample is centred on that of the sample.
    weights = np.random.default_rng(1)
    shares = []
    draws = weights.integers(0, 20, size=(200, 20))
    for line in draws:
        rows = np.concatenate([np.flatnonzero(match == c) for c in line])
        shares.append(np.corrcoef(a[rows], y[rows])[0, 1] ** 2)
    low, high = np.quantile(np.array(shares) - np.mean(shares) + one.value, [0.025, 0.975])
    assert (one.low, one.high) == pytest.approx((low, high), abs=1e-6)
    for wrong in ({"resamples": 99}, {"level": 1.0}, {"unit": ""}):
        with pytest.raises(BadSample):
            variance_shares(y, {"a": a}, clusters=match, rng=rng, **({"unit": "m"} | wrong))
