"""Opens, plays and reopens runs, for commands and notebooks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from ostrom.agents.base import OutsideSeats
from ostrom.agents.commands import allow_commands
from ostrom.agents.config import AgentConfig
from ostrom.engine.entries import answer_columns
from ostrom.engine.folder import (
    FREE_TO_CHANGE,
    MAY_BE_DECIDED,
    MAY_GROW,
    Folder,
    check_name,
    differences,
    new_manifest,
    refuse_joined,
)
from ostrom.engine.joined import JoinedJournal
from ostrom.engine.journal import Journal
from ostrom.engine.match import ReplayDiffers
from ostrom.engine.plan import Plan, PlanSource
from ostrom.engine.play_options import PlayOptions
from ostrom.engine.rows import Rows
from ostrom.engine.runner import Result, Runner
from ostrom.engine.shards import Shard
from ostrom.framing import Library
from ostrom.games import is_game_file, keep_game_files
from ostrom.ground import loop
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import require_regular_file
from ostrom.ground.python_files import references
from ostrom.ground.registry import code_of_packages, missing_packages, parts_of_packages
from ostrom.ground.terminal import print_stderr
from ostrom.models import open_model
from ostrom.models.base import Model
from ostrom.studies.extensions import plan_class, seat_hosts
from ostrom.studies.plan import StudyPlan, read_plan
from ostrom.studies.prompts import home_of, refuse_other_prompts
from ostrom.studies.schema import StudyFile

if TYPE_CHECKING:
    from ostrom.data.rundata import RunData

Watch = Callable[[Runner], Coroutine[Any, Any, None]]
OpenModels = Callable[[str, Mapping[str, Any]], Model]


@dataclass(frozen=True)
class Run:
    """An opened run: its folder, manifest, plan, journal and rows."""

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

    Rows of matches drawn at random are held against a replay (``Rows.check_sample``). With ``checked=False`` the
    journal is opened read-only and at once, without a check of its integrity.
    """
    folder = find_run(path, runs)
    manifest = folder.manifest()
    journal = folder.open_journal(manifest, checked=checked)
    try:
        plan = read_plan(PlanSource(folder.path, manifest, journal))
        if isinstance(journal, JoinedJournal):
            journal.assign(plan.group)
        run = Run(folder, manifest, plan, journal)
        if missing := missing_packages(manifest.get("parts") or {}):
            print_stderr(f"{folder.path}: needs {', '.join(missing)}; its rows are read as they were written")
        elif checked and manifest.get("shared") is None:  # shared runs have tables and no journal
            try:
                compared, drawn = run.rows.check_sample()
            except ReplayDiffers:
                if not journal.changed_packages:
                    raise
                print_stderr(
                    f"{folder.path}: {'; '.join(journal.changed_packages)}; its rows are read as they were written"
                )
            else:
                if compared < drawn:
                    print_stderr(
                        f"{folder.path}: rows of {compared} of {drawn} drawn matches were held against a replay: they "
                        "are long (ostrom check holds all)"
                    )
        return run
    except BaseException:
        journal.close()
        raise


@contextmanager
def _tables_of(path: Path) -> Iterator[RunData]:
    """Open the tables of a run, for a look that its stopping rule plans."""
    from ostrom.data.rundata import run_data

    with open_run(path) as opened, run_data(opened.rows, path, opened.manifest, look=False) as data:
        yield data


def find_run(path: str | Path, runs: str | Path = "runs") -> Folder:
    """The folder of a run, given as a path or as a name."""
    for candidate in (Path(path), Path(runs) / str(path)):
        if (candidate / "run.json").exists():
            return Folder(candidate)
        _no_orphan(Folder(candidate))
    names = sorted(p.parent.name for p in Path(runs).glob("*/run.json")) if Path(runs).is_dir() else []
    hint = f"known runs: {', '.join(names)}" if names else f"there are no runs in {runs}"
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
    """Play a study into ``runs/<name>``, or resume it."""
    plan = StudyPlan(study, Library(prompts, home=home_of(file)), file)
    if options is not None and options.shard is not None:
        plan = plan.divided(Shard.parse(options.shard))
    return play_plan(plan, name=plan.run_name(name), runs=runs, options=options, watch=watch, open_models=open_models)


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
        plan, name=name, runs=runs, options=options, watch=watch, open_models=open_models, begin=begin
    )
    try:
        return loop.run(playing)
    except asyncio.CancelledError:  # the second Ctrl-C: end without a traceback
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
    """Play a plan as ``play_plan``, on the running event loop; a sequential design is played look by look."""
    folder = Folder(Path(runs) / check_name(name))

    async def play(part: Plan) -> Result:
        part.outside = plan.outside
        return await _play_once(part, folder, runs, options, watch, open_models, begin)

    check_commands(plan, options or PlayOptions())
    if plan.outside is None:
        plan.outside = _outside_seats(plan, options or PlayOptions())
    try:
        if isinstance(plan, StudyPlan) and plan.stop is not None:
            from ostrom.studies.design import play_looks

            return await play_looks(plan, folder, play, _tables_of)
        return await play(plan)
    finally:
        if plan.outside is not None:
            await plan.outside.close()
            plan.outside = None


