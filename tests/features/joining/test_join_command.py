"""`ostrom run --shard` and `ostrom join` as a user runs them; every reader takes the joined run."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command
from tests.cli.in_process import Call, caller
from tests.run_tables import tables

import ostrom as face
from ostrom.features.joining import join_shards
from ostrom.studies.run import open_run
from ostrom.testing.replies import answer
from ostrom.testing.server import LoopbackServer

STUDY = """
name: whole
game: prisoners_dilemma
mechanism: {{name: repetition, rounds: 4}}
agent: {{style: reasoned, params: {{max_tokens: 200}}}}
types:
  model: {{model: "{model}"}}
  chance: {{strategy: "random:0.5"}}
seating: ordered
vary: {{memory: {{set: agent.memory, to: ["window:1", "window:3"]}}}}
seeds: 3
"""
GATES = "gates: [{name: kind, measure: cooperation, at_least: 0.0}, {name: mean, measure: cooperation, at_most: 0.0}]"


def wordy(body: dict[str, Any]) -> str:
    """A reply with reasons, long enough to be judged."""
    return f"The other player may answer what I do now, so that being kind pays in the long run. {answer(body)}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the study, played undivided (``one/whole``), and in four shards that were joined (``many``)."""
    folder = tmp_path_factory.mktemp("commands")
    with LoopbackServer(wordy) as server, pytest.MonkeyPatch.context() as patch:
        (folder / "s.yaml").write_text(STUDY.format(model=server.model))
        (folder / "gates.yaml").write_text(GATES)
        call = caller(patch, folder)
        assert call("run", "s.yaml", "--runs", "one").code == 0
        for number in range(1, 5):
            done = call("run", "s.yaml", "--runs", "many", "--shard", f"{number}/4")
            assert done.code == 0 and "ostrom join whole many/whole.*-of-4" in done.err
        shards = sorted(str(path.relative_to(folder)) for path in (folder / "many").iterdir())
        done = call("join", "whole", *shards, "--runs", "many")
        assert done.code == 0 and "4/4" in done.out
        yield folder


@pytest.fixture
def at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    return caller(monkeypatch, home)


def test_what_is_made_of_a_run_is_made_of_a_joined_one(at_home: Call, home: Path) -> None:
    model = re.search(r'model: "([^"]+)"', (home / "s.yaml").read_text())
    assert model is not None
    branched = at_home("more", "branch", "many/whole", "--match", "5", "--at", "2", "--runs", "many", "--name", "fork",
                       "--set", "strategy=defector", "--seat", "2")  # fmt: skip
    assert branched.code == 0, branched.err
    with open_run(home / "many" / "fork") as fork, open_run(home / "many" / "whole") as parent:
        assert fork.manifest.get("joined") is None and fork.plan.shard is None
        assert fork.journal.answers(0) != {} and parent.journal.answers(5) != {}
    judged = at_home("more", "judge", "many/whole", "--model", model[1], "--limit", "2", "--json")
    assert judged.code in (0, 1), judged.err


def test_from_python(home: Path, tmp_path: Path) -> None:
    study = {"name": "mine", "game": "prisoners_dilemma", "types": {"a": "tit_for_tat", "b": "random"}, "seeds": 3}
    made = [face.play(study, runs=tmp_path, shard=f"{k}/2", progress=False) for k in (1, 2)]
    assert [run.name for run in made] == ["mine.1-of-2", "mine.2-of-2"]
    stated = face.study(study)
    assert face.play(stated, runs=tmp_path / "one", progress=False).matches.height == 12
    assert stated.plan.shard is None
    result = face.commands.join("mine", [run.path for run in made], runs=tmp_path)
    assert result["complete"] and [shard["done"] for shard in result["shards"]] == [3, 3]
    joined, undivided = face.open_run(tmp_path / "mine"), face.open_run(tmp_path / "one" / "mine")
    assert joined.matches.equals(undivided.matches) and joined.decisions.equals(undivided.decisions)
    assert "6 of 6 matches played" in repr(joined)


# -- playing ---------------------------------------------------------------------------------------------


