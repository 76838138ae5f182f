"""Runs as files that other tools open: tables, Inspect logs, a dataset folder, oTree's wide table."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson

from ostrom.data.tables import export_rows
from ostrom.engine.folder import identity
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import read_plain, write_atomically
from ostrom.ground.version import __version__
from ostrom.ground.words import join_words
from ostrom.studies.run import Run

RECORD = "exported.yaml"
"""The file name of the export record, which lies beside the exported files; a dot before it hides it from Inspect.

It holds JSON, which is valid YAML: readers that load every ``*.json`` of a folder ignore this ending.
"""


def record_export(folder: Path, run: Run, written: dict[str, tuple[Path, int]], *, hidden: bool = False) -> list[str]:
    """Record the written files; return lines about files of earlier exports that are outdated or missing."""
    path = folder / (f".{RECORD}" if hidden else RECORD)
    state = {
        "run": run.name, "identity": identity(run.manifest), "entries": run.journal.entries,
        "so_far": run.plan.so_far(run.journal.states(), playing=run.folder.being_played) or "complete",
        "ostrom": __version__,
    }  # fmt: skip
    files = {_name(folder, file): {**state, "rows": rows} for file, rows in written.values()}
    earlier = {name: entry for name, entry in _recorded(path).items() if name not in files}
    gone = [name for name in earlier if not (folder / name).exists()]
    older = {
        name: entry
        for name, entry in earlier.items()
        if name not in gone and {key: entry.get(key) for key in state} != state
    }
    left = {name: entry for name, entry in earlier.items() if name not in gone}
    write_atomically(path, orjson.dumps(left | files, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
    return [
        *(f"{folder / name}: is not renewed and holds an earlier state ({entry.get('so_far')})"
          for name, entry in older.items()),
        *(f"{folder / name}: was there and is not any more" for name in gone),
    ]  # fmt: skip


def _name(folder: Path, file: Path) -> str:
    return str(file.relative_to(folder)) if file.is_relative_to(folder) else str(file)


def _recorded(path: Path) -> dict[str, dict[str, Any]]:
    try:
        record = orjson.loads(read_plain(path))
    except (OSError, RunError, orjson.JSONDecodeError):
        return {}
    return {
        name: entry
        for name, entry in (record if isinstance(record, dict) else {}).items()
        if isinstance(entry, dict) and _inside(name)
    }


def _inside(name: str) -> bool:
    """Return whether a name in a record, which a stranger may have written, stays inside the folder."""
    return name.isprintable() and not Path(name).is_absolute() and ".." not in Path(name).parts


Written = dict[str, tuple[Path, int]]
"""Written parts by name: the file or folder, and its number of rows (samples, participants)."""
TABLES = ("parquet", "csv", "jsonl")
OTHERS = {
    "inspect": "inspect_log:write_logs",
    "hf": "dataset:write_dataset",
    "otree": "otree:write_wide",
    "shared": "shared:write_shared",
    "every-eval": "every_eval:write_records",
}
"""The formats that are no tables, each with its module in this package and the function that writes it."""
FORMATS = (*TABLES, *OTHERS)
OPTIONS = {
    "texts": ("hf", "every-eval"), "licence": ("hf",), "visits": ("hf", "otree"), "safe": ("csv", "otree"),
}  # fmt: skip
"""The options that not every format has, each with the formats that have it."""


def export_run(
    run: Run,
    format: str = "parquet",
    out: str | Path | None = None,
    *,
    texts: bool = False,
    visits: bool = False,
    safe: bool = False,
    licence: str | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Written:
    """Write a run in one format; ``out`` defaults to export/ in the run's folder (formats without tables: a subfolder).

    A record beside the files states which state of the run each of them holds. ``say`` is called with one line for each
    file of an earlier export that is outdated or missing.

    ``texts`` adds prompts and replies (hf, every-eval; hf also reasoning); ``visits`` adds the table of people's visits
    (hf) or their survey answers (otree). Both are left out by default.
    """
    if format not in FORMATS:
        raise UsageError(f"--format {format!r} (allowed: {', '.join(FORMATS)})")
    options = {"texts": texts, "licence": licence, "visits": visits, "safe": safe}
    for name, where in OPTIONS.items():
        if options[name] not in (False, None) and format not in where:
            raise UsageError(f"--{name} is for --format {join_words(where)}, not for {format}")
    run.journal.begin_snapshot()  # all files show the run at one moment
    folder = Path(out) if out is not None else _own_folder(run) / ("" if format in TABLES else format)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = _write(run, format, folder, {k: v for k, v in options.items() if format in OPTIONS[k]})
        for line in record_export(folder, run, written, hidden=format == "inspect"):
            say(line)
    except OSError as error:
        raise RunError(f"{folder}: cannot be written ({error.strerror or error})") from None
    return written


def _own_folder(run: Run) -> Path:
    """Return the folder of a run's exports; a symbolic link in its place is refused."""
    folder = run.folder.path / "export"
    if folder.is_symlink():
        raise RunError(f"{folder}: is a symbolic link; a run is kept in plain files and folders (remove it)")
    return folder


def _write(run: Run, format: str, folder: Path, options: Mapping[str, Any]) -> Written:
    """Write a run with the options that its format has."""
    if format in TABLES:
        return export_rows(run.rows, format, folder, **options)
    module, _, function = OTHERS[format].partition(":")
    written: Written = getattr(import_module(f"{__name__}.{module}"), function)(run, folder, **options)
    return written
