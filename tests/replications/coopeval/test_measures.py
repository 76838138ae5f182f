"""What mechanisms do, measured: scales from games, means with clustered intervals, choices, outliers."""

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.analysis.estimate import estimate
from ostrom.analysis.intervals import mean_of
from ostrom.data.rundata import RunData, run_data
from ostrom.games import build_game
from ostrom.games.tensor import TensorGame
from ostrom.ground.validation import validate
from ostrom.mechanisms import mechanisms
from ostrom.replications.coopeval.conduct import action_shares, conduct_rates, tallies
from ostrom.replications.coopeval.incentives import continuation_of
from ostrom.replications.coopeval.scores import (
    Point,
    Scale,
    _bounded,
    design_of,
    normalised_mean,
    normalised_means,
    outliers,
    scale_of,
    score_points,
)
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile


@pytest.mark.parametrize(
    ("game", "low", "high"),
    [
        ("prisoners_dilemma:coopeval", 1.0, 2.0),
        ("public_goods", 1.0, 1.5),
        ("travelers_dilemma", 2.0, 5.0),
        ("trust", 4.0, 10.0),
    ],
)
def test_the_benchmarks_are_computed_from_the_game(game: str, low: float, high: float) -> None:
    built = build_game(game)
    scale = scale_of(built)
    assert scale == Scale((low,) * built.seats, (high,) * built.seats)
    assert isinstance(scale, Scale)
    assert scale.normalised(0, low) == 0.0 and scale.normalised(0, high) == 1.0


def test_games_without_a_scale_say_why() -> None:
    assert scale_of(build_game("matching_pennies")) == "game matching_pennies defines no cooperative action"
    actions = (("c", "d"),) * 2
    harmony = TensorGame("harmony", actions, np.array([[[3, 3], [2, 1]], [[1, 2], [0, 0]]]), cooperative=(0, 0))
    assert scale_of(harmony) == "in game harmony it is no equilibrium that all defect"
    flat = TensorGame("flat", actions, np.array([[[1, 1], [0, 1]], [[1, 0], [1, 1]]]), cooperative=(0, 0))
    assert "no more and no less" in str(scale_of(flat))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunData]:
    runs = tmp_path_factory.mktemp("runs")
    study = validate(
        StudyFile,
        {
            "name": "tour",
            "game": {"name": "prisoners_dilemma", "preset": "coopeval"},
            "types": {"c": "cooperator", "d": "defector"},
            "seating": "ordered",
            "vary": {
                "mechanism": [
                    "none",
                    {"name": "mediation", "designs": [[1, 0], [1, 1]]},
                    {"name": "contracting", "designs": [[3, -3], [0, 0]]},
                    {"name": "reputation", "rounds": 2},
                ]
            },
            "seeds": 2,
        },
        "test",
    )
    play(study, runs=runs)
    with open_run("tour", runs) as run:
        made = run_data(run.rows, run.folder.path, run.manifest)
        yield made
        made.close()


def rows_of(data: RunData) -> list[dict[str, Any]]:
    return data.records("SELECT * FROM matches ORDER BY match, player")


def test_normalised_means_of_a_run_are_those_worked_out_by_hand(data: RunData) -> None:
    points = score_points(rows_of(data), data.unit)
    assert points.scales == {"prisoners_dilemma": Scale((1.0, 1.0), (2.0, 2.0))}
    found = {
        (m.estimate.key["mechanism"], m.estimate.key["type"]): m
        for m in normalised_means(points.points, ["mechanism", "type"])
    }
    # Cooperators score 2, 2 with themselves and 0 twice: mean 1, which is 0 on the scale; defectors 2, so 1.
    assert found["none", "c"].estimate.value == 0.0 and found["none", "d"].estimate.value == 1.0
    assert found["none", "c"].matches == 6 and found["none", "c"].runs == 2
    (none, *_) = normalised_means(points.points, ["mechanism"])
    # Cooperators and defectors draw nothing: the same matches again would give the same scores.
    assert none.estimate.value == 0.5 and none.estimate.method == "exact"
    assert none.estimate.low == none.estimate.high == 0.5


