"""From what a person gives to a plan that is ready to be played: the one way for `run`, `resume` and `validate`.

Everything is checked here that can be known without asking a model: what `validate` accepts, `run` plays. How a run
is played is kept beside it, so that `ostrom resume` needs few options.
"""

import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson

from ostrom.agents.commands import refuse_keys
from ostrom.agents.config import AgentConfig
from ostrom.agents.language import refuse_unable
from ostrom.agents.strategies import strategies
from ostrom.analysis.registration import check_for_new_run, read_registration
from ostrom.engine.folder import kind_of
from ostrom.engine.play_options import DECLARED, PlayOptions
from ostrom.engine.shards import Shard
from ostrom.framing import Library
from ostrom.ground import python_files
from ostrom.ground.errors import RunError, StudyError, UnknownName, UsageError
from ostrom.ground.files import read_plain, write_whole
from ostrom.ground.registry import write_spec
from ostrom.ground.validation import validate
from ostrom.memory import memories
from ostrom.models import Abilities, check_model
from ostrom.studies.checks import SAMPLED, long_tables
from ostrom.studies.effects import check_effects
from ostrom.studies.extensions import plan_class
from ostrom.studies.files import read_study
from ostrom.studies.load import load_study
from ostrom.studies.plan import StudyPlan, plan_of
from ostrom.studies.prompts import home_of, library_of_run, try_prompts
from ostrom.studies.run import check_same, find_run
from ostrom.studies.schema import ReportRule, StudyFile


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
    registration = None
    if options.registered is not None:
        registration = read_registration(options.registered)
        check_for_new_run(registration, str(options.registered))
        stated = registration.stated
        preset, changes = preset or stated.preset, (*stated.set, *changes)
        models, seeds = models or stated.models, seeds if seeds is not None else stated.seeds
    study = load_study(source, preset=preset, changes=changes, models=models, seeds=seeds, budget=options.bounds)
    file = read_study(source)[1]
    plan = plan_of(study, Library(options.prompts, home=home_of(file)), file)
    check_effects(plan, source, preset, changes, models, seeds, options.bounds)
    check_plan(plan)
    if registration is not None:
        plan.registered = registration.model_dump(mode="json")
    _ = options.rates  # a file of prices that cannot be read is refused now
    return Resolved(plan if options.shard is None else plan.divided(Shard.parse(options.shard)), options)


def resolve_run(
    run: str | Path, runs: str | Path = "runs", *, options: PlayOptions = PlayOptions(), seeds: int | None = None
) -> Resolved:
    """The plan of a run on disk, as it was begun; options that are stated replace what was kept."""
    home = find_run(run, runs)
    manifest, file = home.manifest(), str(home.path / "run.json")
    if elsewhere := plan_class(kind_of(manifest), file).gone_on_with(manifest):
        raise UsageError(f"{home.path}: {elsewhere}")
    options = load_session(home.path, options)
    data = dict(manifest["study"])
    python_files.run_again(data, [Path(), Path(manifest.get("code_home") or "")], home.path, file)
    if seeds is not None:
        data["seeds"] = seeds
    if options.bounds:
        data["budget"] = {**(data.get("budget") or {}), **options.bounds}
    study = validate(StudyFile, data, file, "study")
    prompts = None if options.prompts is None else str(options.prompts)
    plan = StudyPlan(study, library_of_run(manifest, home.path, prompts), file)
    check_plan(plan)
    if (shard := Shard.of_manifest(manifest)) is not None:
        plan = plan.divided(shard)
    check_same(home, plan)
    _ = options.rates
    return Resolved(plan, options, home.path)


def check_plan(plan: StudyPlan) -> None:
    """Refuse models, settings, panels and prompts that would end a run later."""
    check_report(plan.study.report, plan.file)
    plan.check_texts()
    check_stop(plan)
    abilities = {}
    for model in plan.models:
        try:
            abilities[model] = check_model(model, plan.settings(model))
        except UsageError as error:
            raise UsageError(f"{plan.file}: model {model}: {error}") from None
    for config in plan.agents:
        check_code(config, plan.file)
        refuse_keys(config.commands, plan.file)
        can = abilities.get(config.client or "")
        if can is not None:
            check_abilities(config, can, plan.file)
    try:
        try_prompts(plan)
    except StudyError as error:
        if "steps" in error.problem and (long := long_tables(plan.sample(SAMPLED))):
            raise StudyError(f"{error.problem}; {long}", file=plan.file, key="agent.framing.payoffs") from None
        raise


def check_code(config: AgentConfig, file: str) -> None:
    """Refuse to play where Python code that decides is not here."""
    for registry, spec in ((memories, config.memory), (strategies, config.strategy)):
        if spec is not None and getattr(registry.build(spec), "absent", False):
            name = python_files.readable(write_spec(spec))
            raise StudyError(
                f"{registry.kind} {name}: was Python code of a script, known to it alone: run the script again",
                file=file,
            )


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


SESSION = "session.json"
RECORDED = {name: declaration for name, declaration in DECLARED.items() if declaration.recorded}


def save_session(folder: Path, options: PlayOptions) -> None:
    """Keep how a run is played; where that cannot be written the run goes on without it."""
    with suppress(OSError, RunError):
        text = orjson.dumps({name: _plain(getattr(options, name)) for name in RECORDED}, option=orjson.OPT_INDENT_2)
        write_whole(folder / SESSION, text)


def _plain(value: Any) -> Any:
    """A value as the file holds it; paths are absolute, so that a run can be resumed from any folder."""
    if isinstance(value, Path):
        return str(value.resolve())
    return None if isinstance(value, dict) else value


def load_session(folder: Path, options: PlayOptions) -> PlayOptions:
    """How a run was played last, with what is stated now in its place."""
    file = folder / SESSION
    try:
        data = orjson.loads(read_plain(file))
    except FileNotFoundError:
        return options
    except (OSError, orjson.JSONDecodeError) as error:
        raise RunError(f"{file}: cannot be read: {error} (repeat `ostrom run` with its options)") from None
    wrong = f"{file}: is not what ostrom writes there (repeat `ostrom run` with its options)"
    if not isinstance(data, dict) or set(data) != set(RECORDED):
        raise RunError(wrong)
    kept = {name: data[name] for name in RECORDED}
    stated = options.stated()
    try:
        recorded = PlayOptions(**{name: _checked(name, value) for name, value in kept.items()})
        recorded.check()
    except (TypeError, UsageError):
        raise RunError(wrong) from None
    foreign = {name: value for name, value in kept.items() if RECORDED[name].foreign and value is not None}
    if missing := {name: str(value) for name, value in foreign.items() if name not in stated}:
        words = " ".join(f"--{name.replace('_', '-')} {shlex.quote(v)}" for name, v in missing.items())
        raise RunError(
            f"{file}: names what lies outside the run folder, which is used only if you give it yourself: "
            f"ostrom resume {shlex.quote(str(folder))} {words}"
        )
    merged = replace(recorded, **stated)
    merged.check()
    return merged


def _checked(name: str, value: Any) -> Any:
    """A recorded value; refused where it is not of the type that is written there."""
    kind = RECORDED[name].kind
    if value is not None and type(value) is not (str if kind is Path else kind):
        raise TypeError(name)
    return value
