"""The file kind "registration": what will be played and tested, stated before play."""

from pathlib import Path
from typing import Any

from ostrom.analysis.registration import read_registration
from ostrom.studies.extensions import FileKind


def _facts(file: Path) -> dict[str, Any]:
    registration = read_registration(file)
    return {
        "file": str(file),
        "kind": "registration",
        "created": registration.created,
        "hash": registration.hash,
        "primary": "; ".join(one.words for one in registration.primary),
        "taken by": f"ostrom run {registration.stated.study} --registered {file}",
    }


FILE_KIND = FileKind(lambda keys: "registration" in keys, _facts)
