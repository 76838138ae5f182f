"""The scripts for clusters in examples/ run as they are, task by task, and what they leave can be joined."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.run_tables import tables

from ostrom.features.joining import join_shards
from ostrom.studies.load import load_study
from ostrom.studies.run import play

EXAMPLES = Path(__file__).parents[2] / "examples"
STUDY = "{name: study, game: prisoners_dilemma, types: {a: tit_for_tat, b: random}, seating: ordered, seeds: 3}"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A folder with the study, and `ostrom` on the path."""
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "ostrom"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ostrom "$@"\n')
    program.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}


def example(name: str) -> str:
    return (EXAMPLES / name).read_text(encoding="utf-8")


def same_as_undivided(runs: Path, tmp_path: Path, of: int) -> bool:
    states = join_shards("study", sorted(runs.glob(f"study.*-of-{of}")), runs)
    assert len(states) == of and all(state.complete for state in states)
    play(load_study(yaml.safe_load(STUDY)), runs=tmp_path / "one")
    return tables(runs / "study", tmp_path / "a") == tables(tmp_path / "one" / "study", tmp_path / "b")


@pytest.mark.slow
def test_the_array_of_slurm(tmp_path: Path, environment: dict[str, str]) -> None:
    script = example("shards.sh")
    given = dict(re.findall(r"^#SBATCH --(\w+)=(\S+)$", script, re.MULTILINE))
    first, last = map(int, given["array"].split("-"))
    (tmp_path / "shards.sh").write_text(script)
    assert f"shards={last} " in script and first == 1
    for task in [*range(first, last + 1), last]:  # the last one is put back into the queue, and finds its copy
        own = {"SLURM_ARRAY_TASK_ID": str(task), "SLURM_JOB_ID": "7"}
        done = subprocess.run(
            ["bash", "shards.sh"], cwd=tmp_path, env={**environment, **own}, capture_output=True, text=True, timeout=300
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("study.*"))[1:]  # nothing is left on the node but the study itself
    assert same_as_undivided(tmp_path / "runs", tmp_path, last)


def test_a_task_of_slurm_that_is_stopped_says_so_and_keeps_what_it_has(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    stopped = 'trap "exit 130" TERM\nmkdir -p "$8/study.1-of-4"\nkill -TERM $PPID\nwhile :; do sleep 0.05; done\n'
    (tmp_path / "bin" / "ostrom").write_text(f"#!/bin/sh\n{stopped}")  # its task is stopped as soon as it plays
    (tmp_path / "slow.sh").write_text("trap 'sleep 0.1' DEBUG\n")  # a busy machine: before every command of the task
    own = {"SLURM_ARRAY_TASK_ID": "1", "SLURM_JOB_ID": "7", "BASH_ENV": str(tmp_path / "slow.sh")}
    process = subprocess.Popen(["bash", "-c", example("shards.sh")], cwd=tmp_path, env={**environment, **own})
    assert process.wait(300) == 130
    assert (tmp_path / "runs" / "study.1-of-4").is_dir()


@pytest.mark.slow
def test_the_indexed_job_of_kubernetes(tmp_path: Path, environment: dict[str, str]) -> None:
    job = yaml.safe_load(example("shards-kubernetes.yaml"))
    spec = job["spec"]
    assert (job["kind"], job["apiVersion"], spec["completionMode"]) == ("Job", "batch/v1", "Indexed")
    pod = spec["template"]["spec"]
    [container] = pod["containers"]
    mounts = {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}
    assert set(mounts) == {volume["name"] for volume in pod["volumes"]} == {"study", "runs"}
    places = {"study": tmp_path, "runs": tmp_path / "runs"}
    for index in range(spec["completions"]):
        words = [*container["command"], *container["args"]]
        for name, path in mounts.items():  # the volumes are folders here
            words = [word.replace(f"{path}/study.yaml", f"{places[name]}/study.yaml") for word in words]
            words = [re.sub(rf"--runs {path}$", f"--runs {places[name]}", word) for word in words]
        own = {"JOB_COMPLETION_INDEX": str(index)}
        done = subprocess.run(words, env={**environment, **own}, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
    assert same_as_undivided(tmp_path / "runs", tmp_path, spec["completions"])
