"""The shape of a battery: which studies are played, at what size, and which figures are taken from them.

A battery is a YAML file; those that are installed lie in the folder ``batteries`` of the replications.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ostrom.analysis.estimate import pairs_of
from ostrom.analysis.published import PublishedPick
from ostrom.analysis.query import Query
from ostrom.costs.battery import NAME, StudyPart
from ostrom.ground.errors import StudyError, UnknownName, UsageError
from ostrom.ground.files import read_text_file
from ostrom.ground.registry import replication_files
from ostrom.ground.validation import validate
from ostrom.ground.yaml import in_words, read_yaml
from ostrom.studies.factors import Factor
from ostrom.studies.load import folder_of

STANDARD = "standard"


class Beside(BaseModel):
    """A figure of others that stands beside the model's: people's, mostly."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, max_length=80)
    value: float = Field(allow_inf_nan=False)
    source: str = Field(min_length=1, description="the publication that it comes from")


class ProfileFigure(Query):
    """One figure of a profile."""

    name: str = Field(min_length=1, max_length=120)
    about: str = ""
    published: PublishedPick | None = None
    beside: tuple[Beside, ...] = ()


class BatteryPart(StudyPart):
    """One study of a battery, and what is taken from it."""

    figures: tuple[ProfileFigure, ...] = Field(min_length=1)


class Battery(BaseModel):
    """Studies in the order of their importance: where a budget does not suffice for all, the last ones are left out."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=NAME)
    title: str
    about: str = ""
    level: float = Field(default=0.95, ge=0.5, lt=1)
    parts: tuple[BatteryPart, ...] = Field(min_length=1, max_length=100)

    @model_validator(mode="after")
    def _own_names(self) -> Battery:
        names = [part.name for part in self.parts]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two parts have the name {name!r}")
        return self


def batteries() -> dict[str, Any]:
    """The installed batteries by name."""
    found = dict(replication_files("batteries", ".yaml", "battery"))
    for path in sorted(files("ostrom.replications").joinpath("batteries").iterdir(), key=lambda p: p.name):
        if path.name.endswith(".yaml"):
            found[path.name.removesuffix(".yaml")] = path
    return found


def read_battery(source: str, preset: str | None = None) -> tuple[Battery, Path]:
    """A battery by its file or name, and the folder in which its study files lie."""
    known = batteries()
    if Path(source).suffix in (".yaml", ".yml") or Path(source).is_file():
        text, file = read_text_file(source), source
    elif source in known:
        text, file = known[source].read_text(encoding="utf-8"), f"battery {source}"
    else:
        raise UnknownName("battery", source, known)
    data = read_yaml(text, file)
    if not isinstance(data, dict):
        raise StudyError(f"a battery is a mapping of keys to values (found {in_words(data)})", file=file)
    made = validate(Battery, data, file)
    for part in made.parts:
        for figure in part.figures:
            try:
                _ = figure.part
            except UsageError as error:
                raise UsageError(f"{file}: part {part.name}: figure {figure.name!r}: {error}") from None
    if preset is not None and not any(preset in part.presets for part in made.parts):
        presets = dict.fromkeys(name for part in made.parts for name in part.presets)
        raise UnknownName("preset", preset, presets)
    return made, folder_of(source) if Path(source).is_file() else Path()


def check_figures(part: BatteryPart, factors: Sequence[Factor]) -> None:
    """Refuse a figure that no match of the study can give, before anything is paid."""
    levels = {factor.name: [level.label for level in factor.levels] for factor in factors}
    for figure in part.figures:
        where = f"battery part {part.name}: figure {figure.name!r}"
        picked = figure.where if isinstance(figure.where, Mapping) else {}
        for column in levels.keys() & picked.keys():
            wanted = picked[column]
            known = [str(level) for level in levels[column]]
            for level in map(str, wanted if isinstance(wanted, list) else [wanted]):
                if level not in known:
                    raise UsageError(f"{where}: {UnknownName(f'level of {column}', level, known)}")
        if figure.contrast and figure.pair[0] in levels:
            try:
                pairs_of(levels[figure.pair[0]], *figure.pair)
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None
        if figure.over in levels and len(levels[figure.over]) < 2:
            raise UsageError(f"{where}: a slope over {figure.over} needs two levels of it or more")
