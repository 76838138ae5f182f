"""`--batch` on the command line: playing, resuming, refusals and what a dry run says."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tests.batch_server import BatchServer
from tests.cli.in_process import Call, caller

from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Runner
from ostrom.studies.load import load_study
from ostrom.studies.run import play
from ostrom.testing.replies import answer, prompt_of

STUDY = """
name: own
game: prisoners_dilemma
mechanism: {{name: repetition, rounds: {rounds}}}
agent: {{style: direct, params: {{max_tokens: 50}}}}
types:
  model: {{model: "{model}"}}
  tft: {{strategy: tit_for_tat}}
seating: ordered
seeds: 1
"""


@pytest.fixture
def ostrom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    return caller(monkeypatch, tmp_path)


def write(folder: Path, model: str, rounds: int = 2) -> str:
    file = folder / "own.yaml"
    file.write_text(STUDY.format(model=model, rounds=rounds))
    return str(file)


GATES = "gates: [{name: kind, measure: cooperation, at_least: 0}]\n"
BATTERY = """
name: mine
title: Mine
parts: [{name: one, title: One, study: one.yaml, most: 1, figures: [{name: Kind, measure: cooperation}]}]
"""


@pytest.mark.slow
def test_gates_and_profiles_are_played_in_batches_too(tmp_path: Path, ostrom: Call) -> None:
    (tmp_path / "gates.yaml").write_text(GATES)
    (tmp_path / "mine.yaml").write_text(BATTERY)
    with BatchServer() as server:
        gate = ["gate", write(tmp_path, server.model), "--gates", "gates.yaml"]
        refused = ostrom(*gate, "--batch", "--batch-waves", "1")
        assert refused.code == 2 and "1 waves are allowed" in refused.err, refused
        assert ostrom(*gate, "--batch").code in (0, 3)
        (tmp_path / "one.yaml").write_text(STUDY.format(model=server.model, rounds=2).partition("types:")[0])
        (tmp_path / "prices.yaml").write_text(f'"{server.model}": {{input: 0, output: 0}}\n')
        profile = ["profile", "--model", server.model, "--battery", "mine.yaml", "--prices", "prices.yaml"]
        refused = ostrom(*profile, "--batch", "--batch-waves", "1")
        assert refused.code == 2 and "1 waves are allowed" in refused.err and not Path("profiles").exists()
        done = ostrom(*profile, "--batch", "--json")
        assert done.code == 0 and json.loads(done.out)["profiles"][0]["calls"] == 4, done
        assert not any(r.path.endswith("/completions") for r in server.requests)


@pytest.mark.parametrize(
    ("model", "options", "line"),
    [
        ("embedded/smollm2-135m", ["--batch"], "embedded/smollm2-135m has no batch endpoint"),
        ("openai/gpt-test", ["--batch", "--executor", "ray"], "not from a cluster"),
        ("openai/gpt-test", ["--batch-waves", "9"], "--batch-waves: needs --batch"),
        ("openai/gpt-test", ["--from", "own"], "--from: says what to expect, and needs --dry-run"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    model: str, options: list[str], line: str, tmp_path: Path, ostrom: Call
) -> None:
    done = ostrom("run", write(tmp_path, model), "--runs", str(tmp_path / "runs"), *options)
    assert done.code == 2 and line in done.err and done.err.count("\n") == 1, done
    assert not (tmp_path / "runs").exists()


def test_a_server_without_the_endpoint_is_refused_before_anything_is_written(
    tmp_path: Path, ostrom: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.batch_server.ServedBatches.takes", lambda *_: False)
    with BatchServer() as server:
        done = ostrom("run", write(tmp_path, server.model), "--runs", str(tmp_path / "runs"), "--batch")
    assert done.code == 2 and "has no batch endpoint (404): run without --batch" in done.err, done
    assert not (tmp_path / "runs").exists()


def test_many_waves_need_a_word(tmp_path: Path, ostrom: Call) -> None:
    file = write(tmp_path, "openai/gpt-test", rounds=100)
    done = ostrom("run", file, "--runs", str(tmp_path / "runs"), "--batch")
    assert done.code == 2 and "--batch-waves 100" in done.err and done.err.count("\n") == 1, done


def talkative(body: dict[str, Any]) -> str:
    if "which motives" in prompt_of(body):
        return '{"labels": ["own_utility"], "confidence": 0.5, "explanation": "says so"}'
    return f"I weigh what each of us would gain from either choice, at some length.\n{answer(body)}"


@pytest.mark.slow
def test_every_command_that_asks_through_the_engine_asks_in_batches(tmp_path: Path, ostrom: Call) -> None:
    runs = ["--runs", str(tmp_path / "runs")]
    with BatchServer(talkative) as server:
        file = write(tmp_path, server.model)
        assert ostrom("run", file, *runs).code == 0
        text = Path(file).read_text().replace("max_tokens: 50", "max_tokens: 50, temperature: 0")
        text = text.replace(f'"{server.model}"', f'"{server.model}", tree: auto').replace("own", "foretold")
        tree = tmp_path / "foretold.yaml"
        tree.write_text(text.replace("{strategy: tit_for_tat}", "random"))
        at = ["--match", "0"]
        commands = {
            "observe": ["observe", "own", "--model", server.model, "--match", "0"],
            "judge": ["judge", "own", "--model", server.model, "--shortest", "20"],
            "branch": ["branch", "own", *at, "--at", "2"],
            "attribute": ["attribute", "own", *at, "--round", "2", "--samples", "2", "--measure", "sample"],
            "tree": ["tree", str(tree), "--yes"],
        }
        for name, command in commands.items():
            before, made = len(server.requests), len(server.batches.batches)
            done = ostrom(*command, *runs, "--batch")
            assert done.code == 0, (name, done)
            asked = [request.path for request in server.requests[before:]]
            assert len(server.batches.batches) > made, name
            assert not any(path.endswith("/completions") for path in asked), name
        for folder in ("own/judge-*", "trees/*"):
            listed = ostrom("more", "batches", str(next((tmp_path / "runs").glob(folder))), *runs, "--json")
            assert listed.code == 0 and json.loads(listed.out)[0]["settled"], listed


@pytest.mark.slow
def test_batches_are_listed_asked_for_cancelled_and_given_up(tmp_path: Path, ostrom: Call) -> None:
    runs = ["--runs", str(tmp_path / "runs")]
    with BatchServer(batch_seconds=60) as server:
        file = write(tmp_path, server.model)
        folder = tmp_path / "runs"
        study = load_study(file)
        play(study, runs=folder, options=PlayOptions(batch=True), watch=stop_when(server))
        (listed,) = json.loads(ostrom("more", "batches", "own", *runs, "--json").out)
        assert listed["requests"] == 4 and listed["state"] == "in_progress" and not listed["settled"]
        asked = json.loads(ostrom("more", "batches", "own", *runs, "--ask", "--json").out)
        assert asked[0]["service"] == "in_progress, 0 of 4 ended"
        done = ostrom("more", "batches", "own", *runs, "--cancel")
        assert done.code == 0 and "1 batch, 1 under way; `ostrom resume own`" in done.err, done
        assert server.batches.stats()["batches"] == {"cancelled": 1}
        refused = ostrom("resume", "own", *runs, "--no-batch")
        assert refused.code == 1 and "go on with --batch" in refused.err, refused
        for batch in ("--batch", "--no-batch"):
            closed = ostrom("resume", "own", *runs, batch, "--close")
            assert closed.code == 1 and "1 batch under way" in closed.err, "what is billed is not left out"
        assert ostrom("more", "batches", "own", *runs, "--forget").code == 0
        again = ostrom("resume", "own", *runs, "--no-batch")
        assert again.code == 0, again


def stop_when(server: BatchServer) -> Any:
    async def watch(runner: Runner) -> None:
        while not server.batches.batches:
            await asyncio.sleep(0.01)
        runner.stop("interrupted", interrupted=True)

    return watch
