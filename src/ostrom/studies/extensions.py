"""What higher rooms add: kinds of files, blocks of a study file, and kinds of plans. All are found by name.

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


def _none_ship() -> list[dict[str, Any]]:
    return []


def _unknown(name: str) -> dict[str, Any]:
    raise UsageError(f"there is no shipped file {name!r} of this kind")


@dataclass(frozen=True)
class FileKind:
    """One kind of file: how its keys tell it from others, and what can be said of a file of it."""

    recognises: Callable[[Set[str]], bool]
    """Whether a file with these keys at its top is of this kind."""
    facts: Callable[[Path], dict[str, Any]]
    """Read a file from end to end and say what it holds; what is wrong is raised as an OstromError."""
    shipped: Callable[[], list[dict[str, Any]]] = _none_ship
    """One row for each file of this kind that comes with the package or a replication."""
    as_written: Callable[[str], dict[str, Any]] = _unknown
    """The content of a shipped file by its name."""


file_kinds: Registry[FileKind] = Registry("kind of file", None, "FILE_KIND", "ostrom.file_kinds", folder="file_kinds")


class StudySection(Declared):
    """A block of a study file; unknown keys are refused."""


sections: Registry[StudySection] = Registry("section of a study", None, "SECTION", "ostrom.sections", folder="sections")


seat_hosts: Registry[OutsideSeats] = Registry(
    "way to take a seat", None, "SEATS", "ostrom.seats", table={"mcp": "ostrom.features.seats.host:SeatHost"}
)
"""Made from a plan and the options of playing: the seats of agents outside of this process."""


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
    """The class of the plans of one kind; ``file`` is the manifest that names it."""
    try:
        return cast("type[Plan]", plans.get(kind))
    except UnknownName as error:
        raise RunError(str(error.with_place(file, "kind"))) from None
