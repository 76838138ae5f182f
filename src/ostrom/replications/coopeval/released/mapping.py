"""What the payoff files of a foreign tournament are about: games, mechanisms and settings by their names there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from ostrom.ground.errors import StudyError
from ostrom.ground.registry import NamedFiles, replication_files
from ostrom.ground.validation import validate
from ostrom.ground.yaml import read_yaml
from ostrom.replications.coopeval.released.tournament_files import load_json

CONFIG = "config.json"
Spec = str | dict[str, Any]


class TournamentMapping(BaseModel):
    """Names of games, mechanisms and settings, as folders and configurations write them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = ""
    about: str = ""
    citation: str = ""
    games: dict[str, Spec] = Field(description="name there: game")
    mechanisms: dict[str, Spec] = Field(description="name there: mechanism")
    window: int | None = Field(default=None, description="how many past rounds players of a repetition saw")
    words: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="word in a folder's name: settings of the mechanism"
    )
    config: dict[str, list[str]] = Field(
        default_factory=dict, description="setting in config.json: settings of the mechanism"
    )
    names: dict[str, str] = Field(default_factory=dict, description="what types are called in tables")
    report: dict[str, Any] = Field(default_factory=dict, description="panels of the report")


@dataclass(frozen=True, slots=True)
class About:
    """What one payoff file is about."""

    game: Spec
    game_name: str
    mechanism: Spec
    mechanism_name: str
    """The name there, with the settings that differ."""
    window: int | None


def _shipped() -> NamedFiles:
    return replication_files("tournaments", ".yaml", "mapping of tournaments")


def tournament_names() -> list[str]:
    """The mappings of tournaments that come with replications."""
    return sorted(_shipped())


def load_tournament_mapping(source: str) -> tuple[TournamentMapping, str]:
    """A mapping from a file or by the name of a shipped one."""
    return validate(TournamentMapping, read_yaml(_shipped().text(source), source), source), source


def about(path: Path, mapping: TournamentMapping) -> About:
    """What a payoff file is about, by the configuration beside it, its folder's name or its own."""
    config = _config(path.parent / CONFIG)
    stated = {key: _plain(_inside(config, key, "type")) for key in ("game", "mechanism")}
    found: dict[str, str] = {}
    for key, known in (("game", mapping.games), ("mechanism", mapping.mechanisms)):
        texts = [stated[key], _plain(path.stem), _plain(path.parent.name)]
        name = next((n for text in texts if text and (n := _named(text, known)) is not None), None)
        if name is None:
            where = f" ({CONFIG} says {_inside(config, key, 'type')!r})" if stated[key] else ""
            raise StudyError(
                f"neither its name nor its folder's says which {key} it is of{where}",
                file=str(path), allowed=list(known),
            )  # fmt: skip
        found[key] = name
    changes: dict[str, Any] = {}
    words = set(re.split(r"[^a-z0-9]+", f"{path.parent.name} {path.stem}".lower()))
    for word, settings in mapping.words.items():
        if word in words:
            changes |= settings
    kwargs = _inside(config, "mechanism", "kwargs")
    for name, ours in mapping.config.items():
        if isinstance(kwargs, Mapping) and isinstance(kwargs.get(name), int | float):
            changes |= dict.fromkeys(ours, kwargs[name])
    return _with(mapping, found["game"], found["mechanism"], changes)


def _with(mapping: TournamentMapping, game: str, mechanism: str, changes: dict[str, Any]) -> About:
    spec = mapping.mechanisms[mechanism]
    plain: dict[str, Any] = {"name": spec} if isinstance(spec, str) else dict(spec)
    window = mapping.window if plain["name"] == "repetition" else None
    different: list[str] = []
    for name, value in changes.items():
        if plain["name"] == "repetition" and name == "window":
            if value != window:
                different.append(f"window {value}")
            window = int(value)
        elif name in plain and plain[name] != value:
            plain[name] = value
            different.append(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}")
    told = [text for text in different if not text.startswith("told_")]
    return About(
        mapping.games[game], game, spec if isinstance(spec, str) else plain, " ".join([mechanism, *told]), window
    )  # fmt: skip


def _config(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    content = load_json(path)
    return content if isinstance(content, dict) else {}


def _inside(config: Mapping[str, Any], key: str, inner: str) -> Any:
    part = config.get(key)
    return part.get(inner) if isinstance(part, Mapping) else None


def _plain(text: object) -> str:
    """A name without case and marks: PrisonersDilemma and prisoners_dilemma are the same."""
    return re.sub(r"[^a-z0-9]", "", text.lower()) if isinstance(text, str) else ""


def _named(text: str, known: Mapping[str, Spec]) -> str | None:
    """The longest known name that a text holds."""
    names = [name for name in known if _plain(name) in text]
    return max(names, key=len, default=None)
