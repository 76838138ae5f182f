"""Bootstraps: reproducible, equal to plain resampling of rows, and as wide as the clustering demands."""

from __future__ import annotations

import inspect
import math
from typing import Any, Required, get_origin, get_type_hints

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
    ols_slope,
    pearson,
)
from ostrom.analysis.statistics.cluster_bootstrap import Drawing
from ostrom.analysis.statistics.quantiles import bootstrap_interval
from ostrom.analysis.statistics.resampling import resampling_plan


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def clustered(seed: int = 1, clusters: int = 30, rows: int = 8) -> tuple[np.ndarray[Any, Any], ...]:
    generator = rng(seed)
    label = np.repeat(np.arange(clusters), rows)
    return generator.normal(size=clusters)[label] + generator.normal(size=label.size) * 0.5, label


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("statistic", [np.mean, np.median, np.var])
def test_intervals_agree_with_the_reference(method: Any, statistic: Any) -> None:
    data = rng(3).exponential(size=30)
    ours = bootstrap(data, statistic, unit="match", rng=rng(), resamples=20_000, method=method)
    theirs = stats.bootstrap(
        (data,), statistic, n_resamples=20_000, method=method, random_state=rng(1), vectorized=True
    )
    assert ours.ci is not None
    low, high = theirs.confidence_interval
    assert tuple(ours.ci) == pytest.approx((low, high), abs=0.05 * (high - low))
    assert ours.se == pytest.approx(theirs.standard_error, rel=0.04)


def test_the_same_generator_gives_the_same_interval() -> None:
    values, label = clustered()
    one = cluster_bootstrap_mean(values, clusters=label, unit="match", rng=rng(7), resamples=500)
    assert one == cluster_bootstrap_mean(values, clusters=label, unit="match", rng=rng(7), resamples=500)
    assert one != cluster_bootstrap_mean(values, clusters=label, unit="match", rng=rng(8), resamples=500)


def test_weights_equal_gathering_the_rows_of_drawn_clusters() -> None:
    values, label = clustered(clusters=6, rows=3)
    plan = resampling_plan(values.size, clusters=label)
    sums = plan.sums(np.column_stack([values, np.ones(values.size)]))
    (weights,) = list(plan.weights(rng(2), 20))
    totals = plan.totals(rng(2), 20, sums)
    for drawn, total in zip(weights, totals, strict=True):
        rows = np.concatenate([np.tile(values[label == c], int(m)) for c, m in enumerate(drawn) if m])
        assert (rows.sum(), rows.size) == pytest.approx(tuple(total))


def test_singleton_clusters_are_the_ordinary_bootstrap() -> None:
    values = rng(5).normal(size=200)
    result = cluster_bootstrap_mean(values, clusters=np.arange(200), unit="match", rng=rng())
    assert result.se == pytest.approx(values.std() / math.sqrt(200), rel=0.03)


def test_clusters_widen_the_interval_to_that_of_cluster_means() -> None:
    values, label = clustered(clusters=100, rows=10)
    means = values.reshape(100, 10).mean(axis=1)
    by_match = cluster_bootstrap_mean(values, clusters=label, unit="match", rng=rng())
    by_round = cluster_bootstrap_mean(values, clusters=np.arange(values.size), unit="round", rng=rng())
    assert by_match.se == pytest.approx(means.std() / 10, rel=0.03)
    assert float(by_match.se or 0) > 2.5 * float(by_round.se or 0)
    assert (by_match.n, by_match.n_clusters, by_match.unit) == (1000, 100, "match")


def test_bca_of_clusters_equals_bca_of_their_sums_when_clusters_are_units() -> None:
    data = rng(3).exponential(size=40)
    ours = cluster_bootstrap_mean(
        data, clusters=np.arange(40), unit="m", rng=rng(), resamples=20_000, method="bca"
    )
    plain = bootstrap(data, unit="m", rng=rng(1), resamples=20_000, method="bca")
    assert ours.ci is not None and plain.ci is not None
    assert tuple(ours.ci) == pytest.approx(tuple(plain.ci), abs=0.03)


