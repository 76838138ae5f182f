"""`ostrom export` and `ostrom report`: a run as tables and as a page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.output import print_json, say

RUNS = typer.Option(help="The folder of all runs.", envvar="OSTROM_RUNS")


def export(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    format: Annotated[str, typer.Option(help="parquet | csv | jsonl")] = "parquet",
    out: Annotated[Path | None, typer.Option(help="Where to write (default: the run's folder).")] = None,
    runs: Annotated[Path, RUNS] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the tables of a run: matches, decisions, calls."""
    from ostrom.analysis.tables import export_rows
    from ostrom.studies.run import open_run

    with open_run(run, runs) as opened:
        written = export_rows(opened.rows, format, out or opened.folder.path)
    if json:
        print_json({name: {"file": str(path), "rows": rows} for name, (path, rows) in written.items()})
    else:
        for name, (path, rows) in written.items():
            say(f"{name}: {rows} rows in {path}")


def report(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
    runs: Annotated[Path, RUNS] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the report of a run: one HTML page that opens offline, with figures and tables beside it."""
    from ostrom.reports.build import build_report

    page = build_report(run, runs)
    if json:
        print_json({"report": str(page)})
    else:
        print(page)
