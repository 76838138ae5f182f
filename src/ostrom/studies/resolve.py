"""Resolves command-line arguments to a plan ready to play, for `run`, `resume` and `validate`.

Everything is checked here that can be known without asking a model: what `validate` accepts, `run` plays. How a run
is played is kept beside it, so that `ostrom resume` needs few options.

What would change nothing is refused: a factor whose levels are played alike, a key that is replaced everywhere.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from ostrom.agents.commands import refuse_keys
from ostrom.agents.config import AgentConfig
from ostrom.agents.language import refuse_unable, styles
from ostrom.agents.strategies import strategies
from ostrom.analysis.registration import check_for_new_run, read_registration
from ostrom.engine.folder import kind_of
from ostrom.engine.play_options import DECLARED, PlayOptions
from ostrom.engine.shards import Shard
from ostrom.framing import Library
from ostrom.games import build_game
from ostrom.ground import python_files
from ostrom.ground.errors import RunError, StudyError, UnknownName, UsageError
from ostrom.ground.files import read_plain, write_atomically
from ostrom.ground.registry import write_spec
from ostrom.ground.validation import validate
from ostrom.ground.yaml import read_yaml
from ostrom.mechanisms.controls import build_mechanism
from ostrom.memory import memories
from ostrom.models import check_model
from ostrom.studies.checks import SAMPLED, long_tables
from ostrom.studies.extensions import plan_class
from ostrom.studies.factors import Factor, Grid, merge, on_top, overlap, read_factors, set_path, type_spec
from ostrom.studies.files import read_study
from ostrom.studies.load import load_study, merged, split_change, with_options
from ostrom.studies.plan import CHECK_ALL, VARIED, StudyPlan, plan_of
from ostrom.studies.prompts import home_of, library_of_run, try_prompts
from ostrom.studies.run import check_same, find_run, refuse_missing_packages
from ostrom.studies.schema import ReportRule, StudyFile

MARK = "\0mark"
"""A marker in place of a value, to see whether it reaches a match; no study file can contain it."""
PLAYED = (*VARIED, "people", "variants")
"""Keys of a study that determine what is played; other keys take effect elsewhere."""
LOOKED_THROUGH = 20_000
"""The most cells searched for a change."""


def check_effects(
    plan: StudyPlan,
    source: str | Path | Mapping[str, Any],
    preset: str | None,
    changes: Sequence[str],
    models: Sequence[str],
    seeds: int | None,
    budget: Mapping[str, Any],
) -> None:
    """Refuse factors, preset keys and changes that have no effect on what is played."""
    for factor in _idle_factors(plan):
        raise StudyError(
            "changes nothing: the matches of all its levels are the same, for types, seats or later factors set "
            "what it varies; leave it out",
            file=plan.file, key=f"vary.{factor.name}", actual=", ".join(str(level.label) for level in factor.levels),
        )  # fmt: skip
    if preset is not None:
        data, file = merged(source, preset, ())
        levels = [level.assigns for factor in read_factors(data["vary"], file) for level in factor.levels]
        for path, value in _changed(merged(source, None, ())[0], data):
            # A value that is a level's holds in some cells, and in all of them without the factor.
            level = any(path in assigns and assigns[path] == value for assigns in levels)
            if not level and (reason := _lost(deepcopy(data), file, path, value)):
                raise StudyError(reason, file=file, key=f"presets.{preset}.{path}")
    for change in changes:
        path, text = split_change(change)
        for leaf, value in _leaves(path, read_yaml(text, "--set")):
            data, file = merged(source, preset, changes)
            if reason := _lost(data, file, leaf, value, models, seeds, budget):
                raise StudyError(f"{leaf} {reason}", file=file, key="--set", actual=change)


def _idle_factors(plan: StudyPlan) -> Iterator[Factor]:
    """Yield factors whose levels make no difference; very large grids are not checked."""
    if plan.cells > CHECK_ALL:
        return
    cells = list(enumerate(plan.grid))
    for place, factor in enumerate(plan.factors):
        others = sorted((levels[:place] + levels[place + 1 :], number) for number, levels in cells)
        pairs = [(a, b) for (one, a), (two, b) in pairwise(others) if one == two]
        if pairs and all(plan.signature(a) == plan.signature(b) for a, b in pairs):
            yield factor


def _changed(bare: Mapping[str, Any], data: Mapping[str, Any], way: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the paths and values that a preset changes in what is played."""
    for key, value in data.items():
        old = bare.get(key)
        if old == value or (not way and key not in VARIED):
            continue
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            yield from _changed(old, value, f"{way}{key}.")
        else:
            yield from _leaves(f"{way}{key}", value)


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the single values that a change sets, with their paths."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(f"{path}.{key}", inner)
    else:
        yield path, value