def test_exact_expectations_leave_out_and_count_what_has_none(data: RunData) -> None:
    points = score_points(rows_of(data), data.unit, expected=True)
    assert {p.mechanism for p in points.points} == {"none", "mediation", "contracting"}
    assert points.left_out == 2 * 4  # two societies of two types at two seats


def point(value: float, match: int, **more: Any) -> Point:
    return Point(**{
        "mechanism": "m", "game": "g", "type": "t", "value": value, "match": match, "seed": 0,
        "design": f"match {match}", "seat": 1, "score": value, **more,
    })  # fmt: skip


def test_types_and_games_weigh_the_same_however_often_they_played() -> None:
    points = [point(1.0, i) for i in range(10)] + [point(0.0, 10, type="u")] + [point(0.0, 11, game="h")]
    assert normalised_mean(points).estimate.value == pytest.approx(((1 + 0) / 2 + 0) / 2)


def test_the_unit_is_a_design_and_not_the_matches_under_it() -> None:
    # Four designs, two good and two bad, with twenty matches each: the mean is unsure by the designs.
    def under(design: str, value: float, first: int) -> list[Point]:
        return [point(value, first + i, design=f"design of {design}", bounds=(0.0, 1.0)) for i in range(20)]

    designed = normalised_mean([p for i, d in enumerate("abcd") for p in under(d, float(i < 2), 20 * i)]).estimate
    counted = mean_of([1.0, 1.0, 0.0, 0.0], bounds=(0.0, 1.0)).limits()
    assert (designed.n, designed.unit) == (4, "design")
    assert (designed.low, designed.high) == pytest.approx((counted.low, counted.high))
    plain = normalised_mean([point(float(i < 40), i, bounds=(0.0, 1.0)) for i in range(80)]).estimate
    counted = mean_of([1.0] * 40 + [0.0] * 40, bounds=(0.0, 1.0)).limits()
    assert (plain.n, plain.unit) == (80, "match")
    assert (plain.low, plain.high) == pytest.approx((counted.low, counted.high))


def test_opponents_are_given_and_not_drawn() -> None:
    # Every pair always gives nearly the same score: what differs between pairs is no uncertainty.
    values = [float(pair) + 0.01 * seed for pair in range(4) for seed in range(3)]
    pairs = [(f"x{pair}",) for pair in range(4) for _ in range(3)]
    apart = normalised_mean([point(v, i, opponents=o) for i, (v, o) in enumerate(zip(values, pairs, strict=True))])
    pooled = normalised_mean([point(v, i) for i, v in enumerate(values)])
    assert apart.estimate.value == pytest.approx(pooled.estimate.value)
    assert (
        apart.estimate.low is not None
        and apart.estimate.high is not None
        and apart.estimate.high - apart.estimate.low < 0.1
    )
    assert (
        pooled.estimate.low is not None
        and pooled.estimate.high is not None
        and pooled.estimate.high - pooled.estimate.low > 1
    )


def test_one_match_has_no_interval() -> None:
    found = normalised_mean([point(0.5, 0), point(0.7, 0)])
    assert found.estimate.value == pytest.approx(0.6) and found.estimate.low is None
    assert found.estimate.note.startswith("too few matches")


