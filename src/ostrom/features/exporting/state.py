"""Which state of a run exported files hold: a record beside them, by file."""

from pathlib import Path
from typing import Any

import orjson

from ostrom.engine.folder import identity
from ostrom.ground.errors import RunError
from ostrom.ground.files import read_plain, write_atomically
from ostrom.ground.version import __version__
from ostrom.studies.run import Run

RECORD = "exported.yaml"
"""The record; JSON is YAML, and no tool takes it for a table. Among logs (``logs/*``) it is hidden."""


def record_export(folder: Path, run: Run, written: dict[str, tuple[Path, int]], *, hidden: bool = False) -> list[str]:
    """Record what was written, and say in lines which files of earlier exports are older, or gone."""
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
    write_atomically(path, orjson.dumps({**left, **files}, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
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
    named = record if isinstance(record, dict) else {}
    return {name: entry for name, entry in named.items() if isinstance(entry, dict) and _inside(name)}


def _inside(name: str) -> bool:
    """Whether a name of a record, which a stranger may have written, leads to a file below it."""
    return name.isprintable() and not Path(name).is_absolute() and ".." not in Path(name).parts
