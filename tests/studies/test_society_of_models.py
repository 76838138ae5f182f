"""One study file: a reputation society of two models whose members curate their memory and state how they play."""

import re
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import run_data
from ostrom.models.base import Request
from ostrom.models.providers.scripted import register, unregister
from ostrom.studies.load import load_study
from ostrom.studies.run import open_run, play

STUDY = Path(__file__).parents[2] / "examples" / "remembering-society.yaml"
ROUND = re.compile(r"^R(\d+): You=(A\d), (Player \d+)=(A\d)", re.M)
TABLE = {"after_1_1": 100, "after_1_2": 0, "after_2_1": 100, "after_2_2": 0}
"""Tit for tat but for the first round."""
SEEN: list[list[tuple[str, ...]]] = []


def member(keeps: str, request: Request) -> str:
    """Keeps the rounds in which the other did a thing, and does what it remembers of others."""
    text = request.messages[-1].content
    rounds = [found.groups() for found in ROUND.finditer(text)]
    if "Which ones do you keep?" in text:
        wanted = sorted(rounds, key=lambda r: (r[3] != keeps, -int(r[0])))
        return orjson.dumps({"rounds": [int(r[0]) for r in wanted[:2]]}).decode()
    if "state the strategy" in text.casefold():
        return orjson.dumps(TABLE | {"first": 100 * (keeps == "A0")}).decode()
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


def test_what_members_state_is_held_against_those_they_met(tmp_path: Path) -> None:
    spec = {
        "name": "honest",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "reputation", "rounds": 5, "state": "after"},
        "types": {"kind": "cooperator", "bad": "defector", "opener": "suspicious_tit_for_tat"},
        "vary": {
            "company": {
                "anybody": {},
                "neighbours": {
                    "mechanism": {"name": "society", "meeting": "pair", "rounds": 5, "state": "after", "members": 9}
                },
            }
        },
        "seeds": 2,
    }
    assert play(load_study(spec), runs=tmp_path).complete
    with open_run("honest", tmp_path) as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        found = {
            (e.key["company"], e.key["agent"]): e.value for e in estimate(data, "said_agreement", ["company", "agent"])
        }
    for company in ("anybody", "neighbours"):
        assert found[company, "kind"] == found[company, "bad"] == 1, "those who do one thing tell the truth"
        assert found[company, "opener"] < 1, "it answers the record of whom it meets, not its own last meeting"
