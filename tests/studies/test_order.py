"""The order in which matches start: long ones first, and those whose prompts begin alike next to each other."""

from __future__ import annotations

from typing import Any

from ostrom.framing import Library
from ostrom.studies.plan import StudyPlan
from ostrom.studies.schema import StudyFile


def started(vary: dict[str, Any], seeds: int = 1) -> list[tuple[Any, ...]]:
    agent = {"model": "scripted/echo"}
    study = StudyFile(
        name="order", game="prisoners_dilemma", mechanism={"name": "repetition", "rounds": 2}, agent=agent,
        types={"a": {}}, vary=vary, seeds=seeds,
    )  # fmt: skip
    names = [name.rpartition(".")[2] for name in vary]
    return [
        tuple(unit.cell[name] for name in names) for unit in StudyPlan(study, Library(None), None).units()
    ]


def test_matches_with_the_same_beginning_start_next_to_each_other() -> None:
    games = ["prisoners_dilemma", "stag_hunt"]
    assert started({"agent.style": ["direct", "reasoned"], "game": games}, seeds=2) == 2 * [
        ("direct", games[0]), ("reasoned", games[0]), ("direct", games[1]), ("reasoned", games[1]),
    ]  # fmt: skip


def test_cells_that_are_told_alike_keep_their_order_and_long_matches_start_first() -> None:
    assert started({"agent.style": ["direct", "reasoned"]}) == [("direct",), ("reasoned",)]
    assert started({"mechanism.rounds": [1, 3], "game": ["prisoners_dilemma", "stag_hunt"]}) == [
        (3, "prisoners_dilemma"), (3, "stag_hunt"), (1, "prisoners_dilemma"), (1, "stag_hunt"),
    ]  # fmt: skip


def test_how_a_game_is_told_decides_the_beginning() -> None:
    vary = {"agent.style": ["direct", "reasoned"], "agent.persona": ["a banker", "a monk"]}
    assert [cell[1] for cell in started(vary)] == ["a banker", "a banker", "a monk", "a monk"]
