"""Mistakes found before the first match: values of parameters at their bounds, attributes, people, authors, chances."""

from types import SimpleNamespace
from typing import Any

import pytest

import ostrom
from ostrom.agents.config import AgentConfig
from ostrom.engine.plan import Seated
from ostrom.games import build_game
from ostrom.ground.errors import StudyError, UsageError
from ostrom.mechanisms import mechanisms
from ostrom.models.providers import scripted
from ostrom.studies.checks import (
    RULES,
    SAMPLED,
    check_asking,
    check_chances,
    check_divisible,
    check_policy_action,
    check_strategies,
    long_tables,
)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("temperature", [0, 2.5], [-0.1, True, "1"]),
        ("top_p", [0, 1, 0.5], [-0.1, 1.1, False, "1"]),
        ("min_p", [0, 1], [-0.1, 1.1, True]),
        ("top_k", [0, 5, 5.0], [-1, 0.5, True]),
        ("max_tokens", [1, 5.0], [0, 1.5, True, "9"]),
        ("seed", [-1, 0], [1.0, True, "1"]),
        ("stop", ["x", ["x", "y"], []], [3, ["x", 3], ("x",)]),
        ("reasoning_effort", ["low"], [3, True]),
        ("extra", [{}], [[], "x"]),
    ],
)
def test_values_that_no_server_could_take(name: str, good: list[Any], bad: list[Any]) -> None:
    rule = RULES[name][1]
    assert [rule(value) for value in good] == [True] * len(good)
    assert [bool(rule(value)) for value in bad] == [False] * len(bad)


def test_a_parameter_is_refused_by_name_and_value() -> None:
    check_asking(AgentConfig(strategy="grim", params={"temperature": None}), "s")
    for params, key in (({"temprature": 0}, "temprature"), ({"top_p": 2}, "top_p")):
        with pytest.raises(StudyError) as refused:
            check_asking(AgentConfig(model="openai/x", params=params), "s")
        assert refused.value.key == f"agent.params.{key}"


def seated(**config: Any) -> Any:
    fields = {"kind": "model", "model": None, "strategy": None, "answer": "action"}
    framing = SimpleNamespace(chances=config.pop("chances", False))
    observes = config.pop("observes", False)
    return SimpleNamespace(name="p", observes=observes, config=SimpleNamespace(framing=framing, **{**fields, **config}))


@pytest.mark.parametrize(
    ("players", "refused"),
    [
        ([seated(chances=True, answer="mixture"), seated(answer="mixture")], False),
        ([seated(chances=True, answer="mixture"), seated()], True),
        ([seated(chances=True, answer="mixture"), seated(strategy="grim")], False),
        ([seated(chances=True, answer="mixture"), seated(observes=True)], False),
        ([seated(chances=True, strategy="grim"), seated()], False),
        ([seated(), seated()], False),
    ],
)
def test_chances_are_told_where_all_choose_by_chances(players: list[Any], refused: bool) -> None:
    if not refused:
        check_chances([players], "s")
        return
    with pytest.raises(StudyError, match="all players choose by chances"):
        check_chances([players], "s")


def test_a_default_must_be_an_action_of_the_game() -> None:
    game = build_game("chicken")
    check_policy_action(f"default:{game.actions[0][0]}", game, "s")
    check_policy_action("fail", game, "s")
    with pytest.raises(StudyError, match="has no such action") as refused:
        check_policy_action("default:fly", game, "s")
    assert refused.value.key == "invalid.policy"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((True, False, 0), "stopping rule"),
        ((False, True, 0), "people come to one server"),
        ((False, False, 3), "its 3 units"),
    ],
)
def test_what_is_one_whole_cannot_be_divided(given: tuple[bool, bool, int], words: str) -> None:
    check_divisible("--shard", False, False, 0)
    with pytest.raises(UsageError, match=words):
        check_divisible("--shard", *given)


def test_a_script_is_asked_for_the_moves_of_its_own_seat() -> None:
    game, rules = build_game("ultimatum"), mechanisms.build({"name": "repetition", "rounds": 2})
    other = Seated("other", AgentConfig(strategy="random"))
    accepts = Seated("accepts", AgentConfig(strategy={"name": "script", "moves": ["accept", "accept"]}))
    check_strategies(game, rules, [[other, accepts]], "s")
    with pytest.raises(StudyError) as refused:
        check_strategies(game, rules, [[accepts, other]], "s")
    assert refused.value.key == "types.accepts.strategy"


@pytest.mark.parametrize(
    ("moves", "fits"),
    [([50, 50], True), ([1000, 50], False), ([50, 1000], True), (["accept", 50], False), ([50, "accept"], False)],
)
def test_after_the_first_move_only_what_could_never_fit_is_refused(moves: list[Any], fits: bool) -> None:
    game, rules = build_game("ultimatum"), mechanisms.build({"name": "repetition", "rounds": 2})
    players = [Seated("a", AgentConfig(strategy={"name": "script", "moves": moves})), seated(strategy=None)]
    if fits:
        check_strategies(game, rules, [players], "s")
    else:
        with pytest.raises(StudyError, match="which is not an option here"):
            check_strategies(game, rules, [players], "s")


def test_prompts_that_list_very_many_outcomes_are_warned_of_with_the_way_out() -> None:
    scripted.register("long", "[A0]")
    base: dict[str, Any] = {
        "name": "s", "mechanism": {"name": "repetition", "rounds": 2}, "types": {"m": {"model": "scripted/long"}},
        "seating": "self", "seeds": 1,
    }  # fmt: skip

    def told(n: int, **framing: str) -> str:
        game = {"name": "public_goods", "n": n}
        study = ostrom.study({**base, "game": game, "agent": {"style": "direct", "framing": framing}})
        return long_tables(study.plan.sample(SAMPLED))

    assert told(3) == "" and told(8, payoffs="formula") == ""
    assert "the payoffs of 256 outcomes, about 27,000 tokens (`agent.framing.payoffs: formula` says" in told(8)
    with pytest.raises(StudyError, match=r"1,024 outcomes, about 130,000 tokens \(`agent.framing.payoffs: formula`"):
        told(10)
