"""The score of a match weighs its rounds as an endless discounted match would."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostrom.features.evolution.evolution import discounted_mean, normalised, plain_mean
from ostrom.ground.errors import UsageError
from ostrom.mechanisms.base import round_weights

PAYOFFS = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=20)


@given(st.integers(1, 40), st.floats(0.0, 0.99))
def test_weights_are_a_distribution(rounds: int, discount: float) -> None:
    weights = round_weights(rounds, discount)
    assert len(weights) == rounds
    assert min(weights) >= 0.0
    assert sum(weights) == pytest.approx(1.0, abs=1e-12)


@given(PAYOFFS)
def test_score_equals_exact_arithmetic(payoffs: list[float]) -> None:
    d = Fraction(4, 5)
    exact = sum((1 - d) * d**t * Fraction(p) for t, p in enumerate(payoffs[:-1]))
    exact += d ** (len(payoffs) - 1) * Fraction(payoffs[-1])
    assert discounted_mean(payoffs, 0.8) == pytest.approx(float(exact), abs=1e-12)


@given(PAYOFFS, st.floats(0.0, 0.99))
def test_playing_the_last_round_on_changes_nothing(payoffs: list[float], discount: float) -> None:
    longer = [*payoffs, *[payoffs[-1]] * 5]
    assert discounted_mean(longer, discount) == pytest.approx(discounted_mean(payoffs, discount), abs=1e-9)


@pytest.mark.parametrize("discount", [0.0, 0.8, 1.0])
def test_one_round_scores_its_payoff_whatever_the_discount(discount: float) -> None:
    assert discounted_mean([0.1], discount) == 0.1


def test_no_score_without_rounds_or_with_a_discount_that_means_nothing() -> None:
    with pytest.raises(UsageError, match="at least one round"):
        discounted_mean([], 0.5)
    with pytest.raises(UsageError, match="at least one round"):
        plain_mean([])
    with pytest.raises(UsageError, match="plain mean"):
        discounted_mean([1.0, 2.0], 1.0)
    with pytest.raises(UsageError, match=r"\[0, 1\)"):
        discounted_mean([1.0, 2.0], 1.5)


def test_normalised_scale_has_defection_at_zero_and_cooperation_at_one() -> None:
    assert normalised(4.0, equilibrium=4.0, cooperation=10.0) == 0.0
    assert normalised(10.0, equilibrium=4.0, cooperation=10.0) == 1.0
    with pytest.raises(UsageError, match="pay the same"):
        normalised(1.0, equilibrium=2.0, cooperation=2.0)
