"""Readers of files that only one published study releases, found by name in its replication.

A replication keeps a reader in its folder ``importers`` (constant ``IMPORTER``); `ostrom import` asks each whether
files and mapping are its own before it takes them for rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ostrom.features.importing.write import Imported
from ostrom.ground.registry import Registry


class ReadFiles(Protocol):
    """Reads files into the run ``runs/<name>``."""

    def __call__(
        self,
        paths: Sequence[Path],
        mapping: str,
        *,
        name: str,
        runs: str | Path = "runs",
        bad_rows: str | None = None,
    ) -> Imported:
        """The run, or why the files are refused."""


@dataclass(frozen=True)
class Importer:
    """A reader of released files of a layout of their own."""

    reads: Callable[[Path, str], bool]
    """Whether the first file and the mapping that a person named are for this reader."""
    read: ReadFiles
    mappings: Callable[[], list[dict[str, Any]]]
    """One row for each mapping that ships for it: name, of, title, after."""


importers: Registry[Importer] = Registry("importer", None, "IMPORTER", "ostrom.importers", folder="importers")


def importer(name: str) -> Importer:
    """The reader of that name."""
    reader: Any = importers.get(name)
    assert isinstance(reader, Importer), name
    return reader
