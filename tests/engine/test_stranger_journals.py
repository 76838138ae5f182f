"""Journals made as weapons: views, bombs, shared pages, values of other types; each is refused in one line."""

import shutil
import sqlite3
import zlib
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from tests.limited import limited
from tests.view.runs import talk

from ostrom.engine.entries import (
    MOST_PACKAGE,
    MOST_TOGETHER,
    CallRecord,
    Packages,
    PromptChains,
    call_rows,
    packed,
    resolve_prompt,
    unpacked,
)
from ostrom.engine.integrity import COLUMNS, EVERY, MOST_CELL, Guard, connect_read_only, open_alone, require_plain, seal
from ostrom.engine.journal import Journal
from ostrom.features.transcript.transcript import transcript
from ostrom.ground.errors import OstromError, RunError
from ostrom.studies.run import open_run
from ostrom.view.calls import prompt_of
from ostrom.view.check import checked
from ostrom.view.index import index_path
from ostrom.view.index_writer import update


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return talk(tmp_path_factory.mktemp("played"))


@pytest.fixture
def folder(played: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(played, tmp_path / "talk"))


def edit(folder: Path, *statements: str, values: tuple[object, ...] = ()) -> None:
    """Change a journal as a stranger would who knows how rows are sealed."""
    with closing(sqlite3.connect(folder / "journal.db")) as db, db:
        db.execute("PRAGMA writable_schema=ON")
        db.execute("DELETE FROM unit_rows")  # then its rows are made by replay
        for statement in statements:
            db.execute(statement, values if "?" in statement else ())
        for table in ("answers", "calls", "prompts", "units", "questions", "plays"):
            if db.execute("SELECT type FROM sqlite_master WHERE name=?", (table,)).fetchone() != ("table",):
                continue
            key = "unit, step, player, part" if table == "answers" else COLUMNS[table].split(", ")[0]
            key = "id" if table == "calls" else key
            rows = db.execute(f"SELECT {COLUMNS[table]}, {key} FROM {table}").fetchall()
            names = [f"{name}=?" for name in key.split(", ")]
            width = len(COLUMNS[table].split(", "))
            for row in rows:
                where = " AND ".join(names)
                db.execute(f"UPDATE {table} SET seal=? WHERE {where}", (seal(row[:width]), *row[width:]))


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT {} FROM n"


def as_view(table: str) -> list[str]:
    columns = COLUMNS[table].split(", ")
    named = ", ".join(f"i AS {name}" for name in [*columns, "seal"])
    return [f"DROP TABLE {table}", f"CREATE VIEW {table} AS {ENDLESS.format(named)}"]


SCHEMAS: dict[str, list[str]] = {
    **{f"{table} as a view": as_view(table) for table in ("questions", "calls", "answers", "units")},
    "meta as a view": ["DROP TABLE meta", f"CREATE VIEW meta AS {ENDLESS.format('i AS key, i AS value')}"],
    "a trigger": ["CREATE TRIGGER t AFTER UPDATE ON meta BEGIN DELETE FROM answers; END"],
    "a virtual table": ["CREATE VIRTUAL TABLE v USING fts5(a)"],
    "another table": ["CREATE TABLE more (a)"],
    "another index": ["CREATE INDEX more ON calls (reply)"],
    "an index on an expression": ["CREATE INDEX more ON calls (hex(reply))"],
    "a generated column": ["ALTER TABLE units ADD COLUMN g GENERATED ALWAYS AS (zeroblob(900000000)) VIRTUAL"],
    "another column": ["ALTER TABLE units ADD COLUMN more"],
    "no index": ["DROP INDEX calls_place"],
    "a missing table": ["DROP TABLE plays"],
    "another default": [
        "UPDATE sqlite_master SET sql=replace(sql, 'reason TEXT', 'reason TEXT DEFAULT 5') WHERE name='units'"
    ],
    "a comment that is none": [
        "UPDATE sqlite_master SET sql=replace(sql, 'reason TEXT,', 'reason TEXT, ''--'' INTEGER,\n') WHERE name='units'"
    ],
}


@pytest.mark.parametrize("statements", SCHEMAS.values(), ids=SCHEMAS.keys())
def test_a_journal_has_the_schema_of_a_released_format_or_is_refused(statements: list[str], folder: Path) -> None:
    edit(folder, *statements)
    path = folder / "journal.db"
    for read in (Journal, connect_read_only, lambda path: Journal(path, checked=False)):
        with pytest.raises(RunError, match=r"not one of ours|is damaged"):
            read(path)
    with pytest.raises(RunError):
        update(folder)
    assert "line" in checked(folder)


def test_other_words_in_a_comment_of_the_schema_are_not_another_schema(folder: Path) -> None:
    edit(folder, "UPDATE sqlite_master SET sql=replace(sql, '-- JSON', '-- plain JSON') WHERE name='units'")
    open_run(folder).close()


