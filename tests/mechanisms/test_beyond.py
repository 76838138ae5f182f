"""Cheap talk, punishment and disarmament."""

import json
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.answers import Answer, Invalid, Mixture, read
from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.ground.streams import Streams
from ostrom.mechanisms import Mechanism
from ostrom.mechanisms.protocol import Decision, Outcome
from ostrom.mechanisms.single import Disarmament, lowest_cap
from ostrom.mechanisms.talk import message_form
from ostrom.mechanisms.two_steps import CheapTalk, Punishment
from ostrom.memory import MemoryView
from ostrom.testing.check_mechanism import drive, played_by

PD = build_game("prisoners_dilemma:coopeval")
GOODS = build_game("public_goods")
LIBRARY = Library()


def match(rules: Mechanism, types: Sequence[str], game: Game = PD) -> Outcome:
    streams = Streams(0, 0)
    return drive(rules, game, streams, played_by(types, streams)).outcome


# -- cheap talk ------------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=60), min_size=2, max_size=2))
@settings(max_examples=60)
def test_messages_are_quoted_as_data_that_cannot_end_their_block(messages: list[str]) -> None:
    play = CheapTalk().play(PD, Streams(0, 0))
    next(play)
    decision = play.send([Answer({"message": m}) for m in messages])[0]
    text = PromptRenderer(Framing(), LIBRARY, "direct").prompt(decision, MemoryView(), None, {}).text
    before, _, rest = text.partition("\n<messages>\n")
    block, _, after = rest.partition("\n</messages>\n")
    assert "messages>" not in before + block + after
    lines = block.split("\n")
    assert block.splitlines() == lines
    assert [json.loads(line)["message"] for line in lines] == messages
    assert [json.loads(line)["from"] for line in lines] == ["you", "Player 2"]


def test_a_message_is_bounded() -> None:
    form = message_form(5)
    assert isinstance(read(form, '{"message": "12345"}'), Answer)
    assert isinstance(read(form, '{"message": "123456"}'), Invalid)
    assert isinstance(read(form, "hello"), Invalid)


def test_everybody_reads_all_messages_of_the_round() -> None:
    rules = CheapTalk(rounds=2)
    said = iter("abcd")

    def reply(decision: Decision, step: int) -> Answer:
        if decision.kind == "message":
            assert "messages" not in decision.view.facts
            return Answer({"message": next(said)})
        return Answer("cooperate")

    played = drive(rules, PD, Streams(0, 0), reply)
    shown = [d.view.facts["messages"] for step in played.asked[1::2] for d in step]
    assert shown == [["a", "b"]] * 2 + [["c", "d"]] * 2
    assert played.outcome.facts["messages"] == [["a", "b"], ["c", "d"]]


def test_talk_is_one_shot_by_default_and_its_expectation_exact() -> None:
    outcome = match(CheapTalk(), ["tit_for_tat", "random:0.5"])
    assert len(outcome.rounds) == 1
    assert outcome.rounds[0].expected == pytest.approx((1.0, 2.5))
    assert match(CheapTalk(rounds=3), ["grim", "random:0.5"]).rounds[0].expected is None


# -- punishment ------------------------------------------------------------------------------------------


def test_punishment_costs_both() -> None:
    outcome = match(Punishment(rounds=2, cost=0.5, fine=2), ["cooperator", "defector", "cooperator"], GOODS)
    assert outcome.rounds[0].payoffs == (1.0 - 0.5, 2.0 - 4.0, 1.0 - 0.5)
    assert outcome.rounds[0].facts["before"] == [1.0, 2.0, 1.0]
    assert outcome.facts["punishments"][0] == [{"by": 0, "to": 1, "units": 1}, {"by": 2, "to": 1, "units": 1}]


def test_a_punishment_strong_enough_makes_defection_a_loss() -> None:
    rules = Punishment(rounds=4)
    assert match(rules, ["cooperator", "cooperator"]).scores == (2.0, 2.0)
    assert match(rules, ["cooperator", "defector"]).scores[1] < 2.0


