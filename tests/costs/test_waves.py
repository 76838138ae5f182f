"""What a dry run says about batches: how many waves, at what price, and what an earlier run makes of it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.batch_server import BatchServer

from ostrom.costs.forecast import forecast, measure, verdicts
from ostrom.costs.waves import Chains, Waves, check_batch
from ostrom.engine.batching.ledger import read_batches
from ostrom.engine.plan import Budget
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.retries import PollingPolicy
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
    [
        {"name": "none"},
        {"name": "repetition", "rounds": 5},
        {"name": "cheap_talk", "rounds": 2},
    ],
    ids=lambda mechanism: mechanism["name"],
)
def test_as_many_waves_as_are_forecast(mechanism: dict[str, Any], tmp_path: Path) -> None:
    with BatchServer() as server:
        types = {
            "model": {"model": server.model, "settings": {"abilities": ["schema"]}},
            "tft": "tit_for_tat",
        }
        plan = study(mechanism=mechanism, types=types)
        told = forecast(plan).waves
        assert told is not None
        options = PlayOptions(batch=True, polling=PollingPolicy(first=0.01, longest=0.02))
        assert play(plan.study, runs=tmp_path, options=options).complete
        with open_run(tmp_path / "waves") as run:
            assert len(read_batches(run.journal)) == told.count


def test_both_prices_and_the_budget_against_the_one_in_use() -> None:
    found = forecast(study(), PRICES)
    assert found.usd is not None and found.batch_usd == pytest.approx(found.usd / 4)
    assert found.likely_usd is not None and found.likely_batch_usd == pytest.approx(found.likely_usd / 4)
    most = found.at_most["usd"]
    assert most is not None
    budget = Budget(usd=most / 2)
    assert [v.verdict for v in verdicts(found, budget, batch=True)] == ["suffices"]
    assert [v.verdict for v in verdicts(found, budget)] != ["suffices"]


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


def test_a_match_that_may_be_longer_than_its_rehearsal_is_stretched_and_rounded_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps = [[SimpleNamespace(player=player, agent=None) for player in (0, 1)]] * 3
    monkeypatch.setattr("ostrom.costs.waves.every_step", lambda *_: steps)
    plan = study()
    rules = SimpleNamespace(most_decisions=lambda _: 7, longest_history=lambda _: 0)
    unit: Any = SimpleNamespace(players=plan.unit(1).players, mechanism=rules, game=None)
    assert Chains(plan)._rehearsed(unit) == 4  # 3 calls in 6 decisions, 7 at the most


def test_waves_in_words() -> None:
    assert str(Waves(1, 0.25, 24.0)) == "1 wave, about 15 min, at most 24 h (before retries)"
    assert str(Waves(3, 0.001, 48.0)) == "3 waves, about 1 min, at most 2 days (before retries)"


def test_a_match_that_chance_ends_has_as_many_waves_as_rounds() -> None:
    rules = {"name": "repetition", "rounds": 9, "stopping": "geometric", "continuation": 0.1}
    told = forecast(study(mechanism=rules)).waves
    assert told is not None and told.count == 9


def test_what_is_likely_follows_an_earlier_run(tmp_path: Path) -> None:
    long = {"n": 0}

    def wordy(body: dict[str, Any]) -> str:
        long["n"] += 1
        label = str(body["messages"][-1]["content"]).rpartition("[")[2].partition("]")[0]
        return "no answer" if long["n"] % 5 == 0 else f"{'word ' * 39}[{label}]"

    with BatchServer(wordy) as server:
        plan = study(server.model, invalid={"retries": 5, "policy": "fail"})
        play(plan.study, runs=tmp_path)
        found = measure("waves", tmp_path)
        with open_run("waves", tmp_path) as run:
            rows = [row for row in run.journal.call_rows(run.name) if row["tokens_in"]]
            texts = [len(text) for row in rows for _, text in run.journal.prompt(row["id"]) or []]
    assert found.characters == pytest.approx(sum(texts) / sum(row["tokens_in"] for row in rows))
    usual, told = forecast(study()), forecast(study(), measured=found)
    assert found.again == pytest.approx(1.25, abs=0.05)
    assert found.reply(plan.agents[0]) == pytest.approx(0.8 * 40 + 0.2 * 2, abs=1.5)
    assert told.likely_calls == pytest.approx(usual.calls * found.again, abs=1)
    assert told.likely_tokens_out > 3 * usual.likely_tokens_out
    assert told.tokens_out == usual.tokens_out, "the bound stays"
    assert told.measured is not None and "waves" in told.measured


def test_a_run_without_replies_says_nothing(tmp_path: Path) -> None:
    play(study(types={"tft": "tit_for_tat", "chance": "random"}).study, runs=tmp_path)
    with pytest.raises(UsageError, match="has no replies"):
        measure("waves", tmp_path)
