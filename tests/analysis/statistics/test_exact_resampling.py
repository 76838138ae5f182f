"""Exact values: computed by hand, by another library, or by resampling rows one by one with the same draws."""

import math
from typing import Any

import numpy as np
import pytest

from ostrom.analysis.statistics import BadSample, Undefined, wilson
from ostrom.analysis.statistics.resampling import MOST_UNDEFINED, clusters_of, percentiles_around
from ostrom.analysis.statistics.result import Estimate
from ostrom.analysis.statistics.samples import (
    binary,
    checked_level,
    checked_resamples,
    is_constant,
    label_codes,
    sample,
)
from ostrom.features.robustness.variance_shares import shapley_shares

Array = np.ndarray[Any, np.dtype[Any]]


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


# -- bootstraps ----------------------------------------------------------------------------------------


def test_one_resample_in_twenty_may_lack_a_value_and_no_more() -> None:
    assert MOST_UNDEFINED == 0.05
    draws = np.arange(100.0)
    draws[:5] = np.nan
    ends = np.quantile(np.arange(5.0, 100.0), (0.05, 0.95)) - 52.0 + 7.0
    assert tuple(percentiles_around(draws, 7.0, 0.9, "it")) == pytest.approx(tuple(ends))
    draws[5] = np.inf
    with pytest.raises(Undefined, match="it has no value in 6 of 100 resamples"):
        percentiles_around(draws, 7.0, 0.9, "it")


def test_draws_that_do_not_vary_make_an_interval_of_width_zero() -> None:
    assert tuple(percentiles_around(np.full(9, 2.0), 3.0, 0.9, "it")) == (3.0, 3.0)


def test_every_resample_draws_as_many_clusters_as_there_are() -> None:
    drawn = clusters_of(["b", "a", "b", "c"], 4)
    assert drawn.count == 3 and drawn.of_row.tolist() == [1, 0, 1, 2]
    (weights,) = drawn.weights(rng(1), 50)
    assert weights.shape == (50, 3) and set(weights.sum(axis=1)) == {3.0} and set(weights[:, 0]) > {0.0, 1.0}
    with pytest.raises(BadSample, match="at least 2 clusters"):
        clusters_of(["a", "a"], 2)


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


def test_estimates_hold_both_ends_and_become_columns() -> None:
    found = Estimate({}, 0.4, 0.2, 0.6, 5, "match", "given", level=0.9)
    assert 0.2 in found and 0.6 in found and 0.19 not in found and 0.61 not in found
    assert 0.4 not in Estimate({}, 0.4, None, None, 1, "match", "none") and found.level == 0.9
    share = wilson(8, 10, unit="m", level=0.9)
    assert share is not None
    row = share.as_dict()
    assert row["level"] == 0.9 and row["low"] < row["value"] == 0.8 < row["high"]


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
