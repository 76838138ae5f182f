"""What a dry run says about batches: how many waves, at what price, and what an earlier run makes of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.batch_server import BatchServer

from ostrom.costs.forecast import forecast
from ostrom.costs.measured import measure
from ostrom.costs.waves import Chains, Waves, check_batch
from ostrom.engine.batching.ledger import read_batches
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import PollingPolicy
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.ground.errors import UsageError
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

PRICES = {"openai/gpt-test": {"input": 1, "output": 2, "batch": 0.25}}


def study(model: str = "openai/gpt-test", **changes: Any) -> StudyPlan:
    data: dict[str, Any] = {
        "name": "waves",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 5},
        "agent": {"style": "direct", "params": {"max_tokens": 100}},
        "types": {"model": {"model": model}, "tft": "tit_for_tat"},
        "seating": "ordered",
        "seeds": 2,
    }
    return StudyPlan(load_study({**data, **changes}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [{"name": "none"}, {"name": "repetition", "rounds": 5}, {"name": "cheap_talk", "rounds": 2}],
    ids=lambda mechanism: mechanism["name"],
)
def test_as_many_waves_as_are_forecast(mechanism: dict[str, Any], tmp_path: Path) -> None:
    with BatchServer() as server:
        types = {"model": {"model": server.model, "settings": {"abilities": ["schema"]}}, "tft": "tit_for_tat"}
        plan = study(mechanism=mechanism, types=types)
        told = forecast(plan).waves
        assert told is not None
        options = PlayOptions(batch=True, polling=PollingPolicy(first=0.01, longest=0.02))
        assert play(plan.study, runs=tmp_path, options=options).complete
        with open_run(tmp_path / "waves") as run:
            assert len(read_batches(run.journal)) == told.count


def test_a_model_without_batches_has_neither_price_nor_waves() -> None:
    found = forecast(study("embedded/smollm2-135m"))
    assert (found.batch_usd, found.likely_batch_usd, found.waves) == (None, None, None)


def test_many_waves_are_refused_unless_allowed() -> None:
    plan = study(mechanism={"name": "repetition", "rounds": 60})
    with pytest.raises(UsageError, match=r"60 waves, .* or allow that with --batch-waves 60"):
        check_batch(plan, None)
    check_batch(plan, 60)
    check_batch(study(), None)


def test_a_chain_counts_what_it_waits_for() -> None:
    plan = StudyPlan(load_study("mechanisms", preset="smoke", models=["openai/gpt-test"]))
    chains = Chains(plan)
    needy = next(unit for unit in plan.units() if unit.needs)
    chains.add(needy)
    alone = Chains(plan)
    for need in needy.needs:
        alone.add(plan.unit(need))
    assert chains.waves().count > alone.waves().count >= 1
    # One wave for the designs, which do not wait for each other, and three for the match: vote, delegate, act.
    assert (alone.waves().count, chains.waves().count) == (1, 4)


@pytest.mark.parametrize(
    ("one", "two", "mechanism", "count"),
    [
        ({}, {"style": "social"}, {}, 10),  # whoever is asked twice is waited for
        ({"style": "social"}, {}, {}, 10),
        ({}, {}, {}, 5),
        ({}, {"memory": "asked:2"}, {}, 5 + 2),  # a note in each round after the second that is remembered
        ({"tools": ["notes"], "tool_limit": {"calls": 3}}, {}, {"rounds": 2}, 2 * 4),
        ({}, {"style": "social"}, {"name": "none"}, 2),
        ({}, {"style": "social"}, {"name": "in_turn"}, 3),  # the second is asked after the first
    ],
)
def test_the_longest_chain_of_a_match_by_hand(
    one: dict[str, Any], two: dict[str, Any], mechanism: dict[str, Any], count: int
) -> None:
    model = {"model": "openai/gpt-test"}
    rules = {"name": "repetition", "rounds": 5, **mechanism} if "name" not in mechanism else mechanism
    plan = study(mechanism=rules, types={"one": {**model, **one}, "two": {**model, **two}})
    chains = Chains(plan)
    chains.add(plan.unit(1))
    assert chains.waves(0.5) == Waves(count, count * 0.5, count * 24.0)


def test_more_matches_than_are_in_play_at_once_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostrom.costs.waves.AT_ONCE", 2)
    plan = study(seeds=3)
    chains = Chains(plan)
    chains.add(plan.unit(1))
    assert chains.waves().count == 8  # 3 seeds of 5 calls, 2 at a time


def test_waves_are_counted_where_not_all_seats_act() -> None:
    """A rule that allows five decisions a round and asks for them in two steps has two waves a round."""

    def play(now: Now) -> Stages:
        (choice,) = yield [Due(0, "lead", ("go", "stop"))]
        yield (
            [Due(1, "follow", ("go", "stop"))]
            if choice == "stop"
            else [Due(seat, "follow", ("go", "stop")) for seat in (0, 1)]
        )
        return End((0.0, 0.0))

    game = FunctionGame("steps", (("go", "stop"),) * 2, play, stages=("lead", "follow"), turns=5)
    model = {"model": "openai/gpt-test"}
    rules = {"name": "repetition", "rounds": 6}
    plan = study(mechanism=rules, types={"one": model, "two": model})
    assert Chains(plan)._rehearsed(replace(plan.unit(1), game=game)) == 2 * 6


def test_waves_in_words() -> None:
    assert str(Waves(1, 0.25, 24.0)) == "1 wave, about 15 min, at most 24 h (before retries)"
    assert str(Waves(3, 0.001, 48.0)) == "3 waves, about 1 min, at most 2 days (before retries)"


def test_a_match_that_chance_ends_has_as_many_waves_as_rounds() -> None:
    rules = {"name": "repetition", "rounds": 9, "stopping": "geometric", "continuation": 0.1}
    told = forecast(study(mechanism=rules)).waves
    assert told is not None and told.count == 9


def test_a_run_without_replies_says_nothing(tmp_path: Path) -> None:
    play(study(types={"tft": "tit_for_tat", "chance": "random"}).study, runs=tmp_path)
    with pytest.raises(UsageError, match="has no replies"):
        measure("waves", tmp_path)
