"""The first screen: the question, contrasts of what the study varies with a verdict each, and what would decide."""

import re
from itertools import cycle
from typing import Any

import pytest

from ostrom.analysis.estimate import contrast, estimate, trend
from ostrom.analysis.questions import NO, OPEN, YES
from ostrom.models.providers import scripted
from ostrom.reports.answers import answers, facts, settings
from ostrom.reports.card import findings, first_chart
from ostrom.reports.charts._of_estimates import Curve

from .conftest import Played

MIXED: dict[str, Any] = {
    "types": {}, "agent": {"strategy": "random:0.5", "memory": {"name": "window", "k": 1}}, "seeds": 8,
    "vary": {
        "game": ["prisoners_dilemma", "stag_hunt"],
        "chance": {"set": "agent.strategy", "to": ["random:0.1", "random:0.9", "random:0.15"]},
        "k": {"set": "agent.memory.k", "to": [1, 2, 4]},
    },
}  # fmt: skip


@pytest.mark.slow
def test_a_line_is_the_contrast_with_the_first_level_and_no_other(played: Played) -> None:
    data = played(**MIXED)
    found = answers(data)
    assert found is not None and settings(data) == ["game"]
    (first,) = contrast(data, "cooperation", "chance", "random:0.9 - random:0.1")
    line = found.lines[0]
    assert (line.word, line.direction) == (YES, "higher, guaranteed"), "its bounds leave 0 out too"
    assert line.estimate.value == pytest.approx(first.value) and line.estimate.n == first.n
    slopes = trend(data, "cooperation", "k", ["agent"])
    ends = [line.estimate.value for line in found.lines[2:5]]
    assert ends == pytest.approx([3 * one.value for one in slopes]), "from the lowest to the highest level, each agent"


@pytest.mark.slow
def test_the_interval_beside_a_word_is_that_of_estimate_and_the_word_rests_on_holm(played: Played) -> None:
    data = played(**MIXED)
    found = answers(data)
    assert found is not None
    own, games = found.lines[:5], found.lines[5:]
    (first,) = contrast(data, "cooperation", "chance", "random:0.9 - random:0.1")
    assert (own[0].estimate.low, own[0].estimate.high) == (first.low, first.high)
    ps = [line.estimate.p_value or 0.0 for line in own]
    for family in (own, games):  # games are a family of their own
        # Holm: the smallest p times their number, the next times one less, none below the one before.
        lines = sorted(family, key=lambda line: line.estimate.p_value or 0.0)
        least = 0.0
        for place, line in enumerate(lines):
            least = max(least, min(1.0, (len(lines) - place) * (line.estimate.p_value or 0.0)))
            assert line.adjusted == pytest.approx(least)
    assert len(games) == 3 and ps[0] < min(ps[1:])
    for line in found.lines:
        low, high = line.estimate.low, line.estimate.high
        assert line.estimate.level == 0.95 and low is not None and high is not None
        assert (line.adjusted < 0.05) == (line.word == YES), line
        assert (low <= 0 <= high) == ((line.estimate.p_value or 0.0) >= 0.05), line
    assert "Holm" in found.rule


@pytest.mark.slow
def test_an_open_answer_says_how_many_more_seeds_would_decide_it(played: Played) -> None:
    """Played with as many seeds as it names, a difference half a standard error smaller is found at the next look."""
    found = answers(played(**MIXED))
    assert found is not None
    line = found.lines[4]
    (more,) = re.findall(r"about (\d+) more seeds?", line.needs)
    inference: Any = line.estimate.inference
    error, _ = inference.spread()
    smaller = abs(line.estimate.value) - error / 2
    level = 1 - 0.025 / 5  # the second look, five comparisons

    def far(seeds: int) -> float:
        low, high = inference.reach(level, seeds / 8)
        return float(high - low) / 2

    assert far(8 + int(more)) < smaller < far(8 + int(more) - 2)
    assert found.lines[0].needs == ""


def test_no_means_that_nothing_that_matters_differs(played: Played) -> None:
    data = played(
        types={}, agent={"strategy": "cooperator", "memory": {"name": "window", "k": 1}}, seeds=2,
        vary={"k": {"set": "agent.memory.k", "to": [1, 2]}},
    )  # fmt: skip
    found = answers(data)
    assert found is not None
    assert [(line.word, line.value, line.needs) for line in found.lines] == [(NO, "0.00 (exact)", "")]


