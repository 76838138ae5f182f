"""Measures of the persona study: hand-counted cases, and properties that hold for every game."""

from dataclasses import replace
from itertools import product
from math import isclose
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.replications.personas.theory import chance_of_nash

from ostrom.analysis.intervals import mean_of, paired_difference_of
from ostrom.analysis.statistics import StatisticsError
from ostrom.games import Game, build_game
from ostrom.games.scenarios import scenarios
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import OstromError
from ostrom.replications.personas import effects as effects_module
from ostrom.replications.personas import reference
from ostrom.replications.personas.effects import CELLS, FEW_CLUSTERS, effects, effects_of_counts, logistic
from ostrom.replications.personas.profiles import Played, describe, of_type, types_in
from ostrom.replications.personas.rates import distances, rates, regrets, role_shares

DEBT = build_game("scenario:commons/debt_crisis")
WATER = build_game("scenario:commons/water_crisis")
GREEN, TRAGEDY = (0, 0, 0, 0), (1, 1, 1, 1)


def one(game: Game, profile: tuple[int, ...], persona: str = "yes", payoffs: str = "hidden") -> Played:
    return describe(game, profile, agent="m", cell={"persona": persona, "payoffs": payoffs})


@st.composite
def games(draw: st.DrawFn) -> Game:
    shape = draw(st.lists(st.integers(2, 3), min_size=2, max_size=4))
    size = int(np.prod(shape)) * len(shape)
    payoffs = draw(st.lists(st.integers(-3, 3), min_size=size, max_size=size))
    actions = tuple(tuple(f"a{i}" for i in range(n)) for n in shape)
    return TensorGame("g", actions, np.reshape(np.array(payoffs, float), (*shape, len(shape))), (0,) * len(shape))


@settings(max_examples=60)
@given(games())
def test_a_profile_is_nash_exactly_when_nobody_regrets_and_nothing_is_to_change(game: Game) -> None:
    found = [describe(game, profile) for profile in game.profiles()]
    stable = [p for p in found if p.nash]
    for p in found:
        assert p.nash == (max(p.regrets) <= 0) == (p.distance == 0)
        assert min(p.regrets) >= 0
        nearest = [sum(a != b for a, b in zip(p.actions, q.actions, strict=True)) for q in stable]
        assert p.distance == (min(nearest) if nearest else None)
    assert isclose(chance_of_nash(game), len(stable) / len(found))


def test_hand_counted_regrets_of_the_published_table() -> None:
    green = one(DEBT, GREEN)
    assert not green.nash and green.green and green.distance == 4
    # The industrialist's column is the published one: 9.5 for polluting alone against 3 for going along.
    assert green.regrets[0] == 9.5 - 3
    assert one(DEBT, TRAGEDY).regrets == (0, 0, 0, 0)


def test_rates_by_type_with_intervals_over_scenarios() -> None:
    found = [one(DEBT, TRAGEDY), one(DEBT, GREEN), one(WATER, GREEN), one(WATER, GREEN)]
    asked = ("nash_rate", "green_rate", "tragedy_rate", "green_share_of_nash")
    by = {(m, r.scenario_type): r for m in asked for r in rates(found, m, by=("persona",))}
    assert by["nash_rate", "all"].share == 0.75
    assert by["nash_rate", "economic"].share == 0.5
    assert by["nash_rate", "environmental"].share == 1.0
    assert by["green_rate", "all"].share == 0.75
    assert by["tragedy_rate", "all"].share == 0.25
    assert (by["green_share_of_nash", "all"].successes, by["green_share_of_nash", "all"].n) == (2, 3)
    made = by["nash_rate", "all"].estimate
    over = mean_of([0.5, 1.0], bounds=(0, 1)).limits()  # two scenarios, not four matches
    assert made is not None and (made.n, made.unit) == (2, "scenario")
    assert (made.low, made.high) == pytest.approx((over.low, over.high))
    assert by["nash_rate", "economic"].limits == (None, None)
    assert by["nash_rate", "economic"].note.startswith("too few scenarios")


