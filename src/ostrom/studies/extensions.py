"""What higher rooms add to what people write: kinds of files, and blocks of a study file. Both are found by name.

A feature keeps a kind of file in its folder ``file_kinds`` (constant ``FILE_KIND``), so `ostrom validate`, `list` and
`show` know it without importing the feature. The name of the module is the kind in the singular.

A room that reads a block of its own (``people``) keeps its schema in the folder ``sections`` under the name of the
block, constant ``SECTION``. So stating a study imports no room above, and what is not installed cannot be stated.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from ostrom.ground.errors import UsageError
from ostrom.ground.registry import Registry


def _none_ship() -> list[dict[str, Any]]:
    return []


def _unknown(name: str) -> dict[str, Any]:
    raise UsageError(f"there is no shipped file {name!r} of this kind")


@dataclass(frozen=True)
class FileKind:
    """One kind of file: how its keys tell it from others, and what can be said of a file of it."""

    recognises: Callable[[Set[str]], bool]
    """Whether a file with these keys at its top is of this kind."""
    facts: Callable[[Path], dict[str, Any]]
    """Read a file from end to end and say what it holds; what is wrong is raised as an OstromError."""
    shipped: Callable[[], list[dict[str, Any]]] = _none_ship
    """One row for each file of this kind that comes with the package or a replication."""
    as_written: Callable[[str], dict[str, Any]] = _unknown
    """The content of a shipped file by its name."""


file_kinds: Registry[FileKind] = Registry(
    "kind of file", None, "FILE_KIND", "ostrom.file_kinds", folder="file_kinds"
)


class StudySection(BaseModel):
    """A block of a study file; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


sections: Registry[StudySection] = Registry(
    "section of a study", None, "SECTION", "ostrom.sections", folder="sections"
)
