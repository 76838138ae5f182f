"""A mapping: what the columns of somebody else's files mean."""

from collections.abc import Set
from pathlib import Path
from typing import Any

from ostrom.features.importing import load_mapping, mapping_names
from ostrom.features.importing.write import Importer, importers
from ostrom.studies.extensions import FileKind


def _recognises(keys: Set[str]) -> bool:
    return "game" in keys and bool({"seats", "players"} & keys) and bool({"actions", "match"} & keys)


def _facts(file: Path) -> dict[str, Any]:
    return {"file": str(file), "kind": "mapping", "columns": ", ".join(load_mapping(file)[0].needed())}


def _shipped() -> list[dict[str, Any]]:
    rules = {name: load_mapping(name)[0] for name in mapping_names()}
    rows = [{"name": name, "of": "rounds", "title": rule.title, "after": rule.citation} for name, rule in rules.items()]
    return [*rows, *(row for name in importers for row in importers.part(name, Importer).mappings())]


def _as_written(name: str) -> dict[str, Any]:
    return load_mapping(name)[0].model_dump(mode="json", exclude_unset=True)


FILE_KIND = FileKind(_recognises, _facts, _shipped, _as_written)
