"""Derived tables and a report of the full published memory grid."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.grid import plan_of, write
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
REPORT = """
import sys, time
from typer.testing import CliRunner
from ostrom.cli.app import app
begun = time.perf_counter()
done = CliRunner().invoke(app, ["report", sys.argv[1]])
found = {"seconds": time.perf_counter() - begun, "code": done.exit_code}
"""


def measure() -> list[Result]:
    """Parquet from the journal, then the report from parquet."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "grid"
        decisions = write(run, plan_of("http://127.0.0.1:9/v1#m"), missing_rounds=0)
        tables = child(EXPORT, str(run), timeout=600)
        report = child(REPORT, str(run), timeout=600)
    group = f"derived tables of {decisions:,} decisions"
    assert tables["rows"] == decisions
    return [
        Result(group, "parquet", tables["seconds"], "s", aim="< 60", met=tables["seconds"] < 60),
        Result(group, "peak memory", tables["peak_mib"], "MiB", aim="< 2048", met=tables["peak_mib"] < 2048),
        Result(group, "report with all its charts", report["seconds"], "s"),
        Result(group, "peak memory of the report", report["peak_mib"], "MiB"),
    ]
