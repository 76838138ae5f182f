"""Estimates, contrasts and trends of real runs."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from tests.analysis.conftest import PlayedRun

from ostrom.analysis.estimate import Estimate, Query, _pooled, contrast, estimate, estimated, fixed, minus, trend
from ostrom.analysis.intervals import combined as added
from ostrom.analysis.intervals import exactly, mean_of
from ostrom.analysis.intervals.binary import wilson
from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.unit_figures import UnitFigure, UnitSide, balanced, comparison
from ostrom.analysis.units import Observation, Observations, UnitValue, observations
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.models.base import Request
from ostrom.models.providers import scripted

TOURNAMENT: dict[str, Any] = {
    "seating": "unordered",
    "types": {"kind": "cooperator", "coin": "random:0.5", "mostly": "random:0.9"},
    "vary": {"k": {"set": "agent.memory.k", "to": [1, 4]}},
}


def by_agent(found: list[Estimate]) -> dict[str, Estimate]:
    return {one.key["agent"]: one for one in found}


def measure(sql: str, **changes: Any) -> Measure:
    return Measure("own", "Own", changes.pop("scale", "share"), "A measure.", sql, **changes)


@pytest.mark.slow
def test_estimates_are_plain_means_over_matches_in_the_order_of_the_study(small: RunData) -> None:
    found = estimate(small, "cooperation", ["agent", "game"])
    assert [tuple(one.key.values()) for one in found][:3] == [
        ("kind", "prisoners_dilemma"), ("kind", "stag_hunt"), ("coin", "prisoners_dilemma"),
    ]  # fmt: skip
    for one in found:
        plain = small.records(
            "SELECT avg(v) AS v, count(*) AS n FROM (SELECT avg(cooperation) AS v FROM matches "
            "WHERE state = 'done' AND agent = ? AND game = ? GROUP BY match)",
            *one.key.values(),
        )[0]
        assert one.value == pytest.approx(plain["v"]) and one.n == plain["n"] == 9


def test_a_deterministic_player_is_exact_and_others_are_not(small: RunData) -> None:
    found = by_agent(estimate(small, "cooperation", ["agent"]))
    for agent in ("kind", "tft"):
        one = found[agent]
        assert (one.low, one.high, one.method) == (1.0, 1.0, "exact") and "deterministic" in one.note
        assert str(one) == "1.00 (exact), n = 18 matches, 36 rows"
    assert found["coin"].method == "Student's t, over conditions"
    assert found["coin"].low is not None and found["coin"].low < found["coin"].value
    few = estimate(small, "cooperation", ["agent", "game", "k"], where={"k": 4})
    shown = {(one.key["agent"], len(one.values)) for one in few}  # single values say more than few of chance
    assert {("kind", 0), ("tft", 0), ("coin", 3)} <= shown and len(shown) == len(found)
    everyone = estimate(small, "cooperation")[0]
    assert "36 of 72 values are deterministic" in everyone.note
    assert everyone.value == pytest.approx(sum(one.value for one in found.values()) / 4)
    assert everyone.low is not None and everyone.high is not None
    # Half of the matches are certain, so the interval is half as wide as that of the others.
    assert everyone.high - everyone.low < 0.3


def test_noise_or_a_length_by_chance_is_no_determinism(play_run: PlayedRun) -> None:
    for rules in ({"noise": 0.1}, {"stopping": "geometric", "continuation": 0.9}):
        mechanism = {"name": "repetition", "rounds": 10, **rules}
        run = play_run(mechanism=mechanism, types={"kind": "cooperator"}, vary={}, seeds=3)
        one = estimate(run, "cooperation")[0]
        assert one.method != "exact" and one.bound_low != one.bound_high


def test_all_alike_is_not_certainty_for_players_by_chance(play_run: PlayedRun) -> None:
    run = play_run(types={"nearly": "random:0.999"}, vary={}, seeds=8, mechanism={"name": "repetition", "rounds": 2})
    one = estimate(run, "cooperation")[0]
    assert one.value == 1.0 and one.low is None and one.note == "all 8 alike" and one.bound_high == 1.0
    assert one.bound_low is not None and one.bound_low < 0.7


def test_seeds_are_labels_unless_they_share_something(small: RunData) -> None:
    found = by_agent(contrast(small, "cooperation", "k", "16 - 1", ["agent"]))
    assert found["coin"].method == "Welch's t, over conditions" and found["coin"].n == 12
    shared = replace(observations(small, measures.named("cooperation")), shared=True)
    paired = by_agent(contrast(shared, "cooperation", "k", "16 - 1", ["agent"]))["coin"]
    assert (paired.method, paired.n) == ("paired t", 3) and paired.value == pytest.approx(found["coin"].value)
    assert dict(found["coin"].key) == {"agent": "coin", "k": "16 - 1"}
    assert found["kind"].method == "exact" and found["kind"].value == 0
    levels = {one.key["k"]: one.value for one in estimate(small, "cooperation", ["k"], where={"agent": "coin"})}
    assert found["coin"].value == pytest.approx(levels[16] - levels[1])
    turned = by_agent(contrast(small, "cooperation", "k", (1, 16), ["agent"]))["coin"]
    assert turned.value == pytest.approx(-found["coin"].value)
    assert turned.low == pytest.approx(-(found["coin"].high or math.nan))


def test_players_of_one_match_are_paired_in_it_and_opponents_are_not_resampled(play_run: PlayedRun) -> None:
    run = play_run(**TOURNAMENT)
    one = contrast(run, "cooperation", "agent", "mostly - coin")[0]
    assert one.method.startswith("paired") and one.value == pytest.approx(0.4, abs=0.2)
    exact_side = contrast(run, "cooperation", "agent", "kind - coin")[0]
    assert "one side is deterministic" in exact_side.note or "paired" in exact_side.method
    found = by_agent(estimate(run, "payoff", ["agent"]))["kind"]
    # Against a coin and against itself a cooperator earns very differently: that is design, not error.
    spread = [e.value for e in estimate(run, "payoff", ["opponents"], where={"agent": "kind"})]
    assert max(spread) - min(spread) > 1
    assert found.low is not None and found.high is not None and found.high - found.low < 1


@pytest.mark.slow
def test_sides_that_differ_in_more_than_the_factor_say_so(play_run: PlayedRun) -> None:
    run = play_run()
    where = "(game = 'stag_hunt' AND k IN (1, 4)) OR (game = 'prisoners_dilemma' AND k = 16)"
    one = contrast(run, "cooperation", "game", ("stag_hunt", "prisoners_dilemma"), ["agent"], where=where)[1]
    assert one.note == "caution: 3 matches; the sides also differ in k"
    assert one.method.startswith("Welch's t")


def test_trends_are_least_squares_slopes(small: RunData) -> None:
    found = by_agent(trend(small, "cooperation", "k", ["agent"], log=True))
    rows = small.records(
        "SELECT regr_slope(v, ln(k)) AS b FROM (SELECT k, avg(cooperation) AS v FROM matches "
        "WHERE agent = 'coin' GROUP BY match, k)"
    )
    assert found["coin"].value == pytest.approx(rows[0]["b"])
    assert found["coin"].method == "least squares, HC3"
    assert found["kind"].method == "exact"
    with pytest.raises(UsageError, match="needs numbers in game"):
        trend(small, "cooperation", "game")
    assert trend(small, "cooperation", "k", where={"k": 4}) == []


def test_players_of_one_match_count_at_their_own_levels(play_run: PlayedRun) -> None:
    types = {
        name: {"strategy": strategy, "attributes": {"size": size}}
        for name, strategy, size in (("kind", "cooperator", 1), ("mean", "defector", 3), ("coin", "random:0.5", 4))
    }
    run = play_run(seating="unordered", types=types, vary={"game": ["prisoners_dilemma", "stag_hunt"]}, seeds=2)
    fixed_ones = {"opponents": ["kind", "mean"], "agent": ["kind", "mean"]}
    (slope,) = trend(run, "cooperation", "size", where=fixed_ones)
    assert (slope.value, slope.method) == (-0.5, "exact")
    (drawn,) = trend(run, "cooperation", "size")
    share = {key: one.value for key, one in by_agent(estimate(run, "cooperation", ["agent"])).items()}
    # Each type is in as many matches as the others: least squares by hand over sizes 1, 3, 4.
    off = {"kind": 1 - 8 / 3, "mean": 3 - 8 / 3, "coin": 4 - 8 / 3}
    by_hand = sum(off[name] * share[name] for name in off) / sum(x * x for x in off.values())
    assert drawn.value == pytest.approx(by_hand, abs=0.02) and drawn.n == 24  # within games and opponents
    # Of kind and kind, kind and mean, mean and mean: half the agents cooperate, whoever sits first.
    (even,) = estimate(run, "cooperation", where={**fixed_ones, "seat": [1, 2]}, balance=["agent"])
    assert even.value == 0.5 and even.n == 12
    with pytest.raises(UsageError, match="players of one match differ in agent"):
        contrast(run, "cooperation", "game", ("stag_hunt", "prisoners_dilemma"), balance=["agent"])


def test_payoffs_have_the_bounds_of_their_game(small: RunData) -> None:
    for one in estimate(small, "payoff", ["agent", "game"]):
        assert one.low is not None and one.high is not None
        assert 0 <= one.low <= one.value <= one.high <= 5
        assert one.method in ("exact", "Student's t, over conditions")


def test_a_value_of_the_match_is_grouped_by_all_its_players(play_run: PlayedRun) -> None:
    run = play_run(**TOURNAMENT)
    found = estimate(run, "joint_cooperation", ["agent"])
    assert {"kind", "coin", "mostly"} < {one.key["agent"] for one in found}
    assert any(" + " in one.key["agent"] for one in found)


def test_runs_are_taken_together(small: RunData, play_run: PlayedRun) -> None:
    other = play_run(name="other", vary={"game": ["prisoners_dilemma"]})
    both = by_agent(estimate([small, other], "cooperation", ["agent"]))
    assert both["coin"].n == 18 + 3
    per_run = estimate([small, other], "cooperation", ["run", "agent"])
    assert {one.key["run"] for one in per_run} == {"small", "other"}
    twice = estimate([small, small], "cooperation", ["agent"])
    assert by_agent(twice)["coin"].n == 36  # two runs of one name are two runs


def test_conditions_pick_matches(small: RunData) -> None:
    by_sql = estimate(small, "cooperation", ["agent"], where="k = 4 AND game = 'stag_hunt'")
    by_value = estimate(small, "cooperation", ["agent"], where={"k": [4], "game": "stag_hunt"})
    assert by_sql == by_value and by_sql[0].n == 3
    with pytest.raises(UnknownName, match="unknown column 'kk'"):
        estimate(small, "cooperation", where={"kk": 4})
    with pytest.raises(UnknownName, match="unknown column 'colour'"):
        estimate(small, "cooperation", ["colour"])
    with pytest.raises(UnknownName, match="unknown measure 'cooperatoin'"):
        estimate(small, "cooperatoin")
    with pytest.raises(UsageError, match="must be two of its levels"):
        contrast(small, "cooperation", "k", "16 - 3")


def test_unfinished_matches_do_not_count(play_run: PlayedRun) -> None:
    def says(request: Request) -> str:
        asked = " ".join(message.content for message in request.messages)
        return "[A0]" if "This is round 2" not in asked else "Hard to say."

    scripted.register("gives_up", says)
    scripted.register("goes_on", "[A0]")
    try:
        run = play_run(
            types={"weak": {"model": "scripted/gives_up"}, "firm": {"model": "scripted/goes_on"}},
            vary={},
            mechanism={"name": "repetition", "rounds": 4},
            invalid={"retries": 0, "policy": "fail"},
        )
    finally:
        scripted.unregister("gives_up")
        scripted.unregister("goes_on")
    states = {r["state"]: r["n"] for r in run.records(
        "SELECT state, count(DISTINCT match) AS n FROM matches GROUP BY state"
    )}  # fmt: skip
    decided = run.records("SELECT count(DISTINCT match) AS n FROM decisions")[0]["n"]
    assert states.get("failed", 0) > 0 and decided == sum(states.values())
    found = estimate(run, "by_policy", ["agent"])
    assert [(one.key["agent"], one.n) for one in found] == [("firm", states["done"])]


def test_failed_and_unreadable_matches_name_the_value_at_either_end(play_run: PlayedRun) -> None:
    """Most matches are skipped: the others say little about all of them."""
    count = 0

    def says(request: Request) -> str:
        nonlocal count
        count += 1
        return "[A0]" if count % 3 == 0 else "Hard to say."

    scripted.register("mumbles", says)
    try:
        run = play_run(
            types={"weak": {"model": "scripted/mumbles", "constrain": "never"}},
            vary={"game": ["prisoners_dilemma", "stag_hunt"]},
            mechanism="none", seeds=12, invalid={"retries": 0, "policy": "skip-match"},
        )  # fmt: skip
    finally:
        scripted.unregister("mumbles")
    (one,) = estimate(run, "cooperation")
    done = run.records("SELECT count(DISTINCT match) AS n FROM matches WHERE state = 'done'")[0]["n"]
    every = run.records("SELECT count(DISTINCT match) AS n FROM matches")[0]["n"]
    assert 0 < done < every == 24
    low, high = one.value * done / every, (one.value * done + every - done) / every
    assert one.failed == pytest.approx((low, high))
    assert f"{every - done} of {every} matches failed or were skipped: {low:.3f} to {high:.3f} if all" in one.note
    assert one.as_dict()["failed_low"] == pytest.approx(low)
    both = {e.key["game"]: e for e in estimate(run, "cooperation", ["game"])}
    (off,) = contrast(run, "cooperation", "game", "prisoners_dilemma - stag_hunt")
    (a, b), (c, d) = (both[game].failed or (0.0, 0.0) for game in ("prisoners_dilemma", "stag_hunt"))
    assert off.failed == pytest.approx((a - d, b - c))
    assert "failed_low" not in estimate(run, "cooperation", where="seed < 0 OR state = 'done'")[0].as_dict()


def test_moves_of_a_script_that_depend_on_nobody_are_exact_against_a_model(play_run: PlayedRun) -> None:
    """A cooperator cooperates whatever a model does; its score, and what tit for tat does, are up to the model."""
    scripted.register("either", lambda request: "[A0]" if len(str(request.messages)) % 3 else "[A1]")
    scripts = {"kind": "cooperator", "mean": "defector", "turns": "alternator", "tft": "tit_for_tat"}
    try:
        run = play_run(
            types={**scripts, "model": {"model": "scripted/either"}}, vary={}, seeds=2, seating="unordered",
            mechanism={"name": "repetition", "rounds": 4},
        )  # fmt: skip
    finally:
        scripted.unregister("either")
    picked = "opponents LIKE '%model%' OR agent = 'model'"
    found = {one.key["agent"]: one for one in estimate(run, "cooperation", ["agent"], where=picked)}
    sure = [(found[name].method, found[name].value) for name in ("kind", "mean", "turns")]
    assert sure == [("exact", 1.0), ("exact", 0.0), ("exact", 0.5)]
    assert found["tft"].method != "exact" and found["model"].method != "exact"
    scores = estimate(run, "score", ["agent"], where=picked)
    assert all(one.method != "exact" for one in scores)


def test_a_rate_weighs_matches_by_its_chances_and_has_bounds(play_run: PlayedRun) -> None:
    """No match has more rounds than its mechanism declares, which is all that the bounds of a ratio need."""
    run = play_run(types={"coin": "random:0.7"}, vary={}, seeds=8)
    (one,) = estimate(run, "repair_rate")
    assert one.bound_low is not None and one.bound_high is not None and one.low is not None and one.high is not None
    assert one.bound_low < one.value < one.bound_high and one.low < one.value < one.high


def test_a_declared_trial_has_wilsons_interval_and_the_mean_of_two_players_is_none(play_run: PlayedRun) -> None:
    run = play_run(types={"coin": "random:0.5"}, vary={}, seeds=9, mechanism="none")
    both = "SELECT match, (min(cooperation) = 1)::INTEGER AS value FROM matches GROUP BY match"
    each = "SELECT match, player, cooperation AS value FROM matches"
    (trial,), (halves,) = (estimate(run, replace(measure(sql), binary=True)) for sql in (both, each))
    count = round(trial.value * trial.n)
    assert trial.method == "Wilson's score" and (trial.low, trial.high) == pytest.approx(wilson(count, trial.n, 0.95))
    assert halves.method == "Student's t"


def test_balance_makes_levels_weigh_the_same(small: RunData, play_run: PlayedRun) -> None:
    other = play_run(name="other", vary={"game": ["prisoners_dilemma"]}, seeds=9)
    value = measure("SELECT match, (game = 'stag_hunt')::INTEGER AS value FROM matches GROUP BY match, game")
    plain, even = (estimate([small, other], value, balance=balance)[0].value for balance in ((), ("game",)))
    assert plain == pytest.approx(36 / 108) and even == pytest.approx(0.5)


def test_balance_makes_levels_weigh_the_same_in_a_contrast(small: RunData, play_run: PlayedRun) -> None:
    levels = {"game": ["prisoners_dilemma"], "k": {"set": "agent.memory.k", "to": [1, 16]}}
    other = play_run(name="other", vary=levels, seeds=9)
    value = measure(
        "SELECT match, (game = 'stag_hunt' AND k = 16)::INTEGER AS value FROM matches GROUP BY match, game, k"
    )
    plain, even = (contrast([small, other], value, "k", "16 - 1", balance=of)[0] for of in ((), ("game",)))
    assert plain.value < 0.4 and even.value == pytest.approx(0.5) and plain.n == even.n
    assert even.low is None and "alike" in even.note  # the value is fixed by the condition
    query = Query(measure="cooperation", contrast="k=16-1", balance=("game",), mean_over_agents=True)
    wanted = contrast([small, other], "cooperation", "k", "16 - 1", balance=["game"])
    assert query.ask([small, other]) == wanted
    with pytest.raises(UsageError, match="nowhere"):
        contrast(small, "cooperation", "k", "16 - 1", balance=["nowhere"])


def test_levels_within_levels_weigh_the_same() -> None:
    """Two agents in one game and one in another: each game has half of the weight, each agent its share of that."""
    cells = [("pd", "a"), ("pd", "b"), ("pd", "b"), ("hunt", "a")]
    units = [
        UnitValue([Observation(0.5, None, (None, None), False, {"game": game, "agent": agent})])
        for game, agent in cells
    ]
    assert balanced(units, [1.0] * 4, ["game", "agent"]) == pytest.approx([0.25, 0.125, 0.125, 0.5])


@pytest.mark.parametrize("certain", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("paired_sides", [True, False])
def test_weights_of_a_comparison_count_on_each_side(certain: tuple[bool, bool], paired_sides: bool) -> None:
    first, second, weights = [0.2, 0.4, 0.9, 0.7], [0.1, 0.1, 0.5, 0.3], [3.0, 3.0, 1.0, 1.0]
    labels = (range(4), range(4) if paired_sides else range(4, 8))
    sides = UnitFigure(
        tuple(
            (a, UnitSide(values, names, [0] * 4, weights, [sure] * 4))
            for a, values, names, sure in zip((1.0, -1.0), (first, second), labels, certain, strict=True)
        ),
        (0.0, 1.0),
    )
    assert sides.paired == paired_sides
    mean = [math.fsum(w * x for w, x in zip(weights, side, strict=True)) / 8 for side in (first, second)]
    assert sides.inference().limits().value == pytest.approx(mean[0] - mean[1])


def test_weights_and_units_of_a_measure(small: RunData) -> None:
    weighted = measure("SELECT match, player, (k = 1)::INTEGER AS value, k AS weight FROM matches")
    assert estimate(small, weighted)[0].value == pytest.approx(1 / 21)
    scenario = measure("SELECT match, player, cooperation AS value FROM matches", unit="scenario")
    one = by_agent(estimate(small, scenario, ["agent"]))["coin"]
    assert (one.n, one.unit, one.method) == (2, "scenario", "Student's t, over clusters")
    pair = by_agent(contrast(small, scenario, "k", "16 - 1", ["agent"]))["coin"]
    assert (pair.n, pair.unit) == (2, "scenario") and pair.method.startswith("paired")
    computed = Measure(
        "twice", "Twice", "count", "Twice the rounds.",
        lambda data: [{"match": r["match"], "value": 20} for r in data.records("SELECT match FROM matches")],
    )  # fmt: skip
    assert estimate(small, computed)[0].value == 20
    single = measure("SELECT match, cooperation AS value FROM matches WHERE match = 6 GROUP BY ALL")
    alone = estimate(small, single)[0]
    assert alone.low is None or alone.method == "exact"


@pytest.mark.parametrize(
    ("by", "noted"),
    [(["agent"], True), (["agent", "agent_memory"], False), (["agent", "agent_id"], False), (["game"], False)],
)
def test_memories_are_pooled_where_agents_are_told_apart_by_name_alone(by: list[str], noted: bool) -> None:
    rows = [SimpleNamespace(columns={"agent_memory": memory}) for memory in ("full", "window:1")]
    unit: Any = SimpleNamespace(rows=rows)
    assert bool(_pooled([unit], by)) is noted and not _pooled([SimpleNamespace(rows=rows[:1])], by)  # type: ignore[list-item]


@pytest.mark.slow
def test_unequal_memories_of_one_agent_are_not_pooled_in_silence(play_run: PlayedRun) -> None:
    run = play_run()
    rows = measure("SELECT match, player, cooperation AS value, 'window:' || player AS agent_memory FROM matches")
    found = by_agent(estimate(run, rows, ["agent"]))
    assert "different memories" in found["coin"].note
    apart = estimate(run, rows, ["agent", "agent_memory"])
    assert len(apart) == 8 and not any("different" in one.note for one in apart)


def test_an_estimate_in_words_and_as_data(small: RunData) -> None:
    one = Estimate({"agent": "a"}, 0.625, 0.5, 0.75, 1, "person", "bounded t")
    assert (str(one), one.text(1)) == ("0.62 [0.50, 0.75], n = 1 person", "0.6 [0.5, 0.8], n = 1 person")
    assert repr(one) == "Estimate(agent=a: 0.62 [0.50, 0.75], n = 1 person)"
    assert 0.5 in one and 0.4 not in one and fixed(-0.0001) == "0.00"
    none = Estimate({}, 0.5, None, None, 1, "match", "none", "too few matches")
    assert str(none) == "0.50, n = 1 match (too few matches)" and 0.5 not in none
    with pytest.raises(UsageError, match="one level only"):
        one.at_level(0.99)
    real = estimate(small, "cooperation", ["agent"])[1]
    wider = real.at_level(0.99)
    assert wider.low is not None and real.low is not None and wider.low < real.low and wider.level == 0.99
    assert wider.high is not None and real.high is not None and wider.high > real.high
    assert json.loads(json.dumps(real.as_dict()))["unit"] == "match"


def test_the_difference_of_estimates_subtracts_what_is_exact_in_the_second() -> None:
    """Both have a part without sampling error, which is no part of any group."""
    first = added([(1.0, mean_of([0.2, 0.4], bounds=(0, 1))), (1.0, exactly(0.5))])
    second = added([(1.0, mean_of([0.1, 0.3], bounds=(0, 1))), (1.0, exactly(0.25))])
    one, two = (estimated({"game": name}, made, 2, "match") for name, made in (("a", first), ("b", second)))
    found = minus(one, two)
    assert found.value == pytest.approx((0.3 + 0.5) - (0.2 + 0.25)) and found.key == {"game": "a - b"}
    assert minus(two, one).value == pytest.approx(-found.value)
    sure = estimated({"game": "c"}, exactly(0.4), 1, "match")
    assert minus(one, sure).value == pytest.approx(0.4) and minus(sure, one).value == pytest.approx(-0.4)
    assert minus(sure, estimated({"game": "d"}, exactly(0.1), 1, "match")).value == pytest.approx(0.3)


def test_seeds_of_different_runs_are_different_pairs() -> None:
    """Seed 0 of one run and seed 0 of another share nothing."""
    rows = tuple(
        Observation(value, None, (0.0, 1.0), False, {
            "run": run, "match": 2 * seed + k, "seed": seed, "k": k, "game": "pd", "mechanism": "none", "agent": "a",
        })
        for run, base in (("one", 0.1), ("two", 0.5))
        for seed in range(3)
        for k, value in ((0, base), (1, base + 0.1 * (seed + 1)))
    )  # fmt: skip
    found = Observations(
        measures.named("cooperation"), rows, ("k",), {"k": (0, 1)}, frozenset(rows[0].columns), shared=True
    )
    (one,) = contrast(found, "cooperation", "k", "1 - 0")
    assert one.n == 6 and one.method.startswith("paired") and one.value == pytest.approx(0.2)
    sides = [[row for row in rows if row["k"] == k] for k in (1, 0)]
    assert sorted(comparison(found, sides[0], sides[1], "k", ()).pairs()[1]) == pytest.approx([0.1] * 3 + [0.5] * 3)
    (apart,) = contrast(replace(found, shared=False), "cooperation", "k", "1 - 0")
    assert apart.n == 12 and apart.method.startswith("Welch") and apart.value == pytest.approx(0.2)


def test_values_that_weigh_by_what_happened_have_no_guaranteed_bound(small: RunData) -> None:
    counts = "SELECT match, player, cooperation AS value, WEIGHT AS weight FROM matches"
    same, other = (
        Measure("m", "m", "share", "m", counts.replace("WEIGHT", weight)) for weight in ("2.0", "1.0 + match")
    )
    for measure, sure in ((same, True), (other, False)):
        for one in estimate(small, measure, ["agent"]):
            if one.method != "exact":
                assert (one.at_level(0.95, guaranteed=True).low is not None) is sure
