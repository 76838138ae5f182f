"""The tables of a run as bytes, to compare runs."""

from pathlib import Path

from ostrom.data.tables import export_rows
from ostrom.studies.run import open_run


def tables(folder: Path, out: Path) -> dict[str, bytes]:
    """Return the derived tables of a run as bytes, without calls, which hold times."""
    with open_run(folder) as run:
        written = export_rows(run.rows, "parquet", out)
    return {name: path.read_bytes() for name, (path, _) in written.items() if name != "calls"}
