"""A motives file: the motives that a judge may assign to a player's reasoning."""

from pathlib import Path
from typing import Any

from ostrom.features.judging import load_motives
from ostrom.studies.extensions import FileKind


def _facts(file: Path) -> dict[str, Any]:
    names = ", ".join(motive.name for motive in load_motives(file))
    return {
        "file": str(file),
        "kind": "motives",
        "motives": names,
        "taken by": f"ostrom more judge RUN --motives {file}",
    }


FILE_KIND = FileKind(lambda keys: "motives" in keys, _facts)
