"""A shared run: the tables of a run without texts, and a manifest that says so. It has no journal.

Texts, calls and replays are not shared: code that asks the journal for them gets an error of one line.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import content_hash, read_plain


class SharedJournal:
    """A placeholder for the journal of a shared run: readers of tables do not query it."""

    entries, lazily_verified, closed = 0, False, False
    questions: tuple[str, ...] = ()

    def __init__(self, path: Path, versions: Sequence[str] = ()) -> None:
        self.path = path
        self.versions = tuple(versions)

    def close(self) -> None:
        """Do nothing: a shared run has no journal to close."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UsageError(f"{self.path}: is a shared run: it holds tables without texts, and nothing else can be asked")


def shared_heights(folder: Path, manifest: Mapping[str, Any]) -> dict[str, int] | None:
    """Return the row counts of a shared run's tables after checking their files; None if the run is not shared."""
    part = manifest.get("shared")
    if part is None:
        return None
    for name, table in part["tables"].items():
        path = folder / f"{name}.parquet"
        try:
            same = content_hash(read_plain(path)) == table["digest"]
        except OSError as error:
            raise RunError(f"{path}: cannot be read ({error.strerror or error})") from None
        if not same:
            raise RunError(f"{path}: is not the table that was shared (get the folder again)")
    return {name: int(table["rows"]) for name, table in part["tables"].items()}
