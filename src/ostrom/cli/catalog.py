"""`ostrom list`, `ostrom show`, `ostrom validate`: what there is, and whether a file is right."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.options import AllowKey, say_allowed
from ostrom.cli.output import print_json, print_record, print_table, say, write
from ostrom.errors import UnknownName, UsageError

if TYPE_CHECKING:
    from ostrom.studies.schema import ReportRule

KINDS = (
    "games",
    "strategies",
    "mechanisms",
    "memories",
    "styles",
    "models",
    "studies",
    "prompts",
    "mappings",
)


def list_parts(
    kind: Annotated[str, typer.Argument(help=" | ".join(KINDS))],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List what can be used by name."""
    rows = _rows(kind)
    if json:
        print_json(rows)
        return
    columns = list(rows[0]) if rows else ["name"]
    print_table("", columns, [[row.get(c) for c in columns] for row in rows])


def _rows(kind: str) -> list[dict[str, Any]]:
    if kind == "models":
        from ostrom.models import model_names

        return [{"name": name} for name in model_names()]
    if kind == "studies":
        from ostrom.studies.load import builtin_names, presets_of, read_study

        return [
            {
                "name": name,
                "title": read_study(name)[0].get("title", ""),
                "presets": ", ".join(presets_of(name)),
                "after": read_study(name)[0].get("citation", ""),
            }
            for name in builtin_names()
        ]
    if kind == "prompts":
        from ostrom.framing import Library

        library = Library()
        kinds = ("stories", "payoffs", "history", "goals", "hints", "personas")
        return [{"kind": k, "name": n} for k in kinds for n in library.names(k)]
    if kind == "mappings":
        from ostrom.studies.importing import load_mapping, mapping_names
        from ostrom.studies.importing.tournament_mapping import load_tournament_mapping, tournament_names

        rules = {name: load_mapping(name)[0] for name in mapping_names()}
        of_tournaments = {name: load_tournament_mapping(name)[0] for name in tournament_names()}
        return [
            {"name": name, "of": kind, "title": rule.title, "after": rule.citation}
            for kind, known in (("rounds", rules), ("tournaments", of_tournaments))
            for name, rule in known.items()
        ]
    registry = _registry(kind)
    return [
        {"name": name, "what": _first_line(registry.get(name)), "parameters": _parameters(registry, name)}
        for name in registry.names()
    ]


def _registry(kind: str) -> Any:
    if kind == "games":
        from ostrom.games import games

        return games
    if kind == "strategies":
        from ostrom.agents.strategies import strategies

        return strategies
    if kind == "mechanisms":
        from ostrom.mechanisms import mechanisms

        return mechanisms
    if kind == "memories":
        from ostrom.memory import memories

        return memories
    if kind == "styles":
        from ostrom.agents.style import styles

        return styles
    raise UsageError(f"cannot list {kind!r} (allowed: {', '.join(KINDS)})")


def _first_line(part: Any) -> str:
    return (inspect.getdoc(part) or "").partition("\n")[0]


def _parameters(registry: Any, name: str) -> str:
    return ", ".join(
        p.name if p.default is p.empty else f"{p.name}={p.default}"
        for p in registry.parameters(name).values()
        if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    )


