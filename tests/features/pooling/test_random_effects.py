"""Random-effects pooling against closed forms, the score equation, published figures, and simulated labs."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from ostrom.analysis.estimate import estimated
from ostrom.analysis.intervals import mean_of
from ostrom.analysis.statistics.samples import BadSample
from ostrom.features.pooling.labs import evened, fitted, random_effects_mean, variance_of, without_each

# Thirteen trials of a vaccine (Colditz et al. 1994): cases and others of the vaccinated, cases and others of the rest.
TRIALS = np.array([
    [4, 119, 11, 128], [6, 300, 29, 274], [3, 228, 11, 209], [62, 13536, 248, 12619], [33, 5036, 47, 5761],
    [180, 1361, 372, 1079], [8, 2537, 10, 619], [505, 87886, 499, 87892], [29, 7470, 45, 7232], [17, 1699, 65, 1600],
    [186, 50448, 141, 27197], [5, 2493, 3, 2338], [27, 16886, 29, 17825],
])  # fmt: skip


def log_risks() -> tuple[np.ndarray, np.ndarray]:
    a, b, c, d = TRIALS.T
    return np.log(a / (a + b)) - np.log(c / (c + d)), 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)


def test_the_fit_of_a_published_set_of_trials_is_the_published_one() -> None:
    """Viechtbauer (2010), Conducting meta-analyses in R with the metafor package, prints these to four digits."""
    y, v = log_risks()
    found = random_effects_mean(y, v)
    assert found.value == pytest.approx(-0.7145, abs=5e-5) and found.labs == 13
    assert found.tau**2 == pytest.approx(0.3132, abs=5e-5)
    assert found.i2 == pytest.approx(0.9222, abs=5e-5)
    assert found.q == pytest.approx(152.2330, abs=5e-5) and found.p < 1e-4
    weights = 1 / (v + found.tau**2)
    plain = math.sqrt(1 / weights.sum())
    assert plain == pytest.approx(0.1798, abs=5e-5)
    # Hartung & Knapp: q is 1.01 here, so the interval is a little longer than Student's with the plain error.
    q = float(weights @ (y - found.value) ** 2) / 12
    reach = stats.t.ppf(0.975, 12) * plain * math.sqrt(max(q, 1))
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach), abs=1e-9)
    further = stats.t.ppf(0.975, 11) * math.sqrt(found.tau**2 + plain**2 * max(q, 1))
    assert found.prediction == pytest.approx((found.value - further, found.value + further), abs=1e-9)
    assert found.weights == pytest.approx(weights / weights.sum(), abs=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_tau_is_where_the_slope_of_the_restricted_likelihood_is_zero(seed: int) -> None:
    """d/dt of the likelihood: sum w^2 r^2 = sum w - sum w^2 / sum w (Harville 1977), with weights w = 1 / (v + t)."""
    rng = np.random.default_rng(seed)
    y, v = rng.normal(0, 1, 7), rng.uniform(0.05, 0.6, 7)

    def slope(t: float) -> float:
        w = 1 / (v + t)
        rest = y - (w @ y) / w.sum()
        return float((w * w) @ rest**2 - w.sum() + (w @ w) / w.sum())

    expected = optimize.brentq(slope, 0, 100, xtol=1e-12) if slope(0) > 0 else 0.0
    assert fitted(y, v).tau2 == pytest.approx(expected, abs=1e-6)


def test_equal_variances_and_two_labs_have_closed_forms() -> None:
    """Equal variances v: tau^2 = s^2 - v, and Student's interval. Two labs: tau^2 = ((a - b)^2 - v - w) / 2."""
    y = [0.2, 0.5, 0.4, 0.9, 0.1]
    s2 = float(np.var(y, ddof=1))
    found = random_effects_mean(y, [0.02] * 5, 0.9)
    assert found.tau**2 == pytest.approx(s2 - 0.02, abs=1e-7) and found.value == pytest.approx(np.mean(y))
    reach = stats.t.ppf(0.95, 4) * math.sqrt(s2 / 5)
    assert (found.low, found.high) == pytest.approx((np.mean(y) - reach, np.mean(y) + reach), abs=1e-7)
    assert found.level == 0.9 and found.weights == pytest.approx([0.2] * 5)
    assert found.i2 == pytest.approx(1 - 0.02 / s2, abs=1e-6)
    two = fitted([0.0, 1.0], [0.1, 0.3])
    assert two.tau2 == pytest.approx((1 - 0.4) / 2, abs=1e-7) and two.df == 1
    assert random_effects_mean([0.0, 1.0], [0.1, 0.3]).prediction is None


