"""From a fork's manifest back to its plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ostrom.engine.journal import Journal
from ostrom.features.attribution.plan import AttributionOf, AttributionPlan
from ostrom.features.branching.branch import BranchOf, BranchPlan
from ostrom.ground.errors import RunError
from ostrom.studies.load import validate
from ostrom.studies.plan import StudyPlan


def forked_plan(study: StudyPlan, parent: Mapping[str, Any], journal: Journal | None) -> StudyPlan:
    """The plan of a fork; forks of forks are unfolded from the study on."""
    base = study if not parent.get("of") else forked_plan(study, parent["of"], None)
    kind, file = parent.get("kind"), study.file
    if kind == "branch":
        return BranchPlan(base, validate(BranchOf, dict(parent), file, "parent"))
    if kind == "attribution" and journal is not None:
        origin = validate(AttributionOf, dict(parent), file, "parent")
        return AttributionPlan(base, origin, journal.answers(0))
    raise RunError(f"{file}: parent: no such kind of fork (found {kind!r})")
