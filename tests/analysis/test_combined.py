"""Sums of weighted means over levels, differences of estimates, and how many more units a decision needs."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.analysis.test_units import one, sample

from ostrom.analysis.estimate import combined, estimate, estimated, minus
from ostrom.analysis.intervals import exactly
from ostrom.analysis.intervals.betting import least_multiple
from ostrom.analysis.statistics.means import t_quantile
from ostrom.analysis.stopping import StopRule
from ostrom.analysis.unit_figures import comparison
from ostrom.analysis.units import Observations
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.replications.memory_curse.results import Penalty, negated, worst_penalties
from ostrom.replications.personas.reference import contradictions, selects, told

PLAYED = {"a": [1.0, 0.5, 1.0], "b": [0.0, 0.5, 0.25], "c": [0.25, 0.25, 0.0]}


def played(exact: bool = False, apart: bool = False) -> Observations:
    """Three seeds at each level, the same for all or others at each."""
    rows = []
    for number, (level, values) in enumerate(PLAYED.items()):
        for seed, value in enumerate(values):
            shown = seed + 10 * number if apart else seed
            rows.append(one(value, 10 * number + seed, k=level, seed=shown, exact=exact))
    return sample(*rows)


@pytest.mark.parametrize(
    ("weights", "value"),
    [
        ({"a": 1, "b": -1}, (2.5 - 0.75) / 3),
        ({"a": 2, "b": -2}, 2 * (2.5 - 0.75) / 3),
        ({"a": 1, "b": 1, "c": -2}, (2.5 + 0.75 - 2 * 0.5) / 3),
        ({"b": -1, "a": 0.5, "c": 0.5}, (0.5 * 2.5 + 0.5 * 0.5 - 0.75) / 3),
    ],
)
def test_a_combination_is_the_sum_of_weights_times_means(weights: Mapping[Any, float], value: float) -> None:
    for exact, apart, n in ((False, False, 3), (False, True, 3 * len(weights)), (True, False, 3 * len(weights))):
        data = replace(played(exact, apart), shared=not exact)
        (found,) = combined(data, played().measure, "k", weights)
        assert found.value == pytest.approx(value) and found.n == n
        assert (found.method == "exact") == exact
        if not exact:
            assert found.low is not None and found.high is not None and found.low <= value <= found.high


def test_pairs_tell_more_than_groups_that_share_no_seed() -> None:
    rows = [one(value + 0.3 * (k == "a"), 10 * seed + (k == "a"), k=k, seed=seed)
            for seed, value in enumerate([0.1, 0.3, 0.5, 0.7]) for k in "ab"]  # fmt: skip
    (paired,) = combined(replace(sample(*rows), shared=True), played().measure, "k", {"a": 1, "b": -1})
    assert paired.n == 4 and paired.value == pytest.approx(0.3)


def test_a_level_that_was_not_played_has_no_estimate_and_weights_sum_to_nought() -> None:
    part = played().measure
    assert combined(played(), part, "k", {"a": 1, "z": -1}) == []
    for wrong in ({}, {"a": 1}, {"a": 1, "b": -0.9}):
        with pytest.raises(UsageError, match="must sum to zero"):
            combined(played(), part, "k", wrong)
    with pytest.raises(UnknownName, match="column"):
        combined(played(), part, "style", {"a": 1, "b": -1})


def test_a_difference_of_estimates_adds_what_both_rest_on() -> None:
    found = {e.key["k"]: e for e in estimate(played(), played().measure, ["k"])}
    both = minus(found["a"], found["b"])
    assert both.value == pytest.approx((2.5 - 0.75) / 3) and both.n == 6 and both.key == {"k": "a - b"}
    exact = estimated({"k": "a"}, exactly(0.75), 2, "match")
    mixed = minus(exact, found["b"])
    assert mixed.value == pytest.approx(0.5) and mixed.n == 5
    certain = minus(exact, estimated({"k": "a"}, exactly(0.25), 3, "match"))
    assert (certain.value, certain.n, certain.method, certain.key) == (0.5, 5, "exact", {"k": "a"})


@pytest.mark.parametrize(
    ("low", "high", "needed"), [(1.0, 2.0, math.inf), (-1.0, 0.0, math.inf), (0.0, 1.0, 0.0), (-1.0, 2.0, 0.0)]
)
def test_a_range_that_holds_all_needs_nothing_and_one_that_holds_none_never_does(
    low: float, high: float, needed: float
) -> None:
    assert least_multiple(np.full(10, 0.1), low, high, 0.025) == needed


def test_a_narrow_range_needs_more_than_a_wide_one_and_two_bounds_more_than_one() -> None:
    def needed(low: float, high: float) -> float:
        return least_multiple(np.full(10, 0.1), low, high, 0.025)

    assert needed(0.4, 0.6) > needed(0.3, 0.7) > needed(0.3, 1.0) > 0
    assert needed(0.2, 1.0) == pytest.approx(needed(0.0, 0.8))


def test_quantiles_at_the_middle_and_of_many_degrees_of_freedom() -> None:
    assert t_quantile(0.5, 3) == 0.0
    assert t_quantile(0.975, 1e8) == pytest.approx(1.959964, abs=1e-6)
    assert t_quantile(0.2, 4) == pytest.approx(-t_quantile(0.8, 4))


def penalty(agent: str, game: str, cost: float) -> Penalty:
    return Penalty(agent, game, 10, estimated({}, exactly(cost), 4, "match"), 8)


def test_the_worst_game_of_an_agent_is_named_where_reasoning_costs_anything() -> None:
    some = [penalty("a", "pd", 0.1), penalty("a", "trust", 0.3), penalty("b", "pd", -0.1), penalty("c", "pd", 0.2)]
    found = list(worst_penalties(some, ["undecided", "yes", "no", "no"]))
    assert [(w["agent"], w["game"], w["cost"], w["above"]) for w in found] == [
        ("a", "trust", 0.3, "decided"), ("c", "pd", 0.2, "refuted"),
    ]  # fmt: skip
    assert found[0]["alone"].startswith("decided: ") and found[1]["alone"] == ""


def test_a_difference_is_turned_round_with_its_bounds() -> None:
    found = estimated({}, exactly(0.25), 4, "match")
    assert (negated(found).value, negated(found).low, negated(found).high) == (-0.25, -0.25, -0.25)
    (mean,) = estimate(played(), played().measure)
    assert mean.low is not None and mean.high is not None
    assert (negated(mean).low, negated(mean).high) == (-mean.high, -mean.low)


def test_a_contradiction_is_told_with_its_figures() -> None:
    item = {"stated": "A.", "against": "B.", "figures": [{"what": "x", "stated": 1.5, "implied": 2}]}
    assert told(item) == "A. But: B. (x: stated 1.5, implied 2)"
    assert told({**item, "figures": []}) == "A. But: B."
    assert all(told(each) for each in contradictions())
    assert selects({"k": "1"}, {"k": 1, "j": 2}) and not selects({"k": "1", "j": "3"}, {"k": 1, "j": 2})


def test_an_interval_is_at_ninety_five_per_cent_unless_told_otherwise() -> None:
    part = played().measure
    (usual,), (same,), (wide,) = (estimate(played(), part, level=level) if level else estimate(played(), part)
                                  for level in (None, 0.95, 0.99))  # fmt: skip
    assert (usual.low, usual.high) == (same.low, same.high) and usual.low is not None and wide.low is not None
    assert wide.low < usual.low


@pytest.mark.parametrize(
    ("at_least", "at_most", "every", "looks"),
    [(5, 20, 5, [5, 10, 15, 20]), (5, 12, 5, [5, 10, 12]), (2, 2, 1, [2]), (4, 5, 9, [4, 5])],
)
def test_looks_of_a_stopping_rule(at_least: int, at_most: int, every: int, looks: list[int]) -> None:
    base = {"measure": "cooperation", "contrast": "k=a-b", "at_least": at_least, "at_most": at_most, "every": every}
    assert StopRule(**base, width=0.1).looks == looks
    assert StopRule(**base, width=0.1).rule == "interval at most 0.1 wide (0.95)"
    assert StopRule(**base, bayes_factor=3).rule == "Bayes factor at least 3 for or against a difference"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contrast": ""}, "needs a contrast"), ({"by": ["game"]}, "without by"), ({"balance": ["game"]}, "without by"),
        ({"bayes_factor": 3}, "exactly one of width"), ({"width": None}, "exactly one of width"),
        ({"at_least": 21}, "at_least must not be more than at_most"), ({"at_least": 1}, "greater than or equal to 2"),
        ({"every": 0}, "greater than or equal to 1"), ({"level": 0.4}, "0.5"), ({"level": 1}, "less than 1"),
        ({"width": 0}, "greater than 0"), ({"at_most": 1}, "greater than or equal to 2"),
    ],
)  # fmt: skip
def test_a_stopping_rule_without_sense_is_refused(change: dict[str, Any], message: str) -> None:
    good = {"measure": "cooperation", "contrast": "k=a-b", "at_most": 20, "width": 0.1}
    assert (StopRule(**good).at_least, StopRule(**good).every) == (5, 5)
    with pytest.raises(ValueError, match=message):
        StopRule(**{**good, **change})


def test_the_bounds_of_a_comparison_are_those_of_both_sides() -> None:
    first = [replace(one(0.5, n, k="a", seed=n), bounds=(0.0, 2.0)) for n in range(2)]
    second = [replace(one(0.5, 9 + n, k="b", seed=n), bounds=(-1.0, 1.0)) for n in range(2)]
    assert comparison(sample(*first, *second), first, second, "k", ()).bounds == (-1.0, 2.0)
