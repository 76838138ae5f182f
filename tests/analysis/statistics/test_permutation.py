"""Permutation tests: exact where they can be, at the right level, and moving labels as they were assigned."""

from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.analysis.statistics.two_samples import permutation_two_sample

from ostrom.analysis.statistics import BadSample, Undefined, permutation_grouped, permutation_paired


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def mean_difference(x: Any, y: Any, axis: int = -1) -> Any:
    return np.mean(x, axis=axis) - np.mean(y, axis=axis)


def test_exact_tests_equal_the_reference() -> None:
    a, b = [3.1, 4.0, 2.2, 5.5, 4.1], [1.0, 2.0, 3.0, 2.5]
    ours = permutation_two_sample(a, b, unit="m", rng=rng())
    both = stats.permutation_test((a, b), lambda x, y, axis: np.abs(mean_difference(x, y, axis)), alternative="greater")
    assert ours.exact and ours.arrangements == 126
    assert ours.estimate.p == pytest.approx(both.pvalue)


def test_random_arrangements_come_close_to_all_of_them() -> None:
    generator = rng(1)
    a, b = generator.normal(0.5, 1, 60), generator.normal(0, 1, 50)
    ours = permutation_two_sample(a, b, unit="m", rng=rng(), draws=20_000)
    assert not ours.exact and ours.arrangements == 20_000
    assert ours.estimate.p == pytest.approx(stats.ttest_ind(a, b).pvalue, abs=0.01)
    pairs = permutation_paired(a[:50], b, unit="m", rng=rng(), draws=20_000)
    assert pairs.estimate.p == pytest.approx(stats.ttest_rel(a[:50], b).pvalue, abs=0.01)


def test_a_random_p_value_is_never_zero() -> None:
    result = permutation_two_sample(np.arange(30) + 100.0, np.arange(30.0), unit="m", rng=rng(), draws=999)
    assert result.estimate.p == pytest.approx(1 / 1000)


def test_sign_flips_are_exact_for_few_pairs() -> None:
    result = permutation_paired([2, 3, 4], [1, 1, 1], unit="m", rng=rng())
    assert result.exact and result.estimate.p == 2 / 8


def test_clusters_move_as_a_whole() -> None:
    generator = rng(2)
    label = np.repeat(np.arange(10), 20)
    values = generator.normal(size=10)[label] + generator.normal(size=200) * 0.1
    treated = (label < 5).astype(float)
    by_match = permutation_grouped(values, treated, clusters=label, unit="match", rng=rng())
    means = values.reshape(10, 20).mean(axis=1)
    assert by_match.exact and by_match.arrangements == 252
    assert by_match.estimate.p == pytest.approx(
        permutation_two_sample(means[:5], means[5:], unit="m", rng=rng()).estimate.p
    )


def test_blocks_keep_labels_inside() -> None:
    values = [10, 11, 0, 1, 20, 22]
    result = permutation_grouped(values, [0, 1, 0, 1, 0, 1], blocks=[1, 1, 2, 2, 3, 3], unit="m", rng=rng())
    pairs = permutation_paired([11, 1, 22], [10, 0, 20], unit="m", rng=rng())
    assert (result.arrangements, result.estimate.p) == (8, pairs.estimate.p) and result.estimate.value == pytest.approx(
        pairs.estimate.value
    )


def test_random_blocked_arrangements_remove_the_variation_between_blocks() -> None:
    block = np.repeat(np.arange(20), 6)
    treated = np.tile([1, 1, 1, 0, 0, 0], 20)
    noise = rng(4).normal(size=120)
    values = np.repeat(rng(3).normal(size=20) * 5, 6) + noise + 0.6 * treated
    blocked = permutation_grouped(values, treated, blocks=block, unit="m", rng=rng())
    free = permutation_grouped(values, treated, unit="m", rng=rng())
    # The analysis of variance with blocks: 120 rows, 20 blocks, 1 treatment.
    inside = values - values.reshape(20, 6).mean(axis=1)[block]
    fitted = np.where(treated == 1, 0.5, -0.5) * blocked.estimate.value
    t = blocked.estimate.value / np.sqrt(np.sum((inside - fitted) ** 2) / 99 / 30)
    assert not blocked.exact
    assert blocked.estimate.p == pytest.approx(2 * stats.t.sf(abs(t), 99), abs=0.008)
    assert (free.estimate.p or 0.0) > 0.3


@pytest.mark.slow
def test_without_effect_small_p_values_are_rare() -> None:
    p = [
        permutation_two_sample(*rng(seed).normal(size=(2, 7)), unit="m", rng=rng(seed)).estimate.p
        for seed in range(200)
    ]
    assert 0.02 <= np.mean(np.array(p) <= 0.05) <= 0.09


def test_impossible_rearrangements_are_refused() -> None:
    with pytest.raises(BadSample, match="both treated and control"):
        permutation_grouped([1, 2, 3], [1, 1, 1], unit="m", rng=rng())
    with pytest.raises(BadSample, match="differs within a cluster"):
        permutation_grouped([1, 2, 3, 4], [1, 0, 1, 0], clusters=[1, 1, 2, 2], unit="m", rng=rng())
    with pytest.raises(Undefined, match="no rearrangement"):
        permutation_grouped([1, 2, 3, 4], [1, 1, 0, 0], blocks=[1, 1, 2, 2], unit="m", rng=rng())
    with pytest.raises(BadSample):
        permutation_grouped([1], [0], unit="m", rng=rng())
