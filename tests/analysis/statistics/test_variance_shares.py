"""Variance shares: classical on balanced data, free of order otherwise, honest about chance."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.analysis.statistics import BadSample, Undefined
from ostrom.features.robustness.variance_shares import variance_shares


def grid(repeats: int = 4) -> dict[str, list[object]]:
    cells = list(itertools.product(["JF", "QX", "RH"], ["points", "dollars"], [1, 2])) * repeats
    return {name: [cell[k] for cell in cells] for k, name in enumerate(("labels", "units", "seat"))}


def test_balanced_shares_are_the_classical_sums_of_squares() -> None:
    factors = grid()
    rng = np.random.default_rng(0)
    y = rng.normal(size=48) + (np.array(factors["labels"]) == "RH") * 2
    result = variance_shares(y, factors, unit="match")
    total = np.sum((y - y.mean()) ** 2)
    for name, values in factors.items():
        classes = [y[[item == level for item in values]] for level in dict.fromkeys(values)]
        between = sum(part.size * (part.mean() - y.mean()) ** 2 for part in classes)
        assert result[name].share == pytest.approx(between / total)
    cell = {}
    for key in itertools.product(["JF", "QX", "RH"], [1, 2]):
        rows = [i for i in range(48) if (factors["labels"][i], factors["seat"][i]) == key]
        cell[key] = y[rows]
    joint = sum(part.size * (part.mean() - y.mean()) ** 2 for part in cell.values()) / total
    assert result["labels x seat"].share == pytest.approx(joint - result["labels"].share - result["seat"].share)
    assert result.balanced and [line.df for line in result.shares] == [2, 1, 1, 2, 2, 1, 38]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_shares_add_up_to_one_and_are_never_negative(seed: int, interactions: bool) -> None:
    rng = np.random.default_rng(seed)
    factors = {name: rng.integers(0, levels, 40).tolist() for name, levels in (("a", 2), ("b", 3), ("c", 2))}
    result = variance_shares(rng.normal(size=40), factors, unit="match", interactions=interactions)
    assert sum(line.share for line in result.shares) == pytest.approx(1)
    assert sum(line.adjusted.value for line in result.shares) == pytest.approx(1)
    if not interactions:
        assert all(line.share > -1e-12 for line in result.shares)


def test_the_order_of_factors_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 90)
    b = np.where(rng.random(90) < 0.7, a, rng.integers(0, 3, 90))
    y = a + b + rng.normal(size=90)
    one = variance_shares(y, {"a": a, "b": b}, unit="match")
    two = variance_shares(y, {"b": b, "a": a}, unit="match")
    assert not one.balanced
    assert one["a"].share == pytest.approx(two["a"].share)
    assert one["a x b"].share == pytest.approx(two["b x a"].share)


def test_intervals_hold_the_truth_and_chance_factors_hold_zero() -> None:
    rng = np.random.default_rng(2)
    match = np.repeat(np.arange(150), 8)
    a, b = rng.integers(0, 2, 150)[match], rng.integers(0, 4, 150)[match]
    y = 1.0 * a + rng.normal(size=match.size)
    result = variance_shares(y, {"a": a, "b": b}, unit="match", clusters=match, rng=rng, resamples=300)
    a_ci, b_ci, rest = result["a"].adjusted, result["b"].adjusted, result["residual"].adjusted
    assert 0.2 in a_ci and 0.0 in b_ci and 0.8 in rest
    assert result.n_clusters == 150 and result.rows()[0]["ci_low"] == a_ci.low


def test_one_factor_is_adjusted_as_r_squared_is() -> None:
    rng = np.random.default_rng(5)
    a = rng.integers(0, 6, 30)
    y = rng.normal(size=30)
    result = variance_shares(y, {"a": a}, unit="match")
    within = sum(np.sum((y[a == level] - y[a == level].mean()) ** 2) for level in np.unique(a))
    expected = 1 - (within / (30 - 6)) / (np.sum((y - y.mean()) ** 2) / 29)
    assert result["a"].adjusted.value == pytest.approx(expected) and result["a"].adjusted.value < result["a"].share


def test_many_pairs_still_add_up() -> None:
    rng = np.random.default_rng(3)
    factors = {f"f{k}": rng.integers(0, 2, 300) for k in range(5)}
    y = factors["f0"] * factors["f1"] + rng.normal(size=300) * 0.3
    result = variance_shares(y, factors, unit="match", rng=np.random.default_rng(0))
    assert sum(line.share for line in result.shares) == pytest.approx(1)
    assert max(result.shares[5:-1], key=lambda line: line.share).source == "f0 x f1"


def test_nothing_to_decompose_is_refused() -> None:
    with pytest.raises(Undefined, match="constant"):
        variance_shares([1, 1, 1, 1], {"a": [1, 1, 2, 2]}, unit="match")
    with pytest.raises(BadSample, match="single level"):
        variance_shares([1, 2, 3, 4], {"a": [1, 1, 1, 1]}, unit="match")
    with pytest.raises(BadSample, match="factors"):
        variance_shares([1, 2, 3, 4], {}, unit="match")
    with pytest.raises(BadSample, match="rng"):
        variance_shares([1, 2, 3, 4], {"a": [1, 1, 2, 2]}, unit="match", clusters=[1, 2, 3, 4])
