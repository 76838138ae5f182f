"""`ostrom list` and `ostrom show`: the catalog of parts.

What a kind of part needs is imported where it is listed: a list of games must not load the engine.
"""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.options import Models, PlayOptions, Presets, Runs, Sets, with_play_options
from ostrom.cli.output import Output, Remark, TextItem, TextTable
from ostrom.ground.errors import OstromError, UnknownName, UsageError, nearest
from ostrom.ground.parameters import bounds_in_words
from ostrom.ground.registry import broken_replications, package_folder, replication_files, replications
from ostrom.ground.words import how_many
from ostrom.ground.yaml import read_yaml

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
"""Every kind of part in singular and plural: commands accept both."""
REGISTRIES = {
    "games": "ostrom.games:games",
    "strategies": "ostrom.agents.strategies:strategies",
    "mechanisms": "ostrom.mechanisms:mechanisms",
    "networks": "ostrom.mechanisms.networks:networks",
    "memories": "ostrom.memory:memories",
    "styles": "ostrom.agents.language:styles",
    "measures": "ostrom.analysis.measure:measures",
    "charts": "ostrom.reports.chart:charts",
    "panels": "ostrom.reports.declared:panels",
    "references": "ostrom.analysis.claims:references",
}
"""The registry of each kind."""


FIRST_MEASURES = (
    "cooperation", "joint_cooperation", "coordination", "payoff", "efficiency", "equality", "first_defection",
    "cooperation_by_round", "amount_share", "response_time",
)  # fmt: skip
"""The ten main measures; those of studies are listed with the replications."""


def first_of(kind: str) -> list[str]:
    """Return the main parts of a kind; empty if all are listed."""
    if kind == "studies":
        file = package_folder("ostrom.replications").joinpath("first.yaml")
        return list(read_yaml(file.read_text(encoding="utf-8"), "first.yaml"))
    return list(FIRST_MEASURES) if kind == "measures" else []


def kind_of(text: str) -> str:
    """Return the kind of part that a text names, in the singular.

    >>> kind_of("games"), kind_of("Memory")
    ('game', 'memory')
    """
    word = text.strip().lower()
    if matching := [one for one, many in KINDS.items() if word in (one, many)]:
        return matching[0]
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
    all_: Annotated[bool, typer.Option("--all", help="studies, measures: all of them, in full.")] = False,
) -> Output:
    """List what can be used by name: studies, games, measures, ..."""
    kind = KINDS[kind_of(kind)]
    if family is not None and kind != "games":
        raise UsageError(f"--family: {kind} have no families (allowed with: games)")
    rows = run_rows(runs) if kind == "runs" else _rows(kind) if family is None else family_rows(family)
    if kind == "runs" and not rows:
        return Output([], [Remark(f"{runs}: holds no run (`ostrom run STUDY` plays one, --runs names another folder)")])
    counted = ("matches", "finished") if kind == "runs" else ()  # its state says so
    text: list[TextItem] = [
        TextTable.from_mappings("", [{k: v for k, v in row.items() if k not in counted} for row in rows])
    ]
    if first := [] if all_ else first_of(kind):
        titles, width = {row["name"]: row.get("title") for row in rows}, max(map(len, first))
        text = [
            *(f"{name:{width}}  {titles[name]}" for name in first),
            Remark(f"{len(rows) - len(first)} more: ostrom list {kind} --all"),
        ]
    if kind in ("studies", "mappings", "measures", "panels", "references"):
        text += [Remark(f"replication {name} cannot be used: {why}") for name, why in broken_replications().items()]
    return Output(rows, text)


