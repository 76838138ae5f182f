"""What more seeds will add to a contrast, and what cannot be asked before anything is played."""

from typing import Any

import pytest

from ostrom.analysis.estimate import Query
from ostrom.ground.errors import OstromError
from ostrom.studies.design import planned_contrast, planned_observations
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan


def _plan(**changes: Any) -> StudyPlan:
    study: dict[str, Any] = {
        "name": "planned",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 3},
        "types": {"coin": "random:0.5", "kind": "cooperator"},
        "seating": "ordered",
        "vary": {"rounds": {"set": "mechanism.rounds", "to": [2, 3, 4]}, "game": ["chicken", "stag_hunt"]},
        "seeds": 5,
    }
    return StudyPlan(load_study({**study, **changes}))


def test_a_contrast_over_two_seeds_has_the_values_of_both_sides() -> None:
    made, columns = planned_contrast(_plan(), Query(measure="cooperation", contrast="rounds=4-2"))
    # A match for each of two seeds, two games and four ordered pairs of players.
    assert [len(side.values) for _, side in made.sides] == [16, 16]
    assert "game" in columns and "rounds" not in columns
    made, _ = planned_contrast(
        _plan(), Query(measure="cooperation", contrast="rounds=4-2", where={"game": "chicken", "agent": ["coin"]})
    )
    assert [len(side.values) for _, side in made.sides] == [6, 6]  # three of the four pairs have a coin


def test_labels_keep_their_types_and_values_the_least_that_is_possible() -> None:
    found = planned_observations(_plan(seeds=1), Query(measure="cooperation", where={"rounds": [2, 3]}))
    assert {row["rounds"] for row in found.rows} == {2, 3} and len(found.rows) == 2 * 2 * 4 * 2
    assert {row.value for row in found.rows} == {0.0} and found.factors == ("rounds", "game")
    paid = planned_observations(_plan(seeds=1), Query(measure="score", where={"game": "stag_hunt"}))
    assert len(paid.rows) == 3 * 4 * 2


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ({"contrast": "rounds=4-2", "where": "rounds > 2"}, "where: takes columns with levels here"),
        ({"contrast": "rounds=4-2", "where": {"colour": "red"}}, "unknown column 'colour'"),
        ({"contrast": "rounds=4-2", "where": {"game": "trust"}}, "no match of planned meets where"),
        ({"contrast": "rounds=*-2"}, "power is that of two levels, A-B"),
        ({"contrast": "colour=1-2"}, "colour"),
        ({"contrast": "rounds=9-2"}, "9"),
    ],
)
def test_what_a_study_cannot_give_is_refused(query: dict[str, Any], says: str) -> None:
    with pytest.raises(OstromError, match=says):
        planned_contrast(_plan(), Query(measure="cooperation", **query))


def test_the_prompt_files_of_a_plan_are_those_that_its_models_read() -> None:
    assert _plan().prompts == {}, "scripts read nothing"
    read = _plan(types={"m": {"model": "scripted/m"}}).prompts
    assert "setup.txt" in read and "games/dictator.txt" not in read
    told = _plan(types={"m": {"model": "scripted/m"}}, game="dictator", vary={}).prompts
    assert "games/dictator.txt" in told and len(set(told.values())) > 1
