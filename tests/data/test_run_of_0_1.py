"""A run of 0.1 is refused with exit code 2 and one line that says what to do, and is left as it is."""

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.in_process import Call, caller

from ostrom.engine.folder import read_manifest
from ostrom.engine.integrity import OldRun
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile

OLD = Path(__file__).parent / "0.1" / "plain"
LINE = "is of a run of Ostrom 0.1, which this version does not read: export it with Ostrom 1.0 first"


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Call:
    shutil.copytree(OLD, tmp_path / "runs" / "old")
    return caller(monkeypatch, tmp_path)


@pytest.mark.parametrize(
    "command",
    [
        "export old", "resume old", "estimate old cooperation", "check old", "check old --rows", "report old",
        "transcript old", "compare old old", "more branch old --match 0 --at 2",
    ],
)  # fmt: skip
def test_every_command_refuses_it_in_one_line(call: Call, tmp_path: Path, command: str) -> None:
    before = {path.name: path.read_bytes() for path in OLD.iterdir()}
    done = call(*command.split())
    assert (done.code, done.out, done.err) == (2, "", f"ostrom: runs/old/run.json: {LINE}\n")
    assert {path.name: path.read_bytes() for path in (tmp_path / "runs" / "old").iterdir()} == before


def test_it_is_listed_beside_others_with_the_reason(call: Call, tmp_path: Path) -> None:
    study = {"name": "new", "game": "chicken", "types": {"a": "random"}, "seating": "self"}
    play(StudyFile.model_validate(study), runs=tmp_path / "runs")
    done = call("list", "runs", "--json")
    assert done.code == 0 and f"runs/old/run.json: {LINE}" in done.out and '"new"' in done.out


def test_a_journal_of_an_old_format_is_refused_whatever_the_manifest_says(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(OLD, tmp_path / "old"))
    raw = (folder / "run.json").read_bytes()
    with pytest.raises(OldRun, match=re.escape(f"run.json: {LINE}")):
        read_manifest(raw, folder / "run.json")
    study = {"name": "new", "game": "chicken", "types": {"a": "random"}, "seating": "self"}
    play(StudyFile.model_validate(study), runs=tmp_path)
    played = tmp_path / "new"
    with closing(sqlite3.connect(played / "journal.db")) as journal:
        journal.execute("PRAGMA user_version=5")
    with pytest.raises(OldRun, match=re.escape(f"journal.db: {LINE}")):
        open_run(played)
