"""`ostrom check`: what is whole passes, rows that say something else are refused, and are made anew."""

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.in_process import caller
from tests.view.runs import talk

from ostrom.engine import journal
from ostrom.engine.folder import Folder
from ostrom.engine.integrity import seal
from ostrom.engine.unit_rows import UnitRows
from ostrom.ground.errors import RunError
from ostrom.models.base import Reply
from ostrom.studies.run import open_run
from ostrom.studies.verify import _together, check_run


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("played"))


@pytest.fixture
def folder(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(played, tmp_path / "talk"))


def rows_of(folder: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(folder / "journal.db")) as db:
        return db.execute("SELECT * FROM unit_rows ORDER BY unit").fetchall()


def lie(folder: Path, unit: int = 0, came: tuple[Any, ...] = ("defect", False, 5.0)) -> None:
    """Let the rows of a match say another result, sealed as a stranger would who knows how."""
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        made, refused, of = db.execute("SELECT made, refused, of FROM unit_rows WHERE unit=?", (unit,)).fetchone()
        rows = UnitRows.read(made, "")
        rows.came[1:] = [(*came, *one[3:]) for one in rows.came[1:]]
        entry = (unit, rows.to_bytes(), refused, of)
        db.execute("INSERT OR REPLACE INTO unit_rows VALUES (?,?,?,?,?)", (*entry, seal(entry)))


@pytest.mark.slow
def test_a_whole_run_passes_and_is_told_of(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    call = caller(monkeypatch, tmp_path)
    done = call("check", str(folder), "--json")
    units = len(rows_of(folder))
    with open_run(folder) as run:
        entries = run.journal.entries
    assert units == 6 and json.loads(done.out) == {
        "run": "talk", "entries": entries, "replayed": 8, "compared": units, "followed": 8, "unfollowed": None,
        "made": 0, "processes": 1,
    }  # fmt: skip
    told = call("check", str(folder), "--processes", "2")
    assert f"{entries} entries are intact; 8 matches replayed by 2 processes, 6 held against" in told.err


@pytest.mark.parametrize("processes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_rows_that_say_something_else_are_refused_and_made_anew(folder: Path, processes: int) -> None:
    before = rows_of(folder)
    lie(folder, before[2][0])
    match = f"match {before[2][0]}, player 1: its rows say|step 0, player 1: its rows say action 'defect'"
    with pytest.raises(RunError, match=match):
        check_run(folder, processes=processes)
    steps: list[tuple[int, int]] = []
    done = check_run(folder, rows=True, processes=processes, tell=lambda *step: steps.append(step))
    assert done.made == 6 and rows_of(folder) == before and steps[-1] == (8, 8) and len(steps) == 8
    assert check_run(folder).compared == 6


def test_rows_of_other_entries_are_refused_by_name_and_mended(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        unit, made, refused, of, _ = db.execute("SELECT * FROM unit_rows ORDER BY unit DESC").fetchone()
        entry = (unit, made, refused, of + 1)
        db.execute("INSERT OR REPLACE INTO unit_rows VALUES (?,?,?,?,?)", (*entry, seal(entry)))
    with pytest.raises(RunError, match=rf"the rows of match {unit} were not made from its entries"):
        open_run(folder)
    check_run(folder, rows=True)
    open_run(folder).close()


@pytest.mark.parametrize("most", [0, journal.MOST_AT_ONCE])
def test_a_changed_entry_is_found_whatever_its_place(folder: Path, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "MOST_AT_ONCE", most)  # a large journal is opened without looking at every seal
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        db.execute("UPDATE prompts SET texts=x'00' WHERE id=1")
    for rows in (False, True):
        with pytest.raises(RunError, match="1 of its entries changed, first prompts: id 1"):
            check_run(folder, rows=rows)


def test_a_run_that_is_being_played_keeps_its_rows(folder: Path) -> None:
    before = rows_of(folder)
    player = Folder(folder)
    player.lock()
    try:
        with pytest.raises(RunError, match="is playing this run"):
            check_run(folder, rows=True)
        assert rows_of(folder) == before and check_run(folder).compared == 6
    finally:
        player.unlock()


@pytest.mark.slow
def test_what_is_wrong_in_a_process_is_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lie(folder)
    done = caller(monkeypatch, folder.parent)("check", "talk", "--runs", str(folder.parent), "--processes", "2")
    assert done.code == 1 and done.err.count("\n") == 1 and "its rows say" in done.err


@pytest.mark.parametrize(
    ("reply", "each"), [(Reply("", finish="filter"), (1, 0)), (Reply("No."), (0, 2))], ids=["declined", "unread"]
)
def test_rows_that_are_made_anew_count_what_was_declined_and_what_was_not_understood(
    reply: Reply, each: tuple[int, int], tmp_path: Path
) -> None:
    folder = talk(tmp_path, lambda _: reply, rounds=4, refused="default:defect")
    before = rows_of(folder)
    assert any(refused for _, _, refused, *_ in before) == (each[0] > 0)
    with open_run(folder) as run:
        rows = [row for row in run.rows.matches() if row["model"]]
    assert {row["rounds_played"] for row in rows} == {3, 4}
    for row in rows:
        rounds = row["rounds_played"]
        assert (row["refusals"], row["complaints"]) == (each[0] * rounds, each[1] * rounds)
        assert row["policies"] == rounds
    check_run(folder, rows=True)
    assert rows_of(folder) == before


def test_a_process_that_ends_without_a_word_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\ncat > /dev/null\n")
    silent.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(silent))
    with pytest.raises(RunError, match="ended before its time"):
        list(_together(tmp_path, [0, 1, 2], False, 2))