def _rows(kind: str) -> list[dict[str, Any]]:
    if kind == "models":
        from ostrom.models import model_names

        return [{"name": name} for name in model_names()]
    if kind == "studies":
        from ostrom.studies.files import builtin_names

        return [_study_row(name) for name in builtin_names()]
    if kind == "prompts":
        from ostrom.framing import Library

        library = Library()
        return [
            {"kind": k, "name": n}
            for k in ("stories", "layouts", "payoffs", "history", "goals", "hints", "personas", "systems", "names")
            for n in library.names(k)
        ]
    if kind == "mappings":
        from ostrom.studies.extensions import FileKind, file_kinds

        return file_kinds.get_instance("mapping", FileKind).shipped()
    if kind == "replications":
        return _replications()
    registry = _registry(kind)
    row = {"measures": _measure, "references": _reference}.get(kind, part_row)
    return [row(registry, name) for name in registry.names()]


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
    """The row of a study in a list; if the study cannot be read, its title is the reason."""
    from ostrom.studies.files import presets_in, read_study

    try:
        data, file = read_study(name)
        presets = ", ".join(presets_in(data, file))
    except OstromError as error:
        return {"name": name, "title": str(error), "presets": "", "after": ""}
    return {"name": name, "title": data.get("title", ""), "presets": presets, "after": data.get("citation", "")}


def _registry(kind: str) -> Any:
    module, _, name = REGISTRIES[kind].partition(":")
    return getattr(import_module(module), name)


@with_play_options("prompts")
def show(
    kind: Annotated[str, typer.Argument(help=" | ".join(KINDS))],
    name: Annotated[str, typer.Argument(help="Its name, with parameters after a colon: public_goods:n=4")],
    cell: Annotated[int | None, typer.Option(help="prompt STUDY: this cell, counted from 1.", show_default="1")] = None,
    round: Annotated[
        int | None, typer.Option(help="prompt STUDY: this round; 0: what is asked before the match.", show_default="1")
    ] = None,
    seat: Annotated[
        str | None, typer.Option(help="prompt STUDY: this seat, counted from 1, or the agent of this name.")
    ] = None,
    model: Models = None,
    preset: Presets = None,
    set_: Sets = None,
    options: PlayOptions = PlayOptions(),
) -> Output:
    """Show one part in full: a study, a game, a strategy, ...

    `ostrom show prompt STUDY` prints the messages that a model would be sent, without a call. The past of a later
    round is a rehearsal: models answer by chance.
    """
    kind = kind_of(kind)
    wanted = {"cell": cell, "round": round, "seat": seat, "model": model, "preset": preset, "set": set_}
    stated = [f"--{flag}" for flag, value in wanted.items() if value is not None]
    if kind == "prompt" and (stated or _is_study(name)):
        return _messages(
            name,
            cell,
            round,
            seat,
            {"models": model or (), "preset": preset, "changes": set_ or (), "options": options},
        )
    if stated or (kind != "prompt" and options.prompts is not None):
        raise UsageError(f"{', '.join(stated) or '--prompts'}: belongs to `ostrom show prompt STUDY`")
    if kind == "run":
        raise UsageError(f"a run is shown by its report: `ostrom report {name}`")
    if kind == "game":
        return _game(name)
    if kind in ("study", "mapping"):
        return _file(kind, name)
    if kind == "prompt":
        text = _prompt(name, options.prompts)
        return Output({"file": name, "text": text}, [text.removesuffix("\n")])
    records = {"model": _model, "measure": _measure_record, "reference": _reference_record, "replication": _replication}
    return Output(records[kind](name) if kind in records else _part(kind, name))


def _file(kind: str, name: str) -> Output:
    """Return a study or a mapping as written."""
    import yaml

    from ostrom.studies.extensions import FileKind, file_kinds
    from ostrom.studies.files import read_study

    data = read_study(name)[0] if kind == "study" else file_kinds.get_instance(kind, FileKind).as_written(name)
    stated = data.get("seeds_shared")
    shared = "shared between cells, so the seed is the unit" if stated else "labels: cells are independent"
    why = "declared" if stated is not None else "chance is drawn by seed and cell"
    data |= {"seeds_shared": bool(stated)} if kind == "study" else {}
    text = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=110).removesuffix("\n")
    return Output(data, [text, *([f"# seeds are {shared} ({why})"] if kind == "study" else [])])


def _is_study(name: str) -> bool:
    """Whether a name is that of a study, not of a prompt file."""
    from ostrom.studies.files import builtin_names

    return name in builtin_names() or Path(name).suffix in (".yaml", ".yml")