def _lost(
    data: dict[str, Any],
    file: str,
    path: str,
    value: Any,
    models: Sequence[str] = (),
    seeds: int | None = None,
    budget: Mapping[str, Any] | None = None,
) -> str | None:
    """Return why the value at a path reaches no match; None if it does, or if unknown."""
    try:
        set_path(data, path, f"{MARK}/" if isinstance(value, str) and "/" in value else MARK)  # a model stays one
        data, root = with_options(data, file, models, seeds, budget), path.partition(".")[0]
    except StudyError:  # a marker cannot stand everywhere, as in place of null, which removes a variant
        return None
    if root not in PLAYED:
        return None if _marked(data) else "has no effect: stop, or an option of the command line, replaces it"
    factors = read_factors(data.get("vary") or {}, file)
    grid = Grid(factors, data.get("only") or (), file)
    if len(grid) > LOOKED_THROUGH or any(_reached(_assigned(data, factors, levels)) for levels in grid):
        return None
    names = [factor.name for factor in factors if any(overlap(path, other) for other in factor.paths)]
    reason = f"the study varies it (factor {', '.join(names)})" if names else (
        "variants are for models that are named with --model" if root == "variants" else
        "types, seats or --model replace it everywhere"
    )  # fmt: skip
    return f"has no effect: {reason}"


def _assigned(data: Mapping[str, Any], factors: Sequence[Factor], levels: Sequence[int]) -> dict[str, Any]:
    """Return what a study plays in one cell."""
    cell = {key: deepcopy(data[key]) for key in PLAYED if data.get(key) is not None}
    for factor, level in zip(factors, levels, strict=True):
        for path, value in factor.levels[level].assigns.items():
            set_path(cell, path, value)
    return cell


def _reached(cell: Mapping[str, Any]) -> bool:
    """Return whether the marker reaches some player of a cell."""
    people = cell.get("people") or {}
    rules = [
        merge(cell, over).get(name)
        for over in (people.get("games") or {"": {}}).values()
        for name in ("game", "mechanism")
    ]
    if _marked([people, *rules, cell.get("seating"), cell.get("observers")]):
        return True
    agents = [on_top(cell.get("agent") or {}, type_spec(spec)) for spec in (cell.get("types") or {"": {}}).values()]
    marked = [agent for agent in agents if _marked(agent)]
    seats = {int(seat): over for seat, over in (cell.get("seats") or {}).items() if over}
    if not seats or (
        marked and (people or build_mechanism(cell.get("mechanism") or "none", key="mechanism").observers)
    ):
        return bool(marked)
    places = range(1, build_game(cell["game"], key="game").seats + 1)
    return any(_marked(on_top(agent, seats.get(seat, {}))) for agent in agents for seat in places)


