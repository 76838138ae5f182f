"""Open, play and reopen runs: what a command or a notebook calls.

``resolve`` leads from what a person gives to a plan that is ready to be played, for `run`, `resume` and `validate`.
Everything is checked there that can be known without asking a model: what `validate` accepts, `run` plays. How a run
is played is kept beside it, so that `ostrom resume` needs few options.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from ostrom.agents.config import AgentConfig
from ostrom.agents.language import refuse_unable
from ostrom.agents.strategies import strategies
from ostrom.engine import loop
from ostrom.engine.folder import (
    FREE_TO_CHANGE,
    MAY_BE_DECIDED,
    MAY_GROW,
    Folder,
    check_name,
    differences,
    kind_of,
    new_manifest,
)
from ostrom.engine.integrity import check_format
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Plan, PlanSource
from ostrom.engine.play_options import DECLARED, PlayOptions
from ostrom.engine.rows import Rows
from ostrom.engine.runner import Result, Runner
from ostrom.framing import Library
from ostrom.ground import python_files
from ostrom.ground.errors import RunError, StudyError, UnknownName, UsageError
from ostrom.ground.files import plain, read_plain, write_whole
from ostrom.ground.python_files import references
from ostrom.ground.registry import write_spec
from ostrom.ground.validation import validate
from ostrom.memory import memories
from ostrom.models import Abilities, check_model, open_model
from ostrom.models.base import Model
from ostrom.studies.effects import check_effects
from ostrom.studies.load import load_study, read_study
from ostrom.studies.plan import StudyPlan, plan_class, plan_of, read_plan
from ostrom.studies.prompts import home_of, library_of_run, refuse_other_prompts, try_prompts
from ostrom.studies.schema import ReportRule, StudyFile

if TYPE_CHECKING:
    from ostrom.data.rundata import RunData


Watch = Callable[[Runner], Coroutine[Any, Any, None]]
OpenModels = Callable[[str, Mapping[str, Any]], Model]


@dataclass(frozen=True)
class Run:
    """A run on disk, opened: what commands and features take; its folder, manifest, plan, journal and rows together."""

    folder: Folder
    manifest: Mapping[str, Any]
    plan: StudyPlan
    journal: Journal

    @property
    def name(self) -> str:
        """The name of the run: that of its folder."""
        return self.folder.path.name

    @property
    def rows(self) -> Rows:
        """The rows of the run's tables, computed from its plan and its journal."""
        return Rows(self.plan, self.journal, self.name)

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_run(path: str | Path, runs: str | Path = "runs", *, checked: bool = True) -> Run:
    """Open a run by its folder or by its name in the folder of runs.

    With ``checked=False`` the journal is opened read-only and at once, without the check of its integrity.
    """
    folder = find_run(path, runs)
    manifest = folder.manifest()
    journal = folder.open_journal(manifest, checked=checked)
    try:
        return Run(folder, manifest, read_plan(PlanSource(folder.path, manifest, journal)), journal)
    except BaseException:
        journal.close()
        raise


@contextmanager
def _tables_of(path: Path) -> Iterator[RunData]:
    """The tables of a run, with the run open."""
    from ostrom.data.rundata import run_data

    with open_run(path) as opened, run_data(opened.rows, path, opened.manifest) as data:
        yield data


def find_run(path: str | Path, runs: str | Path = "runs") -> Folder:
    """The folder of a run, given as a path or as a name."""
    for candidate in (Path(path), Path(runs) / str(path)):
        if (candidate / "run.json").exists():
            return Folder(candidate)
        _no_orphan(Folder(candidate))
    known = sorted(p.parent.name for p in Path(runs).glob("*/run.json")) if Path(runs).is_dir() else []
    hint = f"known runs: {', '.join(known)}" if known else f"there are no runs in {runs}"
    raise UsageError(f"{path}: there is no such run ({hint})")


def play(
    study: StudyFile,
    *,
    name: str | None = None,
    runs: str | Path = "runs",
    prompts: str | Path | None = None,
    options: PlayOptions | None = None,
    watch: Watch | None = None,
    open_models: OpenModels | None = None,
    file: str | None = None,
) -> Result:
    """Play a study into ``runs/<name>``, or go on where an earlier session left off."""
    return play_plan(
        StudyPlan(study, Library(prompts, home=home_of(file)), file),
        name=name or study.name,
        runs=runs,
        options=options,
        watch=watch,
        open_models=open_models,
    )


def play_plan(
    plan: Plan,
    *,
    name: str,
    runs: str | Path = "runs",
    options: PlayOptions | None = None,
    watch: Watch | None = None,
    open_models: OpenModels | None = None,
    begin: Callable[[Folder], Awaitable[None]] | None = None,
) -> Result:
    """Play a plan into ``runs/<name>``; ``begin`` may write the beginning of its journal."""
    playing = play_plan_async(
        plan,
        name=name,
        runs=runs,
        options=options,
        watch=watch,
        open_models=open_models,
        begin=begin,
    )
    try:
        return loop.run(playing)
    except asyncio.CancelledError:  # the second Ctrl-C: whoever plays wants to leave, not to read a traceback
        raise KeyboardInterrupt from None


async def play_plan_async(
    plan: Plan,
    *,
    name: str,
    runs: str | Path = "runs",
    options: PlayOptions | None = None,
    watch: Watch | None = None,
    open_models: OpenModels | None = None,
    begin: Callable[[Folder], Awaitable[None]] | None = None,
) -> Result:
    """As ``play_plan``, on the event loop that is running; a sequential design is played look by look."""
    folder = Folder(Path(runs) / check_name(name))

    async def play(part: Plan) -> Result:
        return await _play_once(part, folder, runs, options, watch, open_models, begin)

    if isinstance(plan, StudyPlan) and plan.stop is not None:
        from ostrom.studies.design import play_looks

        return await play_looks(plan, folder, play, _tables_of)
    return await play(plan)


