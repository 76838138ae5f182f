"""Bad input gets one clear line, never a traceback, and the right exit code."""

import subprocess
from collections.abc import Callable
from pathlib import Path

Command = Callable[..., "subprocess.CompletedProcess[str]"]

GOOD = """
name: good
game: prisoners_dilemma
mechanism: {name: repetition, rounds: 3}
types: {tft: tit_for_tat}
"""


def test_a_read_only_folder_and_a_damaged_manifest(ostrom: Command, tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(GOOD)
    (tmp_path / "file").write_text("")
    done = ostrom("run", "study.yaml", "--runs", "file")
    assert done.returncode == 1 and len(done.stderr.strip().splitlines()) == 1
    assert ostrom("run", "study.yaml").returncode == 0
    (tmp_path / "runs/good/run.json").write_text("{")
    done = ostrom("run", "study.yaml")
    assert done.returncode == 1 and "run.json" in done.stderr and "Traceback" not in done.stderr