def _marked(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(map(_marked, value.values()))
    return any(map(_marked, value)) if isinstance(value, list) else str(value).startswith(MARK)


@dataclass(frozen=True)
class Resolved:
    """A plan ready to play, and its options."""

    plan: StudyPlan
    options: PlayOptions = field(default_factory=PlayOptions)
    folder: Path = Path()
    """The folder of a run to be resumed."""


def resolve(
    source: str | Path | Mapping[str, Any],
    *,
    preset: str | None = None,
    changes: Sequence[str] = (),
    models: Sequence[str] = (),
    seeds: int | None = None,
    options: PlayOptions = PlayOptions(),
) -> Resolved:
    """Return the checked plan of a study with the options of `ostrom run`."""
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
    _ = options.rates  # an unreadable file of prices is refused now
    return Resolved(plan if options.shard is None else plan.divided(Shard.parse(options.shard)), options)


def resolve_run(
    run: str | Path, runs: str | Path = "runs", *, options: PlayOptions = PlayOptions(), seeds: int | None = None
) -> Resolved:
    """Return the plan of a run on disk; stated options replace recorded ones."""
    home = find_run(run, runs)
    manifest, file = home.manifest(), str(home.path / "run.json")
    if elsewhere := plan_class(kind_of(manifest), file).resume_hint(manifest):
        raise UsageError(f"{home.path}: {elsewhere}")
    refuse_missing_packages(home.path, manifest)
    options = load_session(home.path, options)
    data = dict(manifest["study"])
    python_files.run_again(data, [Path(), Path(manifest.get("code_home") or "")], home.path, file)
    if seeds is not None:
        data["seeds"] = seeds
    if options.bounds:
        data["budget"] = {**(data.get("budget") or {}), **options.bounds}
    plan = StudyPlan(
        validate(StudyFile, data, file, "study"),
        library_of_run(manifest, home.path, None if options.prompts is None else str(options.prompts)),
        file,
    )
    check_plan(plan)
    if (shard := Shard.of_manifest(manifest)) is not None:
        plan = plan.divided(shard)
    check_same(home, plan)
    _ = options.rates
    return Resolved(plan, options, home.path)


def check_plan(plan: StudyPlan) -> None:
    """Refuse models, settings, panels and prompts that would fail later."""
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
        try:
            if (can := abilities.get(config.client or "")) is not None:
                refuse_unable(config, styles.build(config.style, key="agent.style"), can, str(config.model))
        except StudyError as error:
            raise StudyError(error.problem, file=plan.file, key=error.key) from None
    try:
        try_prompts(plan)
    except StudyError as error:
        if "steps" in error.problem and (long := long_tables(plan.sample(SAMPLED))):
            raise StudyError(f"{error.problem}; {long}", file=plan.file, key="agent.framing.payoffs") from None
        raise


def check_code(config: AgentConfig, file: str) -> None:
    """Refuse to play if Python code of a strategy or memory is missing."""
    for registry, spec in ((memories, config.memory), (strategies, config.strategy)):
        if spec is not None and getattr(registry.build(spec), "absent", False):
            name = python_files.readable(write_spec(spec))
            raise StudyError(
                f"{registry.kind} {name}: was Python code of a script, known to it alone: run the script again",
                file=file,
            )


def check_stop(plan: StudyPlan) -> None:
    """Refuse a stopping rule whose contrast the study cannot estimate."""
    if plan.study.stop is None:
        return
    from ostrom.studies.design import planned_contrast

    try:
        planned_contrast(plan, plan.study.stop)
    except UsageError as error:
        raise UsageError(f"{plan.file}: stop: {error}") from None


def check_report(report: ReportRule, file: str) -> None:
    """Refuse unknown panels and published figures before the run."""
    from ostrom.analysis.claims import references
    from ostrom.reports.declared import panel_of

    for spec in report.panels:
        panel_of(spec, file=file)
    if report.reference is not None and report.reference not in references:
        raise UnknownName("reference", report.reference, references).with_place(file, "report.reference")


SESSION = "session.json"
RECORDED = {name: declaration for name, declaration in DECLARED.items() if declaration.recorded}


def save_session(folder: Path, options: PlayOptions) -> None:
    """Store the options of a run; if that fails the run continues without them."""
    with suppress(OSError, RunError):
        write_atomically(
            folder / SESSION,
            orjson.dumps({name: _plain(getattr(options, name)) for name in RECORDED}, option=orjson.OPT_INDENT_2),
        )


def _plain(value: Any) -> Any:
    """Return a value for the file; paths are absolute, so that a run can be resumed from any folder."""
    return str(value.resolve()) if isinstance(value, Path) else None if isinstance(value, dict) else value


def load_session(folder: Path, options: PlayOptions) -> PlayOptions:
    """Return the last recorded options of a run, with those stated now in their place."""
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
    stated = options.stated()
    try:
        recorded = PlayOptions(**{name: _checked(name, data[name]) for name in RECORDED})
        recorded.check()
    except (TypeError, UsageError):
        raise RunError(wrong) from None
    foreign = [name for name in RECORDED if RECORDED[name].foreign and data[name] is not None and name not in stated]
    if foreign:
        words = " ".join(f"--{name.replace('_', '-')} {shlex.quote(str(data[name]))}" for name in foreign)
        raise RunError(
            f"{file}: names what lies outside the run folder, which is used only if you give it yourself: "
            f"ostrom resume {shlex.quote(str(folder))} {words}"
        )
    merged = replace(recorded, **stated)
    merged.check()
    return merged


def _checked(name: str, value: Any) -> Any:
    """Return a recorded value; a wrong type is refused."""
    kind = RECORDED[name].kind
    if value is not None and type(value) is not (str if kind is Path else kind):
        raise TypeError(name)
    return value
