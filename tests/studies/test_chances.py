"""Players are told that all choose by chances where all do, and nowhere else."""

from __future__ import annotations

from typing import Any

import pytest

from ostrom.framing import Framing, Library, PromptRenderer
from ostrom.games import build_game
from ostrom.ground.errors import StudyError
from ostrom.mechanisms.base import act
from ostrom.mechanisms.protocol import View
from ostrom.memory import Shown
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan


def test_the_mechanisms_study_tells_that_all_choose_by_chances() -> None:
    plan = StudyPlan(load_study("mechanisms", models=["scripted/x"], changes=["types.d=defector"]))
    assert plan.unit(0).players[0].config.framing.chances or plan.unit(0).players[0].config.strategy
    view = View(build_game("prisoners_dilemma"), 0, "none")
    for chances in (True, False):
        text = (
            PromptRenderer(Framing(chances=chances), Library(), "direct")
            .prompt(act(view), Shown(), None, {})
            .text
        )
        assert ("Everybody decides by chances" in text) == chances


@pytest.mark.parametrize("answer", ["choice", "explained"])
def test_it_is_refused_where_one_player_answers_with_an_action(answer: str) -> None:
    types: dict[str, Any] = {
        "a": {"model": "scripted/x", "answer": "mixture"},
        "b": {"model": "scripted/y", "answer": answer},
    }
    study = {
        "name": "x", "game": "stag_hunt", "types": types, "seating": "ordered",
        "agent": {"framing": {"chances": True}},
    }  # fmt: skip
    with pytest.raises(StudyError, match="b answers with one action"):
        StudyPlan(load_study(study))
    assert StudyPlan(load_study({**study, "seating": "self", "types": {"a": types["a"], "d": "defector"}}))
