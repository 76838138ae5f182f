"""`llama-server` itself, on the CPU, with the embedded weights: only where the program is on the search path."""

import shutil
import subprocess
from pathlib import Path

import pytest

import ostrom
from ostrom.models.embedded.weights import fetch

PROGRAM = shutil.which("llama-server")
pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="needs llama-server (llama.cpp) on the search path"),
    pytest.mark.timeout(1800),
    pytest.mark.slow,
]


def servers(file: Path) -> list[str]:
    lines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in lines if "--n-gpu-layers" in line and str(file) in line]


def test_a_study_is_played_with_grammar_slots_and_prefix_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = fetch("smollm2-135m")
    monkeypatch.setenv("OSTROM_CACHE", str(tmp_path / "cache"))
    settings = {"gpu": "none", "slots": 2, "context": 1024, "threads": 1, "timeout": 900, "connections": 2}
    study = {
        "name": "served",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 2},
        "agent": {"model": f"llama-server/{file}", "params": {"max_tokens": 12}, "settings": settings},
        "vary": {"style": {"set": "agent.style", "to": ["direct", "reasoned"]}},
        "invalid": {"retries": 0, "policy": "fail"},
    }
    run = ostrom.play(study, runs=tmp_path / "runs", progress=False)
    assert set(run.matches["state"].to_list()) == {"done"} and len(run.decisions) == 8
    # A direct answer is bound by the grammar; a reasoned one that names no label is finished by a second, bound call.
    assert set(run.decisions["reading"].to_list()) <= {"constrained", "exact"}
    assert all(run.calls["tokens_out"].to_list())
    assert sum(run.calls["tokens_cached"].to_list()) > 0, "the second round begins as the first"
    assert servers(file) == []
