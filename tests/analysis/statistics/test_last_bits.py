"""No conclusion depends on the last digits of a float: machines and library versions differ there."""

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.analysis.statistics.two_samples import permutation_two_sample

from ostrom.analysis.statistics import (
    Estimate,
    Undefined,
    chi_square,
    cohens_kappa,
    gee_logistic,
    holm,
    linear_mixed_model,
    logistic_regression,
    overlap,
    paired_t,
    pearson,
    permutation_paired,
    student_t,
    welch_t,
)
from ostrom.analysis.statistics.logistic import is_separated
from ostrom.analysis.statistics.regression import NO_ERROR, coefficient_table, refuse_full_leverage, robust_errors
from ostrom.analysis.statistics.resampling import percentiles_around
from ostrom.analysis.statistics.samples import Floats
from ostrom.features.robustness.variance_shares import variance_shares

PERTURBED = 1e-15

# Shares of cooperation and sums of payoffs, as runs give them: few distinct values, many ties.
shares = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.1 + 0.2, 1 / 3, 0.5, 2 / 3, 0.7, 0.9, 1.0])
samples = st.lists(shares, min_size=4, max_size=6)


def conclusion(ask: Callable[[], Any]) -> Any:
    """The answer as plain values, or the reason why there is none."""
    try:
        return asdict(ask())
    except Undefined as reason:
        return str(reason)


def same(first: Any, second: Any) -> bool:
    """Equal words, equal zeros, equal signs, and numbers that agree to 9 digits."""
    if isinstance(first, float) and isinstance(second, float):
        if first == 0.0 or second == 0.0:
            return first == second
        return math.isclose(first, second, rel_tol=1e-8, abs_tol=1e-11)
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(same(a, b) for a, b in zip(first, second, strict=True))
    return bool(first == second)


def otherwise(values: list[float], seed: int) -> Floats:
    """The same numbers with other last digits."""
    noise = np.random.default_rng(seed).uniform(-PERTURBED, PERTURBED, len(values))
    made: Floats = np.asarray(values) * (1 + noise)
    return made


