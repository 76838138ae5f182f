"""Every measure of the catalogue keeps the contract, and the check notices those that do not."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.analysis.conftest import PlayedRun

from ostrom.analysis.estimate import estimate
from ostrom.analysis.measure import Measure, measures
from ostrom.data.rundata import RunData
from ostrom.engine.rows import RULE_COLUMNS
from ostrom.ground.errors import UnknownName, UsageError
from ostrom.testing import check_measure
from ostrom.testing.small_run import amounts_run

ABOUT_AMOUNTS = {f"decisions.{column}" for column in RULE_COLUMNS}
OTHER_RUNS = set(
    "advice_followed guided_cooperation stable_designs approves approves_own assortment "
    "best_reply_to_prediction cluster_size coordination_with_alternation delegates first_option forgiveness "
    "genome_diversity genome_similarity in_force keyword_rate keyword_share largest_cluster latency lineages "
    "memory_forward_ratio prediction_accuracy prediction_settled reasoning_index said_agreement said_divergence "
    "said_gain said_log_loss said_same_strategy score_at_similarity score_ratio signs wins word_mentions word_rate "
    "word_ratio tool_calls late_profit_gain profit_gain price_level price_level_by_round agreement "
    "offers_to_agreement surplus_taken surplus_share broken_words recognised sureness recognition_unread "
    "cooperation_by_recognition evolution_gain first_right_round forgiven joint_with_one_defection".split()
)
"""Measures of what the small runs do not have (models, predictions, networks, contracts): tested in runs that do."""


@pytest.mark.sample(10)
@pytest.mark.parametrize("name", measures.names())
def test_the_catalogue_conforms(name: str, small: RunData, amounts: RunData) -> None:
    of_people = name in ("guessed_person", "response_time")
    about_amounts = any(need in ABOUT_AMOUNTS for need in measures.named(name).needs)
    check_measure(name, data=None if of_people else amounts if about_amounts else small, valued=name not in OTHER_RUNS)
    assert measures.named(name).name == name


@pytest.fixture(scope="module")
def amounts() -> Iterator[RunData]:
    with amounts_run() as runs:
        yield runs[0]


def test_a_measure_without_any_value_does_not_conform(small: RunData) -> None:
    nothing = own(f"{GOOD} WHERE agent = 'nobody'")
    with pytest.raises(AssertionError, match=r"own: no match of the run small.* has a value; give data="):
        check_measure(nothing, data=small)
    check_measure(nothing, data=small, valued=False)


@pytest.mark.parametrize("name", ["cooperation", "amount"])
def test_the_check_plays_a_run_of_its_own(name: str) -> None:
    check_measure(name)


@pytest.mark.parametrize("name", ["efficiency", "equality", "gini", "payoff", "total_gain"])
def test_what_is_paid_is_measured_in_games_with_amounts_too(name: str, amounts: RunData) -> None:
    check_measure(name, data=amounts)


def own(values: Any, **changes: Any) -> Measure:
    told = {"name": "own", "title": "Own", "scale": "share", "definition": "A measure.", **changes}
    return Measure(values=values, **told)


GOOD = "SELECT match, player, cooperation AS value FROM matches"


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: own(GOOD, name="my measure"), "is not an identifier"),
        (lambda: own(GOOD, title=" "), "no title"),
        (lambda: own(GOOD, definition="words"), "no sentence"),
        (lambda: own(GOOD, needs=("cooperation",)), "is not table.column"),
        (lambda: own(GOOD, bounds=(0.0, 2.0)), "a share lies between 0 and 1"),
        (lambda: own(GOOD, scale="points", bounds=(2.0, 1.0)), "out of order"),
        (lambda: own("SELECT match, player, 2 AS value FROM matches"), "beyond its bounds"),
        (lambda: own("SELECT match, player, -1 AS value FROM matches"), "beyond its bounds"),
        (lambda: own("SELECT match, cooperation AS value FROM matches"), "two values for"),
        (lambda: own("SELECT match, 'x' AS value FROM matches GROUP BY match"), "value 'x'"),
        (lambda: own("SELECT match, 0.5 AS worth FROM matches GROUP BY match"), "no column 'value'"),
        (lambda: own("SELECT match, 9 AS player, 0.5 AS value FROM matches GROUP BY match"), "no player 9"),
        (lambda: own("SELECT -1 AS match, 0.5 AS value"), "not in the run"),
        (lambda: own("SELECT match, 0.5 AS value, -1 AS weight FROM matches GROUP BY match"), "weight -1"),
        (lambda: own("SELECT match, random() AS value FROM matches GROUP BY match"), "other values"),
    ],
)
def test_the_check_notices(made: Callable[[], Measure], says: str, small: RunData) -> None:
    with pytest.raises(AssertionError, match=says):
        check_measure(made(), data=small)


def test_measures_are_found_by_name_and_can_be_added(small: RunData) -> None:
    assert {"cooperation", "joint_cooperation", "first_defection", "payoff"} <= set(measures.names())
    with pytest.raises(UnknownName, match="did you mean cooperation"):
        measures.named("coperation")
    measures.add("halved", lambda by=2: own(f"SELECT match, player, cooperation / {by} AS value FROM matches"))
    try:
        found = estimate(small, "halved:4", where={"agent": "kind"})
        assert found[0].value == 0.25
    finally:
        measures.remove("halved")


def test_a_column_that_the_run_lacks_is_named(small: RunData) -> None:
    with pytest.raises(UnknownName, match="unknown column of decisions 'trust'"):
        estimate(small, own(GOOD, needs=("decisions.trust",)))
    with pytest.raises(UsageError, match="scale 'percent'"):
        own(GOOD, scale="percent")
    with pytest.raises(UsageError, match="unit 'round'"):
        own(GOOD, unit="round")


def values(data: RunData, name: str, agent: str) -> list[float]:
    kept = {r["match"] for r in data.records("SELECT match FROM matches WHERE agent = ?", agent)}
    return [row["value"] for row in measures.named(name).rows(data) if row["match"] in kept]


def test_what_the_measures_say(play_run: PlayedRun) -> None:
    run = play_run(
        types={"kind": "cooperator", "hard": "defector", "turns": "alternator"},
        vary={},
        seeds=1,
        mechanism={"name": "repetition", "rounds": 4},
    )
    assert values(run, "cooperation", "turns") == [0.5, 0.5]
    assert values(run, "joint_cooperation", "turns") == [0.5]
    assert values(run, "first_defection", "turns") == [0.25, 0.25]
    assert values(run, "first_defection", "kind") == [1.0, 1.0]
    assert values(run, "first_defection", "hard") == [0.0, 0.0]
    assert values(run, "payoff", "kind") == [3.0, 3.0] and values(run, "payoff", "hard") == [1.0, 1.0]
    assert values(run, "rounds", "kind") == [4] and values(run, "by_policy", "kind") == [0.0, 0.0]
    # C D C D against itself: it changes every round, together with the other one.
    assert values(run, "alternation", "turns") == [1.0, 1.0] and values(run, "alternation", "kind") == [0.0, 0.0]
    assert values(run, "turn_taking", "turns") == [1.0] and values(run, "turn_taking", "kind") == [0.0]
    assert values(run, "joint_cooperation_by_round", "turns") == [1, 0, 1, 0]
    assert values(run, "coordination_by_round", "turns") == [1, 1, 1, 1]
    assert values(run, "first_option", "kind") == []  # nobody named any options
