"""Play a battery for models, part by part; the same command goes on where it stopped."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from statistics import fmean

import orjson

from ostrom.analysis.claims import references
from ostrom.analysis.estimate import Estimate
from ostrom.analysis.query import Query
from ostrom.analysis.references import Published
from ostrom.analysis.units import observations
from ostrom.data.rundata import RunData, run_data
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.runner import Result
from ostrom.features.profile.battery import (
    Battery,
    BatteryPart,
    ProfileFigure,
    PublishedPick,
    SizedPart,
    resolved,
)
from ostrom.ground.errors import OstromError, RunError, UnknownName
from ostrom.ground.files import refuse_link, write_whole
from ostrom.ground.values import grouped
from ostrom.studies.resolve import Resolved
from ostrom.studies.run import open_run


@dataclass(frozen=True)
class Other:
    """One figure of another model, or of people."""

    name: str
    value: float
    source: str
    group: tuple[str, ...] = ()
    doubts: str = ""
    people: bool = False


def published_beside(
    pick: PublishedPick, groups: Sequence[Mapping[str, str]], levels: Collection[float] | None = None
) -> list[Other]:
    """The published figures of every group; a figure in doubt is left out.

    A slope is taken over ``levels``, those of the run: papers have others too, and a slope depends on which.
    """
    if pick.reference not in references:
        raise UnknownName("reference", pick.reference, references)
    paper = references.build(pick.reference)
    for column in (*pick.where, *pick.minus, *pick.by.values(), *([pick.over] if pick.over else ())):
        if column not in paper.columns:
            raise UnknownName(f"column of reference {pick.reference}", column, paper.columns)
    cells = _once([one for one in paper.published() if not one.word and not one.doubts])
    found = []
    for group in groups or [{}]:
        named = {own: pick.names.get(level, level) for own, level in group.items()}
        wanted = {**pick.where, **{column: named[own] for own, column in pick.by.items() if own in named}}
        for model in dict.fromkeys(one.model for one in cells):
            of = [one for one in cells if one.model == model]
            value = _value(pick, paper.columns, of, wanted, levels)
            if value is not None:
                who = model or "mean of the paper's models"
                found.append(Other(who, value * pick.scale, paper.citation, tuple(group.values())))
    return found


def _once(figures: Sequence[Published]) -> list[Published]:
    """Every cell of a model once: what several tables print would count several times."""
    cells = grouped(((one.model, one.cell), one) for one in figures)
    return [replace(of[0], value=fmean({one.value for one in of})) for of in cells.values()]


def _value(
    pick: PublishedPick,
    columns: Sequence[str],
    cells: Sequence[Published],
    wanted: Mapping[str, str | list[str]],
    levels: Collection[float] | None,
) -> float | None:
    first = _picked(columns, cells, wanted)
    if not first:
        return None
    if pick.over:
        place = columns.index(pick.over)
        lines = grouped(
            ((*one.cell[:place], *one.cell[place + 1 :]), (float(one.cell[place]), one.value))
            for one in first
            if _is_number(one.cell[place]) and (levels is None or float(one.cell[place]) in levels)
        )
        return _slope(list(lines.values()), pick.log)
    value = math.fsum(one.value for one in first) / len(first)
    if not pick.minus:
        return value
    second = _picked(columns, cells, {**wanted, **pick.minus})
    # A difference is one of partners: cells that differ in nothing but the columns of ``minus``.
    left, right = (_by_rest(pick, columns, side) for side in (first, second))
    both = [left[key] - right[key] for key in left if key in right]
    return math.fsum(both) / len(both) if both else None


def _by_rest(
    pick: PublishedPick, columns: Sequence[str], cells: Sequence[Published]
) -> dict[tuple[str, ...], float]:
    """The mean by what a cell has in the columns that ``minus`` does not name."""
    kept = [place for place, name in enumerate(columns) if name not in pick.minus]
    values = grouped((tuple(one.cell[place] for place in kept), one.value) for one in cells)
    return {rest: math.fsum(of) / len(of) for rest, of in values.items()}


def _picked(
    columns: Sequence[str], cells: Sequence[Published], wanted: Mapping[str, str | list[str]]
) -> list[Published]:
    """The cells that have these texts, whatever their case and hyphens."""
    texts = {
        columns.index(name): {_plain(text) for text in ([of] if isinstance(of, str) else of)}
        for name, of in wanted.items()
    }
    return [one for one in cells if all(_plain(one.cell[place]) in of for place, of in texts.items())]


def _plain(text: str) -> str:
    return text.replace("-", "_").lower()


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _slope(lines: Sequence[Sequence[tuple[float, float]]], log: object) -> float | None:
    """The least-squares slope within lines, as ``trend`` takes it of a design in which every game has every level.

    Where a paper prints some games at some levels only, differences between games are no slope.

    >>> _slope([[(0, 0.1), (1, 0.2)], [(1, 0.9), (3, 1.1)]], False)
    0.1
    """
    pull = square = 0.0
    for points in lines:
        scaled = [(math.log1p(x) if log == "1+x" else math.log(x) if log else x, y) for x, y in points]
        middle = math.fsum(x for x, _ in scaled) / len(scaled)
        pull += math.fsum((x - middle) * y for x, y in scaled)
        square += math.fsum((x - middle) ** 2 for x, _ in scaled)
    return round(pull / square, 12) if square > 0 else None


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
                left = budget - (_spent(profiles, played)[0] - _spent([profile], [one])[0])
                usd, calls = _spent([profile], played)
                # With less left than a call of this model took so far, no further part is begun.
                limit = left if left >= usd / max(1, calls) else 0.0
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
        profile.usd, profile.calls = _spent([profile], played)
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
    with open_run(folder) as opened, run_data(opened.rows, opened.folder.path, opened.manifest) as data:
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
            named = [group for group in groups if group] if figure.published.by else []
            beside = [*published_beside(figure.published, named, _levels(figure.of(model), data)), *beside]
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


def _spent(profiles: Sequence[ModelProfile], parts: Sequence[SizedPart]) -> tuple[float, int]:
    """Money and calls of some runs so far."""
    prices: list[float] = []
    for folder in (profile.folder / one.part.name for profile in profiles for one in parts):
        if (folder / "run.json").exists():
            with open_run(folder) as opened:
                prices += [row.get("usd") or 0.0 for row in opened.journal.call_rows(opened.name, None)]
    return sum(prices), len(prices)


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
