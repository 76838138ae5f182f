"""A journal that was cut, flipped or lost its parts opens whole or says what is wrong: never silently otherwise."""

from __future__ import annotations

import random
import shutil
import signal
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaos.finding import Finding, verdict
from chaos.player import StallingServer, processes, start
from ostrom.engine.journal import Journal
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import OstromError
from ostrom.studies.load import load_study
from ostrom.studies.run import play

PAGE = 4096
FRAME = PAGE + 24
"""A page in the write-ahead log, with its header."""
SHM = Path("/dev/shm")
Files = dict[str, bytes]
"""The files of a journal by their endings: '' (the database), '-wal', '.tally'."""


@dataclass(frozen=True)
class Sample:
    """A journal as files, and what it holds."""

    files: Files
    rows: Counter[Any]


def run(short: bool, seed: int) -> list[Finding]:
    """All kinds of damage on a journal that was closed, and on one whose process was killed."""
    home = Path(tempfile.mkdtemp(prefix="ostrom-damage-", dir=SHM if SHM.is_dir() else None))
    try:
        closed, earlier, killed = samples(home)
        return [
            *check_closed(closed, earlier, home, short, seed),
            *check_killed(killed, home, short, seed),
            *check_tally(closed, killed, home),
        ]
    finally:
        shutil.rmtree(home, ignore_errors=True)


def study(model: str) -> dict[str, Any]:
    """Models and scripts, so that every table of the journal has rows."""
    return {
        "name": "damage",
        "game": "prisoners_dilemma",
        "mechanism": {"name": "repetition", "rounds": 6},
        "agent": {"style": "direct", "memory": "window:2"},
        "types": {"model": {"model": model}, "tft": "tit_for_tat", "chance": "random:0.5"},
        "seating": "ordered",
        "seeds": 2,
    }


def samples(home: Path) -> tuple[Sample, Sample, Sample]:
    """A closed journal, the same one at an earlier time, and one whose process was killed while it wrote."""
    with StallingServer(latency=0.003) as server:
        data = study(server.model)
        play(load_study(data), name="run", runs=home / "calm", options=PlayOptions(limit=6, max_connections=1))
        earlier = taken(home / "calm" / "run" / "journal.db", home)
        play(load_study(data), name="run", runs=home / "calm", options=PlayOptions(max_connections=1))
        closed = taken(home / "calm" / "run" / "journal.db", home)
        server.stall_at = enough = server.count + 60
        process = start(processes(), data, home / "killed")
        while server.count < enough and process.is_alive():
            time.sleep(0.001)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        killed = taken(home / "killed" / "run" / "journal.db", home)
    assert len(killed.files["-wal"]) > 3 * FRAME, "the killed process left no log"
    return closed, earlier, killed


def taken(path: Path, home: Path) -> Sample:
    """The files as they lie there, and the rows of a copy of them."""
    endings = ("", "-wal", ".tally")
    found = {e: p.read_bytes() for e in endings if (p := path.with_name(path.name + e)).exists()}
    rows = opened(found, home)
    assert isinstance(rows, Counter), rows
    return Sample(found, rows)


def opened(files: Files, home: Path) -> Counter[Any] | str:
    """What a journal of these files holds, or the one line with which it is refused."""
    folder = home / "try"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path = folder / "journal.db"
    for ending, content in files.items():
        path.with_name(path.name + ending).write_bytes(content)
    try:
        Journal(path).close()
    except OstromError as error:
        assert len(str(error).splitlines()) == 1, f"several lines: {error}"
        return str(error)
    with sqlite3.connect(path) as connection:
        tables = ("units", "answers", "questions", "calls", "prompts", "plays")
        found = Counter((t, *row) for t in tables for row in connection.execute(f"SELECT * FROM {t}"))
    connection.close()
    return found


def tried(
    check: str, damages: Iterable[tuple[str, Files]], home: Path, holds: Callable[[Counter[Any]], bool]
) -> Finding:
    """Open every damaged journal: it must hold what it should, or be refused."""
    whole, refused, silent = 0, 0, list[str]()
    said: Counter[str] = Counter()
    for name, files in damages:
        try:
            found = opened(files, home)
        except Exception as error:  # neither whole nor refused
            silent.append(f"{name}: {type(error).__name__}: {error}")
            continue
        if isinstance(found, str):
            refused += 1
            said[found.partition("journal.db")[2][:70]] += 1
        elif holds(found):
            whole += 1
        else:
            silent.append(name)
    note = f"{whole:,} opened whole, {refused:,} refused in one line"
    if silent:
        note = f"{len(silent)} unnoticed or crashed, first: {silent[0]}; {note}"
    return verdict("damage", check, whole + refused + len(silent), not silent, note)


