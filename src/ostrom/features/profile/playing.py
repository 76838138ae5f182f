"""Play a battery for models, part by part; the same command goes on where it stopped."""

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path

from ostrom.analysis.estimate import Estimate
from ostrom.analysis.published import Other, published_beside
from ostrom.costs.battery import BatteryRun, Play, SizedPart, kept_seeds, play_jobs, spent
from ostrom.data.rundata import RunData, run_data
from ostrom.engine.play_options import PlayOptions
from ostrom.features.profile.battery import Battery, BatteryPart, ProfileFigure
from ostrom.ground.errors import OstromError
from ostrom.studies.run import open_run

RECORD = "profile.json"


@dataclass(frozen=True)
class Taken:
    """A figure of one model, and others beside it."""

    part: BatteryPart
    figure: ProfileFigure
    estimates: tuple[Estimate, ...]
    beside: tuple[Other, ...]
    error: str = ""


@dataclass
class ModelProfile:
    """What was played and found for one model."""

    model: str
    folder: Path
    taken: list[Taken] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    complete: bool = True
    usd: float = 0.0
    calls: int = 0


def folder_name(model: str) -> str:
    """A folder for a model; names that look alike stay apart.

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
    """Play every part for every model; the profiles, and whether somebody interrupted it."""
    settings = {"battery": battery.model_dump(mode="json"), "preset": preset}
    seeds = kept_seeds(out / RECORD, settings, {one.part.name: one.seeds for one in sizes})
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
            taken, note = take(part, profile.folder / part.name, profile.model, battery.level)
            profile.taken += taken
            profile.notes += [note] if note else []
    return list(profiles.values()), False


def take(part: BatteryPart, folder: Path, model: str, level: float) -> tuple[list[Taken], str]:
    """The figures of one part, or why one cannot be had; and a note on matches that were skipped."""
    with ExitStack() as stack:
        opened = stack.enter_context(open_run(folder))
        data = stack.enter_context(run_data(opened.rows, opened.folder.path, opened.manifest))
        skipped = data.records(
            "SELECT match, min(reason) AS why FROM matches WHERE state = 'skipped' GROUP BY match"
        )
        note = ""
        if skipped:
            said = next((row["why"] for row in skipped if row["why"]), "no valid answer")
            note = f"{part.title}: {len(skipped)} of {data.planned} matches were skipped and count for nothing ({said})"
        return [_taken(part, figure, data, model, level) for figure in part.figures], note


def _taken(part: BatteryPart, figure: ProfileFigure, data: RunData, model: str, level: float) -> Taken:
    beside = [Other(one.name, one.value, one.source, people=True) for one in figure.beside]
    try:
        found = figure.of(model).ask(data, level)
        groups = [{name: str(one.key[name]) for name in one.key if name != "over"} for one in found]
        if figure.published is not None:
            grouped = [group for group in groups if group] if figure.published.by else []
            beside = [*published_beside(figure.published, grouped, figure.of(model).levels(data)), *beside]
    except OstromError as error:
        return Taken(part, figure, (), tuple(beside), str(error))
    lacking = "" if found else "no finished match gives this figure"
    return Taken(part, figure, tuple(found), tuple(beside), lacking)