def _outside_seats(plan: Plan, options: PlayOptions) -> OutsideSeats | None:
    """Return the seats of external agents; None if the plan has none."""
    if all(config.mcp is None for config in _agents(plan)):
        return None
    _refuse_elsewhere(options, "agents at seats (mcp) are asked by this process, one decision at a time")
    return seat_hosts.get("mcp")(plan, options)


def _agents(plan: Plan) -> Iterable[AgentConfig]:
    """Return the agents of a plan; those of its first unit where it states none."""
    return plan.agents or [seated.config for unit in islice(plan.units(), 1) for seated in unit.players]


def _refuse_elsewhere(options: PlayOptions, why: str) -> None:
    """Refuse to play on other machines or in batches."""
    if options.on_cluster or options.batch:
        raise UsageError(f"{'--executor ray' if options.on_cluster else '--batch'}: {why}")


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
        if plan.registered is None and folder.exists:
            plan.registered = folder.manifest().get("registered")
        plan_class("tree").load_answers_for(plan, Path(runs))
    if plan.trees and options is not None and options.on_cluster:
        raise UsageError("--executor ray: a study with trees is played in this process, which holds them")
    # Models are opened before anything is written: a wrong name leaves no run.
    models: dict[str, Model] = {}
    runner: Runner | None = None
    try:
        for model in plan.models if options is None or not options.on_cluster else ():
            settings = plan.settings(model)
            models[model] = open_models(model, settings) if open_models else open_model(model, **settings)
        runner = Runner(plan, folder, plan.library, models, options, open_models)
        await runner.open()
        folder.lock()
        runner.manifest = prepare_folder(folder, plan)
        if begin is not None:
            await begin(folder)
        if plan.outside is not None:
            await plan.outside.open(folder.path)
        return await _watched(runner, watch)
    finally:
        if runner is not None:
            await runner.close()
        for opened in models.values():
            await opened.close()
        folder.unlock()


def check_commands(plan: Plan, options: PlayOptions) -> None:
    """Refuse programs in the plan that the user did not allow, or that would run on other machines."""
    commands = [named for config in _agents(plan) for named in config.commands]
    allow_commands(commands, options.allow_command, plan.file)
    if commands:
        _refuse_elsewhere(options, "the commands of a study run beside its matches, in this process alone")


async def _watched(runner: Runner, watch: Watch | None) -> Result:
    if watch is None:
        return await runner.run()
    watching = asyncio.create_task(watch(runner))
    try:
        return await runner.run()
    finally:
        watching.cancel()
        (ended,) = await asyncio.gather(watching, return_exceptions=True)
        if isinstance(ended, Exception):  # finished matches are kept, and the caller gets the error
            raise ended


