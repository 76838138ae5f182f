"""Derived tables and a report of the full published memory grid: what the rows that matches leave are worth."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from benchmarks.grid import plan_of, write
from benchmarks.growth import exponent
from benchmarks.processes import child
from benchmarks.result import Result

EXPORT = """
import sys, time
from ostrom.data.tables import export_rows
from ostrom.studies.run import open_run
from pathlib import Path
begun = time.perf_counter()
with open_run(sys.argv[1]) as run:
    written = export_rows(run.rows, "parquet", Path(sys.argv[1]))
found = {"seconds": time.perf_counter() - begun, "rows": written["decisions"][1]}
"""
FROM_MEMORY = """
import sys, time
from pathlib import Path
import polars
from ostrom.data.tables import GROUP_ROWS
tables = {file: polars.read_parquet(file) for file in Path(sys.argv[1]).glob("*.parquet")}
begun = time.perf_counter()
for file, table in tables.items():
    out = file.with_suffix(".again")
    table.write_parquet(out, compression="zstd", row_group_size=GROUP_ROWS, statistics=True)
    out.unlink()
found = {"seconds": time.perf_counter() - begun}
"""
REPLAY = """
import sys, time
from ostrom.studies.run import open_run
with open_run(sys.argv[1]) as run:
    begun = time.perf_counter()
    run.journal.check_seals()
    sealed = time.perf_counter() - begun
    some = range(0, len(run.plan), 10)
    begun = time.perf_counter()
    for match in some:
        for table in run.rows.tables(match, stored=False):
            pass
    replayed = (time.perf_counter() - begun) * len(run.plan) / len(some)
found = {"seconds": sealed + replayed}
"""
COMMAND = """
import sys, time
from typer.testing import CliRunner
from ostrom.cli.app import app
begun = time.perf_counter()
done = CliRunner().invoke(app, sys.argv[1:])
found = {"seconds": time.perf_counter() - begun, "code": done.exit_code}
"""
SHARDS = """
import sys, time
from pathlib import Path
from ostrom.analysis.estimate import estimate
from ostrom.engine.play_options import PlayOptions
from ostrom.features.joining import join_shards
from ostrom.ground.validation import validate
from ostrom.studies.run import open_run, play
from ostrom.data.rundata import run_data
from ostrom.studies.schema import StudyFile
runs, seeds = Path(sys.argv[1]), int(sys.argv[2])
study = validate(StudyFile, {
    "name": "many", "game": "prisoners_dilemma", "mechanism": {"name": "repetition", "rounds": 200},
    "types": {"a": "tit_for_tat", "b": "random:0.6", "c": "grudger", "d": "win_stay_lose_shift"},
    "seating": "unordered", "seeds": seeds,
}, "many")
begun = time.process_time()
for number in range(1, 9):
    play(study, runs=runs, options=PlayOptions(shard=f"{number}/8"))
joined = join_shards("many", [runs / f"many.{number}-of-8" for number in range(1, 9)], runs)
with open_run(runs / "many") as run, run_data(run.rows, run.folder.path, run.manifest) as data:
    found: dict[str, float] = {"n": sum(one.n for one in estimate(data, "cooperation", ["agent"]))}
found |= {"seconds": time.process_time() - begun, "complete": all(state.complete for state in joined)}
"""
SEEDS = [212, 750, 2_500]
"""0.85, 3 and 10 million decisions: 4,000 for each seed."""


def measure() -> list[Result]:
    """Tables, the first estimate and the report from the rows in the journal, each against what it would be without."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "grid"
        decisions = write(run, plan_of("http://127.0.0.1:9/v1#m"), missing_rounds=0)
        size, entries = _sizes(run / "journal.db")
        before = child(REPLAY, str(run), timeout=600)["seconds"]
        tables = child(EXPORT, str(run), timeout=600)
        memory = child(FROM_MEMORY, str(run), timeout=600)["seconds"]
        _forget(run)
        estimate = child(COMMAND, "estimate", str(run), "cooperation", "--by", "history_length", timeout=600)
        _forget(run)
        report = child(COMMAND, "report", str(run), timeout=600)
        check = child(COMMAND, "check", str(run), timeout=600)
    assert tables["rows"] == decisions and not (estimate["code"] or report["code"] or check["code"])
    group = f"derived tables of {decisions:,} decisions"
    replayed = "every seal and a replay of every match (by every tenth)"
    return [
        Result(group, replayed, before, "s", note="what every reader took before rows were kept"),
        Result(
            group, "parquet", tables["seconds"], "s", "polars writing the same frames from memory",
            tables["seconds"] / memory, "<= 5", tables["seconds"] / memory <= 5,
        ),
        Result(group, "peak memory", tables["peak_mib"], "MiB", aim="< 2048", met=tables["peak_mib"] < 2048),
        _within(group, "first estimate", estimate["seconds"], before, 2),
        _within(group, "report with all its charts", report["seconds"], before, 15),
        Result(group, "peak memory of the report", report["peak_mib"], "MiB"),
        Result(group, "`ostrom check` on all cores", check["seconds"], "s"),
        Result(
            group, "journal", size / 1e6, "MB", "its entries without rows", size / entries, "<= 1.15",
            size / entries <= 1.15,
        ),
        _growth(),
    ]  # fmt: skip


def _within(group: str, name: str, seconds: float, replay: float, most: float) -> Result:
    return Result(group, name, seconds, "s", "seals and replay", seconds / replay, f"<= {most:g} s", seconds <= most)


def _sizes(journal: Path) -> tuple[int, int]:
    """Bytes of a journal, and of the same without rows."""
    copy = journal.with_name("entries.db")
    with closing(sqlite3.connect(journal)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        connection.execute("VACUUM INTO ?", (str(copy),))
    with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
        size = copy.stat().st_size
        connection.execute("DELETE FROM unit_rows")
        connection.execute("VACUUM")
    entries = copy.stat().st_size
    copy.unlink()
    return size, entries


def _forget(run: Path) -> None:
    """Remove the tables, so that the next reader makes them."""
    for file in (*run.glob("*.parquet"), run / "tables.json"):
        file.unlink(missing_ok=True)


def _growth() -> Result:
    """Scripted studies played as eight shards, joined and estimated."""

    def seconds(seeds: int) -> float:
        with tempfile.TemporaryDirectory() as folder:
            done = child(SHARDS, folder, str(seeds), timeout=600)
        assert done["complete"] and done["n"]
        return float(done["seconds"])

    slope, shown = exponent(SEEDS, seconds, repeats=1)
    name = "eight shards played, joined and estimated, over 0.85, 3 and 10 million decisions"
    return Result(
        "growth of a joined run", name, slope, "exponent", aim="<= 1.05", met=slope <= 1.05,
        note=f"CPU seconds by seeds of 4,000 decisions: {shown}",
    )  # fmt: skip