def _messages(name: str, cell: int | None, number: int | None, seat: str | None, content: dict[str, Any]) -> Output:
    """Return the messages that a study would send to a model in a round."""
    from ostrom.cli.commands.validate import STAND_IN, resolve_or_stand_in
    from ostrom.costs.preview import preview

    plan, open_model = resolve_or_stand_in(name, **content)
    if all(config.model is None for config in plan.agents):  # --model adds one to the study
        plan, open_model = resolve_or_stand_in(name, **{**content, "models": [STAND_IN]})[0], True
    sent = preview(plan, 1 if cell is None else cell, 1 if number is None else number, seat)
    agent = "the model of --model" if open_model and sent.agent == STAND_IN else sent.agent
    levels = ", ".join(f"{factor} {value}" for factor, value in sent.levels.items())
    text: list[TextItem] = [f"{name}: cell {sent.cell} of {sent.cells}" + (f" ({levels})" if levels else "")]
    for call in sent.calls:
        part = f", {call['part']}" if call["part"] not in ("", call["kind"]) else ""
        text += [
            f"\n=== round {sent.round}, seat {sent.seat} ({agent}): {call['kind']}{part}",
            *(f"\n--- {message['role']}\n{message['content']}" for message in call["messages"]),
            *([f"\n--- tools\n{', '.join(call['tools'])}"] if call["tools"] else []),
        ]
    past = "; the past is a rehearsal, in which models answer by chance" if sent.round > 1 else ""
    text.append(Remark(f"no model was called{past}"))
    return Output({"study": name, **asdict(sent), **({"agent": None, "model": None} if open_model else {})}, text)


def _prompt(name: str, folder: Path | None) -> str:
    """The text of a prompt file, named with its folder: stories/cooking, answers/choice_direct.txt."""
    from ostrom.framing import Library

    library = Library(folder)
    files = sorted({p.relative_to(f).as_posix() for f in library.folders for p in f.rglob("*.txt")})
    wanted = name if name in files else f"{name}.txt"
    if wanted not in files:
        ends = [file for file in files if file.removesuffix(".txt").endswith(f"/{name.removesuffix('.txt')}")]
        near = ends[0] if ends else nearest(wanted, files)
        hint = f", did you mean {near.removesuffix('.txt')!r}?" if near else ""
        raise UsageError(
            f"there is no prompt file {name!r}{hint} (see `ostrom list prompts`), and no study of this name "
            "(see `ostrom list studies`)"
        )
    return next(f / wanted for f in library.folders if (f / wanted).is_file()).read_text(encoding="utf-8")


def _model(name: str) -> dict[str, Any]:
    """Return the parameters of a model."""
    from ostrom.models import check_name, params_of

    parameters = inspect.signature(check_name(name, {})[0]).parameters.values()
    settings, params = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY], params_of(name)
    return {
        "name": name,
        "params": "whatever it takes" if params is None else ", ".join(params),
        "settings": ", ".join(settings),
    }


def _part(kind: str, name: str) -> dict[str, Any]:
    registry, bare = _registry(KINDS[kind]), name.partition(":")[0]
    part = registry.get(bare)
    if bare != name:
        registry.build(name)  # unsuitable parameters are refused here as in a study
    parameters = _chart_parameters(part) if kind == "chart" else parameters_of(registry, bare)
    record = {"name": bare, "what": inspect.getdoc(part) or "", "parameters": parameters}
    return record if kind in ("chart", "panel") else record | bounds_of(registry, bare)


def _listed(value: Any) -> Any:
    """Format JSON data as text; equal values are written once, with their number."""
    if isinstance(value, dict):
        return ", ".join(f"{k} {_listed(v)}" for k, v in value.items() if v not in ([], None))
    if isinstance(value, list):
        texts = [str(_listed(v)) for v in value]
        return f"{texts[0]} (each of {len(texts)})" if len(set(texts)) == 1 < len(texts) else "; ".join(texts)
    return value


def _game(name: str) -> Output:
    from ostrom.games import build_game, games
    from ostrom.games.summary import payoff_table, summary

    game = build_game(name)
    bare = name.partition(":")[0]
    bounds = bounds_of(games, bare) if bare in games else {}
    facts = summary(game)
    if not game.has_table:
        named = {
            f"seat {n} ({role})": _options(of)
            for n, (role, of) in enumerate(zip(facts["roles"], facts["actions"], strict=True), 1)
        }
        actions = _listed([f"{s}: {of}" for s, of in named.items()])
        if len(set(named.values())) == 1:
            actions = f"{named.popitem()[1]} (each of {game.seats})"
        return Output(facts, [{key: _listed(value) for key, value in {**facts, "actions": actions}.items()} | bounds])
    heads, *rows = payoff_table(game)
    return Output(facts, [TextTable(f"{game.title}: payoffs", list(heads), rows), game_in_words(facts) | bounds])