def prepare_folder(folder: Folder, plan: Plan) -> dict[str, Any] | None:
    """Write the manifest of a new run, or check that an existing one is the same study.

    What the manifest of an old one is to say from now on is returned, to be written when play begins: a command
    that is refused before changes nothing.
    """
    study, parent = plan.resolved(), plan.forked_from
    forked = {} if parent is None else {"parent": parent}
    if not folder.exists:
        _no_orphan(folder)
        more: dict[str, Any] = {"prompts_folder": _absolute(plan.library.folder), "loop": loop.loop_name(), **forked}
        if parts := parts_of_packages(study):
            more |= {"parts": parts, "code": code_of_packages(parts)}
        more |= {key: list(shapes.values()) for key, shapes in plan.shapes.items() if shapes}
        if plan.library.sets:
            more["prompts_home"] = str(plan.library.home.absolute())
        if any(references(study)):
            more["code_home"] = str(plan.library.home.absolute())
        if plan.registered is not None:
            more["registered"] = dict(plan.registered)
        if plan.shard is not None:
            more["shard"] = {**asdict(plan.shard), "playing": token_hex(8), "trees": _trees(plan)}
        # Before the manifest, so that a run has all its files whenever this process is killed.
        keep_game_files(filter(is_game_file, plan.prompts), plan.file, folder.path)
        folder.write_manifest(new_manifest(plan.kind, study, plan.prompts, **more))
        return None
    old = check_same(folder, plan)
    if (old.get("shard") or {}).get("trees") != _trees(plan):
        raise RunError(f"{folder.path}: was played with other trees (put back those that it was begun with)")
    new = {
        **old,
        "study": study,
        "prompts_folder": _absolute(plan.library.folder) or old.get("prompts_folder"),
        **forked,
    }
    packages = parts_of_packages(study)
    for key, here in (("parts", packages), ("code", code_of_packages(packages))):
        for part, package in here.items():  # a run may be resumed with another version
            recorded = (new.get(key) or {}).get(part)
            if package not in (recorded or "").split(", "):
                new[key] = {**(new.get(key) or {}), part: f"{recorded}, {package}" if recorded else package}
    return new if old != new else None


def _trees(plan: Plan) -> str | None:
    """Return a hash of a shard's precomputed answers: all shards must use the same."""
    if plan.shard is None or not plan.trees:
        return None
    answers = {key: sorted((repr(at), answer_columns(a)) for at, a in of.items()) for key, of in plan.trees.items()}
    return blake2b(repr(sorted(answers.items())).encode(), digest_size=16).hexdigest()


def _absolute(folder: str | None) -> str | None:
    """Return a folder as an absolute path."""
    return None if folder is None else str(Path(folder).absolute())


def _no_orphan(folder: Folder) -> None:
    """Refuse a journal without its manifest: another study would take over its answers."""
    if require_regular_file(folder.journal).exists():
        raise RunError(
            f"{folder.path}: holds a journal but no run.json, which says what study it answers "
            "(put run.json back; a new run needs another --name)"
        )


def refuse_missing_packages(path: Path, manifest: Mapping[str, Any]) -> None:
    """Refuse to replay or play a run without the packages of its parts."""
    if missing := missing_packages(manifest.get("parts") or {}):
        named = " ".join(f"'{package.rpartition(', ')[2].replace(' ', '==')}'" for package in missing)
        raise RunError(f"{path}: needs {', '.join(missing)}, not installed here (pip install {named})")


def check_same(folder: Folder, plan: Plan) -> dict[str, Any]:
    """Return the manifest of a run; refused if it holds another study or other prompts.

    The plan is bound to the registration of the run from here on.
    """
    old = folder.manifest()
    refuse_joined(folder.path, old, "cannot be gone on with as a whole")
    refuse_missing_packages(folder.path, old)
    if (shard := Shard.of_manifest(old)) != plan.shard:
        scopes = ("the undivided study" if one is None else f"shard {one}" for one in (shard, plan.shard))
        raise RunError(f"{folder.path}: holds {next(scopes)}, not {next(scopes)} (choose another --name)")
    bound = old.get("registered") or {}
    if plan.registered is not None and plan.registered["hash"] != bound.get("hash"):
        binding = f"is bound to the registration {bound['hash'][:16]}" if bound else "was begun without a registration"
        raise RunError(
            f"{folder.path}: {binding} (created {old['created']}); a registration is made before its run (choose "
            "another --name; a run that was played: ostrom register --played)"
        )
    plan.registered = bound or None
    changes = changed(old["study"], plan.resolved()) + changed(old.get("parent") or {}, plan.forked_from or {})
    if changes:
        summary = "; ".join(changes[:5]) + (f"; and {len(changes) - 5} more" if len(changes) > 5 else "")
        raise RunError(f"{folder.path}: holds another study: {summary} (choose another --name to keep both)")
    refuse_other_prompts(old["prompts"], plan.prompts, str(folder.path), "choose another --name to keep both")
    return old


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the relevant differences between two studies; more seeds, or a policy instead of fail, are none."""
    left, right = ({k: v for k, v in study.items() if k not in FREE_TO_CHANGE} for study in (old, new))
    for more in MAY_GROW:
        if left.get(more, 1) < right.get(more, 1):
            left[more] = right[more]
    for policy in MAY_BE_DECIDED:
        if left.get(policy, "fail") == "fail" and policy in right:
            left[policy] = right[policy]
    return differences(left, right)
