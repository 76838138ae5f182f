"""Verdicts: three answers, and an error control that is named."""

from dataclasses import replace

import numpy as np
import pytest

from ostrom.analysis.estimate import Estimate, estimated, minus
from ostrom.analysis.intervals import Inference, exactly, mean_of
from ostrom.analysis.verdicts import above, all_of, largest, p_value


def of(inference: Inference, n: int = 10) -> Estimate:
    found = inference.limits()
    return Estimate({}, found.value, found.low, found.high, n, "match", found.method, found.note, 0.95, inference)


def around(centre: float, n: int = 10) -> Estimate:
    return of(mean_of(np.linspace(centre - 0.05, centre + 0.05, n), bounds=(0, 1)), n)


def test_an_interval_on_one_side_decides_and_one_across_does_not() -> None:
    answers = [v.answer for v in above([around(0.9), around(0.52), around(0.1)], 0.5)]
    assert answers == ["yes", "undecided", "no"]
    assert str(above([around(0.52)], 0.5).verdicts[0]) == "undecided at this size"


def test_p_values_invert_the_interval() -> None:
    one = around(0.62)
    for threshold in (0.55, 0.58, 0.6, 0.66):
        p = p_value(one, threshold)
        assert threshold in one.at_level(1 - p * 0.98)
        assert threshold not in one.at_level(1 - p * 1.02)
    assert p_value(one, one.value) == 1.0
    assert p_value(of(exactly(0.5)), 0.5) == 1.0 and p_value(of(exactly(0.5)), 0.4) == 0.0
    assert p_value(replace(one, inference=None, low=None, high=None), 0.0) == 1.0


def test_a_threshold_that_the_interval_leaves_out_is_decided_however_many_values_are_alike() -> None:
    few_others = of(mean_of([0.9] * 14 + [0.5] * 4, bounds=(0, 1)), 18)
    assert 0.97 not in few_others and p_value(few_others, 0.97) < 0.05
    assert above([few_others], 0.97).verdicts[0].answer == "no"


def test_many_comparisons_are_corrected_and_say_how() -> None:
    close = next(e for c in np.arange(0.5, 0.7, 0.002) if 0.02 < p_value(e := around(float(c)), 0.5) < 0.05)
    assert above([close], 0.5).verdicts[0].answer == "yes"
    many = above([close] * 5, 0.5)
    assert {v.answer for v in many} == {"undecided"}
    assert many.control == "5 comparisons at 95%, family-wise error controlled by Holm's method"
    assert above([close], 0.5).control == "1 comparison at 95%"
    strong = above([around(0.95), close, close], 0.5)
    assert [v.answer for v in strong] == ["yes", "undecided", "undecided"]


def test_all_need_a_yes_each_and_one_no_is_enough() -> None:
    close = next(e for c in np.arange(0.5, 0.7, 0.002) if 0.02 < p_value(e := around(float(c)), 0.5) < 0.05)
    assert all_of(above([around(0.9), close, close], 0.5)) == "yes"  # each at its own level is enough
    assert all_of(above([around(0.9), around(0.51)], 0.5)) == "undecided"
    assert all_of(above([around(0.9), around(0.1), around(0.51)], 0.5)) == "no"


def test_the_largest_is_decided_by_its_differences_to_all_others() -> None:
    def one(values: list[float]) -> Estimate:
        return estimated({"game": str(values[0])}, mean_of(values, bounds=(0.0, 1.0)), len(values), "match")

    high, near, low = one([0.9, 0.92, 0.88] * 6), one([0.88, 0.93, 0.84] * 6), one([0.1, 0.15, 0.12] * 6)
    assert largest(high, [near, low])[0] == "undecided"
    answer, control = largest(high, [low])
    assert answer == "yes" and control.startswith("1 comparison")
    assert largest(low, [high, near])[0] == "no" and "2 comparisons" in largest(low, [high, near])[1]
    difference = minus(high, low)
    assert difference.value == pytest.approx(high.value - low.value) and difference.n == 36
    exact = estimated({}, exactly(0.5), 3, "match")
    assert minus(exact, exact).method == "exact" and minus(high, exact).value == pytest.approx(0.4)


def test_exact_values_are_decided() -> None:
    sure, even, under = (of(exactly(value)) for value in (0.9, 0.5, 0.1))
    made = above([sure, even, under], 0.5)
    assert [v.adjusted for v in made] == [0.0, 1.0, 0.0] and [v.guaranteed for v in made] == [True, False, True]
    assert [v.answer for v in made] == ["yes", "undecided", "no"] and len(made) == 3
    assert made.verdicts[0].as_dict()["adjusted_p"] == 0.0 and str(made.verdicts[2]) == "no"


def test_a_p_value_needs_both_ends_and_all_need_one_estimate() -> None:
    one = around(0.62)
    assert p_value(replace(one, inference=None, low=None), 0.0) == 1.0
    assert p_value(replace(one, inference=None), 0.0) == pytest.approx(0.05)
    assert all_of(above([], 0.5)) == "undecided" and largest(one, [])[0] == "undecided"


def test_two_units_and_what_has_no_interval_never_decide() -> None:
    two = of(mean_of([0.9, 0.9001], bounds=(0, 1)), 2)
    assert p_value(two, 0.5) < 0.05 and above([two], 0.5).verdicts[0].answer == "undecided"
    many = above([of(mean_of([0.95] * 60, bounds=(0, 1)), 60)], 0.5).verdicts[0]
    assert many.answer == "yes" and many.guaranteed
    few = above([around(0.6, 12)], 0.5).verdicts[0]
    assert few.answer == "yes" and not few.guaranteed