def _options(actions: Any) -> str:
    """Describe the options of a seat."""
    if isinstance(actions, dict):
        return ", ".join(
            [f"{actions['low']:g} to {actions['high']:g} in steps of {actions['step']:g}", *actions["also"]]
        )
    return ", ".join(actions)


def part_row(registry: Any, name: str) -> dict[str, Any]:
    """Return one line about a part; one of another package that cannot be loaded says why."""
    try:
        part = registry.get(name)
    except OstromError as error:
        return {"name": name, "what": str(error), "parameters": ""}
    return {
        "name": name,
        "what": (inspect.getdoc(part) or "").partition("\n")[0].replace("``", ""),
        "parameters": parameters_of(registry, name),
    }


def parameters_of(registry: Any, name: str) -> str:
    """The parameters of a part with their defaults."""
    return _with_defaults(registry.parameters(name).values())


def bounds_of(registry: Any, name: str) -> dict[str, str]:
    """Return the allowed parameters of a part as a row; empty if unstated."""
    return {"bounds": words} if (words := bounds_in_words(registry.get(name))) else {}


def _measure(registry: Any, name: str) -> dict[str, Any]:
    from ostrom.analysis.measure import Measure

    try:
        part = registry.get(name)
    except OstromError as error:
        return {"name": name, "title": str(error), "scale": None, "unit": None, "parameters": ""}
    declared = isinstance(part, Measure)
    return {
        "name": name,
        "title": part.title if declared else (inspect.getdoc(part) or "").partition("\n")[0].replace("`", ""),
        "scale": part.scale if declared else None,
        "unit": part.unit if declared else None,
        "parameters": "" if declared else parameters_of(registry, name),
    }


def _reference(registry: Any, name: str) -> dict[str, Any]:
    try:
        reference = registry.build(name)
        return {"name": name, "figures": len(reference.published()), "after": reference.citation}
    except OstromError as error:
        return {"name": name, "figures": None, "after": str(error)}


def _replications() -> list[dict[str, Any]]:
    from ostrom.studies.files import builtin_names

    studies = replication_files("studies", ".yaml", "study").owners
    return [
        {
            "name": name,
            "package": package,
            "studies": ", ".join(study for study in builtin_names() if package in studies[study]),
            "problem": "",
        }
        for name, package in replications().items()
    ] + [{"name": name, "package": "", "studies": "", "problem": why} for name, why in broken_replications().items()]


def run_rows(runs: Path) -> list[dict[str, Any]]:
    """Return the runs in a folder: study, progress, main result, and report page."""
    from ostrom.data.rundata import recorded_answer
    from ostrom.reports.words import labels
    from ostrom.studies.run import open_run

    rows = []
    for file in sorted(runs.glob("*/run.json")) if runs.is_dir() else []:
        row: dict[str, Any] = {
            "name": file.parent.name,
            **dict.fromkeys(("study", "models", "matches", "finished", "state", "result")),
            "file": str(page if (page := file.parent / "report" / "index.html").is_file() else file.parent),
        }
        try:
            with open_run(file.parent) as opened:
                study = opened.manifest["study"]
                states = opened.journal.states()
                units, far = opened.plan.played(states), opened.plan.progress(states)
                over = "complete" if far.done + far.skipped == far.planned else "not complete"
                row |= {
                    "study": study.get("name"), "models": ", ".join(labels(opened.plan.models, 44).values()),
                    "matches": units.planned, "finished": units.done,
                    "result": recorded_answer(file.parent, opened.journal.entries),
                    "state": f"{far.done:,} of {how_many(far.planned, opened.plan.counts)} done, {over}", "problem": "",
                }  # fmt: skip
        except OstromError as error:
            row["problem"] = str(error)
        rows.append(row)
    return rows


