"""`ostrom validate`: check a file, and show what `ostrom run` would say."""

from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.commands.run import plan_headline
from ostrom.cli.options import BUDGET, Models, PlayOptions, Presets, Seeds, Sets, with_play_options
from ostrom.cli.output import Output, Remark, print_stderr
from ostrom.ground.errors import StudyError, UsageError
from ostrom.ground.words import how_many

STAND_IN = "embedded/smollm2-135m"
"""The substitute model for a study that leaves its model to --model."""


@with_play_options(*BUDGET, "prompts", "prices", "allow_key")
def validate_file(
    file: Annotated[
        str,
        typer.Argument(help="A study, game, scenario, cast, mapping, lexicon or motives file, or a built-in study."),
    ],
    model: Models = None,
    preset: Presets = None,
    set_: Sets = None,
    seeds: Seeds = None,
    options: PlayOptions = PlayOptions(),
) -> Output:
    """Before playing: is this file right, and what will it take?

    A study is checked as `ostrom run` with the same options checks it, alone and with each of its presets.
    """
    from ostrom.studies.files import builtin_names

    choices: dict[str, Any] = {"models": model or (), "changes": set_ or (), "seeds": seeds, "options": options}
    facts = None if file in builtin_names() else check_file(Path(file))
    if facts is None:
        facts = _study(file, preset, choices)
    elif preset is not None or model or set_ or seeds or options.stated().keys() - {"allow_key"}:
        raise UsageError(f"{file}: is a {facts['kind']}; --model, --preset, --set and the like are for studies")
    return Output(facts, [facts, Remark("valid")])


def resolve_or_stand_in(file: str, **content: Any) -> tuple[Any, bool]:
    """Return the plan of a study, and whether a substitute model was used."""
    from ostrom.agents.config import NO_MODEL
    from ostrom.studies.resolve import resolve
    from ostrom.studies.schema import NO_VERSUS

    try:
        return resolve(file, **content).plan, False
    except StudyError as error:
        if (error.problem, error.key) not in ((NO_MODEL, "agent"), (NO_VERSUS, "types")) or content["models"]:
            raise
    return resolve(file, **{**content, "models": [STAND_IN]}).plan, True


def _study(file: str, preset: str | None, content: dict[str, Any]) -> dict[str, Any]:
    from ostrom.agents.commands import written
    from ostrom.studies.files import presets_of

    plans, left_open = dict[str, Any](), False
    for name in [None, *presets_of(file)] if preset is None else [preset]:
        try:
            plans[name or "as written"], stands_in = resolve_or_stand_in(file, preset=name, **content)
            left_open = left_open or stands_in
        except StudyError as error:
            if name is None or preset is not None:
                raise
            raise error.moved(f"with preset {name}: {error.key or 'study'}") from None
    plan = next(iter(plans.values()))
    sizes = {name: f"{how_many(one.cells, 'cell')}, {_size(one)}" for name, one in plans.items()}
    facts = _headline(plan, next(iter(sizes.values())), content["options"], left_open=left_open)
    facts |= {"file": file, "kind": "study", **sizes}
    if commands := dict.fromkeys(written(named) for config in plan.agents for _, named in config.commands):
        facts["commands"] = "; ".join(commands)
    if left_open:
        facts["models"] = "none named: ostrom run needs --model"
    return facts


def _headline(plan: Any, size: str, options: PlayOptions, *, left_open: bool) -> dict[str, Any]:
    """Return size, hours and money of a study; studies with people have no fixed hours."""
    if plan.study.people is not None:
        pay = plan.study.people.pay
        most = "without a bound" if pay.at_most is None else f"at most {pay.at_most:.2f} {pay.currency}"
        bonus = f", bonus {most}" if pay.per_point else ""
        return {
            "size": size,
            "hours": "as long as people take",
            "money": f"each person {pay.base:.2f} {pay.currency}{bonus}",
        }
    if left_open:
        return {"size": size, "hours": "depends on the model: name it with --model", "money": "depends on the model"}
    return plan_headline(plan, options)


def _size(plan: Any) -> str:
    """Describe the size; with people matches cannot be counted beforehand."""
    if plan.study.people is None:
        return how_many(plan.matches, "match")
    games = len(plan.study.people.order)
    return f"{how_many(plan.study.people.quota, 'person')} in each, {how_many(games, 'match')} a visit"