def test_factors_that_always_change_together_are_one_line(played: Played) -> None:
    data = played(
        types={}, agent={"strategy": "random:0.5", "memory": {"name": "window", "k": 1}}, seeds=2,
        vary={
            "k": {"set": "agent.memory.k", "to": [1, 2]},
            "chance": {"set": "agent.strategy", "to": ["random:0.2", "random:0.8"]},
        },
        only=[{"k": 1, "chance": "random:0.2"}, {"k": 2, "chance": "random:0.8"}],
    )  # fmt: skip
    found = answers(data)
    assert found is not None
    assert [line.what for line in found.lines] == ["k (with chance): 2 − 1"]


@pytest.mark.parametrize(("strategy", "word"), [("random:0.95", YES), ("random:0.05", NO), ("random:0.5", OPEN)])
def test_a_study_that_varies_nothing_answers_with_its_level(played: Played, strategy: str, word: str) -> None:
    data = played(types={"coin": strategy}, vary={}, seeds=10)
    found = answers(data)
    (whole,) = estimate(data, "cooperation")
    assert found is not None
    (line,) = found.lines
    assert (line.word, line.what) == (word, "Cooperation, more than half?")
    assert (line.estimate.value, line.estimate.low) == (whole.value, whole.low)
    assert bool(line.needs) == (word == OPEN)


def test_exactly_half_is_decided_where_nothing_is_left_to_chance(played: Played) -> None:
    found = answers(
        played(types={"turns": "alternator"}, vary={}, mechanism={"name": "repetition", "rounds": 4}, seeds=1)
    )
    assert found is not None and [line.word for line in found.lines] == [NO]
    assert found.lines[0].estimate.value == 0.5 and found.lines[0].estimate.method == "exact"
    assert "YES: surely more than 0.5, NO: surely not" in found.rule


def test_the_chart_is_along_an_ordered_factor_with_games_as_multiples(played: Played) -> None:
    chart = first_chart(played(**MIXED))
    assert isinstance(chart, Curve)
    assert (chart.x, chart.colour, chart.facet) == (("k",), "chance", "game")


def test_a_run_without_a_finished_match_has_no_answer(played: Played) -> None:
    data = played(limit=0)
    assert answers(data) is None and findings(data) == [] and first_chart(data) is None


def test_facts_count_the_matches_that_were_finished(played: Played) -> None:
    replies = iter(["no answer", *["[A0]"] * 99])
    scripted.register("once", lambda request: next(replies))
    data = played(
        types={"m": "scripted/once"}, agent={"style": "direct"}, invalid={"retries": 0, "policy": "skip-match"},
        vary={}, seeds=4,
    )  # fmt: skip
    scripted.unregister("once")
    assert "3 matches · 3 seeds" in facts(data)


def test_agents_that_move_apart_have_a_line_each_and_no_mean(played: Played) -> None:
    """One rises by .30, the other falls by .07; their mean, +.12, is nobody's."""

    def rule(usual: float, other: float) -> Any:
        marks = {
            labels: cycle([f"[{labels[int(37 * i % 100 >= 100 * share)]}]" for i in range(100)])
            for labels, share in (("AB", usual), ("JF", other))
        }
        return lambda request: next(marks["JF" if " J" in request.messages[-1].content else "AB"])

    scripted.register("rising", rule(0.3, 0.6))
    scripted.register("falling", rule(0.7, 0.63))
    agents = {name: {"model": f"scripted/{name}"} for name in ("rising", "falling")}
    data = played(
        types={"tft": "tit_for_tat", **agents}, agent={"style": "direct"}, seeds=20,
        mechanism={"name": "repetition", "rounds": 20},
        vary={"labels": {"set": "agent.framing.labels", "to": ["AB", "JF"]}},
    )  # fmt: skip
    first_screen = answers(data)
    assert first_screen is not None
    lines = [(line.word, line.direction.split(",")[0], line.what) for line in first_screen.lines]
    assert lines[:2] == [(YES, "higher", "labels: JF − AB, rising"), (YES, "lower", "labels: JF − AB, falling")]
    assert [line.estimate.value for line in first_screen.lines[:2]] == pytest.approx([0.3, -0.07], abs=0.02)
    assert first_screen.between == ("labels (labels JF - AB): differs between agents: yes (p < 0.001)",)
