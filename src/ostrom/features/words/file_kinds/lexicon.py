"""A lexicon file: lists of terms to count in reasoning."""

from pathlib import Path
from typing import Any

from ostrom.features.words.lexicons import load_lexicons
from ostrom.studies.extensions import FileKind


def _facts(file: Path) -> dict[str, Any]:
    return {"file": str(file), "kind": "lexicons", "lists": ", ".join(x.name for x in load_lexicons(file))}


FILE_KIND = FileKind(lambda keys: "lexicons" in keys, _facts)