PAIRED: dict[str, Callable[[Any, Any], Any]] = {
    "welch": lambda a, b: welch_t(a, b, unit="match"),
    "student": lambda a, b: student_t(a, b, unit="match"),
    "paired": lambda a, b: paired_t(a, b, unit="match"),
    "pearson": lambda a, b: pearson(a, b, unit="match"),
    "permutation": lambda a, b: permutation_two_sample(a, b, unit="match", rng=np.random.default_rng(0)),
    "paired permutation": lambda a, b: permutation_paired(a, b, unit="match", rng=np.random.default_rng(0)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRED)
@given(first=samples, second=samples, seed=st.integers(0, 99))
@example(first=[0.1] * 4, second=[0.0] * 4, seed=0)
@example(first=[0.3] * 4, second=[0.0] * 4, seed=0)
def test_other_last_digits_give_the_same_conclusion(
    name: str, first: list[float], second: list[float], seed: int
) -> None:
    size = min(len(first), len(second))
    a, b = first[:size], second[:size]
    ask = PAIRED[name]
    found = conclusion(lambda: ask(a, b))
    again = conclusion(lambda: ask(otherwise(a, seed), otherwise(b, seed + 1)))
    assert same(found, again), (found, again)


@pytest.mark.parametrize("name", PAIRED)
@given(first=samples, second=samples, seed=st.integers(0, 99))
def test_another_order_of_rows_gives_the_same_conclusion(
    name: str, first: list[float], second: list[float], seed: int
) -> None:
    size = min(len(first), len(second))
    a, b = np.asarray(first[:size]), np.asarray(second[:size])
    order = np.random.default_rng(seed).permutation(size)
    ask = PAIRED[name]
    assert same(conclusion(lambda: ask(a, b)), conclusion(lambda: ask(a[order], b[order])))


def test_paired_differences_of_rounding_error_are_no_variance() -> None:
    with pytest.raises(Undefined, match="no variance between the pairs"):
        paired_t([0.3, 0.5, 0.7], [0.1 + 0.2, 0.5, 0.7], unit="match")


def test_points_on_a_line_correlate_perfectly() -> None:
    found = pearson([0.1, 0.2, 0.3, 0.4, 0.7], [0.3, 0.6, 0.9, 1.2, 2.1], unit="match")
    assert (found.value, found.p) == (1.0, 0.0)


def test_decisions_at_the_threshold_itself() -> None:
    assert max(holm([0.01] * 5)) <= 1 - 0.95  # what verdicts compare with
    assert min(holm([0.0101] * 5)) > 1 - 0.95


def test_independent_counts_have_no_association() -> None:
    found = chi_square([[3, 6, 9], [7, 14, 21]], unit="trace")
    assert found.statistic == 0.0 and found.p == 1.0 and found.cramers_v == 0.0


def test_agreement_at_chance_is_zero() -> None:
    first, second = list("aaabbbccc"), list("abcabcabc")
    found = cohens_kappa(first, second, unit="rationale")
    assert found.estimate.value == 0.0


def test_factors_without_effect_have_a_share_of_zero() -> None:
    a, b = [x for x in "abc" for _ in range(4)], [*range(4)] * 3
    found = variance_shares([0.1 * (i % 4) for i in range(12)], {"one": a, "two": b}, unit="match")
    assert found["one"].share == 0.0 and found["one x two"].share == 0.0 and found["residual"].share == 0.0


# What a cluster-robust covariance cannot say


@pytest.mark.parametrize("variance", [0.0, -0.0, -1e-17, 1e-17, 1e-12, -1.0])
def test_a_variance_of_rounding_error_gives_no_error(variance: float) -> None:
    assert robust_errors(np.diag([variance, 0.25]), np.eye(2)) == [None, 0.5]


def test_a_small_variance_is_still_one() -> None:
    assert robust_errors(np.diag([1e-8, 1e-20]), np.diag([1.0, 1e-12])) == [1e-4, 1e-10]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_covariance_that_is_not_finite_is_refused(bad: float) -> None:
    with pytest.raises(Undefined, match="do not determine"):
        robust_errors(np.array([[1.0, bad], [bad, 1.0]]), np.eye(2))
    with pytest.raises(Undefined, match="do not determine"):
        robust_errors(np.eye(2), np.diag([bad, 1.0]))


def test_model_based_variances_must_be_positive() -> None:
    with pytest.raises(Undefined, match="do not determine"):
        robust_errors(np.eye(2), np.diag([1.0, 0.0]))


def test_full_leverage_is_refused() -> None:
    with pytest.raises(Undefined, match="one cluster alone"):
        refuse_full_leverage([np.diag([1.0, 0.0]), np.diag([1.0, 2.0])])
    refuse_full_leverage([np.diag([1.0, 1e-6]), np.diag([1.0, 2.0])])
    with pytest.raises(Undefined, match="do not determine"):
        refuse_full_leverage([np.diag([1.0, 0.0]), np.diag([1.0, 0.0])])


def test_a_table_without_an_error_keeps_the_estimate() -> None:
    line, other = coefficient_table(["a", "b"], [0.5, 1.0], [None, 0.5], [None, None], 9, "m", 0.95)
    assert (line.value, line.se, line.statistic, line.p, line.low) == (0.5, None, None, None, None)
    assert line.note == NO_ERROR
    assert line.as_dict()["high"] is None and not other.note and other.p is not None
    for wrong in (-1.0, 0.0, math.nan):
        with pytest.raises(Undefined):
            coefficient_table(["a"], [0.5], [wrong], [None], 9, "m", 0.95)


def unmoved() -> dict[str, Any]:
    """Eight scenarios in which the persona changes nothing while payoffs are hidden, and much when seen."""
    rows = [
        (scenario, who, seen)
        for scenario in range(8)
        for who in ("no", "yes")
        for seen in ("hidden", "visible")
        for _ in range(2)
    ]
    green = {0: 1, 1: 1, 2: 1, 3: 0, 4: 0, 5: 1, 6: 1, 7: 0}
    outcome = [float(green[s] if not (who == "no" and seen == "visible") else 1 - green[s]) for s, who, seen in rows]
    return {
        "outcome": outcome,
        "predictors": {"persona": [who for _, who, _ in rows], "payoffs": [seen for *_, seen in rows]},
        "clusters": [s for s, *_ in rows],
    }


@pytest.mark.parametrize("covariance", ["robust", "bias_reduced"])
@pytest.mark.parametrize("correlation", ["exchangeable", "independence"])
@pytest.mark.parametrize("seed", range(4))
def test_an_effect_that_no_cluster_shows_has_no_error(covariance: Any, correlation: Any, seed: int) -> None:
    data = unmoved()
    order = np.random.default_rng(seed).permutation(len(data["outcome"]))
    found = gee_logistic(
        np.asarray(data["outcome"])[order],
        {name: np.asarray(column)[order].tolist() for name, column in data["predictors"].items()},
        clusters=np.asarray(data["clusters"])[order],
        unit="scenario",
        correlation=correlation,
        covariance=covariance,
        interactions=[("persona", "payoffs")],
    )
    persona = found["persona[yes]"]
    assert (persona.value, persona.se, persona.p) == (0.0, None, None)
    for term in ("intercept", "payoffs[visible]", "persona[yes]:payoffs[visible]"):
        assert found[term].se is not None and not found[term].note


def test_the_same_without_estimating_equations() -> None:
    data = unmoved()
    found = logistic_regression(
        data["outcome"],
        data["predictors"],
        clusters=data["clusters"],
        unit="scenario",
        interactions=[("persona", "payoffs")],
    )
    assert found["persona[yes]"].se is None and found["intercept"].se is not None


@pytest.mark.parametrize("covariance", ["robust", "bias_reduced"])
def test_a_level_that_one_cluster_alone_shows_has_no_clustered_error(covariance: Any) -> None:
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(8), 6)
    only = (clusters == 3).astype(float)
    outcome = (rng.random(48) < 0.5).astype(float)
    outcome[clusters == 3] = [1, 0, 1, 0, 1, 1]
    with pytest.raises(Undefined, match="one cluster alone"):
        gee_logistic(outcome, {"only": only}, clusters=clusters, unit="match", covariance=covariance)
    with pytest.raises(Undefined, match="one cluster alone"):
        logistic_regression(outcome, {"only": only}, clusters=clusters, unit="match")


