"""`ostrom export` and `ostrom report`: a run as tables and as a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.options import Safe
from ostrom.cli.output import print_json, say, write

if TYPE_CHECKING:
    from ostrom.reports.build import Report

RUNS = typer.Option(help="The folder of all runs.", envvar="OSTROM_RUNS")


def export(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    format: Annotated[str, typer.Option(help="parquet | csv | jsonl")] = "parquet",
    out: Annotated[Path | None, typer.Option(help="Where to write (default: the run's folder).")] = None,
    safe: Safe = False,
    runs: Annotated[Path, RUNS] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the tables of a run: matches, decisions, calls."""
    from ostrom.analysis.tables import export_rows
    from ostrom.studies.run import open_run

    with open_run(run, runs) as opened:
        written = export_rows(opened.rows, format, out or opened.folder.path, safe=safe)
    if json:
        print_json({name: {"file": str(path), "rows": rows} for name, (path, rows) in written.items()})
    else:
        for name, (path, rows) in written.items():
            say(f"{name}: {rows} rows in {path}")


def report(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    safe: Safe = False,
    runs: Annotated[Path, RUNS] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the report of a run: one HTML page that opens offline, with figures and tables beside it.

    Exit code: 0 if every panel could be drawn, 1 if one could not (the page says why).
    """
    made = write_report(run, runs, safe=safe)
    if json:
        print_json({"report": str(made), "failures": list(made.failures)})
    else:
        write(made)
    if not finish_report(made):
        sys.exit(1)


def write_report(run: str | Path, runs: Path = Path("runs"), *, safe: bool = False) -> Report:
    """Bring the tables of a run up to date and write its report."""
    from ostrom.analysis.rundata import run_data
    from ostrom.reports.build import build_report
    from ostrom.reports.figures import need_extras
    from ostrom.studies.run import open_run

    need_extras()
    with (
        open_run(run, runs) as opened,
        run_data(opened.rows, opened.folder.path, opened.manifest) as data,
    ):
        return build_report(data, safe=safe)


def finish_report(made: Report) -> bool:
    """Say which panels failed; whether none did."""
    for failure in made.failures:
        say(f"panel failed: {failure}")
    return not made.failures
