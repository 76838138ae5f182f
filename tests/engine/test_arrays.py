"""Playing scripted matches as arrays changes nothing but the time it takes."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ostrom.agents.strategies import strategies
from ostrom.engine.arrays import ArrayPlayer
from ostrom.engine.journal import Journal
from ostrom.engine.match import ReplayDiffers
from ostrom.engine.plan import Unit
from ostrom.engine.play_options import PlayOptions
from ostrom.games import build_game
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

Small = Callable[..., StudyFile]
FINITE = sorted(
    name
    for name in strategies
    if name not in ("axelrod", "constant")
    and strategies.build(name).automaton(build_game("prisoners_dilemma"), 0) is not None
)
RULES: dict[str, dict[str, object]] = {
    "plain": {"rounds": 30},
    "noise": {"rounds": 30, "noise": 0.2},
    "discount": {"rounds": 15, "discount": 0.8},
    "chance ends it": {"rounds": 60, "stopping": "geometric", "continuation": 0.9, "noise": 0.05},
}


GAMES = ["prisoners_dilemma:preset=coopeval", "trust", "stag_hunt:5.1,3.3,0.7"]


@pytest.mark.slow
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("game", GAMES)
def test_arrays_and_generators_agree_to_the_last_bit(small: Small, tmp_path: Path, rules: str, game: str) -> None:
    pure = [name for name in FINITE if name not in ("zd_extortion", "generous_tit_for_tat")]
    # All pairs under one game for each of the rules; every second strategy, each at some time, under the others.
    place = list(RULES).index(rules) - GAMES.index(game)
    types = {name: name for name in (pure if place % 3 == 0 else pure[place % 2 :: 2])}
    study = small(game=game, mechanism={"name": "repetition", **RULES[rules]}, vary={}, seeds=1, types=types)
    found = []
    for arrays in (True, False):
        runs = tmp_path / str(arrays)
        assert play(study, runs=runs, options=PlayOptions(arrays=arrays)).complete
        with open_run(runs / "small") as run:
            found.append((list(run.rows.decisions()), list(run.rows.matches())))
            kept = run.journal.play(0) is not None
        assert kept == arrays, "the run did not go the way it was meant to"
    assert found[0] == found[1]
    assert len(found[0][1]) == 2 * len(types) ** 2


def test_a_match_of_arrays_is_replayed_decision_by_decision_where_that_is_asked_for(small: Small, runs: Path) -> None:
    study = small(types={"a": "grim", "b": "tit_for_tat"}, vary={}, seeds=1)
    play(study, runs=runs, options=PlayOptions(arrays=True))
    with open_run(runs / "small") as run:
        for computed, replayed in zip(run.rows.tables(), run.rows.tables(stored=False), strict=True):
            assert computed.answers is None and replayed.answers
            assert [*run.rows.decision_rows(computed)] == [*run.rows.decision_rows(replayed)]


def test_rounds_that_chance_alone_ends_are_as_many_either_way(small: Small, tmp_path: Path) -> None:
    rules = {"name": "repetition", "rounds": 60, "stopping": "geometric", "continuation": 0.8}
    study = small(mechanism=rules, types={"a": "grim", "b": "defector"}, vary={}, seeds=3)
    found = []
    for arrays in (True, False):
        play(study, runs=tmp_path / str(arrays), options=PlayOptions(arrays=arrays))
        with open_run(tmp_path / str(arrays) / "small") as run:
            found.append(Counter(row["match"] for row in run.rows.decisions()))
    assert found[0] == found[1] and len(set(found[0].values())) > 1 and max(found[0].values()) < 120


def test_stated_odds_are_those_of_the_strategies(small: Small, tmp_path: Path) -> None:
    study = small(types={"gtft": "generous_tit_for_tat", "zd": "zd_extortion"}, vary={})
    for arrays in (True, False):
        play(study, runs=tmp_path / str(arrays), options=PlayOptions(arrays=arrays))
    with open_run(tmp_path / "True" / "small") as a, open_run(tmp_path / "False" / "small") as b:
        assert list(a.rows.decisions()) == list(b.rows.decisions())


@pytest.mark.parametrize(
    "changes",
    [
        {"types": {"m": {"strategy": "tit_for_tat", "memory": "window:1"}}},
        {"types": {"c": "constant:0"}, "game": "battle_of_the_sexes"},
        {"game": "public_goods"},
        {"game": "travelers_dilemma"},
        {"mechanism": {"name": "none"}},
        {"mechanism": {"name": "repetition", "rounds": 3, "predict": "players"}},
    ],
)
def test_what_is_no_plain_repetition_of_machines_is_played_one_by_one(
    small: Small, runs: Path, changes: dict[str, object]
) -> None:
    study = small(vary={}, **changes)
    assert not any(ArrayPlayer().can_play(unit) for unit in StudyPlan(study).units())
    assert play(study, runs=runs).complete
    journal = Journal(runs / "small" / "journal.db")
    assert journal.play(0) is None and journal.answers(0)
    journal.close()


def first(small: Small, **rules: object) -> Unit:
    mechanism = {"name": "repetition", "rounds": 3, **rules}
    study = small(game="prisoners_dilemma", types={"t": "tit_for_tat"}, vary={}, mechanism=mechanism)
    return next(iter(StudyPlan(study).units()))


def test_packed_moves_are_answers_and_rows(small: Small) -> None:
    unit = first(small)
    answers = ArrayPlayer().answers(unit, 3, b"\xfc")
    good = unit.game.actions[0][0]
    assert {place: answer.value for place, (answer, _, _) in answers.items()} == {
        (step, seat, ""): good for step in range(3) for seat in (0, 1)
    }
    rows, scores = ArrayPlayer().rows(unit, 3, b"\xfc")
    reward = unit.game.payoff((0, 0))[0]
    assert scores == [3 * reward] * 2 or scores == [reward] * 2
    assert rows.steps.tolist() == [0, 0, 1, 1, 2, 2] and rows.rounds.tolist() == [1, 1, 2, 2, 3, 3]
    assert [row[0] for row in rows.players] == [3, 3] and [row[3] for row in rows.players] == [1.0, 1.0]


@pytest.mark.parametrize(
    ("work", "rounds", "moves", "message"),
    [
        ("answers", 3, b"\xfc\x00", "match 0: 2 bytes of moves do not make 3 rounds"),
        ("answers", -1, b"", "0 bytes of moves do not make -1 rounds"),
        ("answers", 3, b"\x7c", "match 0, step 0, player 1: the strategy decides otherwise than it did"),
        ("answers", 3, b"\xe4", "step 1, player 2: the strategy decides otherwise"),
        ("rows", 3, b"\xec", "step 2, player 1: the strategy decides otherwise"),
        ("rows", 2, b"\xf0", "match 0: is journaled with 2 rounds, and its rules play 3"),
        ("rows", 0, b"", "match 0: 0 rounds are none that its rules play"),
        ("rows", 3, b"\xfc\x00", "2 bytes of moves do not make 3 rounds"),
    ],
)
def test_packed_moves_that_cannot_be_are_refused(
    small: Small, work: str, rounds: int, moves: bytes, message: str
) -> None:
    with pytest.raises(ReplayDiffers, match=message):
        getattr(ArrayPlayer(), work)(first(small), rounds, moves)


def test_moves_of_what_is_no_machine_any_more_are_refused(small: Small) -> None:
    with pytest.raises(ReplayDiffers, match="player 1: was journaled as moves of a finite-state strategy"):
        ArrayPlayer().answers(first(small, predict="players"), 3, b"\xfc")