def test_strata_remove_the_variation_between_them() -> None:
    values = np.concatenate([rng(0).normal(0, 1, 50), rng(1).normal(10, 1, 50)])
    strata = np.repeat(["a", "b"], 50)
    free = cluster_bootstrap_mean(values, clusters=np.arange(100), unit="m", rng=rng())
    held = cluster_bootstrap_mean(values, clusters=np.arange(100), strata=strata, unit="m", rng=rng())
    plain = bootstrap(values, unit="m", rng=rng(), strata=strata)
    assert held.se == pytest.approx(
        math.sqrt(values[:50].var() + values[50:].var()) / math.sqrt(200), rel=0.04
    )
    assert plain.se == pytest.approx(float(held.se or 0), rel=0.04)
    assert float(free.se or 0) > 4 * float(held.se or 1)


def test_crossed_clusters_carry_the_variation_of_both_kinds() -> None:
    generator = rng(9)
    runs, designs = np.meshgrid(np.arange(40), np.arange(30), indexing="ij")
    effect_run, effect_design = generator.normal(size=40), generator.normal(size=30)
    values = (effect_run[runs] + effect_design[designs] + generator.normal(size=runs.shape) * 0.3).ravel()
    result = cluster_bootstrap_mean(
        values, clusters=runs.ravel(), crossed=designs.ravel(), unit="run and design", rng=rng()
    )
    table = values.reshape(40, 30)
    expected = math.sqrt(table.mean(axis=1).var() / 40 + table.mean(axis=0).var() / 30)
    assert result.se == pytest.approx(expected, rel=0.06)
    with pytest.raises(BadSample, match="crossed"):
        cluster_bootstrap_mean(
            values, clusters=runs.ravel(), crossed=designs.ravel(), unit="r", rng=rng(), method="bca"
        )


def test_nested_clusters_add_the_variation_inside() -> None:
    generator = rng(4)
    outer = np.repeat(np.arange(20), 50)
    inner = np.tile(np.repeat(np.arange(10), 5), 20)
    shift = generator.normal(size=(20, 10))
    values = shift[outer, inner] + generator.normal(size=1000) * 0.1
    top = cluster_bootstrap_mean(values, clusters=outer, unit="run", rng=rng())
    both = cluster_bootstrap_mean(values, clusters=outer, nested=inner, unit="design in run", rng=rng())
    cells = values.reshape(20, 10, 5).mean(axis=2)
    expected = math.sqrt(cells.mean(axis=1).var() / 20 + cells.var(axis=1).mean() / 200)
    assert both.se == pytest.approx(expected, rel=0.05)
    assert float(both.se or 0) > float(top.se or 0)


def test_difference_of_groups_uses_the_pairing_inside_clusters() -> None:
    generator = rng(6)
    label = np.repeat(np.arange(60), 2)
    arm = np.tile(["a", "b"], 60)
    values = generator.normal(size=60)[label] * 3 + (arm == "a") * 0.5 + generator.normal(size=120) * 0.2
    result = cluster_bootstrap_difference(
        values, arm, first="a", second="b", clusters=label, unit="scenario", rng=rng()
    )
    difference = values[::2] - values[1::2]
    assert result.estimate == pytest.approx(difference.mean())
    assert result.se == pytest.approx(difference.std() / math.sqrt(60), rel=0.04)
    with pytest.raises(BadSample, match="no row belongs to 'c'"):
        cluster_bootstrap_difference(values, arm, first="c", second="b", clusters=label, unit="s", rng=rng())


def test_tables_of_groups_keep_going_when_one_cell_is_thin() -> None:
    values, label = clustered()
    groups = np.where(label < 15, "many", "some").astype(object)
    groups[label == 29] = "one"
    table = cluster_bootstrap_means(values, groups, clusters=label, unit="match", rng=rng(), resamples=500)
    assert (
        table["one"].ci is None
        and table["one"].note == "only 1 cluster"
        and table["one"].as_dict()["ci_low"] is None
    )
    assert table["many"].ci is not None and table["many"].n_clusters == 15
    assert table["many"].estimate in table["many"].ci


