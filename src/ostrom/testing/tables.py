"""The tables of a run as bytes: two runs went the same way if these are the same."""

from __future__ import annotations

from pathlib import Path

from ostrom.data.tables import export_rows
from ostrom.studies.run import open_run


def tables(folder: Path, out: Path) -> dict[str, bytes]:
    """The derived tables of a run as bytes, calls left out: they hold clocks. The folder's name is a column."""
    with open_run(folder) as run:
        written = export_rows(run.rows, "parquet", out)
    return {name: path.read_bytes() for name, (path, _) in written.items() if name != "calls"}