def test_matches_that_all_agree_do_not_claim_certainty() -> None:
    (rate,) = rates([one(DEBT, GREEN), one(WATER, (1, 0, 0, 0))], by=("persona",), types=["all"])
    assert rate.share == 0 and rate.limits == (None, None) and rate.estimate is not None
    assert rate.note == "all 2 alike" and rate.estimate.bound_low == 0
    assert rate.estimate.bound_high is not None and rate.estimate.bound_high > 0.5


def test_deterministic_matches_have_no_sampling_error() -> None:
    found = [replace(one(game, GREEN, *cell), exact=True) for game in (DEBT, WATER) for cell in CELLS]
    assert all(r.limits == (r.share, r.share) for r in rates(found, "nash_rate"))
    assert all(e.estimate.method == "exact" and e.points == 0 for e in effects(found))
    assert {r["estimate"].method for r in regrets(found)} == {"exact"}


def test_a_share_of_no_equilibria_is_undefined_not_zero() -> None:
    (rate,) = rates([one(DEBT, GREEN)], "green_share_of_nash", by=("persona",), types=["economic"])
    assert rate.estimate is None and rate.share is None and rate.n == 0 and rate.note == "no profile to ask"


def test_mixed_scenarios_are_reported_apart() -> None:
    every = [build_game(f"scenario:commons/{name}") for name in scenarios("commons")]
    mixed = next(game for game in every if game.params["class"] == "mixed")
    found = [one(DEBT, TRAGEDY), one(mixed, GREEN)]
    assert types_in(found) == ["all", "economic", "mixed"]
    assert of_type(found, "all") == found[:1]
    assert types_in(found[1:]) == ["mixed"]


def test_role_shares_count_the_actions_of_every_role() -> None:
    found = [one(DEBT, (0, 1, 1, 1)), one(WATER, (0, 0, 1, 1))]
    shares = {r.key["role"]: r.share for r in role_shares(found, by=(), types=["all"])}
    assert shares == {"Industrialist": 1.0, "Government": 0.5, "Environmental activist": 0.0, "Citizen": 0.0}


def test_effects_are_differences_in_percentage_points() -> None:
    counts = {
        ("yes", "hidden"): (1, 4),
        ("yes", "visible"): (2, 4),
        ("no", "hidden"): (2, 4),
        ("no", "visible"): (4, 4),
    }
    found = effects_of_counts(counts)
    assert found == {
        ("persona", "hidden"): 25, ("persona", "visible"): 50, ("persona", "average"): 37.5,
        ("visibility", "yes"): 25, ("visibility", "no"): 50, ("visibility", "average"): 37.5,
        ("interaction", "both"): 25,
    }  # fmt: skip


PLAYS = {("yes", "hidden"): 1, ("yes", "visible"): 2, ("no", "hidden"): 2, ("no", "visible"): 4}
"""How many of four matches of a cell end in the equilibrium."""


def matches_of_plays() -> list[Played]:
    return [
        one(game, (TRAGEDY if game is DEBT else GREEN) if k < nash else (0, 1, 0, 1), who, seen)
        for (who, seen), nash in PLAYS.items()
        for k, game in enumerate([DEBT, WATER, DEBT, WATER])
    ]


def test_effects_of_rows_agree_with_effects_of_counts() -> None:
    made = {(e.effect, e.at): e for e in effects(matches_of_plays(), types=["all"])}
    counts = {cell: (PLAYS[cell], 4) for cell in CELLS}
    assert {k: e.points for k, e in made.items()} == effects_of_counts(counts)
    for (effect, at), e in made.items():
        assert e.estimate.value == pytest.approx(e.points), (effect, at)
        assert e.points in e.estimate or e.estimate.note == "all 2 alike", (effect, at)
        assert (e.estimate.n, e.estimate.unit) == (2, "scenario")