def test_all_matches_alike_are_no_certainty_and_a_deterministic_match_is() -> None:
    alike = normalised_mean([point(1.0, i, bounds=(-1.0, 2.0)) for i in range(8)])
    assert (alike.estimate.low, alike.estimate.high, alike.estimate.note) == (None, None, "all 8 alike")
    assert alike.estimate.bound_low is not None and alike.estimate.bound_high is not None
    assert alike.estimate.bound_low < 1.0 < alike.estimate.bound_high
    unbounded = normalised_mean([point(1.0, i) for i in range(8)]).estimate
    assert (unbounded.low, unbounded.bound_low) == (None, None)  # without a range nothing is known
    exact = normalised_mean([point(float(i), i, exact=True) for i in range(4)])
    assert exact.estimate.low == exact.estimate.high == exact.estimate.value == 1.5
    half = normalised_mean([point(float(i % 2), i, exact=i < 20, bounds=(0.0, 1.0)) for i in range(40)])
    drawn = mean_of([0.0, 1.0] * 10, bounds=(0.0, 1.0)).limits()
    assert (
        half.estimate.value == pytest.approx(0.5)
        and drawn.low is not None
        and half.estimate.low == pytest.approx(0.25 + drawn.low / 2)
    )


def test_bounds_are_those_of_the_game_unless_a_mechanism_pays(data: RunData) -> None:
    points = score_points(rows_of(data), data.unit).points
    bounds = {p.mechanism: (p.bounds, p.score_bounds) for p in points}
    assert bounds["none"] == ((-1.0, 2.0), (0.0, 3.0))
    strange = [{**row, "score": 9.0 if row["mechanism"] == "none" else row["score"]} for row in rows_of(data)]
    assert {p.bounds for p in score_points(strange, data.unit).points if p.mechanism == "none"} == {(None, None)}
    assert bounds["contracting"] == ((None, None), (None, None))  # contracts pay, too


@settings(max_examples=25)
@given(st.lists(st.floats(-2, 2, allow_subnormal=False), min_size=2, max_size=30))
def test_intervals_hold_the_mean_and_are_the_same_every_time(values: list[float]) -> None:
    points = [point(v, i, bounds=(-2.0, 2.0)) for i, v in enumerate(values)]
    found = normalised_mean(points)
    assert found.estimate.value == pytest.approx(float(np.mean(values)), abs=1e-9)
    made = found.estimate
    if found.estimate.low is None or found.estimate.high is None:
        assert made.note.startswith(f"all {len(values)} alike") and max(values) - min(values) < 1e-9
    else:
        assert (
            -2 <= found.estimate.low <= found.estimate.value + 1e-9
            and found.estimate.value - 1e-9 <= found.estimate.high <= 2
        )
    assert made.bound_low is not None and made.bound_high is not None
    assert -2 <= made.bound_low <= found.estimate.value + 1e-9 and found.estimate.value - 1e-9 <= made.bound_high <= 2
    assert normalised_mean(points) == found


def test_the_design_of_a_match_is_that_of_the_winner() -> None:
    players = [{"agent": a, "agent_id": i, "facts": None} for a, i in (("x", "1"), ("y", "2"))]
    assert design_of(players, 7) == "match 7"
    facts = {"winner": "K2", "proposals": [{"label": "K1", "seat": 0}, {"label": "K2", "seat": 1}]}
    players[0]["facts"] = orjson.dumps(facts).decode()
    assert design_of(players, 7) == "design of y #2 at seat 2"


def test_one_wild_match_is_named_and_ordinary_ones_are_not() -> None:
    rng = np.random.default_rng(1)
    ordinary = [point(float(v), i) for i, v in enumerate(rng.normal(0.5, 0.2, 60))]
    assert outliers(ordinary) == []
    (found,) = outliers([*ordinary, point(-40.0, 99, score=-123.0)])
    assert (found["match"], found["score"]) == (99, -123.0)
    assert found["without"] == pytest.approx(np.mean([p.value for p in ordinary]))
    assert found["shift"] < -found["half_width"]
    assert found["mean"] == pytest.approx((sum(p.value for p in ordinary) - 40) / 61)


def test_two_wild_matches_cannot_hide_each_other() -> None:
    rng = np.random.default_rng(2)
    ordinary = [point(float(v), i) for i, v in enumerate(rng.normal(0.87, 0.3, 970))]
    wild = [point(-150.0, 2000), point(-140.0, 2001)]
    assert {o["match"] for o in outliers([*ordinary, *wild])} == {2000, 2001}


