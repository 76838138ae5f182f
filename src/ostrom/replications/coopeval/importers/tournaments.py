"""Payoff files of tournaments, which `ostrom import` reads by a mapping of games and mechanisms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ostrom.features.importing.write import Importer
from ostrom.replications.coopeval.released.importing import import_tournaments
from ostrom.replications.coopeval.released.mapping import load_tournament_mapping, tournament_names


def _reads(file: Path, mapping: str) -> bool:
    """Whether a mapping is one of tournaments: a shipped one, or a file that has their keys."""
    if mapping in tournament_names() or file.is_dir():
        return True
    try:
        return "\nmechanisms:" in "\n" + Path(mapping).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _mappings() -> list[dict[str, Any]]:
    rules = {name: load_tournament_mapping(name)[0] for name in tournament_names()}
    return [
        {"name": name, "of": "tournaments", "title": rule.title, "after": rule.citation}
        for name, rule in rules.items()
    ]


IMPORTER = Importer(_reads, import_tournaments, _mappings)