async def _play_once(
    plan: Plan,
    folder: Folder,
    runs: str | Path,
    options: PlayOptions | None,
    watch: Watch | None,
    open_models: OpenModels | None,
    begin: Callable[[Folder], Awaitable[None]] | None,
) -> Result:
    if any(config.tree is not None for config in plan.agents):
        plan_class("tree").provide(plan, Path(runs))
    if plan.trees and options is not None and options.on_cluster:
        raise UsageError("--executor ray: a study with trees is played in this process, which holds them")
    # Models are opened before anything is written: a wrong name leaves no trace.
    models: dict[str, Model] = {}
    runner: Runner | None = None
    try:
        if options is None or not options.on_cluster:
            for model in plan.models:
                models[model] = (open_models or _open)(model, plan.settings(model))
        runner = Runner(plan, folder, plan.library, models, options, open_models)
        await runner.open()
        folder.lock()
        _prepare(folder, plan)
        if begin is not None:
            await begin(folder)
        return await _watched(runner, watch)
    finally:
        if runner is not None:
            await runner.close()
        for opened in models.values():
            await opened.close()
        folder.unlock()


def _open(name: str, settings: Mapping[str, Any]) -> Model:
    return open_model(name, **settings)


async def _watched(runner: Runner, watch: Watch | None) -> Result:
    if watch is None:
        return await runner.run()
    watching = asyncio.create_task(watch(runner))
    try:
        return await runner.run()
    finally:
        watching.cancel()
        (ended,) = await asyncio.gather(watching, return_exceptions=True)
        if isinstance(ended, Exception):  # what was played is kept, and whoever called hears what went wrong
            raise ended


def _prepare(folder: Folder, plan: Plan) -> None:
    """Write the manifest of a new run, or make sure that an old one is the same study."""
    study, parent = plan.resolved(), plan.forked_from
    forked = {} if parent is None else {"parent": parent}
    if not folder.exists:
        _no_orphan(folder)
        more = {"prompts_folder": _absolute(plan.library.folder), "loop": loop.loop_name(), **forked}
        if plan.library.sets:
            more["prompts_home"] = str(plan.library.home.absolute())
        if any(references(study)):
            more["code_home"] = str(plan.library.home.absolute())
        folder.write_manifest(new_manifest(plan.kind, study, plan.prompts, **more))
        return
    try:
        old = check_same(folder, plan)
    except RunError:
        # A journal of an older format was played with older prompts too: what it is comes before what differs.
        check_format(folder.journal)
        raise
    home = _absolute(plan.library.folder) or old.get("prompts_folder")
    new = {**old, "study": study, "prompts_folder": home, **forked}
    if old != new:
        folder.write_manifest(new)


def _absolute(folder: str | None) -> str | None:
    """A folder as any other command finds it, wherever that is called."""
    return None if folder is None else str(Path(folder).absolute())


def _no_orphan(folder: Folder) -> None:
    """Refuse a journal without its manifest: another study would take its answers for its own."""
    if plain(folder.journal).exists():
        raise RunError(
            f"{folder.path}: holds a journal but no run.json, which says what study it answers "
            "(put run.json back; a new run needs another --name)"
        )


def check_same(folder: Folder, plan: Plan) -> dict[str, Any]:
    """The manifest of a run; refused where it holds another study, or was played with other prompts."""
    old = folder.manifest()
    changes = changed(old["study"], plan.resolved())
    changes += changed(old.get("parent") or {}, plan.forked_from or {})
    if changes:
        shown = "; ".join(changes[:5]) + (f"; and {len(changes) - 5} more" if len(changes) > 5 else "")
        raise RunError(f"{folder.path}: holds another study: {shown} (choose another --name to keep both)")
    refuse_other_prompts(
        old.get("prompts"), plan.prompts, str(folder.path), "choose another --name to keep both"
    )
    return old


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What differs between two studies in a way that matters: neither more seeds nor a policy instead of fail."""
    left = {k: v for k, v in old.items() if k not in FREE_TO_CHANGE}
    right = {k: v for k, v in new.items() if k not in FREE_TO_CHANGE}
    for more in MAY_GROW:
        if left.get(more, 1) < right.get(more, 1):
            left[more] = right[more]
    for policy in MAY_BE_DECIDED:
        if left.get(policy, "fail") == "fail" and policy in right:
            left[policy] = right[policy]
    return differences(left, right)


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
    check_effects(plan, source, preset, changes, models, seeds, options.bounds)
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
    python_files.run_again(data, [Path(), Path(manifest.get("code_home") or "")], home.path, file)
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
        check_code(config, plan.file)
        can = abilities.get(config.client or "")
        if can is not None:
            check_abilities(config, can, plan.file)
    try_prompts(plan)


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
LATER = {"batch"}
"""Options that runs of earlier versions did not have."""
EARLIER = {"prompts", "seal"}
"""What earlier versions wrote there too; the folder of prompts is in run.json, bound by the hashes of its files."""


def save_session(folder: Path, options: PlayOptions) -> None:
    """Keep how a run is played; where that cannot be written the run goes on without it."""
    with suppress(OSError, RunError):
        text = orjson.dumps(
            {name: _plain(getattr(options, name)) for name in RECORDED}, option=orjson.OPT_INDENT_2
        )
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
    if not isinstance(data, dict) or not set(RECORDED) - LATER <= set(data) <= {*RECORDED, *EARLIER}:
        raise RunError(wrong)
    kept = {name: data.get(name) for name in RECORDED}
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
