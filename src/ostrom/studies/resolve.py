"""From what a person gives to a plan that is ready to be played: the one way for `run`, `resume` and `validate`.

Everything is checked here that can be known without asking a model: what `validate` accepts, `run` plays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.agents.language import refuse_unable
from ostrom.engine.folder import kind_of
from ostrom.engine.play_options import PlayOptions
from ostrom.framing import Library
from ostrom.ground.errors import StudyError, UnknownName, UsageError
from ostrom.ground.validation import validate
from ostrom.models import Abilities, check_model
from ostrom.studies.load import load_study, read_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.plans import plan_class, plan_of
from ostrom.studies.prompts import home_of, library_of_run, try_prompts
from ostrom.studies.run import check_same, find_run
from ostrom.studies.schema import ReportRule, StudyFile
from ostrom.studies.session import load_session


@dataclass(frozen=True)
class Resolved:
    """A plan that can be played, and how it is to be played."""

    plan: StudyPlan
    options: PlayOptions = field(default_factory=PlayOptions)
    folder: Path = Path()
    """Where a run lies that is to be resumed."""


def resolve(
    source: str | Path | Mapping[str, Any],
    *,
    preset: str | None = None,
    changes: Sequence[str] = (),
    models: Sequence[str] = (),
    seeds: int | None = None,
    options: PlayOptions = PlayOptions(),
) -> Resolved:
    """The plan of a study with the options of `ostrom run`, checked from end to end."""
    options.check()
    study = load_study(
        source, preset=preset, changes=changes, models=models, seeds=seeds, budget=options.bounds
    )
    file = read_study(source)[1]
    plan = plan_of(study, Library(options.prompts, home=home_of(file)), file)
    check_plan(plan)
    _ = options.rates  # a file of prices that cannot be read is refused now
    return Resolved(plan, options)


def resolve_run(
    run: str | Path,
    runs: str | Path = "runs",
    *,
    options: PlayOptions = PlayOptions(),
    seeds: int | None = None,
) -> Resolved:
    """The plan of a run on disk, as it was begun; options that are stated replace what was kept."""
    home = find_run(run, runs)
    manifest, file = home.manifest(), str(home.path / "run.json")
    if elsewhere := plan_class(kind_of(manifest), file).gone_on_with(manifest):
        raise UsageError(f"{home.path}: {elsewhere}")
    options = load_session(home.path, options)
    data = dict(manifest["study"])
    if seeds is not None:
        data["seeds"] = seeds
    if options.bounds:
        data["budget"] = {**(data.get("budget") or {}), **options.bounds}
    study = validate(StudyFile, data, file, "study")
    prompts = None if options.prompts is None else str(options.prompts)
    plan = StudyPlan(study, library_of_run(manifest, home.path, prompts), file)
    check_plan(plan)
    check_same(home, plan)
    _ = options.rates
    return Resolved(plan, options, home.path)


def check_plan(plan: StudyPlan) -> None:
    """Refuse models, settings, panels and prompts that would end a run later."""
    check_report(plan.study.report, plan.file)
    check_stop(plan)
    abilities = {}
    for model in plan.models:
        try:
            abilities[model] = check_model(model, plan.settings(model))
        except UsageError as error:
            raise UsageError(f"{plan.file}: model {model}: {error}") from None
    for config in plan.agents:
        can = abilities.get(config.client or "")
        if can is not None:
            check_abilities(config, can, plan.file)
    try_prompts(plan)


def check_stop(plan: StudyPlan) -> None:
    """Refuse a stopping rule whose contrast the study cannot give."""
    if plan.study.stop is None:
        return
    from ostrom.studies.design import planned_contrast

    try:
        planned_contrast(plan, plan.study.stop)
    except UsageError as error:
        raise UsageError(f"{plan.file}: stop: {error}") from None


def check_abilities(config: AgentConfig, can: Abilities, file: str) -> None:
    """Refuse to ask a model in a way that it cannot answer."""
    try:
        refuse_unable(config, can, str(config.model))
    except StudyError as error:
        raise StudyError(error.problem, file=file, key=error.key) from None


def check_report(report: ReportRule, file: str) -> None:
    """Refuse panels and published figures that do not exist now, not after the run."""
    from ostrom.analysis.claims import references
    from ostrom.reports.declared import panel_of

    for spec in report.panels:
        panel_of(spec, file=file)
    if report.reference is not None and report.reference not in references:
        raise UnknownName("reference", report.reference, references).at(file, "report.reference")
