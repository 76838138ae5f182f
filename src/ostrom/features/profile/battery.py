"""The shape of a battery: which studies are played, at what size, and which figures are taken from them.

A battery is a YAML file; those that are installed lie in the folder ``batteries`` of the replications. It is
played for models part by part; the same command goes on where it stopped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from ostrom.analysis.estimate import Estimate, Query, pairs_of
from ostrom.analysis.published import Other, PublishedCells, published_beside
from ostrom.analysis.registered import RegisteredRun, standing
from ostrom.costs.battery import NAME, BatteryRun, Play, SizedPart, StudyPart, play_jobs, recorded_seeds, spent
from ostrom.data.rundata import RunData, run_data
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.errors import OstromError, StudyError, UnknownName, UsageError
from ostrom.ground.files import read_text_file
from ostrom.ground.registry import replication_files
from ostrom.ground.validation import Declared, validate
from ostrom.ground.yaml import in_words, read_yaml
from ostrom.studies.factors import Factor
from ostrom.studies.files import folder_of
from ostrom.studies.run import open_run

STANDARD = "standard"


class Beside(Declared):
    """A published figure shown beside the model's, mostly of people."""

    name: str = Field(min_length=1, max_length=80)
    value: float = Field(allow_inf_nan=False)
    source: str = Field(min_length=1, description="the publication that it comes from")


class ProfileFigure(Query):
    """One figure of a profile."""

    name: str = Field(min_length=1, max_length=120)
    about: str = ""
    published: PublishedCells | None = None
    beside: tuple[Beside, ...] = ()


class BatteryPart(StudyPart):
    """One study of a battery, and the figures that it gives."""

    figures: tuple[ProfileFigure, ...] = Field(min_length=1)


class Battery(Declared):
    """Studies in order of importance: the last ones are left out if the budget does not suffice."""

    name: str = Field(pattern=NAME)
    title: str
    about: str = ""
    level: float = Field(default=0.95, ge=0.5, lt=1)
    parts: tuple[BatteryPart, ...] = Field(min_length=1, max_length=100)

    @model_validator(mode="after")
    def _own_names(self) -> Battery:
        names = [part.name for part in self.parts]
        if repeated := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two parts have the name {repeated[0]!r}")
        return self


def batteries() -> dict[str, Any]:
    """The installed batteries by name."""
    paths = sorted(files("ostrom.replications").joinpath("batteries").iterdir(), key=lambda p: p.name)
    return {
        **replication_files("batteries", ".yaml", "battery"),
        **{path.name.removesuffix(".yaml"): path for path in paths if path.name.endswith(".yaml")},
    }


def read_battery(source: str, preset: str | None = None) -> tuple[Battery, Path]:
    """A battery by its file or name, and the folder in which its study files lie."""
    builtin = batteries()
    if Path(source).suffix in (".yaml", ".yml") or Path(source).is_file():
        text, file = read_text_file(source), source
    elif source in builtin:
        text, file = builtin[source].read_text(encoding="utf-8"), f"battery {source}"
    else:
        raise UnknownName("battery", source, builtin)
    data = read_yaml(text, file)
    if not isinstance(data, dict):
        raise StudyError(f"a battery is a mapping of keys to values (found {in_words(data)})", file=file)
    battery = validate(Battery, data, file)
    for part in battery.parts:
        for figure in part.figures:
            try:
                _ = figure.measure_object
            except UsageError as error:
                raise UsageError(f"{file}: part {part.name}: figure {figure.name!r}: {error}") from None
    if preset is not None and not any(preset in part.presets for part in battery.parts):
        raise UnknownName("preset", preset, dict.fromkeys(name for part in battery.parts for name in part.presets))
    return battery, folder_of(source) if Path(source).is_file() else Path()


def check_figures(part: BatteryPart, factors: Sequence[Factor]) -> None:
    """Refuse a figure that no match of the study can give, before any call is paid for."""
    levels = {factor.name: [level.label for level in factor.levels] for factor in factors}
    for figure in part.figures:
        where = f"battery part {part.name}: figure {figure.name!r}"
        picked = figure.where if isinstance(figure.where, Mapping) else {}
        for column in levels.keys() & picked.keys():
            wanted = picked[column]
            names = [str(level) for level in levels[column]]
            for level in map(str, wanted if isinstance(wanted, list) else [wanted]):
                if level not in names:
                    raise UsageError(f"{where}: {UnknownName(f'level of {column}', level, names)}")
        if figure.contrast and figure.pair[0] in levels:
            try:
                pairs_of(levels[figure.pair[0]], *figure.pair)
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from None
        if figure.over in levels and len(levels[figure.over]) < 2:
            raise UsageError(f"{where}: a slope over {figure.over} needs two levels of it or more")


RECORD = "profile.json"


