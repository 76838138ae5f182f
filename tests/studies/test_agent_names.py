"""Names of agents in tables: whoever plays differently has another name, whatever made it play differently."""

from collections.abc import Mapping
from typing import Any

import pytest

from ostrom.ground.errors import StudyError
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan

BASE: Mapping[str, Any] = {
    "name": "names",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 3},
}
LONG = "You are a careful accountant who has kept the books of a small fishing harbour for thirty years."


def plan(**more: Any) -> StudyPlan:
    return StudyPlan(load_study({**BASE, **more}))


def names(of: StudyPlan, unit: int = 0) -> list[str]:
    return [player.name for player in of.unit(unit).players]


@pytest.mark.parametrize(
    ("seat", "name"),
    [
        ({"model": "openai/other"}, "openai/other"),
        ({"model": "openai/other", "style": "direct"}, "openai/other"),
        ({"strategy": "grim"}, "grim"),
        ({"strategy": {"name": "random", "p": 0.2}}, "random:p=0.2"),
        ({"person": True}, "person"),
        ({"memory": "window:3"}, "m (memory=window:3)"),
        ({"memory": {"name": "window", "k": 3}}, "m (memory=window:k=3)"),
        ({"style": "direct"}, "m (style=direct)"),
        ({"persona": "You  are\nkind."}, "m (persona=You are kind.)"),
        ({"system": "Be brief."}, "m (system=Be brief.)"),
        ({"params": {"temperature": 0}}, "m (params.temperature=0)"),
        ({"framing": {"words": 30}}, "m (framing.words=30)"),
        ({"answer": "mixture", "strict": True}, "m (answer=mixture, strict=True)"),
        ({"facts": {"mood": "calm"}}, "m (facts.mood=calm)"),
        ({"conversation": "dialogue"}, "m (conversation=dialogue)"),
        ({"attributes": {"size": 3}}, "m"),  # describes, and changes nothing
        ({"memory": "full"}, "m"),
    ],
)
def test_what_a_seat_changes_is_in_the_name_of_its_player(seat: dict[str, Any], name: str) -> None:
    agent = {"params": {"temperature": 1}}
    of = plan(agent=agent, types={"m": {"model": "openai/one"}}, seats={2: seat})
    assert names(of) == ["m", name]


def test_a_strategy_is_told_apart_by_what_it_hears_alone() -> None:
    of = plan(types={"t": "tit_for_tat"}, seats={2: {"style": "direct", "persona": "You are kind."}})
    assert names(of) == ["t", "t"]
    of = plan(types={"t": "tit_for_tat"}, seats={2: {"memory": "window:1"}})
    assert names(of) == ["t", "t (memory=window:1)"]


def test_a_long_text_is_cut_and_still_tells_two_players_apart() -> None:
    seats = {1: {"persona": LONG}, 2: {"persona": LONG + " You never forgive."}}
    one, two = names(plan(types={"m": {"model": "openai/one"}}, seats=seats))
    assert one != two and len(one) < 90 and one[:50] == two[:50]


def test_texts_that_look_alike_in_a_name_are_told_apart_by_their_identity() -> None:
    seats = {1: {"persona": "You are  kind."}, 2: {"persona": "You are kind."}}
    one, two = names(plan(types={"m": {"model": "openai/one"}}, seats=seats))
    assert one == "m (persona=You are kind.)" and two.startswith(f"{one} ") and two != one


def test_a_name_changes_neither_chance_nor_what_identifies_a_match() -> None:
    of = plan(types={"half": "random:0.5"}, seats={2: {"strategy": "random:0.2"}})
    assert of.unit(0).key == plan(types={"half": "random:0.5"}).unit(0).key


def test_a_preparation_has_the_name_of_its_player() -> None:
    of = plan(mechanism="contracting", types={"m": {"model": "openai/one"}}, seats={2: {"model": "openai/other"}})
    units = [of.unit(index) for index in range(len(of))]
    assert [[p.name for p in u.players] for u in units if u.kind == "preparation"] == [["m"], ["openai/other"]]
    (match,) = [u for u in units if u.kind == "match"]
    assert match.needs == (0, 1) and [p.name for p in match.players] == ["m", "openai/other"]


def test_a_mistake_at_a_seat_is_told_there() -> None:
    with pytest.raises(StudyError) as refused:
        plan(types={"t": "tit_for_tat"}, seats={2: {"strategy": {"name": "script", "moves": ["jump"]}}})
    assert refused.value.key == "seats.2.strategy"
