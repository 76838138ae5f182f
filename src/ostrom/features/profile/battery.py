"""The shape of a battery: which studies are played, at what size, and which figures are taken from them.

A battery is a YAML file; those that are installed lie in the folder ``batteries`` of the replications.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ostrom.analysis.estimate import pairs_of
from ostrom.analysis.query import Query
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import StudyError, UnknownName, UsageError
from ostrom.ground.files import read_text_file
from ostrom.ground.registry import replication_files
from ostrom.ground.validation import validate
from ostrom.ground.yaml import in_words, read_yaml
from ostrom.studies.factors import Factor
from ostrom.studies.forecast import Forecast, forecast
from ostrom.studies.load import builtin_names, folder_of
from ostrom.studies.resolve import Resolved, resolve

MODEL = "{model}"
"""Stands for the name of the model in the conditions of a figure."""
STANDARD = "standard"
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]*$"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Beside(_Part):
    """A figure of others that stands beside the model's: people's, mostly."""

    name: str = Field(min_length=1, max_length=80)
    value: float = Field(allow_inf_nan=False)
    source: str = Field(min_length=1, description="the publication that it comes from")


class PublishedPick(_Part):
    """Figures of published models: cells of a reference, in the unit of the measure after scaling."""

    reference: str
    where: dict[str, str | list[str]] = Field(default_factory=dict)
    minus: dict[str, str] = Field(
        default_factory=dict, description="columns of a second cell, whose value is subtracted"
    )
    over: str = Field(default="", description="a column of numbers: the slope over it is taken")
    log: bool | Literal["1+x"] = False
    by: dict[str, str] = Field(
        default_factory=dict,
        description="columns of the figure's groups, with the reference's columns for them",
    )
    names: dict[str, str] = Field(
        default_factory=dict, description="levels of the figure's groups that the reference calls otherwise"
    )
    scale: float = Field(default=1.0, allow_inf_nan=False)


class ProfileFigure(Query):
    """One figure of a profile."""

    name: str = Field(min_length=1, max_length=120)
    about: str = ""
    published: PublishedPick | None = None
    beside: tuple[Beside, ...] = ()

    def of(self, model: str) -> Query:
        """The question for one model."""
        where = self.where
        if isinstance(where, Mapping):
            where = {column: _named(level, model) for column, level in where.items()}
        kept = {name: getattr(self, name) for name in Query.model_fields}
        return Query(**{**kept, "where": where})


def _named(level: Any, model: str) -> Any:
    if isinstance(level, list):
        return [_named(one, model) for one in level]
    return level.replace(MODEL, model) if isinstance(level, str) else level


class Sized(_Part):
    """How a study is played: its preset and changes, and how many seeds at least and at most."""

    preset: str | None = None
    set: tuple[str, ...] = ()
    least: int = Field(default=1, ge=1, le=10_000)
    most: int = Field(default=10, ge=1, le=10_000)

    @model_validator(mode="after")
    def _ordered(self) -> Sized:
        if self.least > self.most:
            raise ValueError(f"least must not be more than most (found {self.least} and {self.most})")
        return self


class BatteryPart(Sized):
    """One study of a battery, and what is taken from it."""

    name: str = Field(pattern=NAME)
    title: str
    about: str = ""
    study: str
    figures: tuple[ProfileFigure, ...] = Field(min_length=1)
    presets: dict[str, Sized] = Field(default_factory=dict)

    def at(self, preset: str | None) -> Sized:
        """How it is played at a preset of the battery; a part without that preset is played as always."""
        return self.presets.get(preset or "", self)


class Battery(_Part):
    """Studies in the order of their importance: where a budget does not suffice for all, the last ones are left out."""

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


def study_source(part: BatteryPart, home: Path) -> str:
    """A built-in study by name, or a file beside the battery, which may come from a stranger."""
    if part.study in builtin_names():
        return part.study
    path = home / part.study
    if not path.resolve().is_relative_to(home.resolve()):
        raise UsageError(
            f"study: must be a built-in study or a file beside the battery (found {part.study!r})"
        )
    return str(path) if part.study.endswith((".yaml", ".yml")) else part.study


@dataclass(frozen=True)
class SizedPart:
    """A part with the number of seeds that it gets; 0 where the budget does not suffice for it."""

    part: BatteryPart
    seeds: int
    costs: tuple[Forecast, ...]
    """What one seed takes, by model."""

    def usd(self, seeds: int | None = None) -> float:
        """What it likely costs for all models together."""
        return (self.seeds if seeds is None else seeds) * sum(cost.likely_usd or 0.0 for cost in self.costs)

    @property
    def calls(self) -> int:
        """Likely calls of all models together."""
        return self.seeds * sum(cost.likely_calls for cost in self.costs)

    @property
    def at_most(self) -> dict[str, float | None]:
        """The most calls and money of all models together; None where nothing bounds it."""
        found: dict[str, float | None] = {}
        for name in ("calls", "usd"):
            parts = [cost.at_most[name] for cost in self.costs]
            found[name] = None if None in parts else self.seeds * sum(filter(None, parts))
        return found

    @property
    def assumes(self) -> tuple[str, ...]:
        """What the likely figures take for granted."""
        return tuple(dict.fromkeys(line for cost in self.costs for line in cost.assumes))


def resolved(
    part: BatteryPart, model: str, seeds: int, home: Path, preset: str | None, options: PlayOptions
) -> Resolved:
    """The plan of a part for one model."""
    how = part.at(preset)
    try:
        return resolve(
            study_source(part, home),
            preset=how.preset,
            changes=how.set,
            models=[model],
            seeds=seeds,
            options=options,
        )
    except UsageError as error:
        raise UsageError(f"battery part {part.name}: {error}") from None


def sized(
    battery: Battery,
    models: Sequence[str],
    home: Path,
    preset: str | None,
    options: PlayOptions,
) -> list[SizedPart]:
    """The parts with their seeds: each at least at its least size as far as the money goes, then all larger alike."""
    budget, parts = options.budget_usd, []
    for part in battery.parts:
        costs = []
        for model in models:
            found = resolved(part, model, 1, home, preset, replace(options, budget_usd=None))
            check_figures(part, found.plan.factors)
            costs.append(forecast(found.plan, options.rates))
        parts.append(SizedPart(part, 0, tuple(costs)))
    unpriced = list(dict.fromkeys(name for one in parts for cost in one.costs for name in cost.unpriced))
    if unpriced:
        raise UsageError(
            f"no price is known for {', '.join(unpriced)}: give one with --prices FILE (0 where it is free)"
        )
    whole = sum(one.usd(one.part.at(preset).most) for one in parts)
    if budget is None:
        if whole > 0:
            raise UsageError(
                f"the whole battery likely costs {whole:.2f} USD: say with --budget-usd what may be spent"
            )
        budget = 0.0
    left, kept = budget, set[str]()
    for one in parts:
        least = one.usd(one.part.at(preset).least)
        if least <= left + 1e-9:
            left -= least
            kept.add(one.part.name)
    if not kept:
        raise UsageError(f"--budget-usd {budget:g}: no part of the battery likely costs less than that")
    return _grown([one for one in parts if one.part.name in kept], parts, budget, preset)


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


def _grown(
    kept: Sequence[SizedPart], parts: Sequence[SizedPart], budget: float, preset: str | None
) -> list[SizedPart]:
    """The largest size, the same share of ``most`` for every part, that the budget allows."""

    def seeds(one: SizedPart, share: float) -> int:
        how = one.part.at(preset)
        return max(how.least, int(share * how.most + 1e-9))

    def fits(share: float) -> bool:
        return sum(one.usd(seeds(one, share)) for one in kept) <= budget + 1e-9

    low, high = 0.0, 1.0
    if fits(1.0):
        low = 1.0
    else:
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if fits(middle) else (low, middle)
    names = {one.part.name for one in kept}
    return [SizedPart(one.part, seeds(one, low) if one.part.name in names else 0, one.costs) for one in parts]