def test_a_dry_run_says_how_the_budget_is_divided(at_home: Call) -> None:
    said = at_home("run", "s.yaml", "--shard", "2/4", "--dry-run", "--budget-calls", "10", "--budget-usd", "2")
    assert said.code == 0 and "6 matches" in said.out
    assert "shard 2/4: the budget of the study is divided equally" in said.err
    assert "3 of 10 calls" in said.err and "0.5 of 2 usd" in said.err
    whole = json.loads(at_home("run", "s.yaml", "--dry-run", "--json").out)
    part = json.loads(at_home("run", "s.yaml", "--shard", "2/4", "--dry-run", "--json").out)
    assert (part["shard"], part["matches"], whole["matches"]) == ("2/4", 6, 24) and "shard" not in whole
    none = at_home("run", "s.yaml", "--shard", "2/4", "--dry-run")
    assert "one would be divided equally" in none.err


def test_a_joined_run_is_gone_on_with_shard_by_shard(at_home: Call) -> None:
    for command in (["resume", "many/whole"], ["run", "s.yaml", "--runs", "many"]):
        said = at_home(*command)
        assert said.code == 2 and "is joined from 4 shards" in said.err and said.err.count("\n") == 1
    said = at_home("resume", "many/whole.2-of-4")
    assert said.code == 0 and "6 of 6 matches done" in said.err


def test_rows_are_made_anew_shard_by_shard(at_home: Call) -> None:
    said = at_home("check", "many/whole", "--rows")
    assert said.code == 2 and "is joined from 4 shards" in said.err
    assert at_home("check", "many/whole.1-of-4", "--rows").code == 0


def test_wrong_shards_are_refused(at_home: Call) -> None:
    for text in ("5/4", "0/4", "x", "1/0"):
        said = at_home("run", "s.yaml", "--shard", text)
        assert said.code == 2 and f"--shard {text}" in said.err.replace("'", "") and said.err.count("\n") == 1


def test_an_incomplete_shard_is_named(ostrom: Command, home: Path, tmp_path: Path) -> None:
    study = tmp_path / "t.yaml"
    study.write_text("{name: t, game: chicken, types: {a: grim, b: random}, seeds: 4}")
    ostrom("run", str(study), "--shard", "1/2", "--limit", "2")
    ostrom("run", str(study), "--shard", "2/2")
    said = ostrom("join", "t", "runs/t.1-of-2", "t.2-of-2")  # by folder, or by name
    assert said.returncode == 1
    assert "shard 1/2 is not complete: `ostrom resume runs/t.1-of-2` goes on with it" in said.stderr
    assert ostrom("resume", "runs/t.1-of-2").returncode == 0
    assert ostrom("join", "t", "runs/t.1-of-2", "t.2-of-2").returncode == 0
    assert ostrom("estimate", "t", "score").returncode == 0


def start(folder: Path, number: int, of: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "ostrom", "run", "s.yaml", "--runs", "killed", "--shard", f"{number}/{of}",
               "--max-connections", "2"]  # fmt: skip
    return subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


@pytest.mark.slow
def test_killed_shards_go_on_and_give_the_same_tables(tmp_path: Path) -> None:
    with LoopbackServer(latency=0.05) as server, pytest.MonkeyPatch.context() as patch:
        (tmp_path / "s.yaml").write_text(STUDY.format(model=server.model))
        call = caller(patch, tmp_path)
        for number in (1, 2):
            before = server.count
            process = start(tmp_path, number, 2)
            while server.count < before + 10:
                assert process.poll() is None
                time.sleep(0.005)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        server.latency = type(server.latency)()
        folders = [tmp_path / "killed" / f"whole.{number}-of-2" for number in (1, 2)]
        assert not any(state.complete for state in join_shards("whole", folders, tmp_path / "killed"))
        assert call("run", "s.yaml", "--runs", "killed", "--shard", "1/2").code == 0
        assert call("resume", "killed/whole.2-of-2").code == 0
        assert call("run", "s.yaml", "--runs", "calm").code == 0
    assert tables(tmp_path / "killed" / "whole", tmp_path / "a") == tables(tmp_path / "calm" / "whole", tmp_path / "b")
