"""The same number of lines of the past, chosen in other ways."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from ostrom.agents.config import AgentConfig
from ostrom.analysis.estimate import contrast
from ostrom.data.rundata import run_data
from ostrom.games import build_game
from ostrom.ground.errors import UsageError
from ostrom.memory import memories
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.reports.build import build_report
from ostrom.studies.baselines import setting_of
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

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


@pytest.mark.slow
def test_the_study_is_played_and_reported(tmp_path: Path) -> None:
    study = load_study(
        "memory-curation", preset="smoke", models=["scripted/keeper"], changes=["agent.constrain=never"]
    )
    play(study, runs=tmp_path, name="curation")
    assert max(SEEN) == 2
    with (
        open_run("curation", tmp_path) as run,
        run_data(run.rows, run.folder.path, run.manifest) as data,
    ):
        found = contrast(data, "cooperation", "memory", "* - window")
        with pytest.raises(UsageError, match=r"must be two of its levels, 'a - b' or '\* - b'"):
            contrast(data, "cooperation", "memory", "* - windw")
        made = build_report(data)
    assert [e.key["memory"] for e in found] == [
        "like situation - window",
        "asked - window",
        "curated - window",
    ]
    assert all(e.value == 0 for e in found)
    assert not made.failures
    page = made.path.read_text()
    assert "What a memory adds to the window of the same length" in page
    assert "asked - window" in page


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
