"""From what a person gives to a plan that is ready to be played: the one way for `run`, `resume` and `validate`.

Everything is checked here that can be known without asking a model: what `validate` accepts, `run` plays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostrom.agents.config import AgentConfig
from ostrom.agents.language import refuse_unable
from ostrom.errors import StudyError, UnknownName, UsageError
from ostrom.framing import Library
from ostrom.models import Abilities, check_model
from ostrom.models.prices import Rates, load_prices
from ostrom.registry import parse_spec
from ostrom.studies.load import load_study, read_study
from ostrom.studies.plan import StudyPlan
from ostrom.studies.prompts import try_prompts
from ostrom.studies.schema import ReportRule


@dataclass(frozen=True)
class Resolved:
    """A plan that can be played, and the prices that its calls are counted at."""

    plan: StudyPlan
    prices: Mapping[str, Rates] | None = None


def resolve(
    source: str | Path | Mapping[str, Any],
    *,
    preset: str | None = None,
    changes: Sequence[str] = (),
    models: Sequence[str] = (),
    seeds: int | None = None,
    budget: Mapping[str, Any] | None = None,
    prompts: str | Path | None = None,
    prices: Path | None = None,
) -> Resolved:
    """The plan of a study with the options of `ostrom run`, checked from end to end."""
    study = load_study(source, preset=preset, changes=changes, models=models, seeds=seeds, budget=budget)
    plan = StudyPlan(study, Library(prompts), read_study(source)[1])
    check_plan(plan)
    return Resolved(plan, None if prices is None else load_prices(prices))


def check_plan(plan: StudyPlan) -> None:
    """Refuse models, settings, panels and prompts that would end a run later."""
    check_report(plan.study.report, plan.file)
    abilities = {}
    for model in plan.models:
        try:
            abilities[model] = check_model(model, plan.settings(model))
        except UsageError as error:
            raise UsageError(f"{plan.file}: model {model}: {error}") from None
    for config in plan.agents:
        can = abilities.get(config.model or "")
        if can is not None:
            check_abilities(config, can, plan.file)
    try_prompts(plan)


def check_abilities(config: AgentConfig, can: Abilities, file: str) -> None:
    """Refuse to ask a model in a way that it cannot answer."""
    try:
        refuse_unable(config, can, str(config.model))
    except StudyError as error:
        raise StudyError(error.problem, file=file, key=error.key) from None


def check_report(report: ReportRule, file: str) -> None:
    """Refuse panels and published figures that do not exist now, not after the run."""
    from ostrom.reports.panel import panels
    from ostrom.studies.compare.figures import references

    for spec in report.panels:
        name = parse_spec(spec, key="report.panels", file=file)[0]
        if name not in panels:
            raise UnknownName("panel", name, panels).at(file, "report.panels")
    if report.reference is not None and report.reference not in references:
        raise UnknownName("reference", report.reference, references).at(file, "report.reference")