def check_file(file: Path) -> dict[str, Any] | None:
    """Describe and check a file other than a study; None for a study."""
    if not file.exists():
        raise UsageError(f"{file}: there is no such file")
    if file.is_dir():
        raise UsageError(f"{file}: is a folder (allowed: a file, or the name of a built-in study)")
    described = {".nfg": _game, ".py": _python, ".csv": _table_of_games}.get(file.suffix)
    if described is not None:
        return described(file)
    from ostrom.games.text_file import read_text
    from ostrom.ground.yaml import read_yaml
    from ostrom.studies.extensions import FileKind, file_kinds

    data = read_yaml(read_text(file, what="file"), str(file))
    keys = set(data) if isinstance(data, dict) else set()
    if "narrative" in keys:
        return _scenario(file)
    if "payoffs" in keys and "mechanism" not in keys:
        return _game(file)
    if "roles" in keys:
        return _cast(file)
    kinds = (file_kinds.get_instance(name, FileKind) for name in file_kinds)
    kind = next((kind for kind in kinds if kind.recognises(keys)), None)
    return None if kind is None else kind.facts(file)


def _game(file: Path) -> dict[str, Any]:
    from ostrom.games import build_game

    game = build_game(str(file))
    return {"file": str(file), "kind": "game", "name": game.name, "seats": game.seats}


def _python(file: Path) -> dict[str, Any]:
    """Return what a Python file offers to studies: memories and strategies by their first parameter, and measures."""
    import inspect

    from ostrom.agents.strategies import strategies
    from ostrom.agents.strategy import Strategy
    from ostrom.analysis.measure import Measure
    from ostrom.ground.python_files import allow_code, bind_code_parts, module_of, run_file
    from ostrom.memory import Memory, memories

    allow_code(file)
    module = module_of(file.name, run_file(file.name, file.parent, str(file), ""))
    parts: dict[str, list[str]] = {"memories": [], "strategies": [], "measures": []}
    for name, part in vars(module).items():
        if name.startswith("_") or (callable(part) and part.__module__ != module.__name__):
            continue
        first = next(iter(inspect.signature(part).parameters), "") if inspect.isfunction(part) else ""
        if first in ("rounds", "view") or (isinstance(part, type) and issubclass(part, Memory)):
            parts["memories"].append(name)
            memories.get(bind_code_parts(f"{file.name}:{name}", file.parent, str(file))["name"])
        elif first == "past" or (isinstance(part, type) and issubclass(part, Strategy)):
            parts["strategies"].append(name)
            strategies.get(bind_code_parts(f"{file.name}:{name}", file.parent, str(file))["name"])
        elif isinstance(part, Measure):
            parts["measures"].append(name)
    facts = {kind: ", ".join(f"{file.name}:{name}" for name in names) for kind, names in parts.items() if names}
    if not facts:
        raise UsageError(
            f"{file}: holds no part of a study: a memory is a function of `rounds`, a strategy one of `past`, "
            "a measure a Measure"
        )
    return {"file": str(file), "kind": "Python file", **facts}


def _table_of_games(file: Path) -> dict[str, Any]:
    from ostrom.games.ordinal_table import check_table, read_table

    rows, problems = len(read_table(file)), check_table(file)
    for line in problems:
        print_stderr(f"{file}: {line}")
    if problems:
        raise UsageError(f"{file}: {len(problems)} of {rows} games are wrong")
    return {"file": str(file), "kind": "table of 2x2 games", "games": rows}


def _scenario(file: Path) -> dict[str, Any]:
    from ostrom.games.scenarios import load_scenario, prove

    scenario = load_scenario(file)
    return {"file": str(file), "kind": "scenario", "name": scenario.name, "proof": "; ".join(prove(scenario).lines())}


def _cast(file: Path) -> dict[str, Any]:
    from ostrom.games.scenarios import load_cast

    cast = load_cast(file)
    roles = ", ".join(role.key for role in cast.roles)
    use = f"the scenarios beside it: ostrom validate {file.with_name('SCENARIO.yaml')}"
    return {"file": str(file), "kind": "cast", "family": cast.family, "roles": roles, "taken by": use}
