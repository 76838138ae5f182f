"""Scripts that cannot do what a game or a question asks refuse in one line; strategies made of Python code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ostrom.agents.bargains import rules_of, stable_design, unfriendly_design
from ostrom.agents.conduct import CONDUCT
from ostrom.agents.explained import bare, explained, is_explained, mixed, taken
from ostrom.agents.function_strategy import absent, from_code
from ostrom.agents.past import Past
from ostrom.agents.person import _by_number
from ostrom.agents.strategies import strategies
from ostrom.agents.strategy import Strategy, within
from ostrom.answers import Answer, Choice, Mixture, Number, Record, Text
from ostrom.games import games
from ostrom.ground.errors import OstromError
from ostrom.mechanisms.protocol import History, Round, View
from ostrom.testing.check_strategy import NO_COOPERATION, PRISONERS_DILEMMA, THREE_PLAYERS, view_of

PD, GOOD_FIRST = PRISONERS_DILEMMA, PRISONERS_DILEMMA.actions[0]


def odds(spec: Any, game: Any = PD, played: Any = ()) -> Any:
    return strategies.build(spec).odds(view_of(game, list(played)))


def say(spec: str, kind: str, form: Any, game: Any = PD, **facts: Any) -> Any:
    return CONDUCT[kind](
        strategies.build(spec), View(game, 0, facts.pop("mechanism", "none"), facts=facts), form
    )


def record(name: str, **parts: Any) -> Record:
    return Record(name, {"type": "object", "properties": parts, "required": list(parts)})


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "no cooperation": (lambda: odds("tit_for_tat", NO_COOPERATION), "needs a cooperative action for every seat"),
    "two seats": (lambda: odds("zd_extortion", THREE_PLAYERS), "plays games of two, .* has 3 seats"),
    "tolerance": (lambda: odds({"name": "tit_for_tat", "tolerance": 2}, THREE_PLAYERS), "which is 2 in game"),
    "no such action": (lambda: odds({"name": "constant", "action": "sing"}), "seat 1 of game .* has no such action"),
    "action 2 of 2": (lambda: odds({"name": "constant", "action": 2}), "has no such action"),
    "half an action": (lambda: odds({"name": "constant", "action": 0.5}), "has named actions"),
    "no stages": (lambda: odds({"name": "constant", "action": {"offer": 1}}), "has named actions"),
    "moves by stage": (lambda: odds({"name": "script", "moves": {"offer": [1]}}), "has named actions and no stages"),
    "no moves": (lambda: odds({"name": "script", "moves": []}), "moves must be a list of actions"),
    "no stage moves": (lambda: odds({"name": "script", "moves": {}}), "moves must be a list of actions"),
    "yes for a move": (lambda: odds({"name": "script", "moves": [True]}), "moves must be a list of actions"),
    "belief and first": (
        lambda: odds({"name": "best_response", "first": 0, "belief": [[1, 0]]}), "first and belief exclude each other",
    ),
    "odds below 0": (lambda: odds({"name": "best_response", "belief": [[1.5, -0.5]]}), "odds that sum to 1"),
    "odds above 1": (lambda: odds({"name": "best_response", "belief": [[1, 0.5]]}), "odds that sum to 1"),
    "a message": (lambda: say("grim", "message", Choice(("a", "b"))), "can only answer a 'message' decision with"),
    "message without text": (lambda: say("grim", "message", record("m", to={"type": "string"})), "can only answer"),
    "a number": (lambda: say("grim", "predict", Number(0, 9)), "can only predict one player's choice"),
    "other options": (lambda: say("grim", "predict", Choice(("x", "y"))), "can only predict one player's choice"),
    "long memory": (lambda: say("grim", "state", record("memory_one")), "has no memory-one table to state"),
    "no design": (lambda: stable_design(view_of(PD, []), record("taxes")), "mediators and contracts, not 'taxes'"),
    "text": (lambda: unfriendly_design(view_of(PD, []), Text()), "scripts design mediators and contracts"),
    "no designs": (lambda: rules_of("repetition:5"), "repetition:5 has no designs that a script could judge"),
    "many amounts": (lambda: explained(Number(0, 100, 0.1), 10), "1001 in steps of 0.1 are more than 500"),
    "mixed amounts": (lambda: mixed(Number(0, 10)), "a mixed strategy is over named actions, or over a few amounts"),
    "a text for a chance": (
        lambda: from_code("f", lambda _: "C")().odds(view_of(PD, [])), "f: a function that is a strategy must .*str",
    ),
    "no function": (lambda: from_code("f", 7), "strategy f: must be a function of the past, or a Strategy"),
    "absent": (lambda: absent("f")(p=1).odds(view_of(PD, [])), "strategy f: its Python code is not here"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_script_cannot_do_is_refused(case: str) -> None:
    work, message = REFUSED[case]
    with pytest.raises((OstromError, ValueError), match=message):
        work()


def test_memory_below_nought_is_refused_where_a_strategy_is_defined() -> None:
    for depth in (-1, "long"):
        with pytest.raises(TypeError, match=r"Bad: memory_depth must be 0 or more"):
            type("Bad", (Strategy,), {"memory_depth": depth})
    assert issubclass(type("Good", (Strategy,), {"memory_depth": 0}), Strategy)


@pytest.mark.parametrize(
    ("value", "chance"), [(True, 1.0), (0, 0.0), (0.25, 0.25), (np.float64(0.5), 0.5), (np.bool_(False), 0.0)]
)
def test_a_function_gives_the_chance_of_cooperating(value: Any, chance: float) -> None:
    strategy = from_code("mine", lambda _: value)()
    assert strategy.name == "mine" and strategy.odds(view_of(PD, [])) == (chance, 1 - chance)


def test_a_strategy_may_be_given_as_a_class_or_as_an_object() -> None:
    grim = strategies.build("grim")
    assert from_code("g", grim)() is grim and from_code("g", type(grim)) is type(grim)


@pytest.mark.parametrize(
    ("seat", "played", "target", "expected"),
    [(0, [], 1, 0), (0, [(0, 1)], 1, 1), (1, [(1, 0), (0, 1)], 0, 0), (0, [(1, 0)], 0, 1)],
)
def test_a_player_is_expected_to_repeat_its_last_action(
    seat: int, played: Any, target: int, expected: int
) -> None:
    view = view_of(PD, played, seat)
    told = View(PD, seat, "none", len(played) + 1, history=view.history, facts={"target": target})
    found = CONDUCT["predict"](strategies.build("grim"), told, Choice(GOOD_FIRST))
    assert found == GOOD_FIRST[expected]


def test_an_amount_in_a_record_is_a_range_or_a_list_and_comes_back_as_it_was() -> None:
    whole, steps = explained(Number(0, 10), None), explained(Number(0, 1, 0.25), 20)
    assert whole.schema["properties"]["action"] == {"type": "integer", "minimum": 0, "maximum": 10}
    assert whole.schema["properties"]["rationale"] == {"type": "string"}
    assert steps.schema["properties"]["action"] == {"type": "number", "enum": [0, 0.25, 0.5, 0.75, 1]}
    assert steps.schema["properties"]["rationale"] == {"type": "string", "maxLength": 200}
    assert explained(Number(0, 499, 1.0), 1).name == explained(Number(0, 49.9, 0.1), 1).name == "explained"
    halves = {"type": "number", "enum": [0.5, 1.5, 2.5]}
    assert explained(Number(0.5, 2.5), 1).schema["properties"]["action"] == halves
    tenths = Number(0.3, 0.9, 0.1)  # 0.4 - 0.3 is not 0.1
    for form in (Number(0, 10), Number(0, 1, 0.25), Number(5, 5, 0.5), tenths, Choice(("a", "b"))):
        found = bare(explained(form, 9))
        assert type(found) is type(form)
        if isinstance(form, Number) and isinstance(found, Number):
            assert (found.low, found.high) == (form.low, form.high)
            assert form.low == form.high or found.step == form.step
    assert is_explained(whole) and not is_explained(record("other")) and not is_explained(Text())
    assert mixed(Choice(("a", "b"))) == Mixture(("a", "b"))
    said = Answer({"action": "a", "rationale": "why"}, "exact", facts={"k": 1})
    assert taken(said, Choice(("a",))).facts == {"k": 1, "rationale": "why"}


@pytest.mark.parametrize(
    ("form", "value", "given"),
    [
        (Number(0, 10, 2), 5.2, 6),
        (Number(0, 10), 99, 10),
        (Number(0, 10), "x", "x"),
        (Choice(("5",)), 5.2, 5.2),
    ],
)
def test_an_amount_is_given_as_the_form_allows(form: Any, value: Any, given: Any) -> None:
    assert within(form, value) == given


@pytest.mark.parametrize(
    ("line", "labels", "read"),
    [
        (" 1 ", ["J", "F"], "J"), ("2", ["J", "F"], "F"), ("3", ["J", "F"], "3"), ("0", ["J", "F"], "0"),
        ("2", ["2", "1"], "2"), ("j", ["J", "F"], "J"), ("x", ["J", "F"], "x"), ("²", ["J", "F"], "²"),
    ],
)  # fmt: skip
def test_a_person_may_type_the_number_of_an_option(line: str, labels: list[str], read: str) -> None:
    assert _by_number(line, labels) == read


def test_a_move_by_a_rule_is_the_cooperative_or_the_defective_amount() -> None:
    game = games.build("public_goods_amounts:3")
    past = Past(View(game, 0, "none", facts={"stage": "give"}), ())
    good, bad = game.cooperative[0], game.defective[0]
    assert good is not None and bad is not None
    chosen = strategies.build("cooperator").choose(past, Number(0, 100))
    assert isinstance(chosen, dict) and {v: p for v, p in chosen.items() if p} == {game.value(0, good): 1.0}


@pytest.mark.parametrize(("most", "fine"), [(10, 2), (2, 2), (1, 0)])
def test_the_smallest_fine_makes_cooperation_dominant(most: int, fine: int) -> None:
    """Defecting pays 5 in place of 3, and 1 in place of 0."""
    part = {"type": "integer", "minimum": -most, "maximum": most}
    form = record("contract", cooperate=part, defect=part)
    assert stable_design(view_of(PD, []), form) == {"cooperate": 0, "defect": -fine}
    assert unfriendly_design(view_of(PD, []), form) == {"cooperate": 0, "defect": 0}


def test_a_mediator_defects_unless_all_delegate() -> None:
    form = record("mediator", one={"type": "string"}, all={"type": "string"})
    assert stable_design(view_of(PD, []), form) == {"one": "defect", "all": "cooperate"}
    assert unfriendly_design(view_of(PD, []), form) == {"one": "defect", "all": "defect"}
    assert stable_design(view_of(NO_COOPERATION, []), form) == {"one": "J", "all": "J"}


MOVES = [{"seat": 0, "stage": "offer", "value": 30}, {"seat": 1, "stage": "reply", "value": "reject"}]


@pytest.mark.parametrize(
    ("played", "target", "stage", "form", "expected"),
    [
        ([MOVES], 1, "reply", Choice(("accept", "reject")), "reject"),
        ([MOVES], 1, "reply", Choice(("accept", "wait")), "accept"),
        ([MOVES], 0, "offer", Number(0, 100), 30),
        ([MOVES], 0, "offer", Number(0, 20), 20),
        ([MOVES, [{"seat": 0, "stage": "offer", "value": 50}]], 0, "offer", Number(0, 100), 50),
        ([], 1, "offer", Number(7, 100), 7),
    ],
)
def test_a_move_at_a_stage_is_expected_to_be_made_again(
    played: Any, target: int, stage: str, form: Any, expected: Any
) -> None:
    game = games.build("ultimatum")
    assert game.cooperative[1] is None
    history = History([Round(n, (), (0, 0), facts={"moves": moves}) for n, moves in enumerate(played, 1)])
    view = View(game, 1 - target, "none", 3, history, {"target": target, "target_stage": stage})
    assert CONDUCT["predict"](strategies.build("random"), view, form) == expected


@pytest.mark.parametrize(
    ("advice", "trust", "chance"), [(None, 1.0, 0.0), (0, 1.0, 1.0), (0, 0.25, 0.25), (1, 1.0, 0.0)]
)
def test_advice_is_taken_as_far_as_it_is_trusted(advice: int | None, trust: float, chance: float) -> None:
    strategy = strategies.build({"name": "advised", "trust": trust})
    told = {} if advice is None else {"advice": advice}
    past = Past(View(PD, 0, "none", facts=told), ())
    assert strategy.move(past) == chance and strategy.mix(past)[0] == chance
    assert strategy.stochastic == (0 < trust < 1)
    assert strategies.build({"name": "advised", "otherwise": "random"}).stochastic


@pytest.mark.parametrize(
    ("instruction", "chance"),
    [(None, 1.0), ("Play defector now.", 0.0), ("instructed, then defector", 0.0), ("Be nice.", 1.0)],
)
def test_an_instruction_is_followed_where_it_names_a_strategy(instruction: str | None, chance: float) -> None:
    told = {} if instruction is None else {"instruction": instruction}
    assert strategies.build("instructed").move(Past(View(PD, 0, "none", facts=told), ())) == chance
    with pytest.raises(
        OstromError, match=r"^strategy instructed: strategy cooperator needs a cooperative action"
    ):
        strategies.build("instructed").mix(Past(View(NO_COOPERATION, 0, "none"), ()))


@pytest.mark.parametrize(
    ("moves", "rounds"), [(["a"], 1), ([0, 1, 0], 3), ({"offer": [1, 2, 3], "reply": ["accept"]}, 3)]
)
def test_a_script_is_fixed_for_as_many_rounds_as_its_longest_list(moves: Any, rounds: int) -> None:
    assert strategies.build({"name": "script", "moves": moves}).fixed_rounds == rounds


@pytest.mark.parametrize(("params", "named"), [({"least": 5}, 5), ({"least": 5, "names": 0}, 0)])
def test_a_threshold_names_what_it_asks_for_unless_another_amount_is_given(
    params: dict[str, int], named: int
) -> None:
    strategy = strategies.build({"name": "threshold", **params})
    past = Past(View(games.get("dictator")(), 0, "none", facts={"stage": "give", "moves": ()}))
    assert strategy.choose(past, Number(0, 10)) == named


def test_a_conditional_cooperator_names_the_mean_of_those_who_named_an_amount_at_the_stage() -> None:
    game = games.get("public_goods_amounts")(n=4)
    named = ((0, "give", 9), (1, "give", 4), (2, "give", 8), (1, "keep", 0), (3, "give", "no_move"))
    moves = [{"seat": seat, "stage": stage, "value": value} for seat, stage, value in named]
    past = [Round(1, (0, 0, 0, 0), (0.0,) * 4, facts={"moves": moves})]
    view = View(game, 0, "repetition", 2, History(past), {"stage": "give", "moves": ()})
    for slope, amount in ((1.0, 6), (0.5, 3)):
        strategy = strategies.build({"name": "conditional_cooperator", "slope": slope})
        assert strategy.choose(Past(view), Number(0, 20)) == amount


def test_a_chance_of_none_or_all_is_no_chance() -> None:
    made = [strategies.build(f"random:{p}") for p in (0, 0.5, 1)]
    assert [one.stochastic for one in made] == [False, True, False] and strategies.build("random").stochastic
