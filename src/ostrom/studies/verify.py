"""A run checked from end to end: every seal, every match replayed and held against its rows, prompts to answers.

A large run is replayed by several processes, each of which opens the run by itself (``python -m`` this module).
"""

import asyncio
import os
import sqlite3
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import orjson

from ostrom.data.tables import batches
from ostrom.engine.chain import Chain
from ostrom.engine.entries import dump, keep_rows
from ostrom.engine.folder import Folder, refuse_joined
from ostrom.engine.integrity import DAMAGE, explain, guard, require_format, require_plain
from ostrom.engine.journal import MOST_AT_ONCE
from ostrom.engine.rows import Rows, UnitTable
from ostrom.engine.unit_rows import keeps_rows
from ostrom.ground.errors import OstromError, RunError
from ostrom.studies.run import Run, open_run, refuse_missing_packages

Tell = Callable[[int, int], None]
"""Is told how many matches were replayed, and how many there are."""
SOME = 200
"""Units whose rows are written in one transaction."""


class ReplayedUnit(NamedTuple):
    """A unit that was replayed."""

    unit: int
    rows: bytes | None
    """Its rows, where they were made anew."""
    refused: str | None
    """Its calls that were declined."""
    followed: bool


@dataclass(frozen=True, slots=True)
class Checked:
    """What was checked of a run in which nothing is wrong."""

    run: str
    entries: int
    """Entries of the journal whose seals were checked."""
    replayed: int
    """Matches that were replayed."""
    compared: int
    """Matches whose rows were held against their replay."""
    followed: int
    """Matches that were followed from prompts and replies to answers."""
    unfollowed: str | None
    """Why matches with models were not followed, if none could be."""
    made: int
    """Matches whose rows were made anew."""
    processes: int


def check_run(path: Path, *, rows: bool = False, tell: Tell | None = None, processes: int | None = None) -> Checked:
    """Check a run; what is wrong with it is raised. With ``rows`` its rows are made anew, whatever they were.

    Of a joined run every shard is checked.
    """
    folder = Folder(path)
    manifest = folder.manifest()
    refuse_missing_packages(path, manifest)
    if manifest.get("joined") is not None and not rows:
        with open_run(path):
            pass
        return _sum(
            path.name, [check_run(shard.path, tell=tell, processes=processes) for shard in folder.shards(manifest)]
        )
    with ExitStack() as stack:
        if rows:
            refuse_joined(path, manifest, "keeps no rows of its own")
            folder.lock()
            stack.callback(folder.unlock)
            _empty(folder.journal)
        run = stack.enter_context(open_run(path))
        entries = run.journal.check_seals()
        run.journal.check_packages()
        chain = stack.enter_context(closing(Chain(run.plan, run.rows, run.manifest)))
        chain.check_models()
        units = [unit.index for unit, _, _ in run.rows.played()]
        with_rows = sum(end.rows is not None for end in run.journal.unit_records())
        many = processes or ((os.cpu_count() or 1) if entries > MOST_AT_ONCE else 1)
        count = min(many, len(units) or 1)
        # A notebook has an event loop of its own, beside which no other can run.
        alone = count == 1 and asyncio._get_running_loop() is None
        replayed = _alone(run, units, rows) if alone else _together(path, units, rows, count)
        rebuilt = followed = 0
        for some in batches(_with_progress(replayed, len(units), tell), SOME):
            followed += sum(one.followed for one in some)
            own = [one for one in some if one.rows is not None]
            rebuilt += len(own)
            _keep(folder.journal, [one[:3] for one in own])
    return Checked(path.name, entries, len(units), with_rows, followed, chain.unfollowed, rebuilt, count)


def _sum(name: str, shards: Sequence[Checked]) -> Checked:
    """What was checked of all shards."""
    numbers = ("entries", "replayed", "compared", "followed", "made")
    totals = {number: sum(getattr(shard, number) for shard in shards) for number in numbers}
    why = next((shard.unfollowed for shard in shards if shard.unfollowed), None)
    return Checked(name, **totals, unfollowed=why, processes=max(shard.processes for shard in shards))


def _with_progress(replayed: Iterable[ReplayedUnit], of: int, tell: Tell | None) -> Iterator[ReplayedUnit]:
    """Units that were replayed; how far the replay is, is told on the way."""
    for done, one in enumerate(replayed, 1):
        if tell is not None:
            tell(done, of)
        yield one


