"""Playing scripted matches as arrays changes nothing but the time it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sizes import size

from ostrom.agents.strategies import strategies
from ostrom.engine.arrays import ArrayPlayer
from ostrom.engine.journal import Journal
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
@pytest.mark.sample(3)
@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("game", GAMES)
def test_arrays_and_generators_agree_to_the_last_bit(
    small: Small, tmp_path: Path, rules: str, game: str
) -> None:
    pure = [name for name in FINITE if name not in ("zd_extortion", "generous_tit_for_tat")]
    # All pairs take long: a quick run plays a part of them under each of the rules, and every strategy under some.
    parts = size(whole=1, quick=4)
    types = {name: name for name in pure[(list(RULES).index(rules) + GAMES.index(game)) % parts :: parts]}
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
    assert not any(ArrayPlayer().takes(unit) for unit in StudyPlan(study).units())
    assert play(study, runs=runs).complete
    journal = Journal(runs / "small" / "journal.db")
    assert journal.play(0) is None and journal.answers(0)
    journal.close()