def test_a_schema_that_is_refused_runs_nothing(folder: Path) -> None:
    """The attack takes its time and memory before any of our own checks, so it is run under bounds."""
    edit(folder, *as_view("questions"))
    ended = limited("import sys; from ostrom.studies.run import open_run\nopen_run(sys.argv[1])", folder)
    assert "RunError" in ended.stderr and "not one of ours" in ended.stderr, ended.stderr[-500:]
    with pytest.raises(RunError, match="not one of ours"):
        open_run(folder)


def test_a_journal_is_read_by_a_connection_that_cannot_write(folder: Path) -> None:
    with open_run(folder) as run, pytest.raises(sqlite3.OperationalError, match="readonly"):
        run.journal._read.execute("DELETE FROM answers")
    with closing(connect_read_only(folder / "journal.db")) as db:
        assert db.execute("PRAGMA query_only").fetchone() == (1,)
        assert db.execute("PRAGMA trusted_schema").fetchone() == (0,)


def test_a_rollback_journal_is_refused_and_what_it_names_stays(folder: Path) -> None:
    (folder / "journal.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 600)
    for _ in range(2):
        for read in (Journal, connect_read_only):
            with pytest.raises(RunError, match=r"journal.db-journal: is a rollback journal"):
                read(folder / "journal.db")
        (folder / "journal.db-journal").unlink()
        (folder / "journal.db-journal").symlink_to(folder / "made later")


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", ".tally"])
def test_neither_a_database_nor_what_lies_beside_it_is_a_link(suffix: str, tmp_path: Path) -> None:
    require_plain(tmp_path / "journal.db")
    (tmp_path / f"journal.db{suffix}").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="is a symbolic link"):
        require_plain(tmp_path / "journal.db")


@pytest.mark.parametrize("value", ["zeroblob(900000)", "printf('%.*c', 900000, 'x')"])
def test_bytes_and_texts_of_a_query_count_alike(value: str, tmp_path: Path) -> None:
    (tmp_path / "small.db").touch()
    with closing(sqlite3.connect(tmp_path / "small.db")) as db:
        Guard(db, tmp_path / "small.db")
        with pytest.raises(RunError, match="more bytes than the file"):
            db.execute(f"SELECT {value} UNION ALL SELECT {value}").fetchall()


# -- bombs --------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_package_is_decompressed_up_to_its_bound_only(folder: Path) -> None:
    bomb = zlib.compress(b"[" + b" " * (MOST_PACKAGE + 1) + b"]", 9)
    assert len(bomb) < MOST_PACKAGE / 900
    edit(folder, "UPDATE prompts SET texts=?", values=(bomb,))
    with open_run(folder) as run, pytest.raises(RunError, match=r"package is cut off or has more than 67,108,864"):
        list(transcript(run, 0))
    with closing(connect_read_only(folder / "journal.db")) as db, pytest.raises(RunError, match="67,108,864"):
        prompt_of(db, 1)
    assert update(folder)  # its words are left out
    full = b"[" + b" " * (MOST_PACKAGE - 2) + b"]"
    assert unpacked(zlib.compress(full, 9)) == []
    with pytest.raises(ValueError, match="cut off"):
        unpacked(packed([b"1"])[:-3])


@pytest.mark.slow
def test_a_bomb_of_gigabytes_takes_no_memory(tmp_path: Path) -> None:
    packer = zlib.compressobj(9)
    bomb = b"".join(packer.compress(bytes(1 << 24)) for _ in range(96)) + packer.flush()
    (tmp_path / "bomb").write_bytes(bomb)
    code = (
        "import sys; from pathlib import Path; from ostrom.engine.entries import unpacked\n"
        "unpacked(Path(sys.argv[1]).read_bytes())"
    )
    ended = limited(code, tmp_path / "bomb", memory=700 << 20)
    assert "ValueError: its package" in ended.stderr, ended.stderr[-500:]


