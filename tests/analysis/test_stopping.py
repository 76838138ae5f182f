"""When seeds are enough: the looks of a rule, its refusals, and the boundary at which a criterion is met."""

from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.analysis.statistics.means import jzs_paired, jzs_two_sample
from ostrom.analysis.stopping import (
    LAST,
    MET,
    MOST_LOOKS,
    Look,
    StopRule,
    blind,
    decide,
    first_seeds,
    read_looks,
    stopping,
)
from ostrom.ground.errors import RunError


def rule(**more: Any) -> StopRule:
    fields = {"measure": "cooperation", "contrast": "k=2-1", "width": 0.5, "at_least": 3, "at_most": 10, "every": 3}
    return StopRule(**{name: value for name, value in {**fields, **more}.items() if value is not None})


@pytest.mark.parametrize(
    ("sizes", "looks"), [((3, 10, 3), [3, 6, 9, 10]), ((3, 9, 3), [3, 6, 9]), ((4, 4, 1), [4]), ((3, 5, 9), [3, 5])]
)
def test_looks_are_taken_every_so_many_seeds_and_once_at_the_end(sizes: tuple[int, int, int], looks: list[int]) -> None:
    least, most, every = sizes
    assert rule(at_least=least, at_most=most, every=every).looks == looks


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"contrast": ""}, "needs a contrast"),
        ({"by": ("game",)}, "without by, balance and"),
        ({"balance": ("game",)}, "without by, balance and"),
        ({"contrast": "k=*"}, "without by, balance and"),
        ({"width": None}, "exactly one of width and bayes_factor"),
        ({"bayes_factor": 3}, "exactly one of width and bayes_factor"),
        ({"at_least": 11}, r"at_least must not be more than at_most \(found 11 and 10\)"),
        ({"at_most": 3 + MOST_LOOKS + 1, "every": 1}, f"more than {MOST_LOOKS} looks"),
        ({"width": 0}, "greater than 0"),
        ({"width": None, "bayes_factor": 1}, "greater than 1"),
        ({"level": 1}, "less than 1"),
    ],
)
def test_a_rule_that_cannot_stop_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rule(**changes)
    assert len(rule(at_most=3 + MOST_LOOKS, every=1).looks) == MOST_LOOKS + 1


def sides(low: float | None, high: float | None, first: tuple[float, ...] = (), paired: bool = True) -> Any:
    limits = SimpleNamespace(value=0.5, low=low, high=high, method="betting")
    usual = replace_limits(limits, 0.2, 0.9) if low is None else limits
    inference = SimpleNamespace(guaranteed=lambda _: limits, limits=lambda _: usual)
    return SimpleNamespace(
        inference=lambda: inference, n=4, paired=paired, unit="match",
        pairs=lambda: (first, (0.0,) * len(first)),
        sides=[(1.0, SimpleNamespace(values=first)), (-1.0, SimpleNamespace(values=(0.0,) * len(first)))],
    )  # fmt: skip


def replace_limits(limits: Any, low: float, high: float) -> Any:
    return SimpleNamespace(**{**vars(limits), "low": low, "high": high, "method": "usual"})


@pytest.mark.parametrize(
    ("ends", "seeds", "stop", "why"),
    [
        ((0.25, 0.75), 6, True, MET),
        ((0.25, 0.76), 6, False, ""),
        ((0.25, 0.76), 9, False, ""),
        ((0.25, 0.76), 10, True, LAST),
        ((0.25, 0.75), 10, True, MET),
    ],
)
def test_an_interval_as_wide_as_allowed_is_enough(ends: tuple[float, float], seeds: int, stop: bool, why: str) -> None:
    look = decide(rule(), sides(*ends), seeds)
    assert (look.stop, look.why) == (stop, why) and look.criterion == pytest.approx(ends[1] - ends[0])
    assert (look.seeds, look.n, look.value, look.low, look.high) == (seeds, 4, 0.5, *ends)


def test_without_guaranteed_bounds_the_usual_interval_is_looked_at() -> None:
    look = decide(rule(width=0.8), sides(None, None), 6)
    assert (look.low, look.high, look.method, look.why) == (0.2, 0.9, "usual", MET)


