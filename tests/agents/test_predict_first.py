"""Styles that ask twice: the first question tells what the player knows, the choice states its answer."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostrom.agents.language import styles
from ostrom.framing.rules import FIRST
from ostrom.mechanisms import mechanisms
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

REPETITION = {"name": "repetition", "rounds": 2}
KNOWN: dict[str, tuple[Any, str]] = {
    "advice": ({"name": "advice", "rounds": 2}, "recommend"),
    "cheap_talk": ({"name": "cheap_talk", "rounds": 2}, r'"from": "Player \d", "message": "Well."'),
    "contracting": ({"name": "contracting", "designs": [[1, -1], [1, -1]]}, r"This is step 4\. .*[Cc]ontract K\d"),
    "disarmament": ("disarmament", r"The caps as they stand:\n.* A0 at most \d+ %"),
    "evolution": (
        {"name": "evolution", "genomes": ["Be kind."], "under": REPETITION, "generations": 2, "meetings": 1},
        "This is round",
    ),
    "in_turn": ("in_turn", r'Nobody has decided yet|"from": "Player \d", "action": "A1"'),
    "mediation": ({"name": "mediation", "designs": [[1, 0], [1, 0]]}, r"mediator M\d: if 1 player delegates"),
    "negotiation": ({"name": "negotiation", "turns": 2}, "Which action|no offer"),
    "none": ("none", "Which action"),
    "punishment": ({"name": "punishment", "rounds": 2}, "This is round 1|unish(ed|ments) at the end of round 1"),
    "repetition": (REPETITION, "This is round"),
    "reputation": ({"name": "reputation", "rounds": 2, "window": 2}, r"The record of .+( is empty\.|:\n- Round 1)"),
    "shared_code": ("shared_code", "Which action"),
    "similarity": ("similarity", "Which action"),
    "society": (
        {"name": "society", "rounds": 2, "meeting": "pair"}, r"The record of .+( is empty\.|:\n- Round 1)",
    ),
}  # fmt: skip
"""Every mechanism, and what its players know before they act."""


def reply(request: Request) -> str:
    last = request.messages[-1].content
    if '"payments": a list' in last:
        free: dict[str, list[str]] = {"player_1": [], "player_2": []}
        return json.dumps({"message": "Well.", "intend": [], "actions": free, "payments": []})
    if '"message"' in last.rpartition("\n\n")[2]:
        return '{"message": "Well."}'
    return "[A1]" if "[A1]" in last else "No."


@pytest.fixture(autouse=True, scope="module")
def model() -> Iterator[None]:
    register("foreseeing", reply)
    yield
    unregister("foreseeing")


def test_the_questions_of_styles_are_those_before_which_is_told_what_is_known() -> None:
    asked = {kind for name in styles.names() for kind in styles.build(name).questions}
    assert asked == set(FIRST) and set(KNOWN) == set(mechanisms.names())


@pytest.mark.slow
@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("style", "conversation"), [("social", "prompt"), ("social", "dialogue"), ("best_response", "dialogue")]
)
@pytest.mark.parametrize("mechanism", sorted(KNOWN))
def test_the_first_question_tells_what_is_known_and_the_choice_states_its_answer(
    mechanism: str, conversation: str, style: str, tmp_path: Path
) -> None:
    spec, known = KNOWN[mechanism]
    agent = {"model": "scripted/foreseeing", "style": style, "conversation": conversation}
    study = {"name": "x", "game": "prisoners_dilemma", "mechanism": spec, "agent": agent, "seeds": 1}
    play(load_study({**study, "invalid": {"retries": 0, "policy": "uniform"}}), runs=tmp_path)
    first = "predict" if style == "social" else "best_response"
    told: list[bool] = []
    with open_run("x", tmp_path) as run:
        for match in range(len(run.plan)):
            sent: dict[tuple[int, int], dict[str, str]] = {}
            for row in run.rows.calls(match):
                text = (run.journal.prompt(row["id"]) or [])[-1][1]
                sent.setdefault((row["step"], row["player"]), {})[row["part"].removesuffix("try0")] = text
            for texts in sent.values():
                if f"{first}." not in texts:
                    continue
                asked, act = texts[f"{first}."], texts[""]
                told.append(re.search(known, asked) is not None)
                if style == "social":
                    who = re.findall(r"will (.+?) choose", asked)[-1]
                    assert f"You expect {who} to choose A1. Given that, which action is best for you?" in act
                else:
                    assert "You have computed that A1 gives you most" in act
                if mechanism == "cheap_talk":  # a chat quotes a message once
                    assert bool(re.search(known, act)) == (conversation == "prompt")
    # The question for the best response does not name the round, which is all that some mechanisms tell.
    assert len(told) >= 2 and (all(told) or (style == "best_response" and "This is round" in known))
