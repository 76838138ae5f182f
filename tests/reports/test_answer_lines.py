"""Words of an answer from given estimates: when yes, no or open, which way, and how many seeds would decide."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ostrom.analysis.estimate import Estimate, estimated
from ostrom.analysis.intervals import combined, difference_of, exactly, mean_of, paired_difference_of
from ostrom.analysis.measure import measures
from ostrom.analysis.questions import NO, OPEN, YES
from ostrom.analysis.verdicts import above
from ostrom.reports.answers import (
    AnswerLine,
    Family,
    ReportAnswers,
    _about,
    _answer,
    _charted,
    _needs,
    _price,
    _signed,
    _times,
    _trend,
    decisive_multiple,
    facts,
)


def data(seeds: int = 8, **more: Any) -> Any:
    """A run of so many seeds whose calls cost 8 USD."""
    row = {"n": seeds, "usd": more.pop("usd", 8.0), "unknown": more.pop("unknown", 0)}
    return SimpleNamespace(records=lambda _: [row], study=more, so_far="")


def of(values: Any, bounds: Any = (-1.0, 1.0)) -> Estimate:
    return estimated({}, mean_of(values, bounds=bounds), len(values), "match")


AROUND = np.linspace(-0.05, 0.05, 8)
SHARE, POINTS = measures.named("cooperation"), measures.named("score")


@pytest.mark.parametrize(
    ("difference", "measure", "kind", "word", "direction"),
    [
        (of(0.5 + AROUND), SHARE, "difference", YES, "higher"),
        (of(-0.5 + AROUND), SHARE, "difference", YES, "lower"),
        (of(0.5 + AROUND), SHARE, "trend", YES, "rises"),
        (of(-0.5 + AROUND), SHARE, "trend", YES, "falls"),
        (of(np.tile(AROUND / 50, 100)), SHARE, "difference", NO, ""),
        (of(AROUND / 50), POINTS, "difference", OPEN, ""),
        (of(AROUND * 10), SHARE, "difference", OPEN, ""),
        (estimated({}, exactly(0.0), 3, "match"), POINTS, "difference", NO, ""),
        (estimated({}, exactly(0.01), 3, "match"), SHARE, "difference", "YES, smaller than matters", "higher"),
        (of([0.3]), SHARE, "difference", OPEN, ""),
    ],
)
def test_the_word_of_a_difference(difference: Estimate, measure: Any, kind: str, word: str, direction: str) -> None:
    (verdict,) = above([difference])
    line = _answer(data(), measure, ("k", "k: 2 − 1", difference, kind), verdict, Family(1))
    assert (line.word, line.direction.removesuffix(", guaranteed"), line.factor) == (word, direction, "k")
    assert bool(line.needs) == (word == OPEN)


@pytest.mark.parametrize(
    ("value", "sign", "text"),
    [
        (None, "+", None), (0.5, "+", "+0.50"), (0.5, "", "0.50"), (-0.5, "+", "−0.50"), (0.0, "+", "0.00"),
        (0.001, "+", "0.00"), (-0.001, "+", "0.00"), (99.9, "", "99.90"), (100.0, "", "100.0"), (-100.0, "+", "−100.0"),
    ],
)  # fmt: skip
def test_numbers_of_a_line(value: float | None, sign: str, text: str | None) -> None:
    assert _signed(value, sign) == text


def line(e: Estimate, **more: Any) -> AnswerLine:
    fields = {
        "factor": "k",
        "what": "k: 2 − 1",
        "word": YES,
        "adjusted": 0.01,
        "direction": "higher",
        "needs": "",
        "note": "",
    }
    return AnswerLine(estimate=e, **{**fields, **more})


def test_a_line_as_a_sentence_and_the_first_in_brief() -> None:
    one = line(Estimate({}, 0.25, 0.1, 0.4, 8, "match", "t"), note="a; the sides also differ in b; c")
    assert one.value == "+0.25 [+0.10, +0.40]"
    assert one.sentence == "YES, higher: k: 2 − 1 +0.25 [+0.10, +0.40] (n = 8 matches; the sides also differ in b)."
    assert line(Estimate({}, 0.25, None, None, 1, "match", "none")).value == "+0.25 (no interval)"
    plain = line(Estimate({}, 0.25, 0.25, 0.25, 1, "match", "exact"), factor="", word="", direction="")
    assert plain.value == "0.25 (exact)" and plain.sentence == "k: 2 − 1 0.25 (exact) (n = 1 match)."
    title = SHARE.title
    assert (
        ReportAnswers(SHARE, (one, one, one), "at 95 %").summary
        == f"YES, higher: {title}, {one.what} {one.value} and 2 more"
    )
    assert ReportAnswers(SHARE, (one,), "").summary.endswith(one.value) and ReportAnswers(SHARE, (), "").summary == ""
    assert ReportAnswers(SHARE, (plain,), "").rule.startswith("YES: surely more than 0.5")
    assert ReportAnswers(POINTS, (plain,), "").rule == ""
    assert "NO: surely within ±0.05, by the bounds." in ReportAnswers(SHARE, (one,), "at 95 %").rule
    assert "NO is not said" in ReportAnswers(POINTS, (one,), "at 95 %").rule


def test_advice_on_seeds_is_that_of_the_next_look_and_of_the_smaller_difference() -> None:
    open_one = of(0.1 + AROUND * 4)
    assert open_one.inference is not None
    multiple = decisive_multiple(open_one.inference, 0.05, Family(1))
    assert 1 < multiple < 10
    se = (open_one.inference.spread() or (0.0, 0.0))[0]
    low, high = open_one.inference.reach(1 - 0.025, multiple) or (0.0, 0.0)
    assert (high - low) / 2 == pytest.approx(0.1 - se / 2, rel=0.02)
    assert decisive_multiple(open_one.inference, 0.05, Family(9)) > multiple
    assert decisive_multiple(open_one.inference, 0.05, Family(1, look=3)) > multiple
    alike = paired_difference_of([0.8] * 3, [0.5] * 3, bounds=(0, 1))
    needed = 3 * decisive_multiple(alike, 0.05, Family(1))
    assert paired_difference_of([0.8] * 8, [0.5] * 8).p_value() < 0.025 and needed <= 8  # type: ignore[operator]


def test_advice_on_seeds_comes_true_in_most_undecided_cases() -> None:
    rng, decided, followed = np.random.default_rng(6), 0, 0
    while followed < 20:
        first, second = np.clip(rng.normal(0.6, 0.15, 100), 0, 1), np.clip(rng.normal(0.5, 0.15, 100), 0, 1)
        made = difference_of(first[:8], second[:8], bounds=(0, 1))
        multiple = decisive_multiple(made, 0.05, Family(1))
        if (made.p_value() or 0.0) >= 0.05 and multiple <= 10:
            n = math.ceil(8 * multiple)
            later = difference_of(first[:n], second[:n], bounds=(0, 1))
            followed += 1
            decided += (later.p_value() or 1.0) < 0.025 or later.surely_within(-0.05, 0.05)  # at the second look
    assert decided >= 10


def test_what_would_decide_in_words_with_its_price() -> None:
    open_one = of(0.1 + AROUND * 4)
    assert open_one.inference is not None
    more = _about(math.ceil(8 * decisive_multiple(open_one.inference, 0.05, Family(1))) - 8)
    assert _needs(data(), open_one, 0.05, Family(1)) == f"about {more} more seeds, {more:.2f} USD"
    assert "times as many people" in _needs(data(people={"x": 1}), open_one, 0.05, Family(1))
    assert _needs(data(4), of([0.3]), 0.05, Family(1)) == "too few matches for an interval: at least 5 seeds"
    assert _needs(data(), of(AROUND), 0.0, Family(1)).startswith("more than 10 x what was played")
    assert _needs(data(), estimated({}, exactly(0.0), 3, "match"), 0.0, Family(1)) == ""
    fixed = estimated({}, replace(mean_of([0.3]), problem="exact at temperature 0"), 1, "match")
    assert _needs(data(), fixed, 0.05, Family(1)).startswith("not with this design")
    assert [_about(n) for n in (99, 100, 149)] == [99, 100, 150]
    assert [_price(data(usd=usd), 2.0) for usd in (0.005, 0.004, 0.0, None)] == [
        ", 0.01 USD", ", less than 0.01 USD", "", "",
    ]  # fmt: skip
    assert _price(data(unknown=1), 2.0) == ""


@pytest.mark.parametrize(
    ("levels", "log", "reach"),
    [
        ([0.0, 1.0, 9.0], False, 9.0), ([0.0, 1.0, 10.0], "1+x", math.log(11)), ([1.0, 5.0, 10.0], True, math.log(10)),
        ([0.5, 1.0, 6.0], False, 5.5), ([0.5, 1.0, 10.0], "1+x", math.log(11 / 1.5)), ([2.0, 5.0, 19.0], False, 17.0),
        ([-1.0, 5.0, 20.0], False, 21.0),
    ],
)  # fmt: skip
def test_a_trend_runs_from_the_lowest_to_the_highest_level(
    levels: list[float], log: Any, reach: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    slope = estimated({}, exactly(2.0), 3, "match")
    asked = list[Any]()

    def trend(*_: Any, log: Any) -> list[Estimate]:
        asked.append(log)
        return [slope]

    monkeypatch.setattr("ostrom.reports.answers.trend", trend)
    monkeypatch.setattr("ostrom.reports.answers.varied", lambda _: [])
    ((_, what, found, kind),) = _trend(data(), SHARE, "k", levels)
    assert asked == [log] and found.value == pytest.approx(2 * reach) and kind == "trend"
    end = "trend over its logarithm" if log else "trend"
    assert what == f"k: {levels[0]:g} → {levels[-1]:g}, {end}"


def test_a_multiple_of_an_estimate_and_the_charts_of_all_matches() -> None:
    made = _times(of(0.1 + AROUND), 3.0)
    assert made.value == pytest.approx(0.3) and made.low is not None
    once = of(0.1 + AROUND).low
    assert once is not None and made.low == pytest.approx(3 * once)
    assert _times(estimated({}, exactly(0.25), 3, "match"), 2.0).value == 0.5
    moved = of(0.1 + AROUND).inference
    assert moved is not None
    both = combined([(1.0, moved), (1.0, exactly(1.0))])
    assert _times(estimated({}, both, 8, "match"), 3.0).value == pytest.approx(3.3)
    panels = [{"measure": "a"}, {"measure": "b", "where": {}}, {"measure": "c", "facet": "k"}, {"name": "x"}, "y",
              {"measure": {"name": "d"}}]  # fmt: skip
    assert _charted(data(report={"panels": panels})) == ["a"] and _charted(data()) == []


def test_what_was_run_in_a_few_words() -> None:
    assert facts(data(2, name="s", usd=0.0)) == "s · 2 models · 2 matches · 2 seeds"
    assert facts(data(1, name="s", usd=1.5)) == "s · 1 model · 1 match · 1 seed · 1.50 USD"
    assert facts(data(0, name="s", people={"x": 1})) == "s · no model · 0 matches · 8.00 USD"