def changed(content: bytes, place: int, new: bytes) -> bytes:
    """The content with other bytes at a place."""
    return content[:place] + new + content[place + len(new) :]


def check_closed(closed: Sample, earlier: Sample, home: Path, short: bool, seed: int) -> list[Finding]:
    """Damage to the database of a run that came to its end."""
    db, tally, chance = closed.files[""], closed.files[".tally"], random.Random(1 + 10 * seed)

    def files(content: bytes) -> Files:
        return {"": content, ".tally": tally}

    def whole(rows: Counter[Any]) -> bool:
        return rows == closed.rows

    last = range(len(db) - PAGE, len(db), 10 if short else 1)
    flips = [(chance.randrange(len(db)), chance.randrange(1, 256)) for _ in range(600 if short else 6000)]
    sectors = range(0, len(db), 512 * (10 if short else 1))
    old = earlier.files[""]
    pages = [n for n in range(len(old) // PAGE) if old[n * PAGE : (n + 1) * PAGE] != db[n * PAGE : (n + 1) * PAGE]]
    return [
        tried("cut at every byte of its last page", ((f"at {n}", files(db[:n])) for n in last), home, whole),
        tried(
            "one byte changed",
            ((f"at {n} by {x}", files(changed(db, n, bytes([db[n] ^ x])))) for n, x in flips),
            home, whole,
        ),
        tried("a sector of zeros", ((f"at {n}", files(changed(db, n, bytes(512)))) for n in sectors), home, whole),
        tried(
            "a page as it was earlier",
            ((f"page {n}", files(changed(db, n * PAGE, old[n * PAGE : (n + 1) * PAGE]))) for n in pages),
            home, whole,
        ),
        tried("the database as it was earlier", [("whole", files(old))], home, whole),
    ]  # fmt: skip


def check_killed(killed: Sample, home: Path, short: bool, seed: int) -> list[Finding]:
    """Damage to the write-ahead log that a killed process left behind."""
    db, wal, tally, chance = (
        killed.files[""],
        killed.files["-wal"],
        killed.files[".tally"],
        random.Random(2 + 10 * seed),
    )
    acknowledged = int(tally)

    def files(log: bytes) -> Files:
        return {"": db, "-wal": log, ".tally": tally}

    def enough(rows: Counter[Any]) -> bool:
        # What was written but not acknowledged may be lost with the end of the log; nothing may be new.
        return rows.total() >= acknowledged and not rows - killed.rows

    last = range(len(wal) - FRAME, len(wal), 10 if short else 1)
    flips = [(chance.randrange(len(wal)), chance.randrange(1, 256)) for _ in range(300 if short else 3000)]
    return [
        tried("log cut at every byte of its last page", ((f"at {n}", files(wal[:n])) for n in last), home, enough),
        tried(
            "log that ends in a page that was begun",
            ((f"{n} bytes", files(wal + wal[-FRAME:][:n])) for n in range(1, FRAME, 200 if short else 20)),
            home, enough,
        ),
        tried(
            "one byte of the log changed",
            ((f"at {n} by {x}", files(changed(wal, n, bytes([wal[n] ^ x])))) for n, x in flips),
            home, enough,
        ),
        tried("the log lost", [("no log", {"": db, ".tally": tally})], home, enough),
        tried("the log and the tally lost", [("database alone", {"": db})], home, enough),
    ]  # fmt: skip


def check_tally(closed: Sample, killed: Sample, home: Path) -> list[Finding]:
    """The tally lost, emptied, or full of something else."""
    odd = (None, b"", b"\x00" * 21, b"garbage\n", b"-5\n", b"1e9\n", b"\xff\xfe\xff", b"99999999999999999999\n")

    def damages(sample: Sample) -> list[tuple[str, Files]]:
        rest = {ending: content for ending, content in sample.files.items() if ending != ".tally"}
        return [(repr(content), rest if content is None else {**rest, ".tally": content}) for content in odd]

    return [
        tried("a tally lost or garbled, run closed", damages(closed), home, lambda rows: rows == closed.rows),
        tried("a tally lost or garbled, run killed", damages(killed), home, lambda rows: rows == killed.rows),
    ]
