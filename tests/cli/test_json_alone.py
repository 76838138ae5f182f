"""Every command with --json prints one JSON document on stdout and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

from ostrom.ground.commands import every_command
from ostrom.testing.server import LoopbackServer

STUDY = """
name: own
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 4}
types: {a: tit_for_tat, b: "random:0.5"}
seating: ordered
seeds: 2
"""
COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("run", "own.yaml"),
    "resume": ("resume", "own"),
    "list": ("list", "games"),
    "show": ("show", "game", "chicken"),
    "validate": ("validate", "own.yaml"),
    "export": ("export", "own", "--format", "csv"),
    "check": ("check", "own"),
    "report": ("report", "own"),
    "transcript": ("transcript", "own"),
    "robustness": ("robustness", "own", "--contrast", "agent"),
    "infer": ("infer", "own", "--resamples", "100", "--no-compare"),
    "play": ("play", "prisoners_dilemma", "--rounds", "1"),
    "evolve": ("evolve", "own"),
    "compare": ("compare", "own"),
    "traces": ("traces", "own", "--sensitivity"),
    "branch": ("branch", "own", "--match", "0", "--at", "2"),
    "attribute": ("attribute", "own", "--match", "0", "--round", "2"),
    "estimate": ("estimate", "own", "cooperation"),
    "test": ("test", "own", "cooperation", "--factor", "agent"),
    "models list": ("models", "list"),
}
ELSEWHERE = {
    "corpus": "tests/probe/test_corpus_command.py",
    "train": "tests/probe/test_training.py",
    "regress": "tests/probe/test_regression.py",
    "import": "tests/features/importing/test_import_commands.py",
    "judge": "tests/features/evolution/test_evolve_and_judge.py",
    "observe": "tests/features/observing/test_observing.py",
    "author": "tests/features/authoring/test_authoring.py",
    "tree": "tests/features/trees/test_tree_command.py",
    "pilot": "tests/people/test_pilot_command.py",
    "batches": "tests/features/batches/test_batch_command.py",
    "gate": "tests/features/gates/test_gate_command.py",
    "power": "tests/features/power/test_power_command.py",
    "pool": "tests/features/pooling/test_pool.py",
    "register": "tests/features/registering/test_register_command.py",
    "replicate": "tests/features/replicate/test_replicate.py",
    "profile": "tests/features/profile/test_profile_command.py",
    "join": "tests/features/joining",
    "seat": "tests/features/seats/test_seat_command.py",
    "models check": "below",
    "models fetch": "needs the network where the weights are not at hand",
}


@pytest.fixture
def ostrom(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    call = caller(monkeypatch, tmp_path)
    (tmp_path / "own.yaml").write_text(STUDY)
    assert call("run", "own.yaml").code == 0
    return call


def test_no_command_is_forgotten() -> None:
    found = {
        words
        for words, (*_, command) in every_command().items()
        if words.split()[0] not in ("people", "view") and any(p.name == "json" for p in command.params)
    }
    assert found == set(COMMANDS) | set(ELSEWHERE)


@pytest.mark.slow
@pytest.mark.sample(6)
@pytest.mark.parametrize("name", COMMANDS)
def test_one_document_and_nothing_else(ostrom: Call, name: str) -> None:
    done = ostrom(*COMMANDS[name], "--json", keys="1\n")
    if done.code == 2 and name in ("robustness", "compare"):  # this run has nothing of the kind
        assert done.out == "" and done.err.count("\n") == 1
        return
    assert done.code == 0, done.err
    assert json.loads(done.out) is not None


def test_models_check(ostrom: Call) -> None:
    with LoopbackServer() as server:
        facts = json.loads(ostrom("models", "check", server.model, "--json").out)
    assert facts["reply"] and facts["tools"] == "called"  # it is asked, though nobody knows that it can