def test_labs_that_agree_by_chance_have_no_short_interval() -> None:
    """All three estimates are equal: q is 0, and the interval is that of the sampling errors, not of length 0."""
    found = random_effects_mean([0.5, 0.5, 0.5], [0.01] * 3)
    assert found.tau == 0 and found.i2 == 0 and found.q == pytest.approx(0) and found.p == pytest.approx(1)
    reach = stats.t.ppf(0.975, 2) * math.sqrt(0.01 / 3)
    assert (found.low, found.high) == pytest.approx((0.5 - reach, 0.5 + reach))


def test_no_limit_lies_beyond_the_bounds() -> None:
    found = random_effects_mean([0.9, 1.0, 0.8], [0.01] * 3, bounds=(0.0, 1.0))
    assert found.high == 1.0 and found.low > 0 and found.prediction is None
    five = random_effects_mean([0.9, 1.0, 0.8, 0.9, 0.95], [0.01] * 5, bounds=(0.0, 1.0))
    assert five.prediction is not None and five.prediction[1] == 1.0
    low = random_effects_mean([0.0, 0.1, 0.2], [0.01] * 3, bounds=(0.0, math.inf))
    assert low.low == 0.0 and low.high > 0.2


def test_labs_without_sampling_error_can_be_pooled() -> None:
    found = random_effects_mean([0.2, 0.6, 0.7], [0.0, 0.0, 0.0])
    assert found.value == pytest.approx(0.5, abs=1e-6)
    assert found.tau == pytest.approx(np.std([0.2, 0.6, 0.7], ddof=1), abs=1e-5)
    same = random_effects_mean([1.0, 1.0, 1.0], [0.0, 0.0, 0.0])
    assert same.value == 1.0 and same.high - same.low < 1e-9


def test_a_moderator_is_the_difference_of_means_where_variances_are_equal() -> None:
    rng = np.random.default_rng(3)
    y, x = rng.normal(0, 1, 10), [0.0] * 4 + [1.0] * 6
    fit = fitted(y, [0.01] * 10, x)
    assert fit.coefficients == pytest.approx([y[:4].mean(), y[4:].mean() - y[:4].mean()])
    assert fit.df == 8
    spread = math.sqrt((y[:4].var() * 4 + y[4:].var() * 6) / 8 * (1 / 4 + 1 / 6))
    reach = stats.t.ppf(0.975, 8) * spread
    low, high = fit.interval(1, 0.95)
    assert (high - low) / 2 == pytest.approx(reach, abs=1e-6) and (low + high) / 2 == pytest.approx(fit.coefficients[1])


def test_without_each_lab_in_turn() -> None:
    y, v = [0.1, 0.2, 0.9], [0.01, 0.02, 0.03]
    rest = without_each(y, v, 0.8, (0.0, 1.0))
    assert [one.value for one in rest] == [
        random_effects_mean(y[:i] + y[i + 1 :], v[:i] + v[i + 1 :]).value for i in range(3)
    ]
    assert {one.level for one in rest} == {0.8} and all(one.low >= 0 and one.high <= 1 for one in rest)
    assert without_each(y[:2], v[:2]) == []


