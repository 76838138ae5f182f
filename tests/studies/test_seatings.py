"""Units of a plan by hand: who sits where, how units are numbered and ordered, and which of them a shard has."""

from typing import Any

import pytest

from ostrom.ground.errors import StudyError
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan


def plan(**changes: Any) -> StudyPlan:
    data: dict[str, Any] = {"name": "s", "game": "chicken", "types": {"a": "grim", "b": "random"}, "seating": "ordered"}
    return StudyPlan(load_study({**data, **changes}))


MODEL = {"m": {"model": "scripted/m", "style": "direct"}, "a": "grim", "b": "random"}


@pytest.mark.parametrize(
    ("changes", "tables"),
    [
        ({"seating": "self"}, ["aa", "bb"]),
        ({"seating": "ordered"}, ["aa", "ab", "ba", "bb"]),
        ({"seating": "unordered"}, ["aa", "ab", "bb"]),
        ({"seating": "seats"}, ["ab"]),
        ({"seating": "versus", "types": MODEL}, ["ma", "mb"]),
    ],
)
def test_who_sits_where(changes: dict[str, Any], tables: list[str]) -> None:
    made = plan(**changes)
    assert ["".join(p.name for p in unit.players) for unit in made.units()] == tables
    assert (len(made), made.matches, made.planned, made.cells) == (len(tables), len(tables), len(tables), 1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seating": "versus"}, "needs a model"),
        ({"seating": "seats", "types": {"a": "grim"}}, "needs one type per seat: game chicken has 2 seats"),
        ({"seating": "seats", "types": {"a": "grim", "b": "random", "c": "defector"}}, "one type per seat"),
        ({"seats": {3: {"strategy": "grim"}}}, "has seats 1 to 2"),
        ({"seats": {0: {"strategy": "grim"}}}, "has seats 1 to 2"),
        ({"vary": {"seeds": [1, 2]}}, "cannot be varied"),
    ],
)
def test_what_cannot_be_seated_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(StudyError, match=words):
        plan(**changes)


REPEATED = {
    "mechanism": {"name": "repetition", "rounds": 1},
    "vary": {"rounds": {"set": "mechanism.rounds", "to": [1, 5, 3]}},
}


def test_units_are_numbered_by_seed_and_long_matches_start_first() -> None:
    made = plan(**REPEATED, seeds=2, seed=7, seating="self")
    assert len(made) == 12 and [made.unit(n).index for n in range(12)] == list(range(12))
    told = [(made.unit(n).seed, made.unit(n).cell["rounds"], made.unit(n).players[0].name) for n in (0, 1, 2, 6, 11)]
    assert told == [(7, 1, "a"), (7, 1, "b"), (7, 5, "a"), (8, 1, "a"), (8, 3, "b")]
    assert [unit.index for unit in made.units()] == [2, 3, 4, 5, 0, 1, 8, 9, 10, 11, 6, 7]
    for wrong in (-1, 12):
        with pytest.raises(StudyError, match="there are 12 matches, numbered from 0"):
            made.unit(wrong)
    assert made.rules(0, {"rounds": 4}).most_rounds(made.unit(0).game) == 4
    assert made.replicates_in_shard(0) == 2 and made.group(5) == 5


def test_a_seat_that_changes_a_player_gives_it_a_name_of_its_own() -> None:
    made = plan(seating="self", seats={2: {"strategy": "defector"}})
    assert [[p.name for p in unit.players] for unit in made.units()] == [["a", "defector"], ["b", "defector"]]
    assert made.signature(0) != plan(seating="self").signature(0)
