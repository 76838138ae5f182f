"""Contrasts over seeds: the planned observations of a study, and the interim looks of a sequential design.

Every look is written to ``looks.json`` before more seeds are played. A resumed study repeats all looks from the
journaled matches and refuses a run whose record differs, so a kill at any moment changes no decision.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import orjson

from ostrom.analysis.determinism import Determinism, seeds_shared
from ostrom.analysis.estimate import Query, level_pairs
from ostrom.analysis.population import ALL, chosen_agents, names_agents
from ostrom.analysis.stopping import FILE, Look, StopRule, blind, decide, first_seeds, read_looks
from ostrom.analysis.unit_figures import UnitFigure, comparison, shared_columns
from ostrom.analysis.units import SETTING, NoSuchLevel, Observation, Observations, as_text, join_players, observations
from ostrom.data.manifests import is_before_2
from ostrom.data.rundata import RunData
from ostrom.data.tables import TABLES, factor_types
from ostrom.engine.folder import Folder
from ostrom.engine.rows import Rows
from ostrom.engine.runner import Result
from ostrom.ground.errors import RunError, UnknownName, UsageError
from ostrom.ground.files import write_atomically
from ostrom.studies.plan import StudyPlan

MOST_MATCHES = 20_000
"""The most matches of one seed in the contrast."""


def planned_contrast(plan: StudyPlan, query: Query) -> tuple[UnitFigure, list[str]]:
    """Return the contrast of a study over two seeds, without values, and the columns of its conditions.

    Refused where the study cannot give the contrast, or more seeds would not add to it.
    """
    measure = query.measure_object
    if measure.unit not in ("match", "decision"):
        raise UsageError(
            f"{measure.name}: its unit of analysis is the {measure.unit}, and more seeds add no {measure.unit}s: "
            "power over seeds is defined for measures of matches"
        )
    planned = planned_observations(
        StudyPlan(plan.study.model_copy(update={"seeds": 2}), plan.library, plan.file), query
    )
    sides = sides_of(planned, query)
    contrast = comparison(planned, *sides, query.pair[0], ())
    values = len(contrast.sides[0][1].values)
    if values > 2 * MOST_MATCHES:
        raise UsageError(f"the contrast has {values // 2} values per seed (at most {MOST_MATCHES})")
    return contrast, condition_columns(planned, query, *sides)


def planned_observations(plan: StudyPlan, query: Query) -> Observations:
    """Return the observations that a study will have, with the smallest possible values, or 0."""
    if isinstance(query.where, str) and query.where.strip():
        raise UsageError("where: takes columns with levels here, for nothing is played yet that SQL could ask")
    measure, stand_in = query.measure_object, Path(plan.name)
    rows = Rows(plan, None, plan.name)  # type: ignore[arg-type]
    types = factor_types(rows)
    levels = {factor.name: [level.label for level in factor.levels] for factor in plan.factors}
    data = RunData(
        stand_in,
        {"study": plan.resolved()},
        levels=levels,
        types=types,
        planned=len(plan),
        rows=dict.fromkeys(TABLES, 0),
        units=plan.unit,
    )
    with data:
        bounds, exact = measure.bounds_of(data), Determinism(plan.unit)
    wanted = {
        column: {as_text(level) for level in (chosen_levels if isinstance(chosen_levels, list) else [chosen_levels])}
        for column, chosen_levels in dict(query.where or {}).items()  # type: ignore[arg-type]
    }
    per_match = isinstance(measure.values, str) and "player" not in measure.values
    observed, columns, kinds = list[Observation](), set[str](), dict[str, bool]()
    for index, unit in ((index, plan.unit(index)) for index in range(len(plan))):
        if unit.kind != "match":
            continue
        players = [
            {name: types[name](v) if name in types and v is not None else v for name, v in row.items()}
            for row in rows.planned(unit)
        ]
        for player in players:
            kinds[player["agent"]] = kinds.get(player["agent"], False) or player["strategy"] is None
        for own in [join_players({"match": index}, players)] if per_match else players:
            assert own is not None
            columns.update(own)
            if unknown := [column for column in wanted if column not in own]:
                raise UnknownName("column", unknown[0], own)
            if all(as_text(own[column]) in levels for column, levels in wanted.items()):
                observed.append(
                    Observation(bounds(index)[0] or 0.0, None, bounds(index), exact(index), own, whole=per_match)
                )
    data.agent_kinds = kinds
    chosen = chosen_agents(data, query.whose, query.where)
    observed = [row for row in observed if chosen is None or row.whole or row["agent"] in chosen]
    if not observed:
        raise UsageError(f"no match of {plan.name} meets where: {query.matches}")
    names = tuple(factor.name for factor in plan.factors)
    return Observations(
        measure,
        tuple(observed),
        names,
        levels,
        frozenset(columns),
        seeds_shared(data),
        (data,),
        studied=query.whose is None and not names_agents(query.where),
    )


def sides_of(observed: Observations, query: Query) -> tuple[list[Observation], list[Observation]]:
    """Return the observations at the first and at the second level of a contrast."""
    factor, levels = query.pair
    observed.need([factor])
    pairs = level_pairs(observed, factor, levels)
    if len(pairs) != 1:
        raise UsageError(f"contrast {query.contrast!r}: power is that of two levels, A-B")
    one, two = ([row for row in observed.rows if row[factor] == side] for side in pairs[0])
    return one, two


def condition_columns(
    observed: Observations, query: Query, first: Sequence[Observation], second: Sequence[Observation]
) -> list[str]:
    """Return the columns that identify conditions: those fixed by the design, without the factor's own."""
    own = observed.columns - {query.pair[0]}
    names = [name for name in dict.fromkeys((*observed.factors, *SETTING)) if name in own]
    shared, confounded = shared_columns(names, first, second)
    return [name for name in names if name in shared or name in confounded]