def test_what_cannot_be_pooled_is_refused() -> None:
    with pytest.raises(BadSample, match="more than 1 labs"):
        random_effects_mean([0.5], [0.1])
    with pytest.raises(BadSample, match="must not be negative"):
        random_effects_mean([0.5, 0.6], [0.1, -0.1])


@pytest.mark.slow
@pytest.mark.parametrize("labs", [3, 5, 10])
@pytest.mark.parametrize("shifted", [False, True])
def test_the_interval_holds_the_mean_of_the_labs(labs: int, shifted: bool) -> None:
    """A sample of the table in docs/methods.md: 200 times each."""
    rng = np.random.default_rng([labs, shifted])
    hits = 0
    for _ in range(200):
        means = rng.normal(0, 0.2, labs) + (0.6 * (rng.random(labs) < 0.1) if shifted else 0)
        drawn = means[:, None] + rng.normal(0, 0.3, (labs, 20))
        found = random_effects_mean(drawn.mean(axis=1), drawn.var(axis=1, ddof=1) / 20)
        hits += found.low <= (0.06 if shifted else 0) <= found.high
    assert hits / 200 > 0.9


def test_labs_near_a_bound_weigh_by_their_matches_alone() -> None:
    variances = evened([0.0001, 0.01, 0.02], [20, 20, 40])
    assert variances[0] == variances[1] == 2 * variances[2] == pytest.approx(20 * (0.002 + 0.2 + 1.6) / 80 / 20)
    found = random_effects_mean([0.0, 0.2, 0.1], evened([0.0001, 0.01, 0.01], [20] * 3), bounds=(0.0, 1.0))
    assert found.weights == pytest.approx([1 / 3] * 3) and found.value == pytest.approx(0.1)
    assert evened([0.0, 0.01], [5, 5]) == [0.0, 0.01] and evened([0.0, 0.0], [5, 5]) == [0.0, 0.0]


def test_an_interval_for_labs_of_any_distribution_is_that_of_values_between_bounds() -> None:
    y = [0.9, 1.0, 0.8, 0.95]
    found = random_effects_mean(y, [0.01] * 4, bounds=(0.0, 1.0))
    assert found.model_free == pytest.approx(mean_of(y, bounds=(0.0, 1.0)).bounds())
    assert found.model_free is not None and found.model_free[0] < found.low
    assert (
        random_effects_mean(y, [0.01] * 4).model_free is None
        and random_effects_mean(y, [0.01] * 4).as_dict()["model_free"] is None
    )


@pytest.mark.parametrize("labs", [3, 6, 10, 20])
def test_bounds_hold_the_mean_where_one_lab_in_ten_is_different(labs: int) -> None:
    rng, wrong = np.random.default_rng(labs), 0
    for _ in range(100):
        y = np.where(rng.random(labs) < 0.1, 0.1, rng.normal(0.9, 0.02, labs))
        ends = random_effects_mean(np.clip(y, 0, 1), [0.0004] * labs, bounds=(0.0, 1.0)).model_free
        assert ends is not None
        wrong += not ends[0] <= 0.82 <= ends[1]
    assert wrong <= 5


@pytest.mark.slow
def test_labs_near_a_bound_are_pooled_without_losing_the_mean() -> None:
    """With weights by their own variances the interval holds the mean in .89 of these sets."""
    rng = np.random.default_rng(4)
    held = free = 0
    for _ in range(300):
        counts = rng.binomial(20, rng.beta(9.45, 179.55, 10))  # rates with mean .05 and standard deviation .016
        spreads = []
        for count in counts:
            lab = mean_of([1.0] * count + [0.0] * (20 - count), bounds=(0.0, 1.0))
            spreads.append(variance_of(estimated({}, lab, 20, "match", "")))
        found = random_effects_mean(counts / 20, evened(spreads, [20] * 10), bounds=(0.0, 1.0))
        assert found.model_free is not None
        held += found.low <= 0.05 <= found.high
        free += found.model_free[0] <= 0.05 <= found.model_free[1]
    assert held >= 0.93 * 300 and free >= 0.93 * 300
