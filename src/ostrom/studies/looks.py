"""The looks of a sequential design: play some seeds, look at the declared contrast, go on or stop.

Every look is written to ``looks.json`` before more seeds are played. A session that goes on takes all looks again from
the journaled matches and refuses a run whose record says otherwise, so a kill at any moment changes no decision.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import orjson

from ostrom.analysis.estimate import level_pairs
from ostrom.analysis.pairing import comparison
from ostrom.analysis.stopping import FILE, Look, StopRule, blind, decide, first_seeds, read_looks
from ostrom.analysis.units import NoSuchLevel, observations
from ostrom.data.rundata import RunData
from ostrom.engine.folder import Folder
from ostrom.engine.runner import Result
from ostrom.ground.errors import RunError
from ostrom.ground.files import write_whole
from ostrom.studies.plan import StudyPlan

TablesOf = Callable[[Path], AbstractContextManager[RunData]]
"""Opens the tables of a run by its folder."""


def at_seeds(plan: StudyPlan, seeds: int) -> StudyPlan:
    """The same study with another number of seeds."""
    made = StudyPlan(plan.study.model_copy(update={"seeds": seeds}), plan.library, plan.file)
    made.trees = plan.trees
    return made


async def play_looks(
    plan: StudyPlan,
    folder: Folder,
    play: Callable[[StudyPlan], Awaitable[Result]],
    tables_of: TablesOf,
) -> Result:
    """Play seeds until the rule of the study says stop."""
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
    """All looks up to a number of seeds that were played, compared with those on record, and recorded."""
    with tables_of(path) as data:
        taken = [look_at(data, rule, n) for n in rule.looks if n <= seeds]
    for old, new in zip(read_looks(path), taken, strict=False):
        if not old.same(new):
            raise RunError(
                f"{path / FILE}: the look after {old.seeds} seeds is on record with {_said(old)}, and the matches now "
                f"give {_said(new)}: the run or the rules of its analysis were changed"
            )
    rows: list[dict[str, Any]] = [look.as_dict() for look in taken]
    write_whole(path / FILE, orjson.dumps(rows, option=orjson.OPT_INDENT_2), sync=True)
    return taken


def look_at(data: RunData, rule: StopRule, seeds: int) -> Look:
    """One look at the first seeds of a run; one that no match has a value for is no reason to end it."""
    first = int(data.study.get("seed") or 0)
    factor, levels = rule.pair
    try:
        found = first_seeds(observations(data, rule.part, rule.condition(data)), first, seeds)
        found.need([factor])
        ((one, two),) = level_pairs(found, factor, levels)
    except NoSuchLevel:
        return blind(rule, seeds)
    sides = [[row for row in found.rows if row[factor] == side] for side in (one, two)]
    return decide(rule, comparison(found, sides[0], sides[1], factor, ()), seeds)


def _said(look: Look) -> str:
    shown = "no criterion" if look.criterion is None else f"criterion {look.criterion:.6g}"
    return f"{shown}, {'stop' if look.stop else 'go on'}"