def test_packages_that_are_kept_are_bounded_together() -> None:
    large = packed([orjson.dumps([["user", "x" * (MOST_PACKAGE // 3)]])])
    read: list[int] = []

    def packed_at(number: int) -> bytes:
        read.append(number)
        return large

    packages = Packages(packed_at)
    for number in (1, 1, 2, 1, 3, 1):
        packages(number)
    assert read == [1, 2, 3, 1]  # a third does not fit beside two
    assert len(packages._read_packages) == 2


@pytest.mark.parametrize(
    "prompt",
    [
        b'[["user", 5]]', b'[["user"]]', b"[5]", b'{"from": [1, 0], "keep": 1, "then": [["user", "a"]]}',
        b'{"from": [1, 0], "keep": "x", "then": []}', b'{"from": [9, 0], "keep": 0, "then": []}', b'{"a": 1}', b"5",
        b'"text"', b"[" * 5000, b"9" * 100_000, b'[["user", ' + b"9" * 100_000 + b"]]", b"NaN", b"",
    ],
)  # fmt: skip
def test_a_prompt_that_is_none_is_one_line(prompt: bytes, folder: Path) -> None:
    edit(folder, "UPDATE prompts SET texts=?", values=(zlib.compress(b"[" + prompt + b"]"),))
    with open_run(folder) as run, pytest.raises(RunError, match="the journal is damaged"):
        list(transcript(run, 0))
    update(folder)


@pytest.mark.slow
def test_a_chain_of_prompts_is_bounded_as_a_whole() -> None:
    text = "x" * (MOST_PACKAGE // 10)
    chain = {n: [{"from": [n - 1, 0], "keep": n, "then": [["user", text]]}] for n in range(1, 40)}
    with pytest.raises(ValueError, match="more than"):
        resolve_prompt(39, 0, {**chain, 0: [[["user", "a"]]]}.__getitem__)  # type: ignore[arg-type]
    some = MOST_PACKAGE // 80
    many = {n: [{"from": [n - 1, 0], "keep": n * some, "then": [["", ""]] * some}] for n in range(1, 40)}
    with pytest.raises(ValueError, match="more than"):
        resolve_prompt(39, 0, {**many, 0: [[["user", "a"]]]}.__getitem__)  # type: ignore[arg-type]


def test_long_prompts_are_written_in_packages_that_can_be_read() -> None:
    prompt = orjson.dumps([["user", "x" * (MOST_TOGETHER // 3)]])
    record = CallRecord(0, 0, 0, "", "m", b"k", prompt, {}, 1, "live", 0.0, 0.0)
    rows = list(call_rows([record] * 7, 1, PromptChains()))
    assert [[row[:1] for row in some] for _, some in rows[::2]] == [[(1,)], [(2,)], [(3,)], [(4,)]]
    assert [[row[8:10] for row in some] for _, some in rows[1::2]] == [
        [(1, 0), (1, 1)], [(2, 0), (2, 1)], [(3, 0), (3, 1)], [(4, 0)],
    ]  # fmt: skip


@pytest.mark.slow
def test_a_value_larger_than_any_of_ours_is_refused(folder: Path) -> None:
    edit(folder, f"UPDATE prompts SET texts=zeroblob({MOST_CELL + 1}) WHERE id=1")
    for read in (Journal, lambda path: prompt_of(connect_read_only(path), 1)):
        with pytest.raises((RunError, sqlite3.DataError), match=r"larger than any of ours|too big"):
            read(folder / "journal.db")


CELLS: dict[str, tuple[str, object]] = {
    "a text as a number": ("UPDATE units SET steps=?", "many"),
    "bytes as a text": ("UPDATE answers SET reading=?", b"\xff"),
    "a text as bytes": ("UPDATE prompts SET texts=?", "text"),
    "a number with a fraction": ("UPDATE answers SET complaints=?", 1.5),
    "a reply of bytes": ("UPDATE calls SET reply=?", b"x"),
    "a time in words": ("UPDATE calls SET at=?", "today"),
}


@pytest.mark.parametrize(("statement", "value"), CELLS.values(), ids=CELLS.keys())
def test_a_value_of_another_type_is_damage_whatever_its_seal_says(statement: str, value: object, folder: Path) -> None:
    edit(folder, statement, values=(value,))
    with pytest.raises(RunError, match=r"entries changed, first"):
        open_run(folder)
    assert "entries changed" in str(checked(folder)["line"])


@pytest.mark.parametrize("text", ["", "[" * 5000, "9" * 100_000, "{", "nul", "NaN"])
def test_json_that_is_none_is_one_line(text: str, folder: Path) -> None:
    for statement in (
        "UPDATE answers SET value=?",
        "UPDATE answers SET facts=?",
        "UPDATE units SET scores=?, facts='[]'",
    ):
        edit(folder, statement, values=(text,))
        with open_run(folder) as run, pytest.raises(OstromError) as error:
            list(run.rows.decisions()), list(run.rows.matches())
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("UPDATE units SET facts=?", "[1]"),
        ("UPDATE units SET scores=?", '{"a": 1}'),
        ("UPDATE answers SET probabilities=?", "5"),
        ("UPDATE answers SET facts=?", '"x"'),
    ],
)
def test_json_of_another_shape_is_one_line(statement: str, text: str, folder: Path) -> None:
    edit(folder, statement, values=(text,))
    with open_run(folder) as run, pytest.raises(RunError, match=r"the journal is damaged: .* is no (list|dict)"):
        for unit in range(8):
            run.journal.outcome_of(unit), run.journal.answers(unit)


# -- pages that belong to many rows -------------------------------------------------------------------

PAGE = 4096


def interior(child: int) -> bytes:
    """A page of a table whose every child is one and the same page."""
    cells = (PAGE - 12) // 7
    start = PAGE - 5 * cells
    head = b"\x05\0\0" + cells.to_bytes(2, "big") + start.to_bytes(2, "big") + b"\0" + child.to_bytes(4, "big")
    places = b"".join((start + 5 * n).to_bytes(2, "big") for n in range(cells))
    return (head + places).ljust(start, b"\0") + (child.to_bytes(4, "big") + b"\x01") * cells


def multiply(folder: Path, table: str, levels: int = 6) -> None:
    """Let a table have 584 to the power of ``levels`` rows, all of them those of one page."""
    path = folder / "journal.db"
    with closing(sqlite3.connect(path)) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name=?", (table,)).fetchone()
        assert db.execute("PRAGMA page_size").fetchone() == (PAGE,)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    raw = bytearray(path.read_bytes())
    pages = len(raw) // PAGE
    leaf = bytes(raw[(root - 1) * PAGE : root * PAGE])
    numbers = [root, *range(pages + 1, pages + levels + 1)]
    raw += bytes(PAGE * levels)
    for here, below in pairwise(numbers):
        raw[(here - 1) * PAGE : here * PAGE] = interior(below)
    raw[(numbers[-1] - 1) * PAGE :] = leaf
    raw[28:32] = (pages + levels).to_bytes(4, "big")
    path.write_bytes(raw)


@pytest.mark.sample(2)
@pytest.mark.parametrize("table", ["questions", "units", "calls", "prompts"])
def test_a_page_that_belongs_to_many_rows_ends_a_query(table: str, folder: Path) -> None:
    multiply(folder, table)
    path = folder / "journal.db"
    with pytest.raises(RunError, match="damaged"):
        Journal(path)
    with pytest.raises(RunError, match=r"damaged"):
        update(folder)
    columns = COLUMNS[table]
    with closing(connect_read_only(path)) as db, pytest.raises((sqlite3.OperationalError, RunError)) as error:
        for _ in db.execute(f"SELECT {columns}, seal FROM {table}"):
            pass
    assert "interrupted" in str(error.value) or "more bytes than the file" in str(error.value)


def test_a_journal_is_not_read_without_the_entries_in_its_log(folder: Path) -> None:
    path, error = folder / "journal.db", sqlite3.OperationalError("unable to open database file")
    log = path.with_name("journal.db-wal")
    for held in (None, b""):  # as where SQLite can create no log
        if held is not None:
            log.write_bytes(held)
        with closing(open_alone(path, error)[0]) as db:
            assert db.execute("SELECT count(*) FROM answers").fetchone()[0] > 0
    log.write_bytes(b"an entry")
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        open_alone(path, error)


def test_the_bounds_of_an_unchecked_journal_are_for_each_query(folder: Path) -> None:
    with closing(Journal(folder / "journal.db", checked=False)) as journal:
        guard = journal._guard
        assert isinstance(guard, Guard)
        guard._most = (3, 50_000)
        guard.reset_limits()
        for _ in range(30):  # together more than one may take
            assert journal.states() and list(journal.call_rows(""))
        with pytest.raises(RunError, match="more bytes than the file"):
            for _ in journal.call_rows(""):  # what is asked within a query counts as its own
                for _ in range(100):
                    list(journal.call_rows(""))


@pytest.mark.slow
def test_steps_are_bounded_until_the_structure_is_checked(folder: Path) -> None:
    path = folder / "journal.db"
    count = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT {}) SELECT count(*) FROM n"
    with closing(Journal(path, checked=False)) as journal:
        with pytest.raises(RunError, match="more steps than its size allows"):
            list(journal._rows(count.format(30 * EVERY * 100)))
        journal.check_structure()
        assert journal._guard is None and list(journal._rows(count.format(10)))


# -- the index of the viewer --------------------------------------------------------------------------


def test_an_index_in_the_folder_of_a_run_is_never_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "view.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    opened: list[str] = []
    real = sqlite3.connect

    def connect(name: object, *arguments: object, **options: object) -> object:
        opened.append(str(name))
        return real(name, *arguments, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(sqlite3, "connect", connect)
    before = (folder / "view.db").read_bytes()
    assert update(folder) and (folder / "view.db").read_bytes() == before
    assert opened and not [name for name in opened if "view.db" in name]
    assert folder not in index_path(folder).parents
    assert index_path(folder).parent.stat().st_mode & 0o077 == 0


def test_the_index_of_a_run_that_is_gone_goes_too(folder: Path) -> None:
    from ostrom.view.index import Indexers

    kept = Path(shutil.copytree(folder, folder.with_name("kept")))
    update(folder), update(kept)
    shutil.rmtree(folder)
    Indexers().close()
    assert index_path(kept).exists() and not index_path(folder).exists()
