"""Study files: found by name or path, and read as plain data for ``ostrom.studies.load``."""

from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from ostrom.ground.errors import StudyError
from ostrom.ground.registry import NamedFiles, replication_files
from ostrom.ground.yaml import check_plain, in_words, read_yaml


def builtin_names() -> list[str]:
    """Return the names of studies in installed replications."""
    return sorted(builtin_studies())


def builtin_studies() -> NamedFiles:
    """The files of these studies."""
    return replication_files("studies", ".yaml", "study")


def read_study(source: str | Path | Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the raw content of a study, and the name of its source for messages."""
    if isinstance(source, Mapping):
        check_plain(source, "study")
        return _with_seeds(deepcopy(dict(source)), "study"), "study"
    text = str(source)
    data = read_yaml(builtin_studies().text(text), text)
    if not isinstance(data, dict):
        raise StudyError(f"a study is a mapping of keys to values (found {in_words(data)})", file=text)
    return _with_seeds(data, text), text


def _with_seeds(data: dict[str, Any], file: str) -> dict[str, Any]:
    """Split ``seeds: {count: 8, shared: true}`` into two keys: the count, and whether cells share draws."""
    stated = data.get("seeds")
    if isinstance(stated, Mapping):
        if unknown := [key for key in stated if key not in ("count", "shared")]:
            raise StudyError("unknown key", file=file, key=f"seeds.{unknown[0]}", allowed=("count", "shared"))
        data["seeds"], data["seeds_shared"] = stated.get("count", 1), stated.get("shared")
    return data


def folder_of(source: str | Path | Mapping[str, Any]) -> Path:
    """Return the folder of a study's files."""
    if isinstance(source, Mapping):
        return Path()
    builtin = builtin_studies().named(str(source))
    return Path(str(source if builtin is None else builtin)).parent


def mapping_at(value: Any, file: str, key: str) -> Mapping[str, Any]:
    """Return the mapping at a key of a study; empty if there is none."""
    if not isinstance(value, Mapping | None):
        raise StudyError("must map names to changes", file=file, key=key, actual=value)
    return value or {}


def presets_of(source: str | Path | Mapping[str, Any]) -> list[str]:
    """The names of a study's presets."""
    return presets_in(*read_study(source))


def presets_in(data: Mapping[str, Any], file: str) -> list[str]:
    """The names of the presets in the content of a study."""
    return sorted(str(name) for name in mapping_at(data.get("presets"), file, "presets"))
