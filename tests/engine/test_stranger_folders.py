"""Run folders that a stranger made: special files in the place of every file that is read."""

import os
import shutil
from pathlib import Path

import pytest
from tests.limited import limited
from tests.view.runs import talk

from ostrom.data.rundata import run_data
from ostrom.engine.folder import Folder
from ostrom.ground.errors import RunError
from ostrom.ground.files import read_plain, require_regular_file
from ostrom.studies.run import open_run

READ = (
    "run.json", "lock", "journal.db", "journal.db-wal", "journal.db-shm", "journal.db-journal", "journal.db.tally",
    "tables.json", "matches.parquet", "decisions.parquet", "session.json", "looks.json", "payments.csv",
    "people.db", "people.db-wal", "view.db", "view.db.lock", "traces.json", "traces.parquet", "imported.json",
    "judge-x/run.json", "judge-x/judged.parquet", "judge-x/corpus.jsonl", ".gitignore",
)  # fmt: skip
"""What some command reads from a run folder."""

READERS = """
import sys
from contextlib import closing
from pathlib import Path
from ostrom.analysis.stopping import read_looks
from ostrom.cli.commands.catalog import run_rows
from ostrom.data.rundata import run_data
from ostrom.engine.folder import Folder
from ostrom.engine.play_options import PlayOptions
from ostrom.features.importing.write import source_files
from ostrom.features.judging.judgements import judged_corpora
from ostrom.features.judging.plan import read_corpus
from ostrom.features.words.traces.table import trace_table
from ostrom.ground.errors import OstromError
from ostrom.people.pilot import ignore_register
from ostrom.people.payment import Payment, add_payments, read_payments
from ostrom.people.register import Register
from ostrom.studies.resolve import load_session
from ostrom.studies.run import open_run
from ostrom.view.check import checked
from ostrom.view.index_writer import update
from ostrom.view.listing import MatchList
from ostrom.view.shelf import RunsFolder
from ostrom.view.states import StatusPoller


def tables(folder):
    with open_run(folder) as run, run_data(run.rows, folder, run.manifest) as data:
        data.records("SELECT count(*) FROM matches")
        trace_table(data)


def listed(folder):
    with open_run(folder, checked=False) as run, closing(MatchList(run)) as matches:
        matches.update()
        matches.matches()


def prompts(folder):
    with open_run(folder) as run:
        return [run.journal.prompt(row["id"]) for row in run.journal.call_rows("")]


def lock(folder):
    taken = Folder(folder)
    taken.lock()
    taken.unlock()


readers = [
    lambda f: list(run_rows(f.parent)), prompts, tables, checked, update, listed, read_looks, read_payments,
    judged_corpora,
    lambda f: add_payments(f, [Payment("a", "1", "EUR", "x")]), lambda f: Register(f, "id", create=True).close(),
    lambda f: read_corpus(f / "judge-x"), lambda f: load_session(f, PlayOptions()), ignore_register,
    lambda f: source_files([], f.parent), lambda f: Folder(f).being_played, lock,
    lambda f: StatusPoller(RunsFolder(f.parent).folder(f.name)).poll(),
    lambda f: next(RunsFolder(f.parent).opened(f.name).__enter__().journal.call_rows(""), None),
]
for folder in sorted(Path(sys.argv[1]).iterdir()):
    for number, reader in enumerate(readers):
        print(folder.name, number, flush=True)
        try:
            reader(folder / "runs" / "talk")
        except OstromError as error:
            assert "\\n" not in str(error), error
            print(error)
print("all were read")
"""


def put(place: Path, kind: str, elsewhere: Path) -> None:
    """Put a special file where a file of a run is read."""
    place.parent.mkdir(exist_ok=True)
    if place.exists():
        place.unlink()
    if kind == "endless":
        place.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(place)
    elif kind == "secret":
        place.symlink_to(elsewhere)
    else:
        with place.open("wb") as file:
            file.truncate(5 << 30)  # a file of holes takes no space, also not in an archive


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = talk(tmp_path_factory.mktemp("played"))
    with open_run(folder) as run, run_data(run.rows, folder, run.manifest):
        pass
    return folder


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", [pytest.param("endless", marks=pytest.mark.slow), "pipe", "secret", "holes"])
def test_every_reader_ends_with_one_line_whatever_lies_in_the_place_of_a_file(
    kind: str, played: Path, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("kept")
    for name in READ:
        folder = tmp_path / "all" / name.replace("/", "-") / "runs" / "talk"
        shutil.copytree(played, folder)
        put(folder / name, kind, secret)
    ended = limited(READERS, tmp_path / "all", seconds=200)
    assert ended.stdout.endswith("all were read\n"), (ended.stdout[-300:], ended.stderr[-3000:])
    assert secret.read_text() == "kept"


def test_the_folder_of_a_run_may_be_reached_through_a_link(played: Path, tmp_path: Path) -> None:
    (tmp_path / "here").symlink_to(played)
    with open_run(tmp_path / "here") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
        assert data.records("SELECT count(*) AS n FROM matches")[0]["n"] == 16
    (tmp_path / "runs").symlink_to(played.parent)
    assert open_run("talk", tmp_path / "runs").name == "talk"


def test_a_judged_corpus_is_not_read_through_a_link_to_a_folder(played: Path, tmp_path: Path) -> None:
    from ostrom.features.judging.judgements import read_judged

    (tmp_path / "judge-x").symlink_to(played)
    with pytest.raises(RunError, match=r"judge-x: is a symbolic link"):
        read_judged(tmp_path / "judge-x")


def test_a_file_that_grows_while_it_is_read_is_not_read_beyond_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1234")
    assert read_plain(path, 4) == b"1234"
    with pytest.raises(RunError, match=r"a: has more than 3 bytes"):
        read_plain(path, 3)
    real = os.fstat
    monkeypatch.setattr(os, "fstat", lambda handle: os.stat_result([*real(handle)[:6], 0, 0, 0, 0]))
    with pytest.raises(RunError, match=r"has more than 3 bytes"):
        read_plain(path, 3)


def test_what_takes_the_place_of_a_file_after_the_first_look_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    monkeypatch.setattr("ostrom.ground.files.require_regular_file", lambda path: path)  # as if both came right after it
    with pytest.raises(RunError, match="no plain file"):
        read_plain(tmp_path / "pipe")
    with pytest.raises(OSError, match="symbolic links"):
        read_plain(tmp_path / "link")


def test_a_folder_in_the_place_of_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(RunError, match="no plain file"):
        Folder(tmp_path).lock()


def test_a_missing_file_is_no_special_file(tmp_path: Path) -> None:
    assert require_regular_file(tmp_path / "none") == tmp_path / "none"
    (tmp_path / "file").touch()
    assert require_regular_file(tmp_path / "file" / "none")
    with pytest.raises(FileNotFoundError):
        read_plain(tmp_path / "none")
    assert not Folder(tmp_path).being_played
