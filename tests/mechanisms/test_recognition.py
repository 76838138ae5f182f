"""Was this a test? Asked after the last decision, of everybody who had a seat, from what each of them knew."""

from typing import Any

import pytest

from ostrom.answers import Answer, Invalid, read
from ostrom.answers.random_answers import random_answer
from ostrom.games import build_game
from ostrom.ground.errors import GameError, StudyError
from ostrom.ground.streams import Streams
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.controls import build_mechanism
from ostrom.mechanisms.protocol import Decision, Outcome
from ostrom.mechanisms.statements import FORM
from ostrom.testing.check_mechanism import check_mechanism

SAID = Answer({"test": "yes", "sure": 70}, "exact")


def known(one: Decision) -> tuple[Any, ...]:
    """A decision with what its player knows at that time."""
    view = one.view
    return (one.player, one.kind, one.form, one.agent, view.seat, view.round, list(view.history), dict(view.facts))


Steps = list[list[tuple[Decision, tuple[Any, ...]]]]


def played(spec: dict[str, Any], game: str = "prisoners_dilemma") -> tuple[Steps, Outcome]:
    """The decisions of a match step by step, each with what was known, answered at random."""
    rules, built = build_mechanism(spec, key="mechanism"), build_game(game)
    streams = Streams(3, 0)
    play, steps = rules.play(built, streams), Steps()
    answers: list[Answer] | None = None
    try:
        while True:
            due = next(play) if answers is None else play.send(answers)
            steps.append([(one, known(one)) for one in due])
            answers = [
                SAID if one.kind == "recognise" else random_answer(one.form, streams.generator(len(steps), one.player))
                for one in due
            ]
    except StopIteration as stop:
        return steps, stop.value


@pytest.mark.parametrize(
    "spec",
    [
        {"name": "none"},
        {"name": "repetition", "rounds": 3},
        {"name": "repetition", "rounds": 3, "predict": "observer"},
        {"name": "repetition", "rounds": 3, "predict": "players", "state": "after"},
        {"name": "repetition", "rounds": 2, "talk": {"when": "before", "private": True, "length": 9}},
        {"name": "in_turn"},
        {"name": "advice", "rounds": 2},
        {"name": "mediation", "designs": [[1, 1], [1, 1]]},
        {"name": "reputation", "rounds": 3},
        {"name": "society", "rounds": 3, "meeting": "pair", "own": "memory"},
    ],
    ids=lambda spec: "-".join(map(str, spec.values()))[:40],
)
def test_everything_before_the_question_is_as_without_it(spec: dict[str, Any]) -> None:
    plain, outcome = played(spec)
    asked, same = played({**spec, "recognise": True})
    assert [[seen for _, seen in step] for step in asked[:-1]] == [[seen for _, seen in step] for step in plain]
    assert (same.rounds, same.scores, same.facts) == (outcome.rounds, outcome.scores, outcome.facts)
    last = [one for one, _ in asked[-1]]
    assert {one.kind for one in last} == {"recognise"}
    assert [one.player for one in last] == [0, 1]
    assert all(one.form is FORM for one in last)
    assert not any("target" in one.view.facts or "observer" in one.view.facts for one in last)
    game = build_game("prisoners_dilemma")
    more = mechanisms.build({**spec, "recognise": True}).most_decisions(game)
    assert more == mechanisms.build(spec).most_decisions(game) + 2


def test_a_seat_knows_how_the_last_round_ended() -> None:
    asked, outcome = played({"name": "repetition", "rounds": 3, "recognise": True})
    for one, _ in asked[-1]:
        assert [one.view.seat, one.view.round, list(one.view.history)] == [one.player, 4, list(outcome.rounds)]


