"""What power is simulated from, computed by hand: spreads, quantiles, assumptions, and the search for seeds."""

import math
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.analysis.intervals import paired_difference_of
from ostrom.analysis.unit_figures import UnitFigure, UnitSide
from ostrom.features.power.command import _seeds, _where, duration
from ostrom.features.power.plan import _smallest
from ostrom.features.power.simulation import (
    FULL,
    Assumed,
    _correlation,
    assumed_of,
    at_share,
    quantile_table,
    says_yes,
    spread_of,
    stated_over,
)
from ostrom.ground.errors import UsageError

UNIT, ABOVE, FREE = (0.0, 1.0), (0.0, None), (None, None)


@pytest.mark.parametrize(
    ("assumed", "bounds", "spread"),
    [
        (Assumed(0.5, 0.25), UNIT, 0.25),  # a quarter of the largest variance, which is 1/4
        (Assumed(0.5, 0.5), UNIT, FULL),
        (Assumed(0.5, 0.25, share=0.7), UNIT, 0.7),
        (Assumed(0.5, 0.25, share=1.0), UNIT, FULL),
        (Assumed(1.0, 0.0), UNIT, 0.0),
        (Assumed(0.0, 0.0), UNIT, 0.0),
        (Assumed(4.0, 2.0), ABOVE, 0.5),
        (Assumed(0.0, 2.0), ABOVE, 0.0),
        (Assumed(-4.0, 2.0), FREE, 2.0),
        (Assumed(2.0, 0.5), (1.0, None), 0.5),
        (Assumed(0.75, 0.1), (0.5, 1.0), 0.16),
    ],
)
def test_the_spread_is_stated_as_the_bounds_ask_for(assumed: Assumed, bounds: Any, spread: float) -> None:
    assert spread_of(assumed, bounds) == pytest.approx(spread)


