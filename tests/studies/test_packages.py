"""A run names the packages of its parts, is read without them, and a command that is refused changes nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.replications.packages import install

ROOT = Path(__file__).parents[2]
GAME = """\
from ostrom.games.amounts import Amounts
from ostrom.games.function import Due, End, FunctionGame


def build(most=6):
    def play(now):
        (one,) = yield [Due(0, "first", Amounts(0, most))]
        (two,) = yield [Due(1, "second", Amounts(0, most), {"seen": one})]
        return End((one * FACTOR, two * 1.0))

    return FunctionGame("relay", (Amounts(0, most),) * 2, play, stages=("first", "second"))
"""
POINTS = "[ostrom.games]\nrelay = relays.relay:build\n"
STUDY = """\
name: relays
game: {name: relay, most: 9}
mechanism: {name: repetition, rounds: 2}
agent: {strategy: random}
seeds: 3
"""


def ostrom(folder: Path, *arguments: str, installed: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, with a package installed or not."""
    path = os.pathsep.join([*([] if installed is None else [str(installed)]), str(ROOT / "src")])
    return subprocess.run(
        [sys.executable, "-m", "ostrom", *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    site = tmp_path_factory.mktemp("site")
    files = {"relays/__init__.py": "", "relays/relay.py": GAME.replace("FACTOR", "2.0")}
    files["relays/prompts/__init__.py"] = ""
    return install(site, "relays", files, POINTS)


@pytest.mark.slow
def test_a_run_names_its_packages_and_is_read_without_them(site: Path, tmp_path: Path) -> None:
    (tmp_path / "relays.yaml").write_text(STUDY)
    played = ostrom(tmp_path, "run", "relays.yaml", installed=site)
    assert played.returncode == 0, played.stderr
    manifest = json.loads((tmp_path / "runs" / "relays" / "run.json").read_text())
    assert manifest["parts"] == {"ostrom.games.relay": "relays 1.0"}
    assert manifest["shapes"][0]["actions"][0]["high"] == 9
    tables = []
    for place in (site, None):
        exported = ostrom(
            tmp_path, "export", "relays", "--format", "csv", "--out", f"out{place is None}", installed=place
        )
        assert exported.returncode == 0, exported.stderr
        tables.append(sorted((p.name, p.read_bytes()) for p in (tmp_path / f"out{place is None}").rglob("*.csv")))
    assert tables[0] == tables[1] and len(tables[0]) >= 2
    refused = ostrom(tmp_path, "check", "relays")
    assert refused.returncode != 0 and "needs relays 1.0" in refused.stderr and "unknown game" not in refused.stderr
    again = ostrom(tmp_path, "resume", "relays")
    assert again.returncode != 0 and "the package relays 1.0" in again.stderr and "unknown game" not in again.stderr
    reported = ostrom(tmp_path, "report", "relays", installed=site)
    assert reported.returncode == 0, reported.stderr
    page = next((tmp_path / "runs" / "relays").rglob("*.html")).read_text()
    assert "games.relay: relays 1.0" in page


@pytest.mark.slow
def test_a_refused_command_changes_nothing(site: Path, tmp_path: Path) -> None:
    (tmp_path / "relays.yaml").write_text(STUDY)
    assert ostrom(tmp_path, "run", "relays.yaml", installed=site).returncode == 0
    files = {"relays/__init__.py": "", "relays/relay.py": GAME.replace("FACTOR", "3.0")}
    changed = install(tmp_path / "site", "relays", files, POINTS)
    run = tmp_path / "runs" / "relays"
    before = (run / "run.json").read_bytes(), (run / "journal.db").read_bytes()
    refused = ostrom(tmp_path, "run", "relays.yaml", "--seeds", "301", installed=changed)
    assert refused.returncode != 0 and "the scores differ" in refused.stderr
    assert ((run / "run.json").read_bytes(), (run / "journal.db").read_bytes()) == before
    grown = ostrom(tmp_path, "run", "relays.yaml", "--seeds", "4", installed=site)
    assert grown.returncode == 0 and json.loads((run / "run.json").read_text())["study"]["seeds"] == 4
