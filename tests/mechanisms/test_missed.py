"""A decision that nobody answers in time is never played silently: the mechanism's declared rule says what follows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostrom.agents.scripted import ScriptedAgent
from ostrom.agents.strategies import strategies
from ostrom.answers import Answer
from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import build_game
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import Mechanism, mechanisms
from ostrom.mechanisms.missing import MISSED, Missing
from ostrom.mechanisms.protocol import Decision, Outcome
from ostrom.memory import memories
from ostrom.testing.check_mechanism import Playing, drive

PD = build_game("prisoners_dilemma")
ABLE = {"none": {}, "repetition": {"rounds": 4}, "cheap_talk": {"rounds": 3}, "punishment": {"rounds": 3},
        "reputation": {"rounds": 4}}  # fmt: skip
C, D = "cooperate", "defect"
SAID = {"message": {"message": "hello"}, "punish": {}}


def played(rules: Mechanism, misses: set[tuple[int, int]], action: str = C) -> Playing:
    """A match in which everybody plays one action, and (step, player) pairs miss."""

    def reply(decision: Decision, step: int) -> Answer:
        if (step, decision.player) in misses:
            return MISSED
        if decision.kind == "punish":
            return Answer(dict.fromkeys(decision.form.schema["properties"], 0), "person")  # type: ignore[union-attr]
        return Answer(SAID.get(decision.kind, action), "person")

    return drive(rules, PD, Streams(0, 0), reply)


def rules(name: str, **params: Any) -> Mechanism:
    made = mechanisms.build({"name": name, **ABLE[name], **params})
    return made.sized(4) if made.society else made


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(ABLE)), st.sets(st.tuples(st.integers(0, 7), st.integers(0, 3)), max_size=6))
def test_a_missed_round_has_no_action_pays_nothing_and_counts(
    name: str, misses: set[tuple[int, int]]
) -> None:
    made = played(rules(name, missed="mark"), misses)
    late = {
        (decision.view.round, decision.player)
        for decisions, answers in zip(made.asked, made.answers, strict=True)
        for decision, answer in zip(decisions, answers, strict=True)
        if answer.reading == "missed"
    }
    rounds = made.outcome.rounds
    assert len({r.number for r in rounds}) == ABLE[name].get("rounds", 1), (
        "a void round is a round of the match"
    )
    for r in rounds:
        sat = r.players or tuple(range(2))
        assert {sat[s] for s in r.missed} == {p for number, p in late if number == r.number and p in sat}
        assert r.void == bool(r.missed)
        if r.void:
            assert r.payoffs == (0.0, 0.0), "nobody is paid, also not who answered"
        else:
            assert r.payoffs == (3.0, 3.0)


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(sorted(ABLE)), st.sets(st.tuples(st.integers(0, 7), st.integers(0, 1)), max_size=4))
def test_a_default_is_played_and_marked(name: str, misses: set[tuple[int, int]]) -> None:
    made = played(rules(name, missed="default:defect"), misses)
    for decisions, answers in zip(made.asked, made.answers, strict=True):
        for decision, answer in zip(decisions, answers, strict=True):
            round_ = next(
                r
                for r in made.outcome.rounds
                if r.number == decision.view.round and decision.player in (r.players or (0, 1))
            )
            seat = decision.view.seat
            if answer.reading == "missed":
                assert seat in round_.missed
            if decision.kind == "act":
                assert PD.actions[seat][round_.actions[seat]] == (D if answer.reading == "missed" else C)
    assert not any(r.void for r in made.outcome.rounds)


def test_a_round_is_missed_by_whoever_did_not_act_or_did_not_say_whom_to_punish() -> None:
    made = played(rules("punishment", missed="default:defect"), {(0, 0), (1, 1)})
    assert [r.missed for r in made.outcome.rounds] == [(0, 1), (), ()]


@pytest.mark.parametrize("name", [name for name in ABLE if name != "none"])
def test_the_match_ends_where_the_rule_says(name: str) -> None:
    at_once = played(rules(name, missed="end-visit"), {(0, 1)}).outcome
    assert {r.number for r in at_once.rounds} == {1} and at_once.facts["ended"] == "missed"
    assert at_once.facts["missed_by"] == [2]
    always = {(step, 0) for step in range(20)}
    patient = played(rules(name, missed="mark", missed_at_most=1), always).outcome
    assert {r.number for r in patient.rounds} == {1, 2} and patient.facts["missed_by"] == [1]
    assert "ended" not in played(rules(name, missed="mark", missed_at_most=1), {(0, 0)}).outcome.facts


@pytest.mark.parametrize("name", ["mediation", "contracting", "disarmament"])
def test_mechanisms_that_cannot_allow_it_refuse_with_one_line(name: str) -> None:
    with pytest.raises(GameError, match=f"mechanism {name}: has no rule for missed decisions") as refused:
        mechanisms.build(name).allowing(Missing("mark"))
    assert "\n" not in str(refused.value)


def test_a_default_must_be_an_action_of_the_game() -> None:
    with pytest.raises(
        GameError, match=r"seat 1 of game prisoners_dilemma has no such action \(found 'J', allowed: coop"
    ):
        mechanisms.build({"name": "repetition", "missed": "default:J"}).check(PD)


def second_round(made: Playing, seat: int) -> Decision:
    return next(d for ds in made.asked for d in ds if d.view.round == 2 and d.player == seat)


def told(made: Playing, seat: int, memory: str = "full") -> str:
    decision = second_round(made, seat)
    shown = memories.build(memory).show(decision.view, lambda n, _: Streams(0, 0).about(n, 0, "x"))
    return (
        PromptRenderer(Framing(labels="actions"), Library(), "direct").prompt(decision, shown, None, {}).text
    )


def test_players_read_who_missed_and_what_followed() -> None:
    void = played(rules("repetition", missed="mark"), {(0, 1)})
    assert "Round 1: Player 2 did not decide in time. The round is void and paid nothing." in told(void, 0)
    assert "Round 1: you did not decide in time." in told(void, 1)
    assert "Void, because somebody did not decide in time: 1 time" in told(void, 0, "tally")
    filled = played(rules("repetition", missed="default:defect"), {(0, 1)})
    assert "(Player 2 did not decide in time; the rules chose.)" in told(filled, 0)
    society = played(rules("reputation", missed="mark"), {(0, 0), (0, 1), (0, 2), (0, 3)})
    assert "did not play (0 points)" in told(society, 0) and "did not decide in time" in told(society, 0)


@pytest.mark.parametrize(
    "memory", ["window:3", "forgiving:1", "sanitized:polar,window=4", "forgetting:0.1", "full"]
)
def test_strategies_see_only_rounds_that_were_played(memory: str) -> None:
    """Grim and tit for tat read nothing into a void round, with every memory that scripts can use."""

    def outcome(misses: bool) -> Outcome:
        shown = None if memory == "full" else memories.build(memory)
        agents = [ScriptedAgent(strategies.build(n), shown) for n in ("tit_for_tat", "grim")]
        draws = Streams(3, 0)

        class DecisionContext:
            def draw(self, purpose: str = "", step: int | None = None) -> Any:
                return draws.about(step or 0, 0, purpose)

            def chance(self, purpose: str = "") -> float:
                return 0.5

        def reply(decision: Decision, step: int) -> Answer:
            if misses and (step, decision.player) == (1, 1):
                return MISSED
            return agents[decision.player].reply(decision, DecisionContext())  # type: ignore[arg-type]

        return drive(rules("repetition", missed="mark"), PD, draws, reply).outcome

    with_gap, whole = outcome(True), outcome(False)
    assert [r.void for r in with_gap.rounds] == [False, True, False, False]
    assert [r.actions for r in with_gap.rounds if not r.void] == [r.actions for r in whole.rounds][:3]
