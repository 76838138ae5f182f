"""Extension points for higher packages: kinds of files, sections of a study file, and kinds of plans.

A feature keeps a kind of file in its folder ``file_kinds`` (constant ``FILE_KIND``), so `ostrom validate`, `list` and
`show` know it without importing the feature. The name of the module is the kind in the singular.

A room that reads a block of its own (``people``) keeps its schema in the folder ``sections`` under the name of the
block, constant ``SECTION``. So stating a study imports no room above, and what is not installed cannot be stated.
"""

from collections.abc import Callable, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ostrom.agents.base import OutsideSeats
from ostrom.engine.plan import Plan
from ostrom.ground.errors import RunError, UnknownName, UsageError
from ostrom.ground.registry import Registry
from ostrom.ground.validation import Declared


def _unknown(name: str) -> dict[str, Any]:
    raise UsageError(f"there is no shipped file {name!r} of this kind")


@dataclass(frozen=True)
class FileKind:
    """A kind of file: how its keys identify it, and how a file of it is described."""

    recognises: Callable[[Set[str]], bool]
    """Returns whether a file with these top-level keys is of this kind."""
    facts: Callable[[Path], dict[str, Any]]
    """Reads and checks a file and returns its facts; errors are OstromErrors."""
    shipped: Callable[[], list[dict[str, Any]]] = list
    """Returns one row for each shipped file of this kind."""
    as_written: Callable[[str], dict[str, Any]] = _unknown
    """Returns the content of a shipped file by its name."""


file_kinds: Registry[FileKind] = Registry("kind of file", None, "FILE_KIND", "ostrom.file_kinds", folder="file_kinds")


class StudySection(Declared):
    """A section of a study file; unknown keys are refused."""


sections: Registry[StudySection] = Registry("section of a study", None, "SECTION", "ostrom.sections", folder="sections")


seat_hosts: Registry[OutsideSeats] = Registry(
    "way to take a seat", None, "SEATS", "ostrom.seats", table={"mcp": "ostrom.features.seats.host:SeatHost"}
)
"""Builders of seats for external agents, from a plan and the options of play."""


plans: Registry[Plan] = Registry(
    "kind of plan",
    None,
    "PLAN",
    "ostrom.plans",
    table={
        "study": "ostrom.studies.plan:StudyPlan",
        "people": "ostrom.people.plan:PeoplePlan",
        "imported": "ostrom.features.importing.plan:ImportedPlan",
        "branch": "ostrom.features.branching.branch:BranchPlan",
        "attribution": "ostrom.features.attribution.plan:AttributionPlan",
        "judge": "ostrom.features.judging.plan:JudgePlan",
        "score": "ostrom.probe.scores:ScorePlan",
        "tree": "ostrom.features.trees.plan:TreePlan",
        "author": "ostrom.features.authoring.plan:AuthorPlan",
    },
)


def plan_class(kind: str, file: str | None = None) -> type[Plan]:
    """Return the plan class of a kind; ``file`` is the manifest that names it."""
    try:
        return cast("type[Plan]", plans.get(kind))
    except UnknownName as error:
        raise RunError(str(error.with_place(file, "kind"))) from None
