"""What would change nothing is refused: a factor whose levels are played alike, a key that is replaced everywhere."""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any

from ostrom.games import build_game
from ostrom.ground.errors import StudyError
from ostrom.ground.yaml import read_yaml
from ostrom.mechanisms.controls import build_mechanism
from ostrom.studies.factors import Factor, Grid, merge, on_top, read_factors, set_path, spelled_out
from ostrom.studies.load import merged, split_change, with_options
from ostrom.studies.plan import CHECK_ALL, VARIED, StudyPlan

MARK = "\0mark"
"""Stands in place of a value, to see whether it reaches a match; no study file can hold it."""
PLAYED = (*VARIED, "people", "variants")
"""Parts of a study that say what is played; whatever else a study holds has its effect where it stands."""
LOOKED_THROUGH = 20_000
"""Cells of the largest grid in which a change is looked for."""


def check_effects(
    plan: StudyPlan,
    source: str | Path | Mapping[str, Any],
    preset: str | None,
    changes: Sequence[str],
    models: Sequence[str],
    seeds: int | None,
    budget: Mapping[str, Any],
) -> None:
    """Refuse factors, keys of the preset and changes of the command line that change nothing in what is played."""
    for factor in _idle_factors(plan):
        raise StudyError(
            "changes nothing: the matches of all its levels are the same, for types, seats or later factors set "
            "what it varies; leave it out",
            file=plan.file, key=f"vary.{factor.name}", found=", ".join(str(level.label) for level in factor.levels),
        )  # fmt: skip
    if preset is not None:
        data, file = merged(source, preset, ())
        bare, _ = merged(source, None, ())
        levels = [level.assigns for factor in read_factors(data["vary"], file) for level in factor.levels]
        for path, value in _changed(bare, data):
            if any(path in assigns and assigns[path] == value for assigns in levels):
                continue  # it holds in some cells, and in all of them once the factor is taken out
            if reason := _lost(deepcopy(data), file, path, value):
                raise StudyError(reason, file=file, key=f"presets.{preset}.{path}")
    for change in changes:
        path, text = split_change(change)
        for leaf, value in _leaves(path, read_yaml(text, "--set")):
            data, file = merged(source, preset, changes)
            if reason := _lost(data, file, leaf, value, models, seeds, budget):
                raise StudyError(f"{leaf} {reason}", file=file, key="--set", found=change)


def _idle_factors(plan: StudyPlan) -> Iterator[Factor]:
    """Factors whose levels never make a difference; of a very large grid this is not asked."""
    if plan.cells > CHECK_ALL:
        return
    cells = list(enumerate(plan.grid))
    for place, factor in enumerate(plan.factors):
        others = sorted((levels[:place] + levels[place + 1 :], number) for number, levels in cells)
        pairs = [(a, b) for (one, a), (two, b) in pairwise(others) if one == two]
        if pairs and all(plan.signature(a) == plan.signature(b) for a, b in pairs):
            yield factor


def _changed(bare: Mapping[str, Any], data: Mapping[str, Any], way: str = "") -> Iterator[tuple[str, Any]]:
    """The paths and values of what a preset changes in what is played."""
    for key, value in data.items():
        old = bare.get(key)
        if old == value or (not way and key not in VARIED):
            continue
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            yield from _changed(old, value, f"{way}{key}.")
        else:
            yield from _leaves(f"{way}{key}", value)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The single values that a change sets, with their paths."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}", inner)
    else:
        yield path, value


def _lost(
    data: dict[str, Any],
    file: str,
    path: str,
    value: Any,
    models: Sequence[str] = (),
    seeds: int | None = None,
    budget: Mapping[str, Any] | None = None,
) -> str | None:
    """Why the value at a path reaches no match; None where it reaches one, or nobody can say."""
    try:
        set_path(data, path, f"{MARK}/" if isinstance(value, str) and "/" in value else MARK)  # a model stays one
        data, root = with_options(data, file, models, seeds, budget), path.partition(".")[0]
    except StudyError:  # a mark cannot stand everywhere: in place of null, which takes a variant out
        return None
    if root not in PLAYED:
        return None if _marked(data) else "has no effect: stop, or an option of the command line, replaces it"
    factors = read_factors(data.get("vary") or {}, file)
    grid = Grid(factors, data.get("only") or (), file)
    if len(grid) > LOOKED_THROUGH or any(_reached(_assigned(data, factors, levels)) for levels in grid):
        return None
    names = [
        factor.name
        for factor in factors
        if any(_overlap(path, other) for level in factor.levels for other in level.assigns)
    ]
    if names:
        return f"has no effect: the study varies it (factor {', '.join(names)})"
    if root == "variants":
        return "has no effect: variants are for models that are named with --model"
    return "has no effect: types, seats or --model replace it everywhere"


def _overlap(one: str, two: str) -> bool:
    return f"{one}.".startswith(f"{two}.") or f"{two}.".startswith(f"{one}.")


def _assigned(data: Mapping[str, Any], factors: Sequence[Factor], levels: Sequence[int]) -> dict[str, Any]:
    """What a study says is played in one cell."""
    cell = {key: deepcopy(data[key]) for key in PLAYED if data.get(key) is not None}
    for factor, level in zip(factors, levels, strict=True):
        for path, value in factor.levels[level].assigns.items():
            set_path(cell, path, value)
    return cell


def _reached(cell: Mapping[str, Any]) -> bool:
    """Whether the mark is in what some player of a cell meets."""
    people = cell.get("people") or {}
    games = people.get("games") or {"": {}}
    if _marked(people) or any(
        _marked([merge(cell, over).get(name) for name in ("game", "mechanism")]) for over in games.values()
    ):
        return True
    if _marked([cell.get("seating"), cell.get("observers")]):
        return True
    agents = [on_top(cell.get("agent") or {}, spelled_out(spec)) for spec in (cell.get("types") or {"": {}}).values()]
    marked = [agent for agent in agents if _marked(agent)]
    seats = {int(seat): over for seat, over in (cell.get("seats") or {}).items() if over}
    if not seats or (
        marked and (people or build_mechanism(cell.get("mechanism") or "none", key="mechanism").observers)
    ):
        return bool(marked)
    places = range(1, build_game(cell["game"], key="game").seats + 1)
    return any(_marked(on_top(agent, seats.get(seat, {}))) for agent in agents for seat in places)


def _marked(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_marked, value.values()))
    return any(map(_marked, value)) if isinstance(value, list) else str(value).startswith(MARK)