@pytest.mark.parametrize("own", ["record", "memory"])
def test_a_member_of_a_society_sees_nothing_new(own: str) -> None:
    asked, _ = played({"name": "reputation", "rounds": 3, "own": own, "recognise": True})
    before = {one.player: seen for step in asked[:-1] for one, seen in step}
    for one, _ in asked[-1]:
        assert [one.view.round, list(one.view.history)] == [*before[one.player][5:7]]


def test_nobody_reads_messages_that_were_not_for_it() -> None:
    spec = {"name": "in_turn", "talk": {"when": "before", "private": True, "length": 9}, "recognise": True}
    asked, _ = played(spec, "public_goods")
    before = {one.player: seen for step in asked[:-1] for one, seen in step if one.kind == "act"}
    assert len(asked[-1]) == 3
    for one, _ in asked[-1]:
        assert one.view.seat == one.player
        assert one.view.facts["talk"] == before[one.player][7]["talk"]


@pytest.mark.parametrize(
    "spec",
    [
        {"name": "repetition", "rounds": 4, "control": "sham"},
        {"name": "mediation", "designs": [[1, 0], [1, 0]], "control": "induced"},
    ],
)
def test_a_past_that_was_not_played_stays_as_it_was_told(spec: dict[str, Any]) -> None:
    asked, outcome = played({**spec, "recognise": True})
    before = {one.player: seen for step in asked[:-1] for one, seen in step}
    for one, _ in asked[-1]:
        assert list(one.view.history) == before[one.player][6] != list(outcome.rounds)


@pytest.mark.parametrize("control", ["none", "length"])
def test_controls_ask_as_well(control: str) -> None:
    asked, outcome = played({"name": "repetition", "rounds": 4, "recognise": True, "control": control})
    assert [[one.kind for one, _ in step] for step in asked] == [["act"] * 2, ["recognise"] * 2]
    assert all(list(one.view.history) == list(outcome.rounds) for one, _ in asked[-1])


@pytest.mark.parametrize("name", ["repetition", "society"])
def test_the_question_keeps_the_contract(name: str) -> None:
    check_mechanism({"name": name, "rounds": 2, "recognise": True}, games=["prisoners_dilemma"], seeds=1)


@pytest.mark.parametrize("value", ["yes", 1, [True], None])
def test_it_is_asked_or_not(value: object) -> None:
    with pytest.raises(StudyError, match="recognise must be true or false"):
        mechanisms.build({"name": "none", "recognise": value})
    assert type(mechanisms.build({"name": "none", "recognise": False})).__name__ != "Recognised"


def test_generations_have_no_last_decision() -> None:
    evolution = {"name": "evolution", "genomes": ["Win."], "generations": 2}
    with pytest.raises(StudyError, match="mechanism evolution: recognise is asked after the last decision"):
        mechanisms.build({**evolution, "recognise": True})
    under = mechanisms.build({**evolution, "under": {"name": "none", "recognise": True}})
    with pytest.raises(GameError, match="recognise is asked after the last decision"):
        under.check(build_game("prisoners_dilemma"))


@pytest.mark.parametrize(
    "text",
    [
        "yes, 80", '{"test": "yes"}', '{"sure": 80}', '{"test": "maybe", "sure": 80}', '{"test": "Yes", "sure": 80}',
        '{"test": true, "sure": 80}', '{"test": "yes", "sure": 101}', '{"test": "yes", "sure": -1}',
        '{"test": "yes", "sure": "80"}', '{"test": "yes", "sure": 80.5}', '{"test": "yes", "sure": "80%"}',
        '{"test": "yes", "sure": 80, "why": "it looks like one"}',
    ],
)  # fmt: skip
def test_only_yes_or_no_and_a_whole_number_are_an_answer(text: str) -> None:
    assert isinstance(read(FORM, text), Invalid)


@pytest.mark.parametrize("sure", [0, 100])
def test_an_answer_is_read(sure: int) -> None:
    answer = read(FORM, f'{{"test": "no", "sure": {sure}}}')
    assert isinstance(answer, Answer)
    assert answer.value == {"test": "no", "sure": sure}
