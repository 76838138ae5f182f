"""A run that is not at its end is read like any other, and every figure of it says how far it is."""

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree as ET

import polars as pl
import pytest
import yaml
from tests.cli.in_process import Call, Done, caller

import ostrom
from ostrom.engine.play_options import PlayOptions
from ostrom.framing import Library
from ostrom.ground.errors import OstromError
from ostrom.ground.validation import validate
from ostrom.models.base import Request
from ostrom.models.providers import scripted
from ostrom.studies.plan import StudyPlan
from ostrom.studies.run import open_run, play_plan_async
from ostrom.studies.schema import StudyFile

STUDY = {
    "name": "live", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 2},
    "types": {"quick": "scripted/quick", "slow": "scripted/slow"}, "seating": "unordered",
    "vary": {"game": ["prisoners_dilemma", "stag_hunt"]}, "seeds": 4,
}  # fmt: skip
FAR = "so far: 8 of 24 matches"
KIND = {"name": "kind", "measure": "cooperation", "at_least": 0.1}
CRUEL = {"name": "cruel", "measure": "cooperation", "at_most": 0.1}
LEVEL = 0.5
"""Low, so that eight matches suffice for a verdict."""


@dataclass
class Live:
    """A run whose slow player waits until it is told to go on."""

    home: Path
    free: threading.Event = field(default_factory=threading.Event)

    def plan(self) -> StudyPlan:
        return StudyPlan(validate(StudyFile, STUDY, "study"), Library())

    def play(self) -> None:
        async def slow(_: Request) -> str:
            while not self.free.is_set():
                await asyncio.sleep(0.01)
            return "[A0]"

        scripted.register("quick", "[A0]")
        scripted.register("slow", slow)
        options = PlayOptions(max_connections=64)
        asyncio.run(play_plan_async(self.plan(), name="live", runs=self.home / "runs", options=options))

    def states(self) -> list[str]:
        try:
            with open_run(self.home / "runs" / "live") as run:
                return list(run.journal.states().values())
        except OstromError:
            return []


@contextmanager
def being_played(folder: Path) -> Iterator[tuple[Live, threading.Thread]]:
    """A run of 24 matches of which 8 are done, with the thread that plays it."""
    run = Live(folder)
    playing = threading.Thread(target=run.play)
    playing.start()
    try:
        deadline = time.monotonic() + 600
        while len(run.states()) < 8 and time.monotonic() < deadline:
            time.sleep(0.02)
        yield run, playing
    finally:
        run.free.set()
        playing.join()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with being_played(tmp_path_factory.mktemp("live")) as (run, _):
        yield run


@pytest.fixture
def call(live: Live, monkeypatch: pytest.MonkeyPatch) -> Call:
    return caller(monkeypatch, live.home)


def gate(call: Call, *rules: object, options: tuple[str, ...] = ()) -> Done:
    Path("gates.yaml").write_text(yaml.safe_dump({"gates": list(rules), "level": LEVEL}))
    return call("gate", "live", "--gates", "gates.yaml", *options)


def test_a_contrast_keeps_its_own_note(call: Call) -> None:
    estimate = ("estimate", "live", "cooperation", "--contrast", "game=prisoners_dilemma-stag_hunt", "--json")
    (row,) = json.loads(call(*estimate).out)["estimates"]
    assert row["note"].endswith(f"{FAR}, being played")


def test_a_test_says_it_among_its_warnings(call: Call) -> None:
    asked = ("test", "live", "score", "--factor", "game", "--method", "permutation")
    assert f"warning: {FAR}, being played" in call(*asked).out
    assert json.loads(call(*asked, "--json").out)["warnings"][0] == f"{FAR}, being played"


def test_a_gate_neither_passes_nor_fails_on_a_run_that_is_being_played(call: Call, tmp_path: Path) -> None:
    done = gate(call, KIND, CRUEL, options=("--junit", str(tmp_path / "j.xml"), "--markdown", str(tmp_path / "m")))
    assert done.code == 3
    assert f"undecided: 0 of 2 passed, 2 undecided ({FAR}, being played)" in done.out
    assert "undecided, so far" in done.out
    told = json.loads(gate(call, KIND, CRUEL, options=("--json",)).out)
    assert told["answer"] == "undecided" and told["so_far"] == f"{FAR}, being played"
    assert [(one["answer"], one["so_far"]) for one in told["judged"]] == [
        ("undecided", "pass"), ("undecided", "fail"),
    ]  # fmt: skip
    assert told["judged"][0]["reason"] == "16 of 24 matches are not finished"
    cases = ET.parse(tmp_path / "j.xml").getroot().iter("testcase")
    assert all(case.find("error") is not None for case in cases)
    assert "| undecided, so far pass |" in (tmp_path / "m").read_text()
    assert f"({FAR}, being played)" in (tmp_path / "m").read_text()


def test_what_a_gate_allows_to_be_missing_does_not_make_a_look_at_a_growing_run_final(call: Call) -> None:
    done = gate(call, {**KIND, "missing": 0.9}, options=("--json",))
    told = json.loads(done.out)
    assert done.code == 3 and (told["judged"][0]["answer"], told["judged"][0]["so_far"]) == ("undecided", "pass")


@pytest.mark.slow
def test_all_tables_of_a_live_run_tell_of_one_moment(tmp_path: Path) -> None:
    with being_played(tmp_path) as (run, playing):
        with ostrom.open_run(tmp_path / "runs/live").data() as data:
            matches = pl.read_parquet(data.parquet("matches"))
            run.free.set()
            playing.join()
            decisions, calls = (pl.read_parquet(data.parquet(name)) for name in ("decisions", "calls"))
            assert data.so_far == f"{FAR}, being played"
        done = matches.filter(state="done")["match"].unique().sort().to_list()
        assert len(done) == 8
        assert decisions.filter(state="done")["match"].unique().sort().to_list() == done
        assert set(calls["match"]) <= set(matches["match"])
        with ostrom.open_run(tmp_path / "runs/live").data() as data:
            later = pl.read_parquet(data.parquet("decisions"))
            assert data.so_far == "" and set(later["state"]) == {"done"}


def test_preparations_are_no_matches() -> None:
    study = validate(
        StudyFile,
        {"name": "p", "game": "prisoners_dilemma", "mechanism": "mediation", "types": {"a": "scripted/quick"},
         "seating": "self"},
        "study",
    )  # fmt: skip
    plan = StudyPlan(study, Library())
    kinds = [unit.kind for unit in plan.units()]
    assert plan.preparations == kinds.count("preparation") > 0
    prepared = {unit.index: "done" for unit in plan.units() if unit.kind == "preparation"}
    assert plan.so_far(prepared, playing=False) == f"so far: 0 of {kinds.count('match')} match"
    assert plan.so_far({unit.index: "done" for unit in plan.units()}, playing=True) == ""
    failed = {unit.index: "failed" for unit in plan.units()}
    assert plan.so_far(failed, playing=False).endswith("match, 1 failed")
