"""A decision that nobody answers in time is never played silently: the mechanism's declared rule says what follows."""

from collections import Counter
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
from ostrom.mechanisms.missing import MISSED, Missing, missed_by, missing_of, void_round
from ostrom.mechanisms.protocol import Decision, History, Outcome
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
    return made.for_players(4) if made.society else made


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(sorted(ABLE)), st.sets(st.tuples(st.integers(0, 7), st.integers(0, 3)), max_size=6))
def test_a_missed_round_has_no_action_pays_nothing_and_counts(name: str, misses: set[tuple[int, int]]) -> None:
    made = played(rules(name, missed="mark"), misses)
    late = {
        (decision.view.round, decision.player)
        for decisions, answers in zip(made.asked, made.answers, strict=True)
        for decision, answer in zip(decisions, answers, strict=True)
        if answer.reading == "missed"
    }
    rounds = made.outcome.rounds
    assert len({r.number for r in rounds}) == ABLE[name].get("rounds", 1), "a void round is a round of the match"
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
    shown = memories.build(memory).show(decision.view, lambda n, _: Streams(0, 0).for_round(n, 0, "x"))
    return PromptRenderer(Framing(labels="actions"), Library(), "direct").prompt(decision, shown, None, {}).text


def test_players_read_who_missed_and_what_followed() -> None:
    void = played(rules("repetition", missed="mark"), {(0, 1)})
    assert "Round 1: Player 2 did not decide in time. The round is void and paid nothing." in told(void, 0)
    assert "Round 1: you did not decide in time." in told(void, 1)
    assert "Void, because somebody did not decide in time: 1 time" in told(void, 0, "tally")
    filled = played(rules("repetition", missed="default:defect"), {(0, 1)})
    assert "(Player 2 did not decide in time; the rules chose.)" in told(filled, 0)
    society = played(rules("reputation", missed="mark"), {(0, 0), (0, 1), (0, 2), (0, 3)})
    assert "did not play (0 points)" in told(society, 0) and "did not decide in time" in told(society, 0)


@pytest.mark.parametrize("memory", ["window:3", "forgiving:1", "sanitized:polar,window=4", "forgetting:0.1", "full"])
def test_strategies_see_only_rounds_that_were_played(memory: str) -> None:
    """Grim and tit for tat read nothing into a void round, with every memory that scripts can use."""

    def outcome(misses: bool) -> Outcome:
        shown = None if memory == "full" else memories.build(memory)
        agents = [ScriptedAgent(strategies.build(n), shown) for n in ("tit_for_tat", "grim")]
        draws = Streams(3, 0)

        class DecisionContext:
            def draw(self, purpose: str = "", step: int | None = None) -> Any:
                return draws.for_round(step or 0, 0, purpose)

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


@pytest.mark.parametrize(
    ("rule", "at_most", "late", "by"),
    [
        ("mark", None, [0], None),
        ("mark", 1, [0], [1]),
        ("mark", 2, [0], None),
        ("mark", 1, [1], None),
        ("mark", 0, [1], [2]),
        ("mark", 1, [0, 1], [1, 2]),
        ("mark", 0, [], None),
        ("default:defect", 1, [0], [1]),
        ("end-visit", None, [1], [2]),
        ("end-visit", None, [], None),
    ],
)
def test_a_match_ends_when_a_player_has_missed_more_rounds_than_it_may(
    rule: str, at_most: int | None, late: list[int], by: list[int] | None
) -> None:
    times = Counter({0: 1})
    found = Missing(rule, at_most).ending_facts(times, late)
    assert found == ({} if by is None else {"ended": "missed", "missed_by": by})
    assert times[0] == 1 + late.count(0) and times[1] == late.count(1)


@pytest.mark.parametrize(
    ("missed", "at_most", "words"),
    [
        (None, 1, "missed_at_most needs a rule"),
        ("end-visit", 1, "does not go with missed: end-visit"),
        ("default:", None, "missed must be mark, end-visit or default:<action>, found 'default:'"),
        ("defaul:x", None, "found 'defaul:x'"),
        (True, None, "found True"),
        ("mark", -1, "missed_at_most must be a whole number of at least 0"),
    ],
)
def test_rules_that_say_nothing_are_refused(missed: Any, at_most: int | None, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        missing_of(missed, at_most)


def test_what_is_played_for_whoever_misses() -> None:
    assert missing_of(None) is None and missing_of("end-visit") == Missing("end-visit")
    rule = missing_of("default:defect", 0)
    assert rule is not None and (rule.default, rule.voids, rule.at_most) == ("defect", False, 0)
    assert Missing("mark").voids and Missing("mark").default is None
    said = [Answer(C, "person"), MISSED, Answer(D, "exact")]
    assert missed_by(said) == (1,)
    assert rule.filled(said) == [said[0], Answer("defect", "missed"), said[2]]
    void = void_round(PD, 3, (1,), (4, 5))
    assert (void.number, void.actions, void.payoffs, void.players, void.missed) == (3, (), (0.0, 0.0), (4, 5), (1,))
    with pytest.raises(GameError, match=r"seat 1 of game prisoners_dilemma has no such action \(found 'run'"):
        Missing("default:run").check(PD)


def test_a_past_is_cut_like_a_list_and_does_not_grow() -> None:
    rounds = [void_round(PD, number, (0,)) for number in range(1, 6)]
    past, plain = History(rounds, 3), rounds[:3]
    cuts = [(None, None, None), (1, None, None), (-2, None, None), (0, -1, 2), (2, 1, None), (None, 9, None)]
    for start, stop, step in [*cuts, (None, None, -1), (2, 0, -1), (9, None, -2)]:
        assert past[start:stop:step] == plain[start:stop:step]
    assert past[-1] is rounds[2] and past[0] is rounds[0] and list(past) == plain and len(past) == 3
    for beyond in (3, -4):
        with pytest.raises(IndexError):
            past[beyond]
    assert past.played_rounds() == plain and History(rounds).played_rounds() is rounds
    assert History(rounds, 3, gaps=True).played_rounds() == []
