"""Play a battery for models, part by part; the same command goes on where it stopped."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

import orjson

from ostrom.analysis.estimate import Estimate
from ostrom.analysis.query import Query
from ostrom.analysis.units import observations
from ostrom.data.rundata import RunData, run_data
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result
from ostrom.features.profile.battery import Battery, BatteryPart, ProfileFigure
from ostrom.features.profile.published import Other, published_beside
from ostrom.features.profile.sizing import SizedPart, resolved
from ostrom.ground.errors import OstromError, RunError
from ostrom.ground.files import refuse_link, write_whole
from ostrom.studies.resolve import Resolved
from ostrom.studies.run import open_run

RECORD = "profile.json"
Play = Callable[[Resolved, Path], Result]


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
    sizes: Sequence[SizedPart],
    models: Sequence[str],
    play: Play,
    *,
    home: Path,
    preset: str | None,
    options: PlayOptions,
    tell: Callable[[str], None],
) -> tuple[list[ModelProfile], bool]:
    """Play every part for every model; the profiles, and whether somebody interrupted it."""
    budget = options.budget_usd
    seeds = _recorded(out, battery, sizes, preset)
    profiles = [ModelProfile(model, out / folder_name(model)) for model in models]
    played = [one for one in sizes if seeds.get(one.part.name)]
    for number, one in enumerate(played, 1):
        for profile in profiles:
            tell(f"{profile.model}: {one.part.title} ({number} of {len(played)} parts)")
            folder = profile.folder / one.part.name
            limit = None
            if budget is not None and budget > 0:
                left = budget - (_spent(profiles, played) - _spent([profile], [one]))
                limit = left if left >= _mean_call(profile, played) else 0.0
            how = replace(options, budget_usd=limit)
            found = resolved(one.part, profile.model, seeds[one.part.name], home, preset, how)
            result = play(found, folder)
            if not result.complete:
                profile.complete = False
                why = result.why or "; ".join(result.tally.failures[:2]) or "not all matches ended"
                profile.notes.append(f"{one.part.title} is incomplete: {why}")
            if result.interrupted:
                return profiles, True
    for profile in profiles:
        profile.usd, profile.calls = _spent([profile], played), _calls(profile, played)
        profile.notes += [
            f"{one.part.title} was left out: the budget does not suffice for it."
            for one in sizes
            if not seeds.get(one.part.name)
        ]
        for one in played:
            taken, note = take(one.part, profile.folder / one.part.name, profile.model, battery.level)
            profile.taken += taken
            profile.notes += [note] if note else []
    return profiles, False


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
            beside = [*published_beside(figure.published, grouped, _levels(figure.of(model), data)), *beside]
    except OstromError as error:
        return Taken(part, figure, (), tuple(beside), str(error))
    lacking = "" if found else "no finished match gives this figure"
    return Taken(part, figure, tuple(found), tuple(beside), lacking)


def _levels(asked: Query, data: RunData) -> set[float] | None:
    """The levels that a slope was taken over."""
    if not asked.over:
        return None
    rows = observations(data, asked.part, asked.condition(data)).rows
    return {float(row[asked.over]) for row in rows if row[asked.over] is not None}


def _spent(profiles: Sequence[ModelProfile], parts: Sequence[SizedPart]) -> float:
    return sum(_tally(profile.folder / one.part.name)[0] for profile in profiles for one in parts)


def _calls(profile: ModelProfile, parts: Sequence[SizedPart]) -> int:
    return sum(_tally(profile.folder / one.part.name)[1] for one in parts)


def _mean_call(profile: ModelProfile, parts: Sequence[SizedPart]) -> float:
    """What a call of this model took so far: with less than that left, no further part is begun."""
    return _spent([profile], parts) / max(1, _calls(profile, parts))


def _tally(folder: Path) -> tuple[float, int]:
    """Money and calls of a run so far."""
    if not (folder / "run.json").exists():
        return 0.0, 0
    with open_run(folder) as opened:
        rows = opened.journal.call_rows(opened.name, None)
        found = [(row.get("usd") or 0.0) for row in rows]
    return sum(found), len(found)


def _recorded(out: Path, battery: Battery, sizes: Sequence[SizedPart], preset: str | None) -> dict[str, int]:
    """The seeds of every part: what an earlier session began is never made smaller."""
    path = refuse_link(out / RECORD)
    said = {"battery": battery.model_dump(mode="json"), "preset": preset}
    seeds = {one.part.name: one.seeds for one in sizes}
    try:
        out.mkdir(parents=True, exist_ok=True)
        if path.exists():
            old = orjson.loads(path.read_bytes())
            if not isinstance(old, dict) or {key: old.get(key) for key in said} != said:
                raise RunError(f"{out}: holds a profile by another battery or preset (choose another --out)")
            before = old.get("seeds") if isinstance(old.get("seeds"), dict) else {}
            seeds = {name: max(n, int((before or {}).get(name) or 0)) for name, n in seeds.items()}
        write_whole(path, orjson.dumps({**said, "seeds": seeds}, option=orjson.OPT_INDENT_2))
    except orjson.JSONDecodeError:
        raise RunError(f"{path}: cannot be read (remove it, or choose another --out)") from None
    except OSError as error:
        raise RunError(f"{out}: cannot be written ({error.strerror or error})") from None
    return seeds
