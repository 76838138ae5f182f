"""The journal: durable, in order, refused when damaged or shorter than acknowledged."""

import asyncio
import shutil
import sqlite3
import subprocess
import time
from collections import deque
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from ostrom.answers import Answer
from ostrom.engine import entries
from ostrom.engine.entries import MOST_QUEUED, Writer
from ostrom.engine.folder import Folder
from ostrom.engine.journal import Journal
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import RunError
from ostrom.studies.run import open_run, play
from ostrom.studies.schema import StudyFile


def filled(path: Path, entries: int = 10) -> None:
    async def fill() -> None:
        journal = Journal(path, create=True)
        journal.start()
        for step in range(entries):
            journal.answer(0, step, 0, "", Answer("cooperate"), 0)
        await journal.flush()
        journal.close()

    asyncio.run(fill())


def test_what_is_flushed_is_there(tmp_path: Path) -> None:
    filled(tmp_path / "journal.db")
    journal = Journal(tmp_path / "journal.db")
    assert len(journal.answers(0)) == journal.entries == 10
    assert journal.answers(0)[3, 0, ""][0].value == "cooperate"
    journal.close()


def test_what_all_matches_queue_in_a_turn_is_one_transaction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    commit = Writer._commit

    def counted(self: Writer, connection: sqlite3.Connection, entries: list[tuple[str, object]]) -> None:
        sizes.append(len(entries))
        commit(self, connection, entries)

    monkeypatch.setattr(Writer, "_commit", counted)

    async def fill() -> None:
        with Journal(tmp_path / "journal.db", create=True) as journal:
            journal.start()

            async def match(unit: int) -> None:
                journal.answer(unit, 0, 0, "", Answer("cooperate"), 0)
                await journal.flush()

            await match(20)  # the thread is there
            await asyncio.gather(*map(match, range(20)))

    asyncio.run(fill())
    assert sizes == [1, 20]


@pytest.mark.parametrize(("matches", "rests"), [(1, False), (3, True)])
def test_transactions_wait_for_company_and_never_for_a_match_that_plays_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, matches: int, rests: bool
) -> None:
    rested: list[float] = []
    monkeypatch.setattr(entries, "time", SimpleNamespace(sleep=rested.append, monotonic=time.monotonic))
    monkeypatch.setattr(entries, "PACE", 3600.0)

    async def fill() -> None:
        with Journal(tmp_path / "journal.db", create=True) as journal:
            journal.start()

            async def match(unit: int) -> None:
                for step in range(3):
                    journal.answer(unit, step, 0, "", Answer("cooperate"), 0)
                    await journal.flush()

            await asyncio.gather(*map(match, range(matches)))

    asyncio.run(fill())
    assert any(rest > 0 for rest in rested) == rests


class Counted(deque[object]):
    """A queue to which others may add once it is counted."""

    def __len__(self) -> int:
        length = super().__len__()
        time.sleep(0.001)
        return length


def test_no_flush_is_forgotten_that_comes_while_a_transaction_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "PACE", 0.0)

    async def fill() -> None:
        with Journal(tmp_path / "journal.db", create=True) as journal:
            journal.start()
            monkeypatch.setattr(journal._writer, "_waiting", Counted())

            async def match(unit: int, step: int) -> None:
                await asyncio.sleep(unit * (step % 7) * 0.0005)
                journal.answer(unit, step, 0, "", Answer("cooperate"), 0)
                await journal.flush()

            async with asyncio.timeout(300):
                for step in range(21):
                    await asyncio.gather(match(0, step), match(1, step))

    asyncio.run(fill())


def test_entries_are_written_during_a_turn_that_queues_many(tmp_path: Path) -> None:
    async def fill() -> None:
        with Journal(tmp_path / "journal.db", create=True) as journal:
            journal.start()
            for step in range(MOST_QUEUED):
                journal.answer(0, step, 0, "", Answer("cooperate"), 0)
            while journal.backlog:  # the loop gets no turn in between
                time.sleep(0.001)

    asyncio.run(fill())


def test_what_nobody_waits_for_is_written_too(tmp_path: Path) -> None:
    async def fill() -> None:
        with Journal(tmp_path / "journal.db", create=True) as journal:
            journal.start()
            journal.answer(0, 0, 0, "", Answer("cooperate"), 0)
            while journal.backlog:
                await asyncio.sleep(0.001)

    asyncio.run(fill())


def test_a_second_answer_to_the_same_decision_is_refused_by_the_database(tmp_path: Path) -> None:
    async def twice() -> None:
        journal = Journal(tmp_path / "journal.db", create=True)
        journal.start()
        journal.answer(0, 0, 0, "", Answer("a"), 0)
        journal.answer(0, 0, 0, "", Answer("b"), 0)
        with pytest.raises(RunError, match="UNIQUE"):
            await journal.flush()
        journal.close()

    asyncio.run(twice())