def test_defectors_and_calculating_players_do_not_punish() -> None:
    outcome = match(Punishment(rounds=3), ["defector", "best_response"])
    assert outcome.facts["punishments"] == [[], [], []]


def test_who_punished_whom_is_told_in_the_next_round() -> None:
    streams = Streams(0, 0)
    played = drive(Punishment(rounds=2), PD, streams, played_by(["cooperator", "defector"], streams))
    assert [d.view.facts["last_punishments"] for d in played.asked[0]] == [[], []]
    assert played.asked[2][1].view.facts["last_punishments"] == [{"by": 0, "to": 1, "units": 1}]
    assert played.asked[1][0].view.facts["played"] == {"actions": [0, 1], "payoffs": [0.0, 3.0]}


# -- disarmament -----------------------------------------------------------------------------------------


def test_reciprocators_disarm_step_by_step() -> None:
    outcome = match(Disarmament(), ["tit_for_tat", "grim"])
    assert outcome.facts["caps"] == [[100, 0], [100, 0]]
    assert [move["to"] for move in outcome.facts["moves"]] == [75, 50, 25, 0, 0]
    assert outcome.scores == (2.0, 2.0)


def test_nobody_goes_far_alone() -> None:
    outcome = match(Disarmament(), ["tit_for_tat", "defector"])
    assert outcome.facts["caps"] == [[100, 75], [100, 100]]
    assert match(Disarmament(), ["best_response", "defector"]).facts["moves"] == []


def test_the_talks_end_when_nobody_moves_or_the_sweeps_are_over() -> None:
    asked = drive(Disarmament(), PD, Streams(0, 0), _keeping).asked
    assert len(asked) == 4 + 1  # one sweep without a move, then the play
    outcome = drive(Disarmament(sweeps=3), PD, Streams(0, 0), _lowering).outcome
    assert len(outcome.facts["moves"]) == 3 * 4
    assert outcome.facts["caps"] == [[97, 97], [97, 97]]


def _keeping(decision: Decision, step: int) -> Answer:
    return _moving(decision, 0)


def _lowering(decision: Decision, step: int) -> Answer:
    return _moving(decision, 1)


def _moving(decision: Decision, by: int) -> Answer:
    if decision.kind == "act":
        return Answer({"cooperate": 50, "defect": 50}, "exact")
    action = decision.view.facts["action"]
    return Answer({"cap": decision.view.facts["caps"][decision.view.seat][action] - by})


@given(seed=st.integers(0, 10**6))
@settings(max_examples=40)
def test_caps_never_rise_and_always_leave_something_to_play(seed: int) -> None:
    rng = np.random.default_rng(seed)
    game = build_game("travelers_dilemma")
    seen = [[100] * 4, [100] * 4]

    def reply(decision: Decision, step: int) -> Answer:
        caps = decision.view.facts["caps"]
        assert all(now <= before for a, b in zip(caps, seen, strict=True) for now, before in zip(a, b, strict=True))
        seen[:] = caps
        assert all(sum(row) >= 100 for row in caps)
        if isinstance(decision.form, Mixture):
            own = caps[decision.view.seat]
            shares, left = [], 100
            for place, cap in enumerate(own):
                shares.append(max(left - sum(own[place + 1 :]), 0) if rng.integers(2) else min(left, cap))
                left -= shares[-1]
            return Answer(dict(zip(decision.form.options, shares, strict=True)), "exact")
        low, high = decision.view.facts["least"], caps[decision.view.seat][decision.view.facts["action"]]
        return Answer({"cap": int(rng.integers(low, high + 1))})

    outcome = drive(Disarmament(), game, Streams(seed, 0), reply).outcome
    for seat, action in enumerate(outcome.rounds[0].actions):
        assert outcome.facts["caps"][seat][action] > 0


def test_the_least_cap_counts_the_others() -> None:
    assert lowest_cap([100, 100, 100], 1) == 0
    assert lowest_cap([10, 100, 20], 1) == 70


def test_expected_payoffs_come_from_the_stated_chances() -> None:
    outcome = drive(Disarmament(), PD, Streams(0, 0), _keeping).outcome
    assert outcome.rounds[0].expected == pytest.approx((1.5, 1.5))