def test_effects_are_paired_by_scenario() -> None:
    names = [n for n in scenarios("commons") if build_game(f"scenario:commons/{n}").params["class"] != "mixed"]
    found = []
    for k, name in enumerate(names[:20]):
        game = build_game(f"scenario:commons/{name}")
        good = TRAGEDY if game.params["class"] == "economic" else GREEN
        # Half of the scenarios are never solved, whoever plays; the persona costs two of twenty.
        for who in ("no", "yes"):
            solved = k < 10 and (who == "no" or k > 1)
            found += [one(game, good if solved else (0, 1, 0, 1), who)] * 3
    (effect,) = effects(found, types=["all"])
    assert effect.points == pytest.approx(10)
    expected = paired_difference_of(
        [float(k < 10) for k in range(20)], [float(1 < k < 10) for k in range(20)], bounds=(0, 1)
    ).limits()
    assert expected.low is not None and expected.high is not None
    assert (effect.estimate.low, effect.estimate.high) == pytest.approx((100 * expected.low, 100 * expected.high))


def test_the_interaction_is_twice_a_paired_difference() -> None:
    by = {(e.effect, e.at): e for e in effects(matches_of_plays(), types=["all"])}
    # Rates of (debt, water): yes hidden (.5, 0), yes visible (.5, .5), no hidden (.5, .5), no visible (1, 1).
    pairs = [(1 + 0.5) / 2, (1 + 0) / 2], [(0.5 + 0.5) / 2, (0.5 + 0.5) / 2]
    expected = paired_difference_of(*pairs, bounds=(0, 1)).limits()
    made = by["interaction", "both"].estimate
    assert expected.low is not None and expected.high is not None
    assert (made.low, made.high) == pytest.approx((200 * expected.low, 200 * expected.high))


def test_unequal_numbers_of_matches_leave_the_effect_as_counted() -> None:
    found = [one(DEBT, TRAGEDY, "no")] * 3 + [one(WATER, GREEN, "no"), one(WATER, (0, 1, 0, 1), "no")]
    found += [one(DEBT, (0, 1, 0, 1), "yes")] * 2 + [one(WATER, GREEN, "yes")]
    (effect,) = effects(found, types=["all"])
    assert effect.points == pytest.approx(100 * (4 / 5 - 1 / 3))
    assert effect.estimate.value == pytest.approx(effect.points)


def test_effects_that_lack_a_cell_are_left_out() -> None:
    assert {(e.effect, e.at) for e in effects([one(DEBT, GREEN, "yes"), one(DEBT, TRAGEDY, "no")], types=["all"])} == {
        ("persona", "hidden")
    }


def test_the_logistic_model_finds_an_interaction_that_was_put_in() -> None:
    rng = np.random.default_rng(4)
    chance = {("no", "hidden"): 0.3, ("yes", "hidden"): 0.3, ("no", "visible"): 0.8, ("yes", "visible"): 0.3}
    found = []
    for name in scenarios("commons"):
        game = build_game(f"scenario:commons/{name}")
        if game.params["class"] == "mixed":
            continue
        good = TRAGEDY if game.params["class"] == "economic" else GREEN
        for (who, seen), p in chance.items():
            found += [one(game, good if rng.random() < p else (0, 1, 0, 1), who, seen) for _ in range(5)]
    model = logistic(found)
    assert model.n_clusters == 53 and model.n == 4 * 265
    p_values = {line.key["term"]: line.p for line in model.coefficients if line.p is not None}
    assert p_values["payoffs[visible]"] < 0.001 and model["payoffs[visible]"].value > 1.5
    assert p_values["persona[yes]:payoffs[visible]"] < 0.001
    assert p_values["persona[yes]"] > 0.01


def test_separated_cells_have_no_logistic_estimate() -> None:
    found = [one(g, GREEN, who, seen) for g in (DEBT, WATER) for who, seen in CELLS]
    with pytest.raises(StatisticsError):
        logistic(found)