def condition_of(row: Observation, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the levels of an observation in the columns that identify its condition."""
    return tuple(as_text(row[name]) for name in columns)


TablesOf = Callable[[Path], AbstractContextManager[RunData]]
"""Opens the tables of a run by its folder."""


def at_seeds(plan: StudyPlan, seeds: int) -> StudyPlan:
    """Return the plan with another number of seeds."""
    new_plan = StudyPlan(plan.study.model_copy(update={"seeds": seeds}), plan.library, plan.file)
    new_plan.trees, new_plan.registered = plan.trees, plan.registered
    return new_plan


async def play_looks(
    plan: StudyPlan, folder: Folder, play: Callable[[StudyPlan], Awaitable[Result]], tables_of: TablesOf
) -> Result:
    """Play seeds until the stopping rule ends the study."""
    rule = plan.stop
    assert rule is not None
    begun = int(folder.manifest()["study"].get("seeds", 1)) if folder.exists else 0
    for seeds in [n for n in rule.looks if n >= begun] or [begun]:
        result = await play(at_seeds(plan, seeds))
        if not result.complete:
            return result
        if take_looks(folder.path, rule, seeds, tables_of)[-1].stop:
            break
    return result


def take_looks(path: Path, rule: StopRule, seeds: int, tables_of: TablesOf) -> list[Look]:
    """Return all looks up to a number of seeds, compared with recorded ones, and record them."""
    with tables_of(path) as data:
        looks = [look_at(data, rule, n) for n in rule.looks if n <= seeds]
    for place, (old, new) in enumerate(zip(read_looks(path), looks, strict=False)):
        if not old.same(new):
            raise RunError(
                f"{path / FILE}: the look after {old.seeds} seeds is on record with {_look_text(old)}, and the matches "
                f"now give {_look_text(new)}: the run or the rules of its analysis were changed"
            )
        if old.version != new.version:  # a decision by an earlier version's rule stands
            looks[place] = old
    write_atomically(
        path / FILE, orjson.dumps([look.as_dict() for look in looks], option=orjson.OPT_INDENT_2), sync=True
    )
    return looks


def look_at(data: RunData, rule: StopRule, seeds: int) -> Look:
    """Return the look at the first seeds of a run; if a level has no value so far, the look is empty."""
    first = int(data.study.get("seed") or 0)
    factor, levels = rule.pair
    try:
        agents = ALL if is_before_2(data.manifest) else rule.whose  # recorded looks keep their agents
        observed = first_seeds(observations(data, rule.measure_object, rule.condition(data), agents), first, seeds)
        observed.need([factor])
        ((one, two),) = level_pairs(observed, factor, levels)
    except NoSuchLevel:
        return blind(rule, seeds)
    first_side, second_side = ([row for row in observed.rows if row[factor] == side] for side in (one, two))
    return decide(rule, comparison(observed, first_side, second_side, factor, ()), seeds)


def _look_text(look: Look) -> str:
    criterion = "no criterion" if look.criterion is None else f"criterion {look.criterion:.6g}"
    return f"{criterion}, {'stop' if look.stop else 'go on'}"
