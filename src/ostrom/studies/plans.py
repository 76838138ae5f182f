"""Plans by kind: which class reads the manifest of a run, and which one plays a study.

A manifest names the kind of its plan (``kind_of``), and each feature has the class for its own kinds. Another
distribution adds a kind with an entry point of the group ``ostrom.plans`` that names a subclass of ``Plan``.
"""

from dataclasses import replace
from pathlib import Path
from typing import cast

from ostrom.engine.folder import kind_of
from ostrom.engine.plan import Plan, PlanSource
from ostrom.framing import Library
from ostrom.ground.errors import RunError, UnknownName, UsageError
from ostrom.ground.registry import Registry
from ostrom.studies.plan import StudyPlan
from ostrom.studies.schema import StudyFile

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
        raise RunError(str(error.at(file, "kind"))) from None


def read_plan(source: PlanSource) -> StudyPlan:
    """The plan that a run on disk was played by; refused where the run is none of a study."""
    plan = plan_class(kind_of(source.manifest), source.file).read(source)
    if not isinstance(plan, StudyPlan):
        raise UsageError(f"{source.folder}: is no run of a study (kind {plan.kind})")
    plan.adopt(source.journal)
    return plan


def read_base(source: PlanSource) -> StudyPlan:
    """The plan that a fork wraps: that of the same manifest, one fork less."""
    manifest = {key: value for key, value in source.manifest.items() if key not in ("kind", "parent")}
    parent = source.manifest["parent"].get("of")
    return read_plan(replace(source, manifest={**manifest, "parent": parent} if parent else manifest))


def study_class(study: StudyFile) -> type[StudyPlan]:
    """The class of plan that plays a study: one with people has a kind of its own."""
    return cast("type[StudyPlan]", plan_class("study" if study.people is None else "people"))


def plan_of(study: StudyFile, library: Library | None = None, file: str | None = None) -> StudyPlan:
    """The plan of a study, with or without people."""
    return study_class(study)(study, library, file)


def with_files(study: StudyFile, folder: Path, file: str) -> StudyFile:
    """The study with the content of the files that lie beside it: texts for people."""
    return study_class(study).with_files(study, folder, file)