def _replication(name: str) -> dict[str, Any]:
    rows = {row["name"]: row for row in _replications()}
    if name not in rows:
        raise UnknownName("replication", name, rows)
    return rows[name]


def _reference_record(name: str) -> dict[str, Any]:
    reference = _registry("references").build(name)
    return {
        "name": name,
        "citation": reference.citation,
        "figures": len(reference.published()),
        "columns": ", ".join(reference.columns),
        "spread": reference.spread,
    }


def _measure_record(name: str) -> dict[str, Any]:
    part = _registry("measures").named(name)
    ends = [
        "no bound" if end is None else f"{end:g}"
        for end in ([] if callable(part.bounds) else part.bounds or (None,) * 2)
    ]
    return {
        **{name: getattr(part, name) for name in ("name", "title", "definition", "unit", "scale")},
        "bounds": " to ".join(ends) or "by match",
        "needs": ", ".join(part.needs),
        "source": part.source,
        "values": part.values
        if isinstance(part.values, str)
        else f"{part.values.__module__}.{part.values.__qualname__}",
    }


def _chart_parameters(part: Any) -> str:
    """The parameters of a kind of chart as text, with defaults; those that every chart takes are included."""
    from ostrom.reports.chart import chart_parameters

    return _with_defaults(chart_parameters(part).values())


def _with_defaults(parameters: Iterable[inspect.Parameter]) -> str:
    """Parameters by name, each once, with their defaults."""
    named = {p.name: p for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)}
    return ", ".join(n if p.default is p.empty else f"{n}={p.default}" for n, p in named.items())


def game_in_words(facts: dict[str, Any]) -> dict[str, str]:
    """Return what `ostrom show game` prints below the payoffs."""
    pure = [
        f"{', '.join(e['profile'])} ({'strict' if e['strict'] else 'weak'}, pays {_numbers(e['payoffs'])})"
        for e in facts["equilibria"]["pure"]
    ]
    needed, ordinal = facts.get("least_continuation"), facts.get("ordinal")
    repeated = (
        "not by the threat that all defect" if needed is None else
        "in one play" if needed == 0 else f"repeated, from a chance of {needed:.3g} of another round on"
    )  # fmt: skip
    words = {
        "name": str(facts["name"]),
        "source": str(facts.get("citation") or ""),
        "parameters": ", ".join(
            f"{name}={f'{value:.10g}' if isinstance(value, float) else value}"
            for name, value in (facts.get("params") or {}).items()
        ),
        "cooperative": ", ".join(dict.fromkeys(str(a) for a in facts["cooperative"] if a)),
        "equilibria": "; ".join([*pure, *_mixed(facts)]) or "none in pure strategies",
        "dominated": "; ".join(
            f"{d['action']} by {d['by']} (seat {d['seat']}{'' if d['strict'] else ', weakly'})"
            for d in facts.get("dominated") or ()
        ),
        "social optimum": _profiles((facts.get("social_optimum") or {}).get("profiles")),
        "Pareto efficient": _profiles(facts.get("pareto")),
        "cooperation in equilibrium": repeated if any(facts["cooperative"]) else "",
        "as a 2x2 game": f"number {ordinal['number']}, {ordinal['label'] or 'unnamed'}, family {ordinal['family']}"
        if ordinal
        else "",
    }
    return {name: text for name, text in words.items() if text}


def _mixed(facts: dict[str, Any]) -> list[str]:
    """Return mixed equilibria that are points; pieces are only in the JSON."""
    equilibria = facts["equilibria"].get("all")
    if not equilibria or equilibria["degenerate"]:
        return ["and whole pieces of mixed ones (see --json)"] if equilibria else []
    first = [names[0] for names in facts["actions"]]
    lines = []
    for corner in (corner for piece in equilibria["pieces"] for corner in piece["corners"]):
        chances = [mixture[0] for mixture in corner["mixtures"]]
        if any(0 < chance < 1 for chance in chances):
            odds = ", ".join(f"{name} {chance:.3g}" for name, chance in zip(first, chances, strict=True))
            lines.append(f"mixed: {odds} (pays {_numbers(corner['payoffs'])})")
    return lines


def _profiles(profiles: Any) -> str:
    return "; ".join(", ".join(profile) for profile in profiles or ())


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.6g}" for value in values)
