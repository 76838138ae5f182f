"""Statements and predictions around rules: when they are asked, of whom, about whom, and how many there can be."""

from typing import Any

import pytest

from ostrom.answers import Answer, Choice, Number, Record, Text
from ostrom.games import build_game
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import Decision, mechanisms
from ostrom.mechanisms.base import closed_object
from ostrom.mechanisms.statements import has_tables, statement_form, table_form

PD, THREE = "prisoners_dilemma", {"name": "public_goods", "n": 3}


def _value(decision: Decision) -> Any:
    form = decision.form
    if isinstance(form, Record):
        return dict.fromkeys(form.schema["properties"], 50)
    return form.low if isinstance(form, Number) else form.options[0] if isinstance(form, Choice) else "so"


def _asked(game: Any, **around: Any) -> list[list[Decision]]:
    """All that a match of repetition asks."""
    play = mechanisms.build({"name": "repetition", **around}).play(build_game(game), Streams(0, 0))
    asked = [next(play)]
    try:
        while True:
            asked.append(play.send([Answer(_value(decision)) for decision in asked[-1]]))
    except StopIteration:
        return asked


ALL = ["before", "during", "after"]


@pytest.mark.parametrize(
    ("rounds", "state", "how", "kinds"),
    [
        (4, ALL, "memory_one", "state act act state act act state"),
        (5, ALL, "memory_one", "state act act state act act act state"),
        (2, "during", "memory_one", "act state act"),
        (1, "during", "memory_one", "act"),
        (1, "before", "words", "state code act"),
        (2, "after", "words", "act act state code"),
        (1, [], "words", "act"),
    ],
)
def test_statements_come_before_in_the_middle_and_after(rounds: int, state: Any, how: str, kinds: str) -> None:
    asked = _asked(PD, rounds=rounds, state=state, state_as=how)
    assert [due[0].kind for due in asked] == kinds.split()
    assert all([decision.player for decision in due] == [0, 1] for due in asked)
    told = [due[0].view for due in asked if due[0].kind == "state"]
    assert [view.facts["when"] for view in told] == [when for when in ALL if when in state][: len(told)]
    assert all(view.facts["aside"] is True for view in told)
    if told and told[-1].facts["when"] == "after":
        assert (told[-1].round, len(told[-1].history)) == (rounds + 1, rounds)


def test_words_are_put_into_a_table_with_what_was_said() -> None:
    code = _asked(PD, rounds=1, state="before", state_as="words")[1]
    assert [(d.player, d.view.facts["statement"], d.form) for d in code] == [
        (0, "so", table_form()), (1, "so", table_form()),
    ]  # fmt: skip


def test_forms_of_statements() -> None:
    chance = {"type": "integer", "minimum": 0, "maximum": 100}
    keys = ["first", "after_1_1", "after_1_2", "after_2_1", "after_2_2"]
    assert table_form().schema == closed_object(dict.fromkeys(keys, chance))
    game = build_game(PD)
    assert statement_form("words", game, 0) == Text(words=80)
    assert statement_form("memory_one", game, 0) == table_form()
    automaton = statement_form("automaton", game, 1)
    assert isinstance(automaton, Record) and automaton.options == game.actions[1]
    state = {"type": "integer", "minimum": 1, "maximum": 3}
    assert list(automaton.schema["properties"].items())[3:6] == [
        ("state_2_action", {"type": "string", "enum": list(game.actions[1])}),
        ("state_2_after_1", state),
        ("state_2_after_2", state),
    ]
    assert len(automaton.schema["required"]) == 9
    assert [has_tables(build_game(name)) for name in (PD, THREE, "travelers_dilemma")] == [True, False, False]


def test_players_predict_each_of_the_others_once_a_round() -> None:
    asked = _asked(THREE, rounds=2, predict="players")
    assert [due[0].kind for due in asked] == ["predict", "predict", "act"] * 2
    assert [[(d.player, d.view.seat, d.view.facts["target"]) for d in due] for due in asked[:2]] == [
        [(0, 0, 1), (1, 1, 2), (2, 2, 0)],
        [(0, 0, 2), (1, 1, 0), (2, 2, 1)],
    ]
    assert "observer" not in asked[0][0].view.facts


@pytest.mark.parametrize(
    ("game", "around", "each"),
    [
        (PD, {}, [4, 4]),
        (PD, {"state": ["before", "after"]}, [6, 6]),
        (PD, {"state": ["before", "after"], "state_as": "words"}, [8, 8]),
        (THREE, {"predict": "players"}, [12, 12, 12]),
        (THREE, {"predict": "observer"}, [4, 4, 4, 12]),
        (THREE, {"predict": "observer", "watched": 2}, [4, 4, 4, 4]),
        (THREE, {"predict": "observer", "state": "after", "state_as": "words"}, [6, 6, 6, 12]),
    ],
)
def test_questions_are_counted_by_player(game: Any, around: dict[str, Any], each: list[int]) -> None:
    rules, built = mechanisms.build({"name": "repetition", "rounds": 4, **around}), build_game(game)
    assert [rules.decisions_of(built, p, len(each)) for p in range(len(each))] == each
    assert rules.most_decisions(built) == sum(each)


@pytest.mark.parametrize(
    ("game", "around", "words"),
    [
        (PD, {"predict": "observer", "watched": 3}, "watched seat 3: game prisoners_dilemma has 2 seats"),
        ("dictator", {"predict": "players"}, "in game dictator nobody does"),
        (THREE, {"state": "after"}, "game public_goods has 2, 2 and 2 actions"),
    ],
)
def test_what_cannot_be_predicted_or_stated_is_refused(game: Any, around: dict[str, Any], words: str) -> None:
    with pytest.raises(GameError, match=words):
        mechanisms.build({"name": "repetition", **around}).fit(build_game(game))


@pytest.mark.parametrize("state", [None, "after"])
def test_a_society_that_states_strategies_says_who_met_whom(state: str | None) -> None:
    rules = mechanisms.build({"name": "society", "rounds": 2, "meeting": "pair", "state": state}).for_players(4)
    play = rules.play(build_game(PD), Streams(0, 0))
    due = next(play)
    with pytest.raises(StopIteration) as ended:
        while True:
            due = play.send([Answer(_value(decision)) for decision in due])
    outcome = ended.value.value
    met = [[played.number, *played.players] for played in outcome.rounds]
    assert outcome.facts.get("met") == (met if state else None) and len(met) == 4