@dataclass(frozen=True)
class ModelFigure:
    """A figure of one model, with published figures for comparison."""

    part: BatteryPart
    figure: ProfileFigure
    estimates: tuple[Estimate, ...]
    beside: tuple[Other, ...]
    error: str = ""


@dataclass
class ModelProfile:
    """The figures of one model and the state of its runs."""

    model: str
    folder: Path
    taken: list[ModelFigure] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    complete: bool = True
    usd: float = 0.0
    calls: int = 0
    bound: list[RegisteredRun] = field(default_factory=list)
    """The model's runs that are bound to a registration."""


def folder_name(model: str) -> str:
    """Return the folder name of a model; different models get different names.

    >>> folder_name("openai/gpt-4o-mini")
    'openai-gpt-4o-mini-8e3967'
    """
    plain = re.sub(r"[^A-Za-z0-9.-]+", "-", model).strip("-.")[:60] or "model"
    return f"{plain}-{blake2b(model.encode(), digest_size=3).hexdigest()}"


def play_battery(
    out: Path,
    battery: Battery,
    sizes: Sequence[SizedPart[BatteryPart]],
    models: Sequence[str],
    play: Play,
    *,
    home: Path,
    preset: str | None,
    options: PlayOptions,
    tell: Callable[[str], None],
) -> tuple[list[ModelProfile], bool]:
    """Play every part for every model; return the profiles and whether play was interrupted."""
    settings = {"battery": battery.model_dump(mode="json"), "preset": preset}
    seeds = recorded_seeds(out / RECORD, settings, {one.part.name: one.seeds for one in sizes})
    profiles = {model: ModelProfile(model, out / folder_name(model)) for model in models}
    parts = [one.part for one in sizes if seeds.get(one.part.name)]
    jobs = [
        BatteryRun(
            f"{model}: {part.title} ({number} of {len(parts)} parts)",
            profile.folder / part.name,
            model,
            partial(part.resolved, [model], seeds[part.name], home, preset),
        )
        for number, part in enumerate(parts, 1)
        for model, profile in profiles.items()
    ]
    results, interrupted = play_jobs(jobs, play, options, tell)
    titles = {part.name: part.title for part in parts}
    for job, result in results:
        if not result.complete:
            why = result.why or "; ".join(result.tally.failures[:2]) or "not all matches ended"
            profiles[job.group].complete = False
            profiles[job.group].notes.append(f"{titles[job.folder.name]} is incomplete: {why}")
    if interrupted:
        return list(profiles.values()), True
    for profile in profiles.values():
        totals = [spent(profile.folder / part.name, options) for part in parts]
        profile.usd, profile.calls = sum(usd for usd, _ in totals), sum(calls for _, calls in totals)
        profile.notes += [
            f"{one.part.title} was left out: the budget does not suffice for it."
            for one in sizes
            if not seeds.get(one.part.name)
        ]
        for part in parts:
            with (
                open_run(profile.folder / part.name) as opened,
                run_data(opened.rows, opened.folder.path, opened.manifest) as data,
            ):
                figures, note = take(part, data, profile.model, battery.level)
                profile.bound += standing([data]).bound
            profile.taken += figures
            profile.notes += [note] if note else []
    return list(profiles.values()), False


def take(part: BatteryPart, data: RunData, model: str, level: float) -> tuple[list[ModelFigure], str]:
    """Return the figures of one part or the reason why they are missing, and a note on skipped matches."""
    note = ""
    if skipped := data.records("SELECT match, min(reason) AS why FROM matches WHERE state = 'skipped' GROUP BY match"):
        reason = next((row["why"] for row in skipped if row["why"]), "no valid answer")
        note = f"{part.title}: {len(skipped)} of {data.planned} matches were skipped and count for nothing ({reason})"
    return [_figure_of(part, figure, data, model, level) for figure in part.figures], note


def _figure_of(part: BatteryPart, figure: ProfileFigure, data: RunData, model: str, level: float) -> ModelFigure:
    beside = [Other(one.name, one.value, one.source, people=True) for one in figure.beside]
    try:
        # The agent is dropped: its name would separate the same figure of two models.
        estimates = [
            replace(one, key={name: value for name, value in one.key.items() if (name, value) != ("agent", model)})
            for one in figure.for_model(model).ask(data, level)
        ]
        groups = [{name: str(one.key[name]) for name in one.key if name != "over"} for one in estimates]
        if figure.published is not None:
            named = [group for group in groups if group] if figure.published.by else []
            beside = [*published_beside(figure.published, named, figure.for_model(model).levels(data)), *beside]
    except OstromError as error:
        return ModelFigure(part, figure, (), tuple(beside), str(error))
    return ModelFigure(
        part, figure, tuple(estimates), tuple(beside), "" if estimates else "no finished match gives this figure"
    )