def show(
    kind: Annotated[str, typer.Argument(help="game | strategy | mechanism | memory | study | prompt")],
    name: Annotated[str, typer.Argument(help="Its name, with parameters after a colon: public_goods:n=4")],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show one part in full."""
    if kind == "game":
        _show_game(name, json)
    elif kind == "study":
        from ostrom.studies.load import read_study

        data = read_study(name)[0]
        if json:
            print_json(data)
        else:
            import yaml

            write(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110), end="")
    elif kind == "prompt":
        from ostrom.framing import Library

        library = Library()
        path = next((f / name for f in library.folders if (f / name).is_file()), None)
        if path is None:
            raise UsageError(f"there is no prompt file {name!r} (see `ostrom list prompts`)")
        text = path.read_text(encoding="utf-8")
        print_json({"file": name, "text": text}) if json else write(text, end="")
    else:
        plural = {"strategy": "strategies", "memory": "memories"}.get(kind, f"{kind}s")
        registry = _registry(plural)
        bare = name.partition(":")[0]
        record = {
            "name": bare,
            "what": inspect.getdoc(registry.get(bare)) or "",
            "parameters": _parameters(registry, bare),
        }
        print_json(record) if json else print_record(record)


def _show_game(name: str, json: bool) -> None:
    from ostrom.cli.telling import game_in_words
    from ostrom.games import build_game
    from ostrom.games.payoff_table import payoff_table
    from ostrom.games.summary import summary

    game = build_game(name)
    facts = summary(game)
    if json:
        print_json(facts)
        return
    rows = payoff_table(game)
    print_table(f"{game.title}: payoffs", list(rows[0]), [list(r) for r in rows[1:]])
    print_record(game_in_words(facts))


def validate_file(
    file: Annotated[
        Path, typer.Argument(help="A study, game, scenario, cast, mapping, lexicon or motives file.")
    ],
    allow_key: AllowKey = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check a file from end to end and say what it is."""
    say_allowed(allow_key)
    facts = check_file(file)
    if json:
        print_json(facts)
    else:
        print_record(facts)
        say("valid")


def check_file(file: Path) -> dict[str, Any]:
    """What kind of file it is and the proof that it is right; errors name the key."""
    if not file.exists():
        raise UsageError(f"{file}: there is no such file")
    if file.suffix == ".nfg":
        from ostrom.games import build_game

        game = build_game(str(file))
        return {"file": str(file), "kind": "game", "name": game.name, "seats": game.seats}
    if file.suffix == ".csv":
        return _table_of_games(file)
    from ostrom.studies.load import parse_yaml

    try:
        data = parse_yaml(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read: {error}") from None
    keys = set(data) if isinstance(data, dict) else set()
    if "narrative" in keys:
        return _scenario(file)
    if "payoffs" in keys and "mechanism" not in keys:
        from ostrom.games import build_game

        game = build_game(str(file))
        return {"file": str(file), "kind": "game", "name": game.name, "seats": game.seats}
    if "game" in keys and {"seats", "players"} & keys and {"actions", "match"} & keys:
        from ostrom.studies.importing import load_mapping

        return {"file": str(file), "kind": "mapping", "columns": ", ".join(load_mapping(file)[0].needed())}
    if "lexicons" in keys:
        from ostrom.analysis.lexicons import load_lexicons

        lists = load_lexicons(file)
        return {"file": str(file), "kind": "lexicons", "lists": ", ".join(x.name for x in lists)}
    if "roles" in keys:
        return _cast(file)
    if "motives" in keys:
        return _motives(file)
    return _study(file, data)


def _table_of_games(file: Path) -> dict[str, Any]:
    from ostrom.games.ordinal_table import check_table, read_table

    rows, problems = len(read_table(file)), check_table(file)
    if problems:
        for line in problems:
            say(f"{file}: {line}")
        raise UsageError(f"{file}: {len(problems)} of {rows} games are wrong")
    return {"file": str(file), "kind": "table of 2x2 games", "games": rows}


def _scenario(file: Path) -> dict[str, Any]:
    from ostrom.games.scenarios import load_scenario, prove

    scenario = load_scenario(file)
    lines = prove(scenario).lines()
    return {"file": str(file), "kind": "scenario", "name": scenario.name, "proof": "; ".join(lines)}


def _cast(file: Path) -> dict[str, Any]:
    from ostrom.games.scenarios import load_cast

    cast = load_cast(file)
    roles = ", ".join(role.key for role in cast.roles)
    taken = f"the scenarios beside it: ostrom validate {file.with_name('SCENARIO.yaml')}"
    return {"file": str(file), "kind": "cast", "family": cast.family, "roles": roles, "taken by": taken}


def _motives(file: Path) -> dict[str, Any]:
    from ostrom.analysis.motives import load_motives

    names = ", ".join(motive.name for motive in load_motives(file))
    taken = f"ostrom judge RUN --motives {file}"
    return {"file": str(file), "kind": "motives", "motives": names, "taken by": taken}


def _study(file: Path, data: Any) -> dict[str, Any]:
    from ostrom.studies.load import load_study, presets_of
    from ostrom.studies.plan import StudyPlan

    needs_model = not _has_agents(data)
    changes = ["agent.model=embedded/smollm2-135m"] if needs_model else []
    facts: dict[str, Any] = {"file": str(file), "kind": "study"}
    for preset in [None, *presets_of(file)]:
        study = load_study(str(file), preset=preset, changes=changes)
        plan = StudyPlan(study, file=str(file))
        _check_report(study.report, str(file))
        for model in plan.models:
            _check_model(model, plan.settings(model), str(file))
        facts[preset or "as written"] = f"{plan.cells} cells, {len(plan)} matches"
    if needs_model:
        facts["models"] = "none named: give --model"
    return facts


def _check_model(name: str, settings: Mapping[str, Any], file: str) -> None:
    """Refuse a model's name or settings now; whether there is a key and an answer only a call can tell."""
    from ostrom.models import URL_SCHEMES, check_name

    try:
        factory, argument = check_name(name, settings)
        if name.startswith(URL_SCHEMES):
            factory(argument, **settings)  # reads the address and opens nothing
    except UsageError as error:
        raise UsageError(f"{file}: model {name}: {error}") from None


def _check_report(report: ReportRule, file: str) -> None:
    """Refuse panels and published figures that do not exist now, not after the run."""
    from ostrom.registry import parse_spec
    from ostrom.reports.panel import panels
    from ostrom.studies.compare.figures import references

    for spec in report.panels:
        name = parse_spec(spec, key="report.panels", file=file)[0]
        if name not in panels:
            raise UnknownName("panel", name, panels).at(file, "report.panels")
    if report.reference is not None and report.reference not in references:
        raise UnknownName("reference", report.reference, references).at(file, "report.reference")


def _has_agents(data: Any) -> bool:
    if not isinstance(data, dict):
        return True
    agent, types, vary = data.get("agent") or {}, data.get("types"), data.get("vary") or {}
    if not isinstance(agent, dict) or not isinstance(vary, dict):
        return True
    named = {"model", "strategy", "person"} & set(agent)
    return bool(
        named or types or any("model" in str(v) or "strategy" in str(v) for v in (*vary, *vary.values()))
    )
