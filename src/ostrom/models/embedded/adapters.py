"""Adapters of embedded models: a GGUF file beside its record, refused on any other model than its base."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ostrom.ground.errors import StudyError
from ostrom.models.embedded.gguf_header import gguf_metadata

GGUF = "adapter.gguf"
BASE_KEY = "ostrom.base.sha256"
"""Where an adapter says which model file it was trained on."""
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Adapter:
    """One adapter file and its hash."""

    path: Path
    sha256: str


def find_adapter(name: str, model: Path) -> Adapter:
    """The adapter in a folder (or a GGUF file itself), made for this model file."""
    place = Path(name).expanduser()
    path = place / GGUF if place.is_dir() else place
    if not path.is_file():
        made = place.is_dir() and (place / "adapter_model.safetensors").is_file()
        hint = "; run `ostrom train` again to convert it" if made else ""
        raise StudyError(f"there is no adapter ({GGUF}) here{hint}", key="settings.adapter", found=name)
    told = gguf_metadata(path, ("general.type", BASE_KEY))
    if told.get("general.type") != "adapter":
        raise StudyError("is a GGUF file, but no adapter", key="settings.adapter", found=name)
    wanted = told.get(BASE_KEY)
    if wanted is not None and wanted != (own := model_hash(model)):
        raise StudyError(
            f"was trained on another model (sha256 {str(wanted)[:12]}…) than {model.name} ({own[:12]}…)",
            key="settings.adapter",
            found=name,
        )
    return Adapter(path, model_hash(path))


def model_hash(path: Path) -> str:
    """The sha256 of a model file or an adapter; computed once for as long as the file does not change."""
    return _hash(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _hash(path: Path, changed: int) -> str:  # noqa: ARG001 - a changed file is hashed anew
    return file_hash(path)


def file_hash(path: Path) -> str:
    """The sha256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()
