"""`ostrom report` and `ostrom run --report`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

STUDY = {
    "name": "tiny",
    "game": "prisoners_dilemma",
    "mechanism": {"name": "repetition", "rounds": 2},
    "types": {"kind": "cooperator"},
}


def ostrom(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from ostrom.cli import main; main()", *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment}, timeout=120
    )


@pytest.fixture
def study(tmp_path: Path) -> Path:
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(STUDY))
    return tmp_path


def test_run_and_report_print_the_page_and_nothing_else(study: Path) -> None:
    done = ostrom(study, "run", "tiny.yaml", "--report", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["complete"]
    assert "report: runs/tiny/report/index.html" in done.stderr
    plain = ostrom(study, "report", "tiny")
    assert (plain.returncode, plain.stdout, plain.stderr) == (0, "runs/tiny/report/index.html\n", "")


def test_a_failed_panel_makes_the_command_fail_but_the_page_is_there(study: Path) -> None:
    (study / "tiny.yaml").write_text(yaml.safe_dump({**STUDY, "report": {"panels": ["nonsense"]}}))
    done = ostrom(study, "run", "tiny.yaml", "--report")
    assert done.returncode == 1
    assert "panel failed: Nonsense: unknown panel 'nonsense'" in done.stderr
    assert (study / "runs/tiny/report/index.html").exists()
    again = ostrom(study, "report", "tiny", "--json")
    assert again.returncode == 1
    assert json.loads(again.stdout)["report"] == "runs/tiny/report/index.html"
    assert len(json.loads(again.stdout)["failures"]) == 1


def test_an_unknown_run_is_wrong_use(study: Path) -> None:
    done = ostrom(study, "report", "nowhere")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "there is no such run" in done.stderr


@pytest.mark.parametrize("missing", ["altair", "vl_convert", "duckdb"])
def test_a_missing_extra_gives_one_line_with_the_remedy(study: Path, missing: str) -> None:
    ostrom(study, "run", "tiny.yaml")
    hidden = study / "hidden"
    hidden.mkdir()
    (hidden / f"{missing}.py").write_text("raise ImportError('not installed')\n")
    done = ostrom(study, "report", "tiny", PYTHONPATH=str(hidden))
    assert done.returncode == 1
    assert (
        done.stderr == f"ostrom: a report needs {missing.replace('_', '-')}: pip install 'ostrom[report]'\n"
    )
