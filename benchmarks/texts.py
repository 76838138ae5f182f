"""Export of a journal full of long replies: memory must not follow its size."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from pathlib import Path

from benchmarks.grid import plan_of, write
from benchmarks.processes import child
from benchmarks.result import Result
from benchmarks.tables import EXPORT, FROM_MEMORY
from ostrom.engine.entries import CallRecord, PromptChains, call_rows
from ostrom.models.base import Reply, Usage

REPLY_BYTES, CALLS = 10_000, 110_000


def fill(journal: Path, calls: int) -> None:
    """Add calls with long, differing replies to a journal."""
    rng = random.Random(0)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=6)) for _ in range(20_000)]
    connection = sqlite3.connect(journal)
    entries = connection.execute("SELECT value FROM meta WHERE key='entries'").fetchone()[0]
    for package, start in enumerate(range(0, calls, 256), 1):
        records = [
            CallRecord(
                n // 1000, n % 1000 // 2, n % 2, "try0", "m", b"%016d" % n, b'[["user","?"]]', {}, 1, "live",
                0.0, 1.0, Reply("[A0]", " ".join(rng.choices(words, k=REPLY_BYTES // 7)), "raw", usage=Usage(9, 9)),
            )
            for n in range(start, min(start + 256, calls))
        ]  # fmt: skip
        for statement, rows in call_rows(records, package, PromptChains()):
            connection.executemany(statement, rows)
            entries += len(rows)
    connection.execute("UPDATE meta SET value=? WHERE key='entries'", (entries,))
    connection.commit()
    connection.close()


def measure(calls: int = CALLS) -> list[Result]:
    """Parquet from a journal of about 1.1 GB."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "texts"
        write(run, plan_of("http://127.0.0.1:9/v1#m"), missing_rounds=495)
        fill(run / "journal.db", calls)
        size = (run / "journal.db").stat().st_size
        found = child(EXPORT, str(run), timeout=900)
        ratio = found["seconds"] / child(FROM_MEMORY, str(run), timeout=900)["seconds"]
    group = f"export of a journal of {size / 1e9:.2g} GB ({calls:,} calls with long replies)"
    peak = found["peak_mib"]
    return [
        Result(group, "parquet", found["seconds"], "s", "polars writing the same frames from memory", ratio),
        Result(group, "peak memory", peak, "MiB", aim="< 1024", met=peak < 1024),
    ]