def test_slope_and_correlation_agree_with_their_plain_estimates() -> None:
    y, label = clustered()
    x = rng(11).normal(size=y.size) + 0.3 * y + 1e4
    slope = cluster_bootstrap_slope(x, y, clusters=label, unit="match", rng=rng(), resamples=2_000)
    robust = ols_slope(x, y, clusters=label, unit="match")
    assert slope.estimate == pytest.approx(robust.estimate)
    assert slope.se == pytest.approx(robust.se, rel=0.15)
    both = cluster_bootstrap_correlation(x, y, clusters=label, unit="match", rng=rng(), resamples=2_000)
    assert both.estimate == pytest.approx(pearson(x, y, unit="round").estimate)
    assert both.ci is not None and -1 <= both.ci.low < both.estimate < both.ci.high <= 1


def test_intervals_cover_the_truth_about_as_often_as_they_say() -> None:
    covered = 0
    for seed in range(200):
        values, label = clustered(seed=seed + 100, clusters=40, rows=5)
        result = cluster_bootstrap_mean(values, clusters=label, unit="match", rng=rng(seed), resamples=400)
        covered += result.ci is not None and 0.0 in result.ci
    assert 0.88 <= covered / 200 <= 0.985


def test_units_that_all_agree_give_an_interval_of_width_zero_not_a_nan() -> None:
    result = cluster_bootstrap_mean(
        [1.0] * 6, clusters=[1, 1, 2, 2, 3, 3], unit="match", rng=rng(), method="bca"
    )
    assert result.ci is not None and tuple(result.ci) == (1.0, 1.0) and result.se == 0.0


def test_impossible_resampling_is_refused_in_one_line() -> None:
    values = [1.0, 2.0, 3.0, 4.0]
    common: dict[str, Any] = {"unit": "match", "rng": rng()}
    with pytest.raises(BadSample, match="at least 2 clusters"):
        cluster_bootstrap_mean(values, clusters=[1, 1, 1, 1], **common)
    with pytest.raises(BadSample, match="same length"):
        cluster_bootstrap_mean(values, clusters=[1, 2], **common)
    with pytest.raises(BadSample, match="more than one stratum"):
        cluster_bootstrap_mean(values, clusters=[1, 1, 2, 2], strata=["a", "b", "a", "a"], **common)
    with pytest.raises(BadSample, match="single cluster"):
        cluster_bootstrap_mean(values, clusters=[1, 2, 3, 3], strata=["a", "a", "b", "b"], **common)
    with pytest.raises(BadSample, match="missing or infinite"):
        cluster_bootstrap([1.0, math.nan], lambda s: s[:, 0], clusters=[1, 2], **common)
    with pytest.raises(BadSample, match="unknown method"):
        bootstrap(values, method="bac", **common)  # type: ignore[arg-type]
    with pytest.raises(BadSample, match="at least 100"):
        bootstrap(values, resamples=10, **common)
    with pytest.raises(BadSample, match="one number per"):
        cluster_bootstrap(values, lambda s: s, clusters=[1, 2, 3, 4], **common)
    with pytest.raises(Undefined, match="of 10000 resamples"):
        cluster_bootstrap_difference(
            values, list("abbb"), first="a", second="b", clusters=[1, 2, 3, 4], **common
        )
    with pytest.raises(Undefined, match="constant"):
        cluster_bootstrap_slope([1, 1, 1, 1], values, clusters=[1, 2, 3, 4], **common)


def test_bca_moves_both_tails_by_twice_the_median_bias() -> None:
    # Standard normal draws around an estimate half a deviation above their median; no acceleration.
    draws = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    interval = bootstrap_interval(draws, 0.5, np.array([-1.0, 0.0, 1.0]), "bca", 0.95)
    assert tuple(interval) == pytest.approx((1 - 1.96, 1 + 1.96), abs=0.005)


def test_the_options_that_are_handed_on_are_those_of_the_cluster_bootstrap() -> None:
    taken = inspect.signature(cluster_bootstrap).parameters.values()
    named = [option for option in taken if option.kind is inspect.Parameter.KEYWORD_ONLY]
    assert list(Drawing.__annotations__) == [option.name for option in named]
    must = [
        n for n, how in get_type_hints(Drawing, include_extras=True).items() if get_origin(how) is Required
    ]
    assert must == [option.name for option in named if option.default is inspect.Parameter.empty]