def test_regrets_and_distances_by_role() -> None:
    found = [one(DEBT, TRAGEDY), one(DEBT, (1, 1, 1, 0)), one(WATER, GREEN)]
    table = {r["role"]: r for r in regrets(found, by=(), types=["all"])}
    assert table["Citizen"]["n"] == 3 and isclose(table["Citizen"]["estimate"].value, 4 / 3)
    assert table["Citizen"]["best_replies"] == 2
    assert table["Industrialist"]["best_replies"] == table["Industrialist"]["n"]
    (spread,) = distances(found, by=(), types=["all"])
    assert spread["counts"] == {0: 2, 1: 1} and spread["mean"] == pytest.approx(1 / 3)


def test_unknown_measures_are_refused() -> None:
    with pytest.raises(OstromError, match="unknown measure of profiles"):
        rates([], "nash")


def test_every_profile_of_every_scenario_has_one_verdict() -> None:
    for name in scenarios("commons"):
        game = build_game(f"scenario:commons/{name}")
        found = [describe(game, profile) for profile in product(range(2), repeat=4)]
        assert sum(p.green for p in found) == sum(p.tragedy for p in found) == 1
        assert sum(p.nash for p in found) == round(16 * chance_of_nash(game))


def test_mentions_are_counted_where_all_rationales_of_the_paper_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference, "RATIONALES", 2)
    monkeypatch.setattr(reference, "estimate", lambda *_, **__: [])
    counts = [(1, {"fair": 2}), (1, {"fair": 1}), (2, {"fair": 5}), (3, {"fair": 7}), (3, {}), (3, {})]
    monkeypatch.setattr(reference, "keyword_counts", lambda _: (({"match": m}, of) for m, of in counts))
    rows = [
        {"match": match, "agent": "a", "persona": persona, "payoffs": "shown"}
        for match, persona in ((1, "yes"), (2, "no"), (3, "other"), (4, "yes"))
    ]
    monkeypatch.setattr(reference, "played", lambda *_: [SimpleNamespace(match=number) for number in (1, 2, 3)])
    run = {"factors": ("persona", "payoffs"), "records": lambda _: rows, "unit": None}
    data: Any = SimpleNamespace(columns=lambda _: ["rationale"], **run)
    games: Any = SimpleNamespace(of=None)
    (found,) = reference.keyword_figures(data, games)
    assert (found.cell, found.agent, found.value) == (("shown", "yes", "all", "fair_mentions"), "a", 3.0)
    assert found.matches == 1
    none: Any = SimpleNamespace(columns=lambda _: [], **run)
    assert list(reference.keyword_figures(none, games)) == []


def test_a_contradiction_of_the_paper_in_one_line() -> None:
    item = {"stated": "A.", "against": "B.", "figures": [{"what": "w", "stated": 1.5, "implied": 2.0}]}
    assert reference.told(item) == "A. But: B. (w: stated 1.5, implied 2)"
    assert reference.told({**item, "figures": []}) == "A. But: B."
    assert reference.selects({"a": "1"}, {"a": 1, "b": 2}) and not reference.selects(
        {"a": "1", "b": "1"}, {"a": 1, "b": 2}
    )


@pytest.mark.parametrize(("scenarios", "covariance"), [(FEW_CLUSTERS - 1, "bias_reduced"), (FEW_CLUSTERS, "robust")])
def test_errors_are_reduced_in_bias_where_scenarios_are_few(
    scenarios: int, covariance: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(cell, SimpleNamespace(scenario=n), True) for n in range(scenarios) for cell in CELLS]
    monkeypatch.setattr(effects_module, "_rows", lambda *_: rows)
    monkeypatch.setattr(effects_module, "gee_logistic", lambda *_, **given: given["covariance"])
    assert logistic([]) == covariance  # type: ignore[comparison-overlap]
