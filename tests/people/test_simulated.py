"""Simulated participants, by hand: what they answer, who drops out when, and how visits are counted."""

from types import SimpleNamespace
from typing import Any

import pytest

from ostrom.agents.config import AgentConfig
from ostrom.people.pilot import RIGHT, Crowd, filled_in, participant, summary
from ostrom.people.questions import Bounds, Question, Questionnaire

CONFIG = AgentConfig(strategy="random")


class Drawn:
    """Chance that draws the last of everything, and one number."""

    def __init__(self, number: float) -> None:
        self.number = number

    def integers(self, low: int, high: int | None = None) -> int:
        return (low if high is None else high) - 1

    def random(self) -> float:
        return self.number


SHEET = Questionnaire(
    questions=(
        Question(text="?", options=("x", "y", "z"), answer="x"),
        Question(text="?", options=("x", "y")),
        Question(text="?", name="age", number=Bounds(low=18, high=99)),
        Question(text="?", name="near", number=Bounds(low=1, high=7)),
        Question(text="?", name="often", free=9, optional=True),
        Question(text="?", name="why", free=9),
        Question(text="?", name="said", free=9, personal=False),
    )
)


@pytest.mark.parametrize(("number", "quiz"), [(RIGHT - 0.01, "x"), (RIGHT, "z")])
def test_a_sheet_is_filled_in_mostly_rightly_and_personal_answers_are_kept_apart(number: float, quiz: str) -> None:
    rng: Any = Drawn(number)
    assert filled_in(SHEET, rng) == (
        {"q1": quiz, "q2": "y", "age": 78, "near": 7, "said": "simulated"}, [("why", "simulated")],
    )  # fmt: skip


def test_who_drops_out_is_gone_at_one_of_the_moments_and_the_same_again() -> None:
    stay, gone = (Crowd(9, CONFIG, dropout=share) for share in (0.0, 1.0))
    assert {participant(stay, number, 5).last for number in range(50)} == {None}
    lasts = [participant(gone, number, 5).last for number in range(50)]
    assert set(lasts) == {1, 2, 3, 4, 5}
    assert lasts == [participant(gone, number, 5).last for number in range(50)]
    assert lasts != [participant(Crowd(9, CONFIG, dropout=1.0, seed=1), n, 5).last for n in range(50)]
    some = [participant(Crowd(9, CONFIG, dropout=0.3), n, 5).last is not None for n in range(400)]
    assert 0.2 < sum(some) / 400 < 0.4


def test_visits_are_counted_by_how_they_ended_and_by_cell() -> None:
    ends = [("done", 0), ("departed", 0), ("done", 1), (None, None), ("full", None)]
    visits = {n: SimpleNamespace(end=end, cell=cell) for n, (end, cell) in enumerate(ends)}
    host: Any = SimpleNamespace(live_visits=visits, plan=SimpleNamespace(cell_name=lambda cell: f"c{cell}"))
    assert summary(host) == {
        "people": 5, "ends": {"done": 2, "departed": 1, "open": 1, "full": 1},
        "cells": {"c0": {"done": 1, "dropped out": 1}, "c1": {"done": 1}},
    }  # fmt: skip
