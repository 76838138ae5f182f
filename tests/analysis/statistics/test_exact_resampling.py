"""Exact values: computed by hand, by another library, or by resampling rows one by one with the same draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from ostrom.analysis.statistics import (
    BadSample,
    Undefined,
    bootstrap,
    cluster_bootstrap,
    cluster_bootstrap_correlation,
    cluster_bootstrap_difference,
    cluster_bootstrap_mean,
    cluster_bootstrap_means,
    cluster_bootstrap_slope,
    wilson,
)
from ostrom.analysis.statistics.quantiles import MOST_UNDEFINED, bootstrap_interval, defined_draws
from ostrom.analysis.statistics.resampling import resampling_plan
from ostrom.analysis.statistics.result import Interval, plain
from ostrom.analysis.statistics.samples import (
    binary,
    checked_level,
    checked_resamples,
    is_constant,
    label_codes,
    sample,
)
from ostrom.analysis.statistics.shapley import shapley_shares

Array = np.ndarray[Any, np.dtype[Any]]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# -- bootstraps ----------------------------------------------------------------------------------------

DATA = rng(3).exponential(size=12)


def bca(draws: Array, estimate: float, left_out: Array, level: float) -> tuple[float, float]:
    """Efron (1987), equations by hand."""
    shift = stats.norm.ppf(np.mean(draws < estimate) + np.mean(draws == estimate) / 2)
    pull = left_out.mean() - left_out
    speed = np.sum(pull**3) / (6 * np.sum(pull**2) ** 1.5)
    z = shift + stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    low, high = np.quantile(draws, stats.norm.cdf(shift + z / (1 - speed * z)))
    return float(low), float(high)


@pytest.mark.parametrize("level", [0.95, 0.8])
def test_a_bootstrap_is_plain_resampling_to_the_last_digit(level: float) -> None:
    drawn = DATA[rng(7).integers(0, 12, size=(500, 12))].mean(axis=1)
    options: dict[str, Any] = {"unit": "m", "resamples": 500, "level": level}
    plain_ = bootstrap(DATA, rng=rng(7), method="percentile", **options)
    assert plain_.ci is not None and plain_.ci.level == level
    assert tuple(plain_.ci) == pytest.approx(
        tuple(np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])), rel=1e-12
    )
    assert plain_.se == pytest.approx(np.std(drawn, ddof=1), rel=1e-12)
    assert (plain_.resamples, plain_.undefined, plain_.n, plain_.n_clusters) == (500, 0, 12, None)
    moved = bootstrap(DATA, rng=rng(7), **options)  # BCa is the default
    left_out = np.array([np.delete(DATA, i).mean() for i in range(12)])
    assert moved.ci is not None and moved.method == "bca"
    assert tuple(moved.ci) == pytest.approx(bca(drawn, DATA.mean(), left_out, level), rel=1e-9)


def test_a_bootstrap_has_ten_thousand_resamples_by_default() -> None:
    assert bootstrap(DATA, unit="m", rng=rng()).resamples == 10_000
    clusters = np.arange(12)
    assert cluster_bootstrap_mean(DATA, clusters=clusters, unit="m", rng=rng()).resamples == 10_000
    table = cluster_bootstrap_means(DATA, clusters % 2, clusters=clusters, unit="m", rng=rng())
    assert table[0].resamples == 10_000 and table[0].ci is not None and table[0].ci.level == 0.95


def test_a_bootstrap_within_strata_draws_stratum_by_stratum() -> None:
    strata = ["a"] * 5 + ["b"] * 7
    generator = rng(8)
    first, second = generator.integers(0, 5, size=(300, 5)), generator.integers(0, 7, size=(300, 7))
    drawn = np.concatenate([DATA[:5][first], DATA[5:][second]], axis=1).mean(axis=1)
    found = bootstrap(DATA, unit="m", rng=rng(8), strata=strata, resamples=300, method="percentile")
    assert found.se == pytest.approx(drawn.std(ddof=1), rel=1e-12)
    with pytest.raises(BadSample, match="stratum 'b' has a single unit"):
        bootstrap([1, 2, 3], unit="m", rng=rng(), strata=["a", "a", "b"])


def gathered(weights: Array, labels: Array, *columns: Array) -> list[list[Array]]:
    """The rows of every resample, gathered one cluster at a time."""
    rows = [
        np.concatenate([np.flatnonzero(labels == c) for c in range(w.size) for _ in range(int(w[c]))])
        for w in weights
    ]
    return [[column[index] for column in columns] for index in rows]


def test_cluster_statistics_are_those_of_the_gathered_rows() -> None:
    labels, resamples = np.repeat(np.arange(8), 4), 200
    x = rng(1).normal(size=32) + 3
    y = x + rng(2).normal(size=32) - 5
    weights = np.concatenate(list(resampling_plan(32, clusters=labels).weights(rng(9), resamples)))
    assert weights.shape == (resamples, 8) and set(weights.sum(axis=1)) == {8.0}
    rows = gathered(weights, labels, x, y)
    options: dict[str, Any] = {"clusters": labels, "unit": "m", "resamples": resamples, "level": 0.9}
    arms = np.tile([0, 1], 16)
    cases = [
        (cluster_bootstrap_mean(x, rng=rng(9), **options), [a.mean() for a, _ in rows]),
        (cluster_bootstrap_slope(x, y, rng=rng(9), **options), [np.polyfit(a, b, 1)[0] for a, b in rows]),
        (
            cluster_bootstrap_correlation(x, y, rng=rng(9), **options),
            [np.corrcoef(a, b)[0, 1] for a, b in rows],
        ),
        (
            cluster_bootstrap_difference(x, arms, first=1, second=0, rng=rng(9), **options),
            [a[k == 1].mean() - a[k == 0].mean() for a, k in gathered(weights, labels, x, arms)],
        ),
    ]
    for found, draws in cases:
        assert found.ci is not None and found.ci.level == 0.9
        assert tuple(found.ci) == pytest.approx(tuple(np.quantile(draws, [0.05, 0.95])), rel=1e-7)
        assert found.se == pytest.approx(np.std(draws, ddof=1), rel=1e-7)
        assert (found.n, found.n_clusters, found.resamples, found.method) == (32, 8, 200, "percentile")
    table = cluster_bootstrap_means(y, arms, rng=rng(9), **options)
    for arm in (0, 1):
        draws = [b[k == arm].mean() for b, k in gathered(weights, labels, y, arms)]
        assert table[arm].estimate == pytest.approx(y[arms == arm].mean())
        assert tuple(table[arm].ci or ()) == pytest.approx(tuple(np.quantile(draws, [0.05, 0.95])))
        assert table[arm].se == pytest.approx(np.std(draws, ddof=1)) and table[arm].n == 16


def test_bca_of_clusters_leaves_out_one_cluster_at_a_time() -> None:
    labels = np.repeat(np.arange(6), [1, 2, 3, 4, 5, 6])
    values = rng(4).exponential(size=21)
    weights = np.concatenate(list(resampling_plan(21, clusters=labels).weights(rng(2), 400)))
    draws = np.array([a.mean() for (a,) in gathered(weights, labels, values)])
    left_out = np.array([values[labels != c].mean() for c in range(6)])
    found = cluster_bootstrap_mean(values, clusters=labels, unit="m", rng=rng(2), resamples=400, method="bca")
    assert tuple(found.ci or ()) == pytest.approx(bca(draws, values.mean(), left_out, 0.95))


def test_crossed_weights_are_products_and_nested_weights_keep_the_size_of_what_was_drawn() -> None:
    outer, inner = np.repeat(np.arange(4), 6), np.tile(np.arange(3), 8)
    crossed = resampling_plan(24, clusters=outer, crossed=inner)
    (weights,) = list(crossed.weights(rng(1), 50))
    for line in weights.reshape(50, 4, 3):
        assert np.linalg.matrix_rank(line) == 1 and line.sum() == 12
    nested = resampling_plan(24, clusters=outer, nested=inner)
    (weights,) = list(nested.weights(rng(1), 50))
    totals = weights.reshape(50, 4, 3).sum(axis=2)
    assert np.all(totals % 3 == 0) and set(totals.sum(axis=1)) == {12.0}
    assert len(np.unique(weights.reshape(50, 4, 3)[:, 0], axis=0)) > 3
    assert (crossed.n_cells, crossed.n_second, nested.n_clusters) == (12, 3, 4)
    with pytest.raises(BadSample, match="not both"):
        resampling_plan(24, clusters=outer, crossed=inner, nested=inner)
    with pytest.raises(BadSample, match="cannot be stratified"):
        resampling_plan(24, clusters=outer, crossed=inner, strata=outer // 2)
    with pytest.raises(BadSample, match="crossed: needs at least 2"):
        resampling_plan(24, clusters=outer, crossed=np.zeros(24, dtype=int))
    held = resampling_plan(24, clusters=outer, strata=outer // 2)  # two clusters in each stratum are enough
    (weights,) = list(held.weights(rng(1), 30))
    assert set(weights[:, :2].sum(axis=1)) == set(weights[:, 2:].sum(axis=1)) == {2.0}
    single = resampling_plan(24, clusters=outer, nested=np.zeros(24, dtype=int))  # nothing to draw inside
    assert single.n_cells == 4


def test_one_resample_in_twenty_may_lack_a_value_and_no_more() -> None:
    assert MOST_UNDEFINED == 0.05
    draws = np.arange(100.0)
    draws[:5] = np.nan
    assert defined_draws(draws, "it").size == 95
    draws[5] = np.inf
    with pytest.raises(Undefined, match="it has no value in 6 of 100 resamples"):
        defined_draws(draws, "it")


def test_intervals_of_draws_that_do_not_vary_or_lie_aside() -> None:
    assert tuple(bootstrap_interval(np.full(9, 2.0), 2.0, None, "percentile", 0.9)) == (2.0, 2.0)
    assert tuple(bootstrap_interval(np.full(9, 2.0), 3.0, None, "percentile", 0.9)) == (2.0, 2.0)
    for draws in (np.full(9, 2.0), np.arange(9.0)):
        with pytest.raises(Undefined, match="outside"):
            bootstrap_interval(draws, 30.0, np.arange(3.0), "bca", 0.95)
    with pytest.raises(Undefined, match="leaving out one unit"):
        bootstrap_interval(np.arange(9.0), 4.0, np.array([1.0, np.nan]), "bca", 0.95)


def test_bootstraps_check_what_they_are_given() -> None:
    good: dict[str, Any] = {"clusters": [1, 2, 3, 4], "unit": "m", "rng": rng()}
    plain_good: dict[str, Any] = {"unit": "m", "rng": rng()}
    for change in ({"unit": ""}, {"level": 1.0}, {"resamples": 99}, {"method": "basic"}):
        with pytest.raises(BadSample):
            cluster_bootstrap([1.0, 2, 3, 4], lambda s: s[:, 0], **(good | change))
        with pytest.raises(BadSample):
            bootstrap([1.0, 2, 3, 4], **(plain_good | change))
        if "method" not in change:
            with pytest.raises(BadSample):
                cluster_bootstrap_means([1.0, 2, 3, 4], list("aabb"), **(good | change))
    assert cluster_bootstrap([1.0, 2, 3, 4], lambda s: s[:, 0], **good, resamples=100).resamples == 100
    with pytest.raises(Undefined, match="on the sample itself"):
        cluster_bootstrap([0.0, 0, 0, 0], lambda s: 1 / s[:, 0], **good)
    with pytest.raises(Undefined, match="on the sample itself"):
        bootstrap([1.0, 2, 3, 4], lambda a, axis: a.mean(axis=axis) * np.nan, unit="m", rng=rng())
    with pytest.raises(BadSample, match="axis"):
        bootstrap([1.0, 2, 3, 4], lambda a, axis: np.zeros(3) if a.ndim > 1 else 1.0, unit="m", rng=rng())
    with pytest.raises(Undefined, match="y is constant"):
        cluster_bootstrap_correlation([1, 2, 3, 4], [1, 1, 1, 1], **good)
    with pytest.raises(BadSample, match="one line per row"):
        cluster_bootstrap(np.zeros((2, 2, 2)), lambda s: s[:, 0], **good)


def test_a_group_that_most_resamples_miss_has_no_interval() -> None:
    values, groups = [1.0, 2, 3, 4, 5, 6], list("aaaabb")
    table = cluster_bootstrap_means(
        values, groups, clusters=[1, 2, 3, 4, 5, 6], unit="m", rng=rng(), resamples=400
    )
    # Both clusters of b are missing from (4/6)^6 = 8.8 % of the resamples.
    found = table["b"]
    assert found.ci is None and found.se is None and found.estimate == 5.5
    assert found.note == f"no value in {found.undefined} of 400 resamples" and 15 < found.undefined < 60
    assert table["a"].note is None and table["a"].undefined <= 20


# -- samples, results, shares --------------------------------------------------------------------------


def test_samples_are_checked() -> None:
    assert checked_resamples(100) == 100 and checked_level(0.5) == 0.5
    assert is_constant(np.array([1.0, 1.0 + 1e-13])) and not is_constant(np.array([1.0, 1.0 + 1e-11]))
    assert is_constant(np.array([0.0, 0.0])) and not is_constant(np.array([0.0, 1e-200]))
    with pytest.raises(BadSample, match="needs at least 3 values"):
        sample([1, 2], at_least=3)
    assert sample([1, 2, 3], at_least=3).tolist() == [1.0, 2.0, 3.0]
    with pytest.raises(BadSample, match=r"2 of 4 values .*first at index 1"):
        sample([1, math.nan, math.inf, 2])
    with pytest.raises(BadSample, match="found 2 at index 1"):
        binary([1, 2, 0])
    assert binary([True, 0, 1.0]).tolist() == [1.0, 0.0, 1.0]


def test_labels_are_coded_in_sorted_order_where_they_can_be() -> None:
    for labels in (["b", "a", "b"], np.array(["b", "a", "b"]), [("r", 2), ("r", 1), ("r", 2)]):
        codes, levels = label_codes(labels, 3)
        assert codes.tolist() == [1, 0, 1] and len(levels) == 2 and levels[0] < levels[1]
    codes, levels = label_codes([2, "x", 2], 3)
    assert codes.tolist() == [0, 1, 0] and levels == (2, "x")
    assert label_codes(np.array([3, 1, 3]), 3)[1] == (1, 3)
    for wrong, said in (
        ("abc", "single text"), (["a", None, "b"], "index 1 is missing"), ([1.0, math.nan, 2.0], "index 1"),
        (["a", "b"], "same length"), (np.array(["a"]), "same length"), ([[1], [2], [3]], "hashable"),
    ):  # fmt: skip
        with pytest.raises(BadSample, match=said):
            label_codes(wrong, 3)


def test_intervals_hold_both_ends_and_become_two_columns() -> None:
    interval = Interval(0.2, 0.6, 0.9)
    assert 0.2 in interval and 0.6 in interval and 0.19 not in interval and 0.61 not in interval
    assert interval.width == pytest.approx(0.4) and Interval(0, 1).level == 0.95
    row = wilson(8, 10, unit="m", level=0.9).as_dict()
    assert row["level"] == 0.9 and row["ci_low"] < 0.8 < row["ci_high"] and "ci" not in row
    told = plain({"a": (np.float64(1.5), np.array([1, 2])), "b": interval, "c": None})
    assert told == {"a": [1.5, [1, 2]], "b": [0.2, 0.6], "c": None} and type(told["a"][0]) is float


def test_shapley_values_of_the_glove_game_and_of_many_terms() -> None:
    # One left and two right gloves; a pair is worth 1: (2/3, 1/6, 1/6).
    def glove(held: frozenset[int]) -> Array:
        return np.array([float(0 in held and len(held) > 1)])

    assert np.concatenate(shapley_shares(glove, 3, None)) == pytest.approx([2 / 3, 1 / 6, 1 / 6])
    for count, generator in ((6, rng(0)), (7, None)):  # six terms, or no generator: exactly

        def game(held: frozenset[int], count: int = count) -> Array:
            return np.array([len(held) ** 2.0])

        assert np.concatenate(shapley_shares(game, count, generator)) == pytest.approx([float(count)] * count)
    # A unanimity game of two of six terms: only these two have a share, whatever order is drawn.
    pair = shapley_shares(lambda held: np.array([float({1, 4} <= held)]), 6, rng(0))
    assert np.concatenate(pair) == pytest.approx([0, 0.5, 0, 0, 0.5, 0])
    # Four terms of six must come together: exactly 1/4 each; 24 random orders would not give that.
    four = shapley_shares(lambda held: np.array([float({0, 1, 2, 5} <= held)]), 6, rng(0))
    assert np.concatenate(four) == pytest.approx([0.25, 0.25, 0.25, 0, 0, 0.25])
    calls: list[frozenset[int]] = []

    def noted(held: frozenset[int]) -> Array:
        calls.append(held)
        return np.array([float(sum(held)) + len(held) ** 2])

    shares = np.concatenate(shapley_shares(noted, 9, rng(0)))
    assert len(calls) == len(set(calls)) < 24 * 9  # 24 orders of 9 terms, each subset once
    assert shares.sum() == pytest.approx(36 + 81)
    # Mirrored orders: every place and its mirror image, so that a square averages out exactly.
    assert shares == pytest.approx(np.arange(9) + 9.0)