@pytest.mark.parametrize(
    ("first", "met"),
    [((1.0, 1.1, 0.9, 1.0, 1.05, 0.95), True), ((0.1, -0.1, 0.5, -0.2), False), ((1.0, 1.0, 1.0), False)],
)
def test_a_bayes_factor_stops_for_a_difference_and_waits_while_all_are_alike(
    first: tuple[float, ...], met: bool
) -> None:
    look = decide(rule(width=None, bayes_factor=6), sides(0.0, 1.0, first), 6)
    assert (look.stop, look.why) == (met, MET if met else "")
    assert (look.criterion is None) == (len(set(first)) == 1)


def test_a_bayes_factor_against_a_difference_stops_too() -> None:
    none = (0.1, -0.1) * 60
    factor = decide(rule(width=None, bayes_factor=100), sides(0.0, 1.0, none), 6).criterion
    assert factor is not None and factor < 0.2
    assert decide(rule(width=None, bayes_factor=0.99 / factor), sides(0.0, 1.0, none), 6).why == MET
    assert decide(rule(width=None, bayes_factor=1.01 / factor), sides(0.0, 1.0, none), 6).why == ""
    apart = decide(rule(width=None, bayes_factor=6), sides(0.0, 1.0, none, paired=False), 6)
    zeros = (0.0,) * len(none)
    assert factor == pytest.approx(jzs_paired(none, zeros, unit="match").bf10)
    assert apart.criterion == pytest.approx(jzs_two_sample(none, zeros, unit="match").bf10)


def test_a_look_that_sees_nothing_stops_at_the_last_seed_alone() -> None:
    assert (blind(rule(), 9).stop, blind(rule(), 10).stop, blind(rule(), 10).why) == (False, True, LAST)


@dataclass(frozen=True)
class Found:
    """Observations as far as their seeds go."""

    rows: tuple[dict[str, int], ...]


def test_the_first_seeds_of_a_run_are_counted_from_its_own_first() -> None:
    found = Found(tuple({"seed": seed} for seed in range(5, 9)))
    assert [row["seed"] for row in first_seeds(found, 5, 2).rows] == [5, 6]


LOOK = Look(6, 4, 0.5, 0.25, 0.75, 0.5, False, "", "betting")


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({}, True),
        ({"value": 0.5 + 1e-12}, True),
        ({"value": 0.5 + 1e-6}, False),
        ({"value": None}, False),
        ({"n": 5}, False),
        ({"high": 0.8}, False),
        ({"version": 1, "method": "", "high": 0.8}, True),  # of a time with another interval
        ({"version": 1, "seeds": 7}, False),
        ({"method": "usual"}, False),
    ],
)
def test_looks_are_the_same_up_to_rounding(changes: dict[str, Any], same: bool) -> None:
    assert LOOK.same(replace(LOOK, **changes)) == replace(LOOK, **changes).same(LOOK) == same
    assert replace(LOOK, value=1000.0).same(replace(LOOK, value=1000.0 + 1e-7))


def test_the_record_of_looks_in_words(tmp_path: Path) -> None:
    study = {"stop": {"measure": "cooperation", "contrast": "k=2-1", "width": 0.5, "at_most": 10}}
    assert stopping({}, tmp_path) == "" and read_looks(tmp_path) == []
    said = "cooperation, k: 2-1, interval at most 0.5 wide (0.95), 5 to 10 seeds, looked every 5."
    assert stopping(study, tmp_path) == f"Sequential design: {said} No look was taken yet."
    file = tmp_path / "looks.json"
    row = '{"seeds":6,"n":4,"value":0.5,"low":0.25,"high":0.75,"criterion":0.5,"stop":false,"why":""}'
    file.write_text(f"[{row}]")
    assert read_looks(tmp_path) == [replace(LOOK, method="", version=1)]
    assert " 1 look, 6 seeds so far. " in stopping(study, tmp_path)
    ended = row.replace("false", "true").replace('""', '"it is enough"')
    file.write_text(f"[{row},{ended}]")
    assert " 2 looks, stopped after 6 seeds, because it is enough. " in stopping(study, tmp_path)
    for text in ("{", '[{"seeds": 3}]', "[3]"):
        file.write_text(text)
        with pytest.raises(RunError, match=r"looks\.json: cannot be read"):
            read_looks(tmp_path)
