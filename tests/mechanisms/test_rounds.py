"""One round protocol: what a table and a rule play alike, and what wraps any mechanism around either."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.answers import Answer, Choice, Number
from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import build_game, games
from ostrom.games.game import Game
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import Decision, Mechanism, Outcome, mechanisms
from ostrom.mechanisms.controls import build_mechanism
from ostrom.mechanisms.protocol import EMPTY, History, Round, View
from ostrom.mechanisms.rounds import Rounds, drawn_round
from ostrom.memory import memories
from ostrom.testing import check_mechanism

POOL = {"name": "public_goods_amounts", "n": 3}
Reply = Callable[[Decision], Any]


def played(rules: Mechanism, game: Game, reply: Reply, seed: int = 0) -> tuple[list[list[Decision]], Outcome]:
    """A match in which everybody answers by a function."""
    play, asked = rules.play(game, Streams(seed, 0)), []
    due = next(play)
    while True:
        asked.append(due)
        try:
            due = play.send([Answer(reply(decision)) for decision in due])
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return asked, outcome


def first(decision: Decision) -> Any:
    """The first option, the lowest amount, or a word."""
    form = decision.form
    return form.low if isinstance(form, Number) else form.options[0] if isinstance(form, Choice) else "so"


def kinds(asked: Sequence[Sequence[Decision]]) -> list[str]:
    return [due[0].kind for due in asked]


def test_a_match_goes_on_with_the_chance_of_continuation() -> None:
    rules = mechanisms.build({"name": "repetition", "rounds": 40, "stopping": "geometric", "continuation": 0.9})
    lengths = [len(played(rules, build_game("stag_hunt"), first, seed)[1].rounds) for seed in range(30)]
    ends = [[n for n in range(1, 40) if Streams(seed, 0).chance(n, 0, "continue") >= 0.9] for seed in range(30)]
    assert lengths == [(at or [40])[0] for at in ends] and max(lengths) > 10 > min(lengths)


# -- the protocol --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in games if build_game(name).has_table])
def test_a_table_plays_one_step_of_the_protocol(name: str) -> None:
    game = build_game(name)
    for profile in list(game.profiles())[:8]:
        stages = game.begin()
        due = next(stages)
        assert [turn.seat for turn in due] == list(range(game.seats)) and game.turns == game.seats
        with pytest.raises(StopIteration) as stop:
            stages.send([game.value(seat, action) for seat, action in enumerate(profile)])
        assert tuple(stop.value.value.payoffs) == game.payoff(profile)


def test_the_rounds_of_a_match_come_to_what_the_protocol_says() -> None:
    game, streams = build_game("stag_hunt"), Streams(3, 1)
    drawn = drawn_round(game, 1, 0, streams)
    play = Rounds(game, "repetition", streams).play(1, EMPTY, None)
    assert [decision.form for decision in next(play)] == [Choice(game.named_actions(s)) for s in (0, 1)]
    with pytest.raises(StopIteration) as stop:
        play.send([Answer(game.actions[seat][action]) for seat, action in enumerate(drawn.actions)])
    assert stop.value.value == drawn


def test_what_a_table_asks_and_settles_is_what_the_constructors_make() -> None:
    game, told, past = build_game("stag_hunt"), {"repeated": True}, History([])
    rounds = Rounds(game, "repetition", Streams(0, 0), told)
    asked = rounds.ask(3, past, None)
    assert asked == [
        Decision(seat, "act", View(game, seat, "repetition", 3, past, told), Choice(game.named_actions(seat)))
        for seat in range(2)
    ]
    shown = rounds.ask(3, past, lambda seat: EMPTY if seat else past)
    assert [decision.view.history for decision in shown] == [past, EMPTY]
    settled = rounds.settle(3, [Answer(game.actions[0][0]), Answer(game.actions[1][1])])
    assert settled == Round(3, (0, 1), game.payoff((0, 1)))


def test_a_table_does_not_define_stages_as_prompt_files_ask_for_it() -> None:
    assert not hasattr(build_game("prisoners_dilemma"), "stages") and build_game("ultimatum").stages


# -- noise ---------------------------------------------------------------------------------------------------


def test_noise_replaces_amounts_and_options_and_the_past_shows_what_was_played() -> None:
    game = build_game("ultimatum")
    _, sure = played(mechanisms.build({"name": "repetition", "rounds": 40, "noise": 1}), game, first)
    moves = [{move["stage"]: move["value"] for move in round_.facts["moves"]} for round_ in sure.rounds]
    assert all(move["offer"] != 0 and move["reply"] == "reject" for move in moves)
    assert len({move["offer"] for move in moves}) > 20, "all other amounts are equally likely"
    _, some = played(mechanisms.build({"name": "repetition", "rounds": 400, "noise": 0.25}), game, first)
    slips = np.mean([round_.facts["moves"][0]["value"] != 0 for round_ in some.rounds])
    assert 0.19 < slips < 0.31


def test_a_seat_that_moves_twice_slips_by_draws_of_its_own() -> None:
    game = build_game("alternating_offers")
    rules = mechanisms.build({"name": "repetition", "rounds": 60, "noise": 0.5})

    def refuse(decision: Decision) -> Any:
        return 0 if isinstance(decision.form, Number) else "reject"

    _, outcome = played(rules, game, refuse)
    twice = [
        [move["value"] != 0 for move in round_.facts["moves"] if (move["seat"], move["stage"]) == (0, "offer")]
        for round_ in outcome.rounds
    ]
    pairs = {tuple(slips[:2]) for slips in twice if len(slips) > 1}
    assert (True, False) in pairs or (False, True) in pairs


# -- predictions ---------------------------------------------------------------------------------------------


def test_an_observer_predicts_each_move_from_what_its_player_is_told() -> None:
    game = build_game("ultimatum")
    rules = mechanisms.build({"name": "repetition", "rounds": 1, "predict": "observer"})
    rules.fit(game)
    asked, _ = played(rules, game, first)
    assert kinds(asked) == ["predict", "act", "predict", "act"] and rules.observers == 1
    about = [(d.player, d.view.facts["target"], d.view.facts["stage"]) for (d,) in asked if d.kind == "predict"]
    assert about == [(2, 0, "offer"), (2, 1, "reply")]
    watched = mechanisms.build({"name": "repetition", "rounds": 1, "predict": "observer", "watched": 2})
    assert kinds(played(watched, game, first)[0]) == ["act", "predict", "act"]


def test_an_observer_is_told_the_rules_of_others() -> None:
    game, renderer = build_game("ultimatum"), PromptRenderer(Framing(), Library(), "direct")
    rules = mechanisms.build({"name": "repetition", "rounds": 1, "predict": "observer"})
    question = played(rules, game, first)[0][0][0]
    shown = memories.build("full").show(question.view, lambda n, _: np.random.default_rng(n))
    text = renderer.prompt(question, shown, None, {}).text
    assert "You watch 2 players" in text and "you foretell what Player 1 and Player 2 will do" in text
    assert "Player 1 is asked now:\n<question>" in text and text.count("What will Player 1 answer?") == 1


def test_players_who_never_decide_at_the_same_time_have_nobody_to_predict() -> None:
    with pytest.raises(GameError, match="decide at the same time, and in game ultimatum nobody does"):
        mechanisms.build({"name": "repetition", "predict": "players"}).fit(build_game("ultimatum"))


def test_scripts_expect_the_last_move_at_the_stage() -> None:
    game = build_game(POOL)
    agents = [ScriptedAgent(strategies.build({"name": "constant", "action": n})) for n in (3, 7, 9)]
    rules = mechanisms.build({"name": "repetition", "rounds": 2, "predict": "players"})
    asked, _ = played(rules, game, lambda d: agents[d.player].decide(d, lambda: 0.5).value)
    expected = [agents[d.player].decide(d, lambda: 0.5).value for d in asked[3]]
    assert expected == [7, 9, 3]


# -- statements and shams ------------------------------------------------------------------------------------


def test_a_sham_past_is_made_up_where_no_player_knows_better() -> None:
    game = build_game(POOL)
    sham = build_mechanism({"name": "repetition", "rounds": 3, "control": "sham"}, key="mechanism")
    sham.fit(game)
    low, high = (played(sham, game, reply)[0] for reply in (first, lambda d: d.form.high if d.kind == "act" else 0))
    pasts = [[d.view.history[:] for d in due] for due in low]
    assert pasts == [[d.view.history[:] for d in due] for due in high], "nothing that was played is shown"
    assert pasts[2][0] != pasts[2][1] and len(pasts[2][0]) == 2
    for name in ("ultimatum", "common_pool"):
        with pytest.raises(GameError, match=f"the players of {name} are told within a round"):
            sham.fit(build_game(name))


# -- records -------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("game", ["public_goods_amounts:2", "beauty_contest:2", "minimum_effort:2"])
def test_records_hold_the_amounts_of_games_that_one_step_settles(game: str) -> None:
    for more in ({}, {"own": "memory"}, {"order": "higher"}):
        check_mechanism({"name": "reputation", "rounds": 3, **more}, games=[game], seeds=1)


def test_a_record_tells_amounts_and_scripts_answer_to_it() -> None:
    game = build_game("public_goods_amounts:2")
    rules = mechanisms.build({"name": "reputation", "rounds": 2}).for_players(4)
    rules.fit(game)
    generous = {"name": "constant", "action": 20}
    names: list[Any] = [generous, generous, "conditional_cooperator", "conditional_cooperator"]
    agents = [ScriptedAgent(strategies.build(name)) for name in names]
    asked, outcome = played(rules, game, lambda d: agents[d.player].decide(d, lambda: 0.5).value)
    assert kinds(asked) == ["act", "act"] and len(outcome.rounds) == 4 and len(outcome.scores) == 4
    for round_ in outcome.rounds:
        values = [move["value"] for move in round_.facts["moves"]]
        assert round_.payoffs == game.payoff([game.index(seat, value) for seat, value in enumerate(values)])
    question = next(d for d in asked[1] if d.player == 0)
    shown = memories.build("full").show(question.view, lambda n, _: np.random.default_rng(n))
    text = PromptRenderer(Framing(), Library(), "direct").prompt(question, shown, None, {}).text
    assert "Your record, newest round first:" in text and "You 20 (" in text
    assert text.index("Your record") < text.index("do you put into the common project?")


# -- any mechanism -------------------------------------------------------------------------------------------


@pytest.mark.sample(6)
@pytest.mark.parametrize("around", [{"predict": "players"}, {"predict": "observer"}, {"state": "during"}])
@pytest.mark.parametrize("name", ["punishment", "cheap_talk", "in_turn", "similarity", "none"])
def test_predictions_and_statements_go_around_any_mechanism_with_seats(name: str, around: dict[str, str]) -> None:
    rounds = {"rounds": 3} if name in ("punishment", "cheap_talk") else {}
    check_mechanism({"name": name, **rounds, **around}, games=["prisoners_dilemma"], seeds=1)


@pytest.mark.sample(8)
@pytest.mark.parametrize("around", [{"predict": "players"}, {"predict": "observer"}, {"noise": 0.5}])
@pytest.mark.parametrize("game", ["beauty_contest:2", "first_price_auction:2", "common_pool:2", "dictator"])
def test_rounds_of_a_rule_are_played_and_told_with_what_is_around_them(game: str, around: dict[str, Any]) -> None:
    if (game, around) != ("dictator", {"predict": "players"}):
        check_mechanism({"name": "repetition", "rounds": 2, **around}, games=[game], seeds=1)


def test_what_is_around_adds_up_and_leaves_the_rules_readable() -> None:
    spec = {"name": "repetition", "rounds": 4, "noise": 0.1, "predict": "players", "state": "before",
            "talk": "start", "missed": "mark"}  # fmt: skip
    rules = mechanisms.build(spec)
    asked, _ = played(rules, build_game("prisoners_dilemma"), _reply)
    assert kinds(asked)[:4] == ["state", "message", "predict", "act"]
    assert (rules.rounds, rules.noise, rules.told) == (4, 0.1, {"repeated": True})  # type: ignore[attr-defined]
    assert rules.missing is not None and rules.array_rules(build_game("prisoners_dilemma")) is None


def _reply(decision: Decision) -> Any:
    if decision.kind == "message":
        return {"message": "hello"}
    if decision.kind == "state":
        return dict.fromkeys(("first", "after_1_1", "after_1_2", "after_2_1", "after_2_2"), 50)
    return first(decision)


def test_a_name_with_values_takes_what_is_around_too() -> None:
    rules = mechanisms.build("repetition:3,predict=players")
    assert (rules.rounds, rules.predict) == (3, "players")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"name": "repetition", "predict": "all"}, "mechanism repetition: predict must be players, observer"),
        ({"name": "repetition", "watched": 1}, "only an observer has a watched seat"),
        ({"name": "repetition", "predict": "players", "watched": 1}, "only an observer has a watched seat"),
        ({"name": "reputation", "predict": "players"}, "not with a society"),
        ({"name": "repetition", "state_as": "song"}, "state_as must be one of words"),
        ({"name": "mediation", "missed": "mark"}, "mechanism mediation: has no rule for missed decisions"),
        ({"name": "repetition", "predcit": "players"}, "did you mean 'predict'"),
    ],
)
def test_a_wrong_key_around_is_named(spec: dict[str, Any], says: str) -> None:
    with pytest.raises(StudyError, match=says):
        mechanisms.build(spec)


@pytest.mark.parametrize("predict", ["players", "observer"])
def test_statements_beside_predictions_are_about_nobody_else(predict: str) -> None:
    rules = mechanisms.build({"name": "repetition", "rounds": 2, "predict": predict, "state": "before"})
    (first, *_) = next(rules.play(build_game("prisoners_dilemma"), Streams(0, 1)))
    assert first.kind == "state"
    assert not {"target", "observer"} & set(first.view.facts)
