"""One study file: a reputation society of two models, on a network or not, whose members curate their memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from ostrom.analysis.estimate import estimate
from ostrom.analysis.rundata import run_data
from ostrom.errors import StudyError
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.forecast import forecast
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play

STUDY = """
name: remembering-society
game: {name: prisoners_dilemma, preset: coopeval}
mechanism: {name: reputation, rounds: 6, window: 1, own: memory}
agent: {style: direct, constrain: never, memory: {name: curated, k: 2}}
types:
  forgiving: {model: scripted/forgiving}
  strict: {model: scripted/strict}
vary:
  company:
    anybody: {mechanism: {name: reputation, rounds: 6, window: 1, own: memory}}
    neighbours:
      mechanism: {name: society, network: "ring:2", members: 8, meeting: pair, rounds: 6, own: memory}
seeds: 2
"""
ROUND = re.compile(r"^R(\d+): You=(A\d), (Player \d+)=(A\d)", re.M)
SEEN: list[list[tuple[str, ...]]] = []


def member(keeps: str, request: Request) -> str:
    """Keeps the rounds in which the other did a thing, and does what it remembers of others."""
    text = request.messages[-1].content
    rounds = [found.groups() for found in ROUND.finditer(text)]
    if "Which ones do you keep?" in text:
        wanted = sorted(rounds, key=lambda r: (r[3] != keeps, -int(r[0])))
        return orjson.dumps({"rounds": [int(r[0]) for r in wanted[:2]]}).decode()
    SEEN.append(rounds)
    return f"[{rounds[-1][3]}]" if rounds else ("[A0]" if keeps == "A0" else "[A1]")


@pytest.fixture(autouse=True)
def models() -> Iterator[None]:
    SEEN.clear()
    register("forgiving", lambda request: member("A0", request))
    register("strict", lambda request: member("A1", request))
    yield
    unregister("forgiving")
    unregister("strict")


def test_members_keep_two_of_their_own_meetings_and_see_them_by_name(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(STUDY)
    study = load_study(file)
    plan = StudyPlan(study)
    assert forecast(plan).calls > 2 * 2 * 6 * 4, "keeping is forecast, too"
    assert play(study, runs=tmp_path).complete
    assert max(map(len, SEEN)) == 2
    with (
        open_run("remembering-society", tmp_path) as run,
        run_data(run.rows, run.folder.path, run.manifest) as data,
    ):
        kinds = {row["kind"] for row in data.records("SELECT DISTINCT kind FROM decisions")}
        found = {e.key["agent"]: e.value for e in estimate(data, "cooperation", ["agent"])}
    assert kinds == {"act", "keep"}
    assert found["forgiving"] > found["strict"]
    names = {found[2] for rounds in SEEN for found in rounds}
    assert len(names) > 2, "they remember whom they met, not whom they meet now"


def test_nobody_takes_over_the_way_of_a_person() -> None:
    spec = {
        "name": "odd",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "society", "imitation": "imitation"},
        "types": {"you": {"person": True}, "tft": "tit_for_tat"},
    }
    with pytest.raises(StudyError, match=r"mechanism.imitation: ways of playing spread, and you is a person"):
        StudyPlan(load_study(spec))
