"""The same number of lines of the past, chosen in other ways."""

import re
from collections.abc import Iterator

import orjson
import pytest

from ostrom.agents.config import AgentConfig
from ostrom.games import build_game
from ostrom.memory import memories
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.baselines import setting_of
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan

ROUND = re.compile(r"^R(\d+):", re.M)
MEMORIES = {
    "window", "summary", "forgetting", "forgiving", "like situation", "like action", "like notes", "asked",
    "curated", "full",
}  # fmt: skip
SEEN: list[int] = []


def keeper(request: Request) -> str:
    """Keeps and asks for the oldest rounds, writes short notes, and cooperates unless it sees a defection."""
    text = request.messages[0].content
    numbers = [int(n) for n in ROUND.findall(text)]
    if "Which ones do you want to see?" in text:
        return orjson.dumps({"rounds": [1, 2]}).decode()
    if "Which ones do you keep?" in text:
        return orjson.dumps({"rounds": numbers[:2]}).decode()
    if "write a note" in text:
        return "calm"
    SEEN.append(len(numbers))
    return "[A1]" if "=A1" in text else "[A0]"


@pytest.fixture(autouse=True)
def model() -> Iterator[None]:
    SEEN.clear()
    register("keeper", keeper)
    yield
    unregister("keeper")


def test_every_memory_but_all_rounds_shows_at_most_ten_lines() -> None:
    plan = StudyPlan(load_study("memory-curation", models=["openai/some-model"]))
    lines = {}
    for index in range(len(plan)):
        unit = plan.unit(index)
        config = unit.players[0].config
        memory = memories.build(config.memory)
        lines[unit.cell["memory"]] = memory.most_lines(100)
    assert set(lines) == MEMORIES
    assert lines.pop("full") == 100
    assert lines.pop("summary") >= 10, "nine rounds and a note, whose lines are a forecast"
    assert set(lines.values()) == {10}


@pytest.mark.parametrize(
    ("memory", "window"),
    [
        ("window:3", 3),
        ("full", None),
        ("sanitized:ideal,real=6,window=6", 6),
        ("sanitized:ideal,real=2,window=6", None),
    ],
)
def test_a_baseline_is_that_of_a_window_of_real_rounds(memory: str, window: int | None) -> None:
    found = setting_of(AgentConfig(model="openai/x", memory=memory), build_game("prisoners_dilemma"))
    assert found["window"] == window and (found["agent"], found["game"]) == ("openai/x", "prisoners_dilemma")