def _alone(run: Run, units: Sequence[int], make: bool) -> Iterator[ReplayedUnit]:
    """Replay and follow units in this process: each with its rows, where they are wanted."""
    rows = run.rows
    with closing(Chain(run.plan, rows, run.manifest)) as chain:
        for unit in units:
            rebuilt: tuple[bytes | None, str | None] = (None, None)
            if make:
                (rebuilt,) = (_stored_rows(rows, table) for table in rows.tables(unit, stored=False))
            else:
                rows.verify(unit)
            yield ReplayedUnit(unit, *rebuilt, chain.follow(run.plan.unit(unit)))


def _stored_rows(rows: Rows, table: UnitTable) -> tuple[bytes | None, str | None]:
    """The rows of a replayed unit and the calls that were declined, as the journal keeps them."""
    unit, keeps = table.unit, keeps_rows(table.unit, len(table.rows.steps))
    if table.state != "done" or not keeps or rows.journal.play(unit.index) is not None:
        return None, None
    refused = {str(player): count for player, count in table.refused.items()}
    return table.rows.to_bytes(), dump(refused) if refused else None


def _together(path: Path, units: Sequence[int], make: bool, count: int) -> Iterator[ReplayedUnit]:
    """Replay and follow units in several processes; the first error stops them."""
    lines: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
    command = [sys.executable, "-m", "ostrom.studies.verify", str(path.absolute()), "rows" if make else ""]
    with ExitStack() as stack:
        workers = [
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONSAFEPATH": "1"}
            )
            for _ in range(count)
        ]
        for worker in workers:
            stack.enter_context(worker)
        pool = stack.enter_context(ThreadPoolExecutor(count))
        for worker in workers:
            stack.callback(worker.kill)  # before the threads that read from it are waited for

        def read(worker: subprocess.Popen[bytes], own: Sequence[int]) -> None:
            assert worker.stdin is not None and worker.stdout is not None
            try:
                worker.stdin.write(orjson.dumps(own))
                worker.stdin.close()
                for line in worker.stdout:
                    lines.put(orjson.loads(line))
            except (OSError, orjson.JSONDecodeError) as error:
                lines.put({"problem": f"{path}: a process that checks it ended ({error})"})
            lines.put(None)

        for number, worker in enumerate(workers):
            pool.submit(read, worker, units[number::count])
        done, running = 0, count
        while running:
            line = lines.get()
            if line is None:
                running -= 1
                continue
            if "problem" in line:
                raise RunError(line["problem"])
            done += 1
            rows = None if line["made"] is None else b64decode(line["made"])
            yield ReplayedUnit(line["unit"], rows, line["refused"], line["followed"])
        if done != len(units):
            raise RunError(f"{path}: a process that checks it ended before its time")


def _empty(path: Path) -> None:
    """Empty the table of rows of a journal; nothing else of it changes."""
    require_plain(path)
    if not path.exists():
        raise RunError(f"{path}: there is no journal")
    try:
        with closing(sqlite3.connect(path, timeout=10)) as connection:
            guard(connection, path, reading=False)
            require_format(connection, path)
            connection.executescript("BEGIN IMMEDIATE;\nDELETE FROM unit_rows;\nCOMMIT;")
    except DAMAGE as error:
        raise RunError(explain(path, error)) from None


def _keep(path: Path, rows: Sequence[tuple[int, bytes | None, str | None]]) -> None:
    try:
        with closing(sqlite3.connect(path, timeout=10)) as connection, connection:
            keep_rows(connection, rows)
    except sqlite3.Error as error:
        raise RunError(explain(path, error)) from None


def _work(path: Path, make: bool) -> None:
    """What each process does: replay the units that it is told on stdin, and say what came of each."""
    out = sys.stdout.buffer
    try:
        units = orjson.loads(sys.stdin.buffer.read())
        with open_run(path, checked=False) as run:
            run.journal.check_structure()
            for unit, rebuilt, refused, followed in _alone(run, units, make):
                encoded = None if rebuilt is None else b64encode(rebuilt).decode()
                out.write(
                    orjson.dumps({"unit": unit, "made": encoded, "refused": refused, "followed": followed}) + b"\n"
                )
                out.flush()
    except OstromError as error:
        out.write(orjson.dumps({"problem": str(error)}) + b"\n")


if __name__ == "__main__":
    _work(Path(sys.argv[1]), sys.argv[2] == "rows")
