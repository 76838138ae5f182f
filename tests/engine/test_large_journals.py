"""A journal too large to be checked at once: what is read is checked, a sample is replayed, counts always fit."""

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.features.checking.test_check import lie
from tests.view.runs import talk

from ostrom.engine import journal
from ostrom.ground.errors import RunError
from ostrom.studies.run import Run, open_run


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("played"))


@pytest.fixture
def folder(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(journal, "MOST_AT_ONCE", 10)
    return Path(shutil.copytree(played, tmp_path / "talk"))


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        assert db.execute(statement).rowcount


def test_a_whole_run_is_read_alike(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def read() -> list[str]:
        with open_run(folder) as run:
            assert run.journal.lazily_verified == (journal.MOST_AT_ONCE == 10)
            rows = run.rows
            return [repr(row) for table in (rows.matches, rows.decisions, rows.calls) for row in table()]

    large = read()
    monkeypatch.setattr(journal, "MOST_AT_ONCE", 10_000)
    assert read() == large


READERS: dict[str, tuple[str, Callable[[Run], object]]] = {
    "answers": ("UPDATE answers SET complaints=7 WHERE unit=0 AND step=1", lambda run: run.journal.answers(0)),
    "ends": ("UPDATE units SET reason='x' WHERE unit=1", lambda run: list(run.rows.matches())),
    "an end": ("UPDATE units SET facts='{}' WHERE unit=2", lambda run: run.journal.outcome_of(2)),
    "rows": ("UPDATE unit_rows SET refused='{\"0\":4}' WHERE unit=2", lambda run: list(run.rows.matches())),
    "calls": ("UPDATE calls SET reply='[A1]' WHERE id=2", lambda run: list(run.rows.calls())),
    "replies": ("UPDATE calls SET reply='[A1]'", lambda run: [run.journal.replies(n) for n in range(8)]),
    "prompts": ("UPDATE prompts SET texts=x'78' WHERE id=1", lambda run: run.journal.prompt(1)),
    "another type": ("UPDATE calls SET at=CAST(at AS TEXT)", lambda run: list(run.rows.calls(0))),
}


@pytest.mark.parametrize(("statement", "read"), READERS.values(), ids=READERS.keys())
def test_an_entry_that_changed_is_refused_when_it_is_read(
    statement: str, read: Callable[[Run], object], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostrom.engine.rows.SAMPLED", 0)
    change(folder, statement)
    run = open_run(folder)
    with run, pytest.raises(RunError, match=r"the journal is damaged: entries changed, first \w+: "):
        read(run)


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE questions SET asked='x' WHERE id=1", "entries changed, first questions: id 1"),
        ("DELETE FROM calls WHERE id=1", "1 are missing"),
        ("DELETE FROM answers WHERE unit=1 AND step=0", "2 are missing"),
        ("UPDATE units SET times=2 WHERE unit=1", "1 too many"),
        ("UPDATE answers SET seal=seal+1 WHERE unit=1", "the rows of match 1 were not made from its entries"),
        ("UPDATE units SET seal=seal+1 WHERE unit=2", "the rows of match 2 were not made from its entries"),
    ],
)
def test_what_is_always_checked_is_refused_at_once(statement: str, why: str, folder: Path) -> None:
    change(folder, statement)
    with pytest.raises(RunError, match=why):
        open_run(folder)


def test_some_matches_are_replayed_and_held_against_their_rows(folder: Path) -> None:
    with open_run(folder) as run:
        chosen = run.journal.sample(1)[0]
        assert len(run.journal.sample(100)) == 6
    lie(folder, chosen)
    with pytest.raises(RunError, match=rf"match {chosen}, step 0, player 1: its rows say action 'defect', its replay"):
        open_run(folder)


@pytest.mark.parametrize("place", [0, 1])
def test_rows_that_are_fewer_or_more_than_those_of_a_replay_are_told(
    place: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_run(folder) as run:
        rows = run.rows
        kept, replayed, decisions = next(rows.tables()), next(rows.tables(stored=False)), rows.decision_rows
        both = (kept._replace(refused={7: 1}), replayed)
        assert rows._difference(*both) is None
        monkeypatch.setattr(
            rows, "decision_rows", lambda table: [*decisions(table)][: -1 if table is both[place] else None]
        )
        assert rows._difference(*both) == ": its rows are fewer or more than those of its replay"


def test_matches_are_drawn_at_random(folder: Path) -> None:
    with open_run(folder) as run:
        drawn = [run.journal.sample(4) for _ in range(60)]
    assert all(len(set(units)) == 4 for units in drawn) and len(set(map(tuple, drawn))) > 1
