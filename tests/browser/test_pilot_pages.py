"""Simulated participants go through the built-in study in a real browser, by the pages that people see."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def test_the_built_in_study_is_played_through_its_pages(browser: Any, tmp_path: Path) -> None:
    assert browser.version
    command = [sys.executable, "-m", "ostrom", "pilot", "repeated-games-people", "--preset", "smoke", "--people", "2",
               "--browser", "--json"]  # fmt: skip
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["people"] == 2 and told["ends"] == {"done": 2}
