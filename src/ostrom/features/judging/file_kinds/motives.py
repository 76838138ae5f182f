"""A motives file: the motives that a judge may assign to a player's reasoning."""

from pathlib import Path
from typing import Any

from ostrom.features.judging import load_motives
from ostrom.studies.extensions import FileKind


def _facts(file: Path) -> dict[str, Any]:
    return {
        "file": str(file),
        "kind": "motives",
        "motives": ", ".join(motive.name for motive in load_motives(file)),
        "taken by": f"ostrom more judge RUN --motives {file}",
    }


FILE_KIND = FileKind(lambda keys: "motives" in keys, _facts)