def test_a_handful_of_matches_is_not_searched() -> None:
    assert outliers([point(v, i) for i, v in enumerate([0.1, 0.1, 9.0])]) == []


def around(ordinary: int, wild: int) -> set[int]:
    """Matches that are named among so many that alternate between 0.4 and 0.6, and so many wild ones."""
    points = [point(0.4 + 0.2 * (i % 2), i) for i in range(ordinary)]
    return {o["match"] for o in outliers([*points, *(point(-90.0 - i, 1000 + i) for i in range(wild))])}


@pytest.mark.parametrize(
    ("ordinary", "wild", "named"),
    [
        (6, 1, 0), (7, 1, 1),  # a mean of fewer than eight matches is not searched
        (37, 2, 0), (38, 2, 2),  # one in twenty: two of 39 are too many to be outliers, two of 40 are not
        (57, 3, 3), (56, 3, 0), (95, 5, 5),
        (300, 5, 5), (300, 6, 0),  # never more than five
        (40, 0, 0),
    ],
)  # fmt: skip
def test_how_many_matches_may_be_outliers(ordinary: int, wild: int, named: int) -> None:
    assert around(ordinary, wild) == {1000 + i for i in range(named)}


def test_a_match_is_named_only_if_it_moves_the_mean_by_more_than_half_its_interval() -> None:
    ordinary = [point(0.4 + 0.2 * (i % 2), i) for i in range(20)]
    interval = mean_of([p.value for p in ordinary]).limits()
    assert interval.low is not None and interval.high is not None
    half = (interval.high - interval.low) / 2
    # Opponents and determinism have no part in it, and neither have bounds.
    ordinary = [replace(p, opponents=(str(i % 2),), exact=True, bounds=(-9.0, 9.0)) for i, p in enumerate(ordinary)]
    # One match at 0.5 + 21 s moves a mean of 20 matches around 0.5 by s.
    assert outliers([*ordinary, point(0.5 + 21 * half * 0.95, 99)]) == []
    (found,) = outliers([*ordinary, point(0.5 + 21 * half * 1.05, 99)])
    assert found["shift"] == pytest.approx(half * 1.05) and found["half_width"] == pytest.approx(half)


def test_choices_are_counted_with_those_that_nobody_took(data: RunData) -> None:
    found = {(s.mechanism, s.agent, s.choice): s for s in action_shares(data)}
    assert found["none", "c", "cooperate"].chosen == found["none", "c", "cooperate"].decisions == 8
    assert found["none", "d", "cooperate"].chosen == 0 and found["none", "d", "cooperate"].stated == 0.0
    assert ("mediation", "d", "delegate") in found


def test_rates_of_conduct_are_read_from_the_tables(data: RunData) -> None:
    found = conduct_rates(data)
    measures = {(r["mechanism"], r["measure"]) for r in found}
    assert {("mediation", "delegates"), ("contracting", "signs"), ("contracting", "in_force")} <= measures
    for r in found:
        assert r["estimate"].value == pytest.approx(r["share"])
        low, high = r["estimate"].bound_low, r["estimate"].bound_high
        assert low is not None and high is not None and 0 <= low <= r["share"] <= high <= 1
        assert r["estimate"].low is not None or "alike" in r["estimate"].note
    assert not any(r["mechanism"] in ("none", "reputation") for r in found)
    for mechanism in ("mediation", "contracting"):
        wins = [r for r in found if (r["mechanism"], r["measure"]) == (mechanism, "wins")]
        # Four seatings in two replicates: eight winners among sixteen proposals.
        assert sum(r["times"] for r in wins) == 8 and sum(r["occasions"] for r in wins) == 16


