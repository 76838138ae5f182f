"""A played run with real HTTP calls, reasoning included, and Pythons that hold the packages of others."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ostrom
from ostrom.testing.replies import answer
from ostrom.testing.server import LoopbackServer

Foreign = Callable[[str, str], str]


def thinking(body: dict[str, Any]) -> str:
    return f"<think>They may defect.</think>{answer(body)}"


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ostrom.Run]:
    """Two cells, a model against a strategy, two seeds."""
    runs = tmp_path_factory.mktemp("runs")
    with LoopbackServer(thinking) as server:
        study = {
            "name": "duel",
            "title": "A <duel> | with markup",
            "game": "prisoners_dilemma",
            "mechanism": {"name": "repetition", "rounds": 3},
            "types": {"llm": {"model": server.model}, "tft": "tit_for_tat"},
            "seating": "versus",
            "vary": {"agent.style": ["direct", "reasoned"]},
            "seeds": 2,
        }
        yield ostrom.play(study, runs=runs, progress=False)


@pytest.fixture
def foreign() -> Foreign:
    """Run a script where a package is installed: OSTROM_INTEROP names that Python (`make interop` sets it up)."""

    def run(package: str, script: str) -> str:
        python = os.environ.get("OSTROM_INTEROP")
        if python is None:
            if importlib.util.find_spec(package) is None:
                pytest.skip(f"{package} is not installed here: make interop")
            python = sys.executable
        elif subprocess.run([python, "-c", f"import {package}"], capture_output=True, check=False).returncode:
            pytest.skip(f"{package} is not installed for {python}")
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("HTTP", "http", "all_proxy"))}
        done = subprocess.run(
            [python, "-c", script], capture_output=True, text=True, timeout=300, check=False,
            env={**clean, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run