@pytest.mark.parametrize(
    ("assumed", "bounds", "says"),
    [
        (Assumed(0.5, -0.1), UNIT, "at least 0"),
        (Assumed(0.5, math.inf), FREE, "at least 0"),
        (Assumed(-0.1, 0.1), UNIT, "beyond the bound 0 of"),
        (Assumed(1.1, 0.1), UNIT, "beyond the bound 1 of"),
        (Assumed(-0.1, 0.1), ABOVE, "beyond the bound 0 of"),
        (Assumed(0.5, 0.51), UNIT, r"at most 0\.5\)"),
    ],
)
def test_what_no_values_can_have_is_refused(assumed: Assumed, bounds: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        spread_of(assumed, bounds)


@pytest.mark.parametrize(
    ("mean", "spread", "bounds", "deviation"),
    [
        (0.9, 0.5, UNIT, math.sqrt(0.5 * 0.09)),
        (2.0, 0.5, ABOVE, 1.0),
        (3.0, 2.0, FREE, 2.0),
        (3.0, 0.0, FREE, 0.0),
        (0.0, 0.5, UNIT, 0.0),
        (1.0, 0.5, UNIT, 0.0),
    ],
)
def test_quantiles_have_the_mean_and_the_spread(mean: float, spread: float, bounds: Any, deviation: float) -> None:
    table = quantile_table(mean, spread, bounds)
    assert float(table.mean()) == pytest.approx(mean, abs=0.002)
    assert float(table.std()) == pytest.approx(deviation, rel=0.01, abs=1e-9)


def layout(*bounds: float | None) -> Any:
    return SimpleNamespace(comparison=SimpleNamespace(bounds=bounds))


def test_nothing_stated_is_the_middle_with_the_spread_of_a_uniform_distribution() -> None:
    assert assumed_of(layout(0.0, 1.0), None, None, None) == Assumed(0.5, 1 / math.sqrt(12))
    assert assumed_of(layout(0.0, 1.0), 0.99, None, 0.3).sd == pytest.approx(math.sqrt(0.0099))
    assert assumed_of(layout(0.0, 1.0), 1.0, None, None).share == 1.0
    assert assumed_of(layout(0.0, 1.0), 1.0, 0.0, None).share is None
    assert assumed_of(layout(None, 1.0), 2.0, 0.5, -0.2) == Assumed(2.0, 0.5, -0.2)
    for baseline, sd in ((None, 0.5), (2.0, None)):
        with pytest.raises(UsageError, match="has no bounds"):
            assumed_of(layout(0.0, None), baseline, sd, None)


def test_a_share_follows_the_baseline_until_an_sd_is_stated() -> None:
    seen = Assumed(0.5, 0.25, 0.4, {("a",): 0.6}, share=0.25)
    moved = stated_over(seen, {"baseline": 0.9}, UNIT)
    assert moved.sd == pytest.approx(math.sqrt(0.25 * 0.09)) and moved.conditions == {}
    stated = stated_over(seen, {"sd": 0.1}, UNIT)
    assert (stated.sd, stated.share, stated.conditions) == (0.1, None, {("a",): 0.6})
    assert at_share(seen, ABOVE) is seen


@pytest.mark.parametrize(("side", "found"), [(1.0, True), (-1.0, False)])
def test_a_yes_is_one_on_the_side_of_the_effect_and_of_three_units_or_more(side: float, found: bool) -> None:
    made = paired_difference_of([0.5, 0.51, 0.52, 0.5], [0.1] * 4)
    assert says_yes(made, side, 0.95) is found
    assert not says_yes(paired_difference_of([0.5, 0.51], [0.1] * 2), 1.0, 0.95)
    assert not says_yes(paired_difference_of([0.5, 0.51, 0.2], [0.1, 0.9, 0.3]), 1.0, 0.95)


@pytest.mark.parametrize(
    ("enough", "seeds", "needed"),
    [(7, [2, 10, 20], 7), (1, [2, 10], 1), (10, [2, 10], 10), (11, [2, 10], None), (3, [2, 10], 3), (20, [20], 20)],
)  # fmt: skip
def test_the_smallest_number_of_seeds_is_found_between_the_listed_ones(
    enough: int, seeds: list[int], needed: int | None
) -> None:
    assert _smallest(lambda n: n >= enough, seeds) == needed


def test_a_correlation_is_taken_from_enough_pairs_within_conditions() -> None:
    def found(pairs: list[tuple[float, float]], strata: list[int]) -> float:
        sides = tuple(
            (
                a,
                UnitSide(
                    [pair[at] for pair in pairs], range(len(pairs)), strata, [1.0] * len(pairs), [False] * len(pairs)
                ),
            )
            for at, a in enumerate((1.0, -1.0))
        )
        return _correlation(UnitFigure(sides, (None, None)))

    rising = [(float(i), 2.0 * i) for i in range(11)]
    assert found(rising, [0] * 11) == 1.0 and found(rising[:10], [0] * 10) == 0.0
    assert found([(one, -two) for one, two in rising], [0] * 11) == -1.0
    assert found([(1.0, 2.0)] * 11, [0] * 11) == 0.0
    # Two conditions with other means: the difference between them is no correlation.
    apart = [
        (x + 10 * of, y + 10 * of) for of in (0, 1) for x, y in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] * 2
    ]
    assert found(apart, [0] * 8 + [1] * 8) == 0.0


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (59.4, "59 s"), (60, "1 min"), (3599, "60 min"), (3600, "1.0 h"), (86_399, "24.0 h"),
        (86_400, "1.0 days"),
    ],
)  # fmt: skip
def test_a_time_in_words(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_numbers_of_seeds_are_sorted_whole_and_bounded() -> None:
    assert _seeds("10, 2,,10,1", 10) == [1, 2, 10]
    for wrong in ("", "0", "11", "2.5", "x", "2;3"):
        with pytest.raises(UsageError, match=f"whole numbers from 1 to 10.*found '{wrong}'"):
            _seeds(wrong, 10)
    assert _where(["game = a, b", "k=1"]) == {"game": ["a", "b"], "k": ["1"]}
    for wrong in ("game", "=a", "game= "):
        with pytest.raises(UsageError, match=r"column=level\[,level\]"):
            _where([wrong])