def test_the_unit_of_a_rate_is_a_match_and_matches_weigh_by_their_occasions(data: RunData) -> None:
    place = ("mediation", "d", "approves")
    (found,) = [r for r in conduct_rates(data) if (r["mechanism"], r["agent"], r["measure"]) == place]
    # Two replicates of cc, cd, dc, dd: d sits in three of the four, in dd twice; two proposals each.
    assert (found["occasions"], found["estimate"].n, found["estimate"].unit) == (2 * 4 * 2, 6, "match")
    assert estimate(data, "approves", ["agent"], where={"mechanism": "mediation", "agent": "d"}) == [
        replace(found["estimate"], key={"agent": "d"})
    ]


def test_tallies_by_hand() -> None:
    proposals = [{"label": "K1", "seat": 0}, {"label": "K2", "seat": 1}]
    facts = orjson.dumps({"proposals": proposals, "winner": "K2", "in_force": False}).decode()
    matches = [{"match": 0, "player": s, "seat": s, "facts": facts} for s in (1, 2)]
    x, y = ({"match": 0, "player": s, "seat": s} for s in (1, 2))
    decisions = [
        {**x, "kind": "vote", "answer": '{"K1":true,"K2":true}'},
        {**y, "kind": "vote", "answer": '{"K1":true,"K2":false}'},
        {**x, "kind": "sign", "answer": '{"sign":true}'},
        {**y, "kind": "sign", "answer": '{"sign":false}'},
        {**x, "kind": "act", "answer": "cooperate"},
    ]
    found = tallies(decisions, matches)
    assert found == {
        "approves": {(0, 1): [2, 2], (0, 2): [1, 2]}, "approves_own": {(0, 1): [1, 1], (0, 2): [0, 1]},
        "wins": {(0, 1): [0, 1], (0, 2): [1, 1]}, "signs": {(0, 1): [1, 1], (0, 2): [0, 1]},
        "in_force": {(0, 1): [0, 1], (0, 2): [0, 1]},
    }  # fmt: skip
    mediated = [{"match": 0, "player": s, "seat": s, "facts": '{"delegated":[false,true]}'} for s in (1, 2)]
    acts = [{**who, "kind": "act", "answer": "cooperate"} for who in (x, y)]
    assert tallies(acts, mediated) == {"delegates": {(0, 1): [0, 1], (0, 2): [1, 1]}}


@pytest.mark.parametrize(
    ("score", "bounds", "kept"),
    [
        (0.0, (0.0, 5.0), True), (5.0, (0.0, 5.0), True), (5.1, (0.0, 5.0), False), (-0.1, (0.0, 5.0), False),
        (1.0, (None, 5.0), False), (1.0, (0.0, None), False),
    ],
)  # fmt: skip
def test_a_score_beyond_its_bounds_takes_them_from_its_cell_alone(score: float, bounds: Any, kept: bool) -> None:
    sure = Point("none", "pd", "a", 0.5, 1, 1, "match 1", 1, 2.0, bounds=(0.0, 1.0), score_bounds=(0.0, 5.0))
    tried = replace(sure, match=2, score=score, score_bounds=bounds)
    other = replace(sure, game="other")
    ends = [(p.bounds, p.score_bounds) for p in _bounded([sure, tried, other])]
    whole = ((0.0, 1.0), (0.0, 5.0))
    assert ends == ([whole] * 3 if kept else [((None, None), (None, None))] * 2 + [whole])


@pytest.mark.parametrize(
    ("told", "answer"),
    [
        ({"told_continuation": 0.5}, "yes"),
        ({"told_continuation": 0.49}, "no"),
        ({"discount": 0.5}, "yes"),
        ({}, "unknown"),
    ],
)
def test_cooperation_needs_the_least_continuation_and_no_more(told: dict[str, float], answer: str) -> None:
    game = build_game({"name": "prisoners_dilemma", "preset": "coopeval"})  # 0.5 is the least that it needs
    rules = mechanisms.build({"name": "repetition", "rounds": 5, **told})
    unit: Any = SimpleNamespace(game=game, mechanism=rules, cell={})
    found = continuation_of(unit)
    assert found.needed == pytest.approx(0.5) and found.answer == answer
