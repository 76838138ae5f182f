"""The file kind "mapping": the meaning of the columns of foreign files."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ostrom.features.importing import load_mapping, mapping_names
from ostrom.features.importing.write import Importer, importers
from ostrom.studies.extensions import FileKind


def _facts(file: Path) -> dict[str, Any]:
    return {"file": str(file), "kind": "mapping", "columns": ", ".join(load_mapping(file)[0].needed())}


def _shipped() -> list[dict[str, Any]]:
    kinds: dict[str, dict[str, Any]] = {"rounds": {name: load_mapping(name)[0] for name in mapping_names()}}
    kinds |= {reader.of: reader.mappings() for reader in _readers()}
    return [
        {"name": name, "of": kind, "title": rule.title, "after": rule.citation}
        for kind, rules in kinds.items()
        for name, rule in rules.items()
    ]


def _readers() -> list[Importer]:
    return [importers.get_instance(name, Importer) for name in importers]


def _as_written(name: str) -> dict[str, Any]:
    others = {key: rule for reader in _readers() for key, rule in reader.mappings().items()}
    rule: BaseModel = others[name] if name in others else load_mapping(name)[0]
    return rule.model_dump(mode="json", exclude_unset=True)


FILE_KIND = FileKind(
    lambda keys: "game" in keys and bool({"seats", "players"} & keys) and bool({"actions", "match"} & keys),
    _facts,
    _shipped,
    _as_written,
)