@pytest.mark.parametrize("seed", range(6))
def test_separation_does_not_depend_on_the_last_digits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(200), rng.integers(0, 2, (200, 2)), rng.normal(size=200)])
    mixed = (rng.random(200) < 0.5).astype(float)
    apart = (x[:, 3] > 0.3).astype(float)
    for scale in (1.0, 1e-9, 1e9):
        scaled = x * [1.0, 1.0, 1.0, scale] * (1 + rng.uniform(-PERTURBED, PERTURBED, x.shape))
        assert is_separated(apart, scaled) and not is_separated(mixed, scaled)


@pytest.mark.parametrize("seed", range(14))
def test_a_mixed_model_says_the_same_in_any_order_of_rows(seed: int) -> None:
    rng = np.random.default_rng(seed % 7)
    groups, x = np.repeat(np.arange(5), 4), np.tile([0.0, 1.0, 2.0, 3.0], 5)
    y = np.round(rng.random(20), 1) + (0.0 if seed % 2 else 0.3) * groups
    order = np.random.default_rng(seed).permutation(20)

    def ask(o: Any) -> Any:
        return conclusion(lambda: linear_mixed_model(y[o], {"x": x[o]}, groups=groups[o], unit="match")["x"])

    first, second = ask(np.arange(20)), ask(order)
    assert isinstance(first, dict) and isinstance(second, dict)
    for key in ("value", "se", "p"):
        assert first[key] == pytest.approx(second[key], rel=1e-5, abs=1e-9)


def test_an_end_that_differs_by_rounding_still_holds_the_value() -> None:
    assert 0.3 in Estimate({}, 0.4, 0.1 + 0.2, 0.5, 5, "m", "t")
    assert 0.3 not in Estimate({}, 0.4, 0.3 + 1e-9, 0.5, 5, "m", "t")
    assert overlap((0.0, 0.7 - 0.4), (0.3, 1.0)) and not overlap((0.0, 0.2999), (0.3, 1.0))
    assert overlap((-math.inf, math.inf), (3.0, 3.0))


def test_draws_equal_up_to_rounding_make_an_interval_of_width_zero() -> None:
    noisy: Floats = np.full(500, 0.3) + np.random.default_rng(0).integers(-2, 3, 500) * 2.0**-54
    found = percentiles_around(noisy, 0.3, 0.95, "it")
    assert found == (0.3, 0.3)
