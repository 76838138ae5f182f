"""`ostrom list` and `ostrom show`: what there is."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.commands.catalog_analysis import (
    ANALYSIS,
    analysis_record,
    analysis_rows,
    bounds_of,
    parameters_of,
    part_row,
    run_rows,
)
from ostrom.cli.options import Json, Runs
from ostrom.cli.output import print_json, print_record, print_table, say, write
from ostrom.ground.errors import OstromError, UnknownName, UsageError, nearest
from ostrom.studies.file_kinds import file_kind

KINDS = {
    "game": "games",
    "strategy": "strategies",
    "mechanism": "mechanisms",
    "network": "networks",
    "memory": "memories",
    "style": "styles",
    "model": "models",
    "study": "studies",
    "prompt": "prompts",
    "mapping": "mappings",
    "measure": "measures",
    "chart": "charts",
    "panel": "panels",
    "reference": "references",
    "replication": "replications",
    "run": "runs",
}
"""Every kind of part in the singular and the plural: commands take both."""


def kind_of(text: str) -> str:
    """The kind that somebody names, in the singular.

    >>> kind_of("games"), kind_of("Memory")
    ('game', 'memory')
    """
    word = text.strip().lower()
    for one, many in KINDS.items():
        if word in (one, many):
            return one
    near = nearest(word, [*KINDS, *KINDS.values()])
    hint = f", did you mean {near!r}?" if near else ""
    raise UsageError(f"there is no kind of part called {text!r}{hint} (allowed: {', '.join(KINDS.values())})")


def list_parts(
    kind: Annotated[str, typer.Argument(help=" | ".join(KINDS.values()))],
    runs: Runs = Path("runs"),
    family: Annotated[
        str | None,
        typer.Option(help="games: the ordinal 2x2 games of a family (win-win, pd-family, ...), or of 'all'."),
    ] = None,
    json: Json = False,
) -> None:
    """List what can be used by name."""
    kind = KINDS[kind_of(kind)]
    if family is not None and kind != "games":
        raise UsageError(f"--family: {kind} have no families (allowed with: games)")
    rows = run_rows(runs) if kind == "runs" else _rows(kind) if family is None else family_rows(family)
    if json:
        print_json(rows)
        return
    columns = list(rows[0]) if rows else ["name"]
    print_table("", columns, [[row.get(c) for c in columns] for row in rows])
    if kind in ("studies", "mappings", "measures", "panels", "references"):
        from ostrom.ground.registry import broken_replications

        for name, why in broken_replications().items():
            say(f"replication {name} cannot be used: {why}")


def _rows(kind: str) -> list[dict[str, Any]]:
    if kind == "models":
        from ostrom.models import model_names

        return [{"name": name} for name in model_names()]
    if kind == "studies":
        from ostrom.studies.load import builtin_names

        return [_study_row(name) for name in builtin_names()]
    if kind == "prompts":
        from ostrom.framing import Library

        library = Library()
        kinds = ("stories", "layouts", "payoffs", "history", "goals", "hints", "personas", "systems", "names")
        return [{"kind": k, "name": n} for k in kinds for n in library.names(k)]
    if kind == "mappings":
        return file_kind("mapping").shipped()
    if kind in ANALYSIS:
        return analysis_rows(kind)
    registry = _registry(kind)
    return [part_row(registry, name) for name in registry.names()]


def family_rows(family: str) -> list[dict[str, Any]]:
    """The ordinal 2x2 games of a family, or of all of them, family by family.

    >>> [row["name"] for row in family_rows("second-best")][:2] and len(family_rows("all"))
    144
    """
    from ostrom.games.ordinal import FAMILIES, ordinal_games

    if family != "all" and family not in FAMILIES:
        raise UnknownName("family", family, ["all", *FAMILIES])
    return [
        {
            "family": one.family,
            "game": f"ordinal_2x2:{one.number}",
            "name": one.name,
            "seat 1": " ".join(map(str, one.seat1)),
            "seat 2": " ".join(map(str, one.seat2)),
        }
        for wanted in (FAMILIES if family == "all" else (family,))
        for one in ordinal_games()
        if one.family == wanted
    ]


def _study_row(name: str) -> dict[str, Any]:
    """One line on a study; one of another package that cannot be read says why."""
    from ostrom.studies.load import presets_of, read_study

    try:
        data = read_study(name)[0]
        presets = ", ".join(presets_of(name))
    except OstromError as error:
        return {"name": name, "title": str(error), "presets": "", "after": ""}
    return {
        "name": name,
        "title": data.get("title", ""),
        "presets": presets,
        "after": data.get("citation", ""),
    }


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
    if kind == "networks":
        from ostrom.mechanisms.networks import networks

        return networks
    if kind == "memories":
        from ostrom.memory import memories

        return memories
    from ostrom.agents.language import styles

    return styles


def show(
    kind: Annotated[str, typer.Argument(help=" | ".join(KINDS))],
    name: Annotated[str, typer.Argument(help="Its name, with parameters after a colon: public_goods:n=4")],
    json: Json = False,
) -> None:
    """Show one part in full."""
    kind = kind_of(kind)
    if kind == "run":
        raise UsageError(f"a run is shown by its report: `ostrom report {name}`")
    if kind == "game":
        _show_game(name, json)
    elif kind in ("study", "mapping"):
        _show_file(kind, name, json)
    elif kind == "prompt":
        text = _prompt(name)
        print_json({"file": name, "text": text}) if json else write(text, end="")
    elif KINDS[kind] in ANALYSIS:
        record = analysis_record(KINDS[kind], name)
        print_json(record) if json else print_record(record)
    else:
        record = _model(name) if kind == "model" else _part(_registry(KINDS[kind]), name)
        print_json(record) if json else print_record(record)


def _show_file(kind: str, name: str, json: bool) -> None:
    """A study or a mapping as it is written."""
    if kind == "study":
        from ostrom.studies.load import read_study

        data = read_study(name)[0]
    else:
        data = file_kind(kind).as_written(name)
    if json:
        print_json(data)
        return
    import yaml

    write(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110), end="")


def _prompt(name: str) -> str:
    """The text of a prompt file, named with its folder: stories/cooking, answers/choice_direct.txt."""
    from ostrom.framing import Library

    library = Library()
    known = sorted({p.relative_to(f).as_posix() for f in library.folders for p in f.rglob("*.txt")})
    wanted = name if name in known else f"{name}.txt"
    if wanted not in known:
        ends = [file for file in known if file.removesuffix(".txt").endswith(f"/{name.removesuffix('.txt')}")]
        near = ends[0] if ends else nearest(wanted, known)
        hint = f", did you mean {near.removesuffix('.txt')!r}?" if near else ""
        raise UsageError(f"there is no prompt file {name!r}{hint} (see `ostrom list prompts`)")
    return next(f / wanted for f in library.folders if (f / wanted).is_file()).read_text(encoding="utf-8")


def _model(name: str) -> dict[str, Any]:
    """What a model of that name can be given."""
    from ostrom.models import check_name, params_of

    factory, _ = check_name(name, {})
    settings = [p.name for p in inspect.signature(factory).parameters.values() if p.kind is p.KEYWORD_ONLY]
    params = params_of(name)
    return {
        "name": name,
        "params": "whatever it takes" if params is None else ", ".join(params),
        "settings": ", ".join(settings),
    }


def _part(registry: Any, name: str) -> dict[str, Any]:
    bare = name.partition(":")[0]
    what = inspect.getdoc(registry.get(bare)) or ""
    if bare != name:
        registry.build(name)  # parameters that do not fit are refused here as in a study
    record = {"name": bare, "what": what, "parameters": parameters_of(registry, bare)}
    return record | bounds_of(registry, bare)


def _listed(value: Any) -> Any:
    """Plain data of a game by a rule as people read it."""
    if isinstance(value, dict):
        return ", ".join(f"{k} {_listed(v)}" for k, v in value.items() if v not in ([], None))
    if isinstance(value, list):
        told = [str(_listed(v)) for v in value]
        same = len(set(told)) == 1 and len(told) > 1
        return f"{told[0]} (each of {len(told)})" if same else "; ".join(told)
    return value


def _show_game(name: str, json: bool) -> None:
    from ostrom.cli.commands.game_facts import game_in_words
    from ostrom.games import build_game, games
    from ostrom.games.summary import payoff_table, summary

    game = build_game(name)
    bare = name.partition(":")[0]
    bounds = bounds_of(games, bare) if bare in games else {}
    facts = summary(game)
    if json:
        print_json(facts)
        return
    if not game.has_table:
        print_record({key: _listed(value) for key, value in facts.items()} | bounds)
        return
    rows = payoff_table(game)
    print_table(f"{game.title}: payoffs", list(rows[0]), [list(r) for r in rows[1:]])
    print_record(game_in_words(facts) | bounds)
