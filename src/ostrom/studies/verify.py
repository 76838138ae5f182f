"""Verification of a run: all checksums, replays of all matches against their rows, and prompts to answers.

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
"""Called with the number of replayed matches, and of all."""
SOME = 200
"""The number of units whose rows are written in one transaction."""


class ReplayedUnit(NamedTuple):
    """A unit that was replayed."""

    unit: int
    rows: bytes | None
    """The unit's rows, if they were rebuilt."""
    refused: str | None
    """The unit's declined calls."""
    followed: bool


@dataclass(frozen=True, slots=True)
class Checked:
    """The counts of a successful check."""

    run: str
    entries: int
    """The number of entries with verified checksums."""
    replayed: int
    """The number of replayed matches."""
    compared: int
    """The number of matches whose rows were compared with their replay."""
    followed: int
    """The number of matches replayed from prompts and replies to answers."""
    unfollowed: str | None
    """The reason why matches with models were not replayed from prompts, if so."""
    made: int
    """The number of matches with rebuilt rows."""
    processes: int


def check_run(path: Path, *, rows: bool = False, tell: Tell | None = None, processes: int | None = None) -> Checked:
    """Check a run and raise the first problem; with ``rows`` its rows are rebuilt.

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
        count = min(processes or ((os.cpu_count() or 1) if entries > MOST_AT_ONCE else 1), len(units) or 1)
        # A notebook has a running event loop, so a thread runs the check.
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
    """Return the sums over all shards."""
    numbers = ("entries", "replayed", "compared", "followed", "made")
    return Checked(
        name,
        **{number: sum(getattr(shard, number) for shard in shards) for number in numbers},
        unfollowed=next((shard.unfollowed for shard in shards if shard.unfollowed), None),
        processes=max(shard.processes for shard in shards),
    )


def _with_progress(replayed: Iterable[ReplayedUnit], of: int, tell: Tell | None) -> Iterator[ReplayedUnit]:
    """Yield replayed units, and report progress."""
    for done, one in enumerate(replayed, 1):
        if tell is not None:
            tell(done, of)
        yield one


def _alone(run: Run, units: Sequence[int], make: bool) -> Iterator[ReplayedUnit]:
    """Replay units in this process, with rows if requested.

    Matches that were played as arrays are replayed as arrays, except the first of every kind (those that differ in
    their seed alone): it is replayed decision by decision, so what computes arrays is held against the rules.
    """
    rows, kinds = run.rows, set[str | None]()
    with closing(Chain(run.plan, rows, run.manifest)) as chain:
        for unit in units:
            rebuilt: tuple[bytes | None, str | None] = (None, None)
            kind = run.plan.unit(unit).key if not make and rows.follows(unit) else None
            known = kind is not None and kind in kinds
            if make:
                (rebuilt,) = (_stored_rows(rows, table) for table in rows.tables(unit, stored=False))
            elif not known:
                rows.verify(unit)
                kinds.add(kind)
            yield ReplayedUnit(unit, *rebuilt, known or chain.follow(run.plan.unit(unit)))


def _stored_rows(rows: Rows, table: UnitTable) -> tuple[bytes | None, str | None]:
    """Return a replayed unit's encoded rows and declined calls, as the journal stores them."""
    unit, keeps = table.unit, keeps_rows(table.unit, len(table.rows.steps))
    if table.state != "done" or not keeps or rows.journal.play(unit.index) is not None:
        return None, None
    refused = {str(player): count for player, count in table.refused.items()}
    return table.rows.to_bytes(), dump(refused) if refused else None


def _together(path: Path, units: Sequence[int], make: bool, count: int) -> Iterator[ReplayedUnit]:
    """Replay units in several processes; the first error stops them."""
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
            stack.callback(worker.kill)  # before waiting for the threads that read from it

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
        done = ended = 0
        while ended < count:
            if (line := lines.get()) is None:
                ended += 1
                continue
            if "problem" in line:
                raise RunError(line["problem"])
            done += 1
            yield ReplayedUnit(
                line["unit"],
                None if line["made"] is None else b64decode(line["made"]),
                line["refused"],
                line["followed"],
            )
        if done != len(units):
            raise RunError(f"{path}: a process that checks it ended before its time")


def _empty(path: Path) -> None:
    """Empty the table of rows of a journal."""
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
    """Worker process: replay the units named on stdin, and write each result."""
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