def test_a_lost_write_ahead_log_is_noticed(tmp_path: Path) -> None:
    copy = left_by_a_crash(tmp_path, "", ".tally")  # somebody copies the database without the log beside it
    with pytest.raises(RunError, match=r"10 are missing|no count|not a database|no such table") as caught:
        Journal(copy)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("damage", ["cut", "garbage", "empty", "text"])
def test_a_damaged_journal_is_refused_in_one_line(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "journal.db"
    filled(path, 500)
    data = path.read_bytes()
    path.write_bytes(
        {
            "cut": data[: len(data) - 5000],
            "garbage": data[: len(data) // 2] + b"\xff" * 9000 + data[len(data) // 2 + 9000 :],
            "empty": b"",
            "text": b"not a database at all" * 100,
        }[damage]
    )
    with pytest.raises(RunError) as caught:
        Journal(path)
    assert "\n" not in str(caught.value) and "journal.db" in str(caught.value)


def test_a_finished_journal_is_read_where_nothing_can_be_written(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("cannot mount a small file system here")
    try:
        filled(disk / "journal.db")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        journal = Journal(disk / "journal.db")
        assert len(journal.answers(0)) == 10
        journal.close()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def test_the_lock_of_a_run_is_taken_on_a_disk_without_a_byte_of_space(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("cannot mount a small file system here")
    try:
        (disk / "ballast").write_bytes(bytes(4096))
        folder = Folder(disk / "r")
        folder.lock()
        folder.unlock()
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)


def test_the_same_run_cannot_be_played_twice_at_the_same_time(tmp_path: Path) -> None:
    first, second = Folder(tmp_path / "r"), Folder(tmp_path / "r")
    first.lock()
    with pytest.raises(RunError, match="another process"):
        second.lock()
    assert second.being_played
    first.unlock()
    assert not second.being_played
    second.lock()
    second.unlock()


def test_a_changed_study_under_the_same_name_is_refused_with_the_difference(
    small: Callable[..., StudyFile], runs: Path
) -> None:
    play(small(), runs=runs)
    with pytest.raises(RunError, match=r"types\.chance: \"random:0\.6\" -> \"random:0\.7\""):
        play(small(types={"tft": "tit_for_tat", "chance": "random:0.7"}), runs=runs)
    with pytest.raises(RunError, match="the order tft, chance -> chance, tft"):
        play(small(types={"chance": "random:0.6", "tft": "tit_for_tat"}), runs=runs)


def test_more_seeds_go_on_with_the_same_run(small: Callable[..., StudyFile], runs: Path) -> None:
    play(small(), runs=runs)
    with open_run(runs / "small") as run:
        before = list(run.rows.decisions())
    more = play(small(seeds=3), runs=runs)
    assert more.complete and more.tally.resumed == 16 and more.tally.done == 24
    with open_run(runs / "small") as run:
        after = list(run.rows.decisions())
    assert after[: len(before)] == before


def test_a_folder_that_cannot_be_written_is_one_line(small: Callable[..., StudyFile], tmp_path: Path) -> None:
    blocked = tmp_path / "runs"
    blocked.write_text("a file where the folder should be")
    with pytest.raises(RunError) as caught:
        play(small(), runs=blocked)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_full_disk_stops_the_run_and_space_lets_it_go_on(small: Callable[..., StudyFile], tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("cannot mount a small file system here")
    try:
        study = small(mechanism={"name": "repetition", "rounds": 400}, vary={}, seeds=4)
        with pytest.raises(RunError, match="disk is full"):
            play(study, runs=disk, options=PlayOptions(arrays=False))
        subprocess.run(["mount", "-o", "remount,size=50m", str(disk)], check=True)
        assert play(study, runs=disk).complete
        calm = play(study, runs=tmp_path / "calm")
        assert calm.complete
        with open_run(disk / "small") as a, open_run(tmp_path / "calm" / "small") as b:
            assert list(a.rows.decisions()) == list(b.rows.decisions())
    finally:
        subprocess.run(["umount", str(disk)], check=False)


def copied(path: Path, folder: Path, *endings: str) -> Path:
    """Some files of a journal, as they lie there now, in another place."""
    folder.mkdir()
    for ending in endings:
        shutil.copy(path.with_name(path.name + ending), folder)
    return folder / path.name


def left_by_a_crash(tmp_path: Path, *endings: str) -> Path:
    """Files of a journal whose process died with everything acknowledged still in its log."""
    path, found = tmp_path / "journal.db", list[Path]()

    async def crash() -> None:
        journal = Journal(path, create=True)
        journal.start()
        for step in range(10):
            journal.answer(0, step, 0, "", Answer("x"), 0)
        await journal.flush()
        found.append(copied(path, tmp_path / "copy", *endings))
        journal.close()

    asyncio.run(crash())
    return found[0]


def test_a_changed_byte_inside_an_answer_is_noticed_and_named(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    filled(path, 20)
    data = path.read_bytes()
    at = data.index(b'"cooperate"')
    path.write_bytes(data[: at + 1] + b"k" + data[at + 2 :])
    with pytest.raises(RunError, match=r"1 of its entries changed, first answers: unit 0, step \d+, player 0"):
        Journal(path)


def test_a_damaged_name_of_a_table_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    filled(path)
    data = path.read_bytes()
    said = []
    for at in range(data.index(b"CREATE TABLE"), data.index(b"CREATE TABLE") + 300):
        path.write_bytes(data[:at] + b"\x85" + data[at + 1 :])
        try:
            Journal(path).close()  # a comment in the schema may change
        except RunError as error:
            said.append(str(error))
    assert len(said) > 100 and all(len(line.splitlines()) == 1 for line in said)


def test_a_row_that_is_gone_is_missed(tmp_path: Path) -> None:
    filled(tmp_path / "journal.db", 20)
    raw = sqlite3.connect(tmp_path / "journal.db")
    raw.execute("DELETE FROM answers WHERE step=7")
    raw.commit()
    raw.close()
    with pytest.raises(RunError, match="holds 19 entries and counted 20; 1 are missing"):
        Journal(tmp_path / "journal.db")


def test_a_database_without_its_log_and_its_tally_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    path = left_by_a_crash(tmp_path, "")
    for create in (False, True):
        with pytest.raises(RunError, match=r"was not closed, and journal\.db\.tally is missing"):
            Journal(path, create=create)
    path.with_name("journal.db.tally").write_text("0")  # as the message says: somebody decides to go on
    with closing(Journal(path)) as journal:
        assert journal.entries == 0


@pytest.mark.parametrize("tally", [None, "", "\0" * 21, "garbage", "-1"])
def test_a_lost_tally_matters_only_where_entries_may_be_missing(tmp_path: Path, tally: str | None) -> None:
    filled(tmp_path / "journal.db")
    (tmp_path / "journal.db.tally").unlink()
    (tmp_path / "b").mkdir()
    crashed = left_by_a_crash(tmp_path / "b", "", "-wal")
    if tally is not None:
        (tmp_path / "journal.db.tally").write_text(tally)
        crashed.with_name("journal.db.tally").write_text(tally)
    with closing(Journal(tmp_path / "journal.db")) as journal:
        assert journal.entries == 10
    with pytest.raises(RunError, match=r"it holds 10 \(to go on with these, write 10 into journal.db.tally\)"):
        Journal(crashed)


def test_a_unit_that_ends_twice_counts_twice_and_stands_once(tmp_path: Path) -> None:
    async def again() -> None:
        journal = Journal(tmp_path / "journal.db", create=True)
        journal.start()
        journal.finish(0, "failed", "no valid answer", 3)
        await journal.flush()
        journal.finish(0, "done", None, 6, [1.0, 2.0])
        journal.close()

    asyncio.run(again())
    with closing(Journal(tmp_path / "journal.db")) as journal:
        assert (journal.entries, journal.states()) == (2, {0: "done"})


def test_an_entry_that_the_database_cannot_hold_fails_those_who_wait(tmp_path: Path) -> None:
    async def odd() -> None:
        journal = Journal(tmp_path / "journal.db", create=True)
        journal.start()
        journal.finish(2**70, "done", None, 1)
        with pytest.raises(RunError, match="too large"):
            await asyncio.wait_for(journal.flush(), 300)
        journal.close()

    asyncio.run(odd())


def test_a_journal_of_something_else_is_refused(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "journal.db")
    other.execute("CREATE TABLE notes (x)")
    other.commit()
    other.close()
    with pytest.raises(RunError):
        Journal(tmp_path / "journal.db")


def test_a_journal_is_looked_at_without_a_check_while_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"

    async def write_and_look() -> None:
        writer = Journal(path, create=True)
        writer.start()
        looked = Journal(path, checked=False)
        for step in range(3):
            writer.answer(0, step, 0, "", Answer("x"), 0)
            await writer.flush()
            assert len(looked.answers(0)) == step + 1
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            looked._read.execute("DELETE FROM answers")
        looked.close()
        writer.close()

    asyncio.run(write_and_look())


def test_broken_text_and_changed_rows_are_shown_where_nobody_asked_for_a_check(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    filled(path, 3)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE answers SET note=CAST(x'61ff62' AS TEXT) WHERE step=1")
    connection.commit()
    connection.close()
    with pytest.raises(RunError, match="damaged"):
        Journal(path)
    looked = Journal(path, checked=False)
    assert looked.entries == 3 and looked.answers(0)[1, 0, ""][0].note == "a\ufffdb"
    looked.close()
