"""Games, strategies, models, mechanisms and measures given as objects."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ostrom
from ostrom.agents.past import Past
from ostrom.agents.strategies import strategies
from ostrom.api.objects import names_for_objects
from ostrom.games import build_game
from ostrom.games.amounts import Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.ground.errors import ModelError, OstromError, RunError, UsageError
from ostrom.mechanisms.catalog.repetition import Repetition

PAYOFFS = [[3, 0], [5, 1]]
GAME = ostrom.game(PAYOFFS, name="mine", actions=["stay", "leave"], cooperative="stay")
BASE: dict[str, Any] = {
    "name": "duel", "game": GAME, "mechanism": {"name": "repetition", "rounds": 3}, "seating": "seats",
}  # fmt: skip


def grudge(past: Past) -> bool:
    """Cooperate until the other defects."""
    return all(past.cooperated(i) for i in range(len(past)))


async def polite(messages: list[dict[str, str]]) -> str:
    """Always the first action."""
    assert messages[-1]["role"] == "user"
    return "[A0]"


def test_a_game_is_made_of_arrays_and_of_games_of_other_libraries() -> None:
    nashpy = pytest.importorskip("nashpy")
    other = nashpy.Game(np.array(PAYOFFS), np.array(PAYOFFS).T)
    made = [ostrom.game(PAYOFFS), ostrom.game((PAYOFFS, np.transpose(PAYOFFS))), ostrom.game(other)]
    nfg = 'NFG 1 R "x" { "a" "b" } { 2 2 }\n\n3 3 5 0 0 5 1 1\n'
    made.append(ostrom.game(SimpleNamespace(to_nfg=lambda: nfg)))  # as pygambit writes one
    assert all(np.array_equal(game.payoffs, GAME.payoffs) for game in made)
    three = ostrom.game(np.zeros((2, 2, 2, 3)))
    assert three.seats == 3
    with pytest.raises(UsageError, match="square matrix, two matrices, or a tensor"):
        ostrom.game(np.zeros((2, 3)))
    with pytest.raises(UsageError, match="seat 1 has the actions a0, a1"):
        ostrom.game(PAYOFFS, cooperative="stay")


def test_functions_play_and_a_changed_function_is_another_strategy(tmp_path: Path) -> None:
    data = {**BASE, "agent": {"style": "direct"}, "types": {"own": grudge, "model": polite}}
    run = ostrom.play(data, runs=tmp_path, progress=False)
    found = run.estimate("cooperation", agents="all")
    assert dict(zip(found["agent"], found["value"], strict=True)) == {"own": 1, "model": 1}
    assert run.estimate("cooperation")["agent"].to_list() == ["model"]
    assert run.matches["model"].drop_nulls()[0].startswith("python/model_")

    def grudge_too(past: Past) -> float:
        return 0.5

    with pytest.raises(RunError, match="holds another study"):
        ostrom.play({**data, "types": {"own": grudge_too, "model": polite}}, runs=tmp_path, progress=False)


def test_strategies_and_mechanisms_as_objects(tmp_path: Path) -> None:
    tit_for_tat = strategies.get("tit_for_tat")
    data = {**BASE, "mechanism": Repetition(rounds=2), "types": {"a": tit_for_tat(), "b": tit_for_tat}}
    run = ostrom.play(data, runs=tmp_path, progress=False)
    assert set(run.matches["rounds_played"]) == {2} and set(run.matches["cooperation"]) == {1.0}


def test_a_player_of_the_axelrod_library_is_named_by_its_class() -> None:
    from ostrom.api.objects import names_for_objects

    player = type("Player", (), {"__module__": "axelrod.player"})
    own = type("Cautious", (player,), {"__module__": "axelrod.strategies.cautious"})
    assert names_for_objects({"types": {"x": own, "y": own()}}) == {
        "types": {"x": "axelrod:Cautious", "y": "axelrod:Cautious"}
    }


def test_a_model_given_to_study_and_its_failures(tmp_path: Path) -> None:
    study = ostrom.study({**BASE, "seating": "self", "agent": {"style": "direct"}}, models=[polite])
    assert len(study.plan.models) == 1

    async def broken(messages: list[dict[str, str]]) -> str:
        raise ValueError("no idea")

    with pytest.raises(ModelError, match="ValueError: no idea"):
        ostrom.play({**BASE, "seating": "self"}, models=[broken], runs=tmp_path, progress=False)
    with pytest.raises(UsageError, match="a model is a name or a function, not int"):
        ostrom.study(BASE, models=[3])


def test_a_measure_as_an_object(tmp_path: Path) -> None:
    run = ostrom.play({**BASE, "types": {"a": "tit_for_tat", "b": "defector"}}, runs=tmp_path, progress=False)
    length = ostrom.Measure(
        "length", "Rounds", "count", "Rounds of a match.", "SELECT match, rounds_played AS value FROM matches"
    )
    assert run.estimate(length)["value"][0] == 3


def test_python_models_must_give_texts() -> None:
    import asyncio

    from ostrom.models import open_model
    from ostrom.models.base import Message, Request
    from ostrom.models.providers.python import register

    register("number", lambda messages: 3)  # type: ignore[arg-type, return-value]
    with pytest.raises(ModelError, match="must return a text or a Reply, returned int"):
        asyncio.run(open_model("python/number").complete(Request((Message("user", "x"),))))
    with pytest.raises(Exception, match="unknown function as a model"):
        open_model("python/absent")


def answers(messages: list[dict[str, str]]) -> str:
    """A plain function of the messages."""
    return "[A0]"


def test_a_plain_function_of_messages_is_a_model_and_any_other_a_strategy(tmp_path: Path) -> None:
    types = {"model": answers, "script": grudge}
    run = ostrom.play({**BASE, "agent": {"style": "direct"}, "types": types}, runs=tmp_path, progress=False)
    kinds = run.matches.select("agent", "model", "strategy").unique().sort("agent").rows()
    assert [(agent, model is not None, script is not None) for agent, model, script in kinds] == [
        ("model", True, False), ("script", False, True),
    ]  # fmt: skip


def test_an_error_says_what_a_function_was_taken_for(tmp_path: Path) -> None:
    def text(past: Past) -> str:
        return "[A0]"

    def yes(messages: list[dict[str, str]]) -> bool:
        return True

    for function, says in ((text, "that is a strategy must return.*returned str; a function is a model where"),
                           (yes, "that is a model must return a text or a Reply, returned bool")):  # fmt: skip
        with pytest.raises(OstromError, match=says):
            ostrom.play({**BASE, "types": {"f": function}, "seating": "self"}, runs=tmp_path, progress=False)


def test_where_all_matches_fail_play_raises_and_the_run_can_be_opened(tmp_path: Path) -> None:
    asked = []

    async def late(messages: list[dict[str, str]]) -> str:
        asked.append(1)
        return "[A0]" if len(asked) < 3 else "hello"

    with pytest.raises(RunError, match="run duel: no match was finished, all 1 failed; match 0: no valid answer"):
        ostrom.play({**BASE, "seating": "self"}, models=[late], runs=tmp_path, progress=False)
    run = ostrom.open_run("duel", tmp_path)
    assert set(run.matches["state"]) == {"failed"}
    for by in ([], ["agent"]):
        with pytest.raises(UsageError, match="cooperation: no match of duel is finished"):
            run.estimate("cooperation", by=by)


def splitting() -> FunctionGame:
    def play(now: Now) -> Stages:
        kept = yield [Due(seat, "keep", Amounts(0, 10)) for seat in range(2)]
        return End([float(k) for k in kept], {"kept": float(sum(map(float, kept)))})

    return FunctionGame("splitting", (Amounts(0, 10),) * 2, play, stages=("keep",))


def test_a_game_by_a_rule_as_an_object(tmp_path: Path) -> None:
    known = ostrom.study(
        {**BASE, "game": build_game({"name": "ultimatum", "stake": 20}), "types": {"a": "random", "b": "random"}}
    )
    spec = known.plan.study.model_dump()["game"]
    assert (spec["name"], spec["stake"]) == ("ultimatum", 20)
    own = {**BASE, "game": splitting(), "types": {"a": "threshold:4", "b": "threshold:6"}}
    run = ostrom.play(own, runs=tmp_path, progress=False)
    assert run.estimate("total_gain", by=["agent"])["value"].to_list() == [12, 18]
    assert ostrom.play(own, runs=tmp_path, progress=False).result.complete  # type: ignore[union-attr]


def test_a_strategy_may_stand_for_an_agent_or_for_its_strategy() -> None:
    kind = strategies.build("grim")
    assert names_for_objects({"types": {"a": kind}}) == names_for_objects({"types": {"a": {"strategy": kind}}})


def test_factors_are_added_after_what_is_set() -> None:
    made = ostrom.study(
        {"name": "s", "game": "chicken", "types": {"a": "grim", "b": "random"}},
        set={"vary": None}, vary={"agent.memory": ["full", "window:2"]},
    )  # fmt: skip
    assert [factor.name for factor in made.plan.factors] == ["memory"]


def test_games_by_a_rule_that_differ_in_what_can_be_done_have_names_of_their_own() -> None:
    def play(now: Now) -> Stages:
        kept = yield [Due(seat, "keep", Amounts(0, 10)) for seat in range(2)]
        return End([float(k) for k in kept])

    names = [
        names_for_objects({"game": FunctionGame("mine", (Amounts(0, most),) * 2, play, stages=(stage,))})["game"][
            "name"
        ]
        for most, stage in ((10, "keep"), (10, "keep"), (20, "keep"), (10, "give"))
    ]
    assert names[0] == names[1] and len(set(names)) == 3
