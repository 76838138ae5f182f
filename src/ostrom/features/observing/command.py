"""`ostrom more observe`: let models watch matches that were played or imported, and predict them.

Each match is shown again, move by move. The recorded moves become scripts of a study of its own, so that observers,
journal, tables and reports are the usual ones. Observers read a match in the wording of its players.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.cli.commands.run import forecast_plan, play_and_report, refuse_unused
from ostrom.cli.options import (
    BUDGET,
    CALLS,
    DryRun,
    PlayedOutput,
    PlayOptions,
    Runs,
    WriteReport,
    standing_of,
    with_play_options,
)
from ostrom.data.manifests import is_before_2
from ostrom.engine.folder import Folder, check_name
from ostrom.engine.plan import Unit
from ostrom.games.yaml_file import game_to_mapping
from ostrom.ground.errors import UsageError
from ostrom.ground.values import grouped
from ostrom.studies.factors import WAYS
from ostrom.studies.resolve import resolve
from ostrom.studies.run import Run, open_run


@with_play_options("prompts", *BUDGET, "max_connections", *CALLS)
def observe(
    run: Annotated[str, typer.Argument(help="A run, played or imported: its name or folder.")],
    model: Annotated[list[str], typer.Option(help="A model that watches; may be given several times.")],
    watch: Annotated[int | None, typer.Option(help="Predict this seat alone (default: all of them).", min=1)] = None,
    match: Annotated[
        list[int] | None, typer.Option(help="Watch this match alone; may be given several times.", min=0)
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", help="Change a field, as in `ostrom run`: agent.framing.labels=QX.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="The name of the new run (default: RUN-observed).")] = None,
    runs: Runs = Path("runs"),
    options: PlayOptions = PlayOptions(),
    dry_run: DryRun = False,
    report: WriteReport = False,
) -> PlayedOutput:
    """Show models the matches of a run and ask what happens next.

    Matches are shown round by round; the same command resumes it.

    Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    with open_run(run, runs) as seen:
        folder = Folder(runs / check_name(name or f"{seen.name}-observed"))
        watched = observation_of(
            seen,
            watched=watch,
            matches=match or (),
            name=name,
            changes=set_ or (),
            told=folder.exists and is_before_2(folder.manifest()),
        )
        parent = None if dry_run else standing_of(seen)
    resolved = resolve(with_observers(watched, model), changes=set_ or (), options=options)
    if dry_run:
        return forecast_plan(resolved)
    refuse_unused(resolved)
    return play_and_report(resolved, runs / check_name(resolved.plan.name), report=report, parent=parent)


MOST_MATCHES = 2000
AGENT: Mapping[str, Any] = {
    "style": "direct",
    "framing": {"labels": "JF", "history": "sentences", "goal": None},
    "params": {"temperature": 0, "max_tokens": 16},
}
"""Default settings of observers of imported matches."""


def observation_of(
    run: Run,
    *,
    watched: int | None = None,
    matches: Collection[int] = (),
    name: str | None = None,
    changes: Sequence[str] = (),
    told: bool = False,
) -> dict[str, Any]:
    """Return a study in which observer models watch the finished matches of a run.

    Every match is a level of the factor ``watched_match``; its players are scripts that repeat what was recorded, under
    their old names and seats. A level sets what of the wording is not the same in all matches, unless one of the
    ``changes`` (key=value) sets it for all. Observers know of the end what players knew, or are ``told`` the number of
    rounds.
    """
    levels: dict[str, dict[str, Any]] = {}
    framings: dict[str, dict[str, Any]] = {}
    for match, rounds in _moves(run, matches).items():
        unit = run.plan.unit(match)
        seats = unit.game.seats
        if len(unit.players) < seats or any(len(of) != seats for of in rounds.values()):
            continue
        types = {
            f"{unit.players[seat].name} (seat {seat + 1})": {
                "strategy": {"name": "script", "moves": [rounds[number][seat + 1] for number in sorted(rounds)]}
            }
            for seat in range(seats)
        }
        end = {"rounds": len(rounds)} if told else getattr(unit.mechanism, "told", {})
        mechanism = {
            "name": "repetition", "rounds": len(rounds), "told_rounds": "rounds" in end, "predict": "observer",
            **({"told_continuation": end["continuation"]} if "continuation" in end else {}),
            **({"watched": watched} if watched is not None else {}),
        }  # fmt: skip
        if watched is not None and watched > seats:
            raise UsageError(f"--watch {watched}: match {match} has seats 1 to {seats}")
        levels[str(match)] = {
            "game": {**game_to_mapping(unit.game), "name": f"{unit.game.name}_seen"},
            "mechanism": mechanism,
            "types": types,
        }
        framings[str(match)] = _framing(unit)
    if not levels:
        raise UsageError(f"{run.name}: has no finished match of repeated rounds that could be watched")
    if len(levels) > MOST_MATCHES:
        raise UsageError(
            f"{run.name}: has {len(levels)} matches to watch, more than {MOST_MATCHES} (choose some: --match)"
        )
    first = next(iter(levels.values()))
    same = {
        field: value
        for field, value in next(iter(framings.values())).items()
        if all(field in of and of[field] == value for of in framings.values())
    }
    changed = [f"{change.partition('=')[0].strip()}." for change in changes]
    for label, of in framings.items():
        levels[label] |= {
            f"agent.framing.{field}": value
            for field, value in of.items()
            if field not in same and not f"agent.framing.{field}.".startswith((*changed,))
        }
    return {
        "name": name or f"{run.name}-observed",
        "title": f"{run.manifest['study'].get('title') or run.name}, observed",
        "citation": run.manifest["study"].get("citation", ""),
        "game": first["game"],
        "mechanism": first["mechanism"],
        "agent": {**{k: v for k, v in _agent(run).items() if k != "framing"}, **({"framing": same} if same else {})},
        "seating": "seats",
        "vary": {"watched_match": levels},
        "report": {
            "panels": [
                {"chart": "curve", "measure": "prediction_accuracy", "x": "round", "colour": "agent"},
                {"chart": "curve", "measure": "prediction_settled", "x": "round", "colour": "agent"},
            ]
        },
    }


def with_observers(study: Mapping[str, Any], models: Sequence[str]) -> dict[str, Any]:
    """The study with observers of these models: each watches every match."""
    agent = dict(study["agent"])
    tools = {key: agent.pop(key) for key in ("tools", "tool_limit") if key in agent}  # scripts have no tools
    watching = {model: {"model": model, **tools} for model in models}
    levels = {
        label: {**level, "types": {**level["types"], **watching}}
        for label, level in study["vary"]["watched_match"].items()
    }
    return {
        **study,
        "agent": agent,
        "types": next(iter(levels.values()))["types"],
        "observers": list(models),
        "vary": {"watched_match": levels},
    }


def _agent(run: Run) -> dict[str, Any]:
    """Return the settings of the run's model players without the model; missing settings are those of AGENT."""
    settings = {
        key: value
        for key, value in (run.manifest["study"].get("agent") or {}).items()
        if key not in (*WAYS, "tree", "persona", "persona_in", "prompts", "system")
    }
    return settings or dict(AGENT)


def _framing(unit: Unit) -> dict[str, Any]:
    """Return the framing of the first player that is no script; missing fields are those of AGENT."""
    configs = [seated.config for seated in unit.players]
    config = next((one for one in configs if one.strategy is None), configs[0])
    stated = config.framing.model_dump(mode="json", exclude_unset=True)
    return {**AGENT["framing"], **stated} if config.recorded is not None else stated


def _moves(run: Run, matches: Collection[int]) -> dict[int, dict[int, dict[int, str]]]:
    """Return the actions by match, round and seat, for finished matches with complete records."""
    moves = grouped(
        (row["match"], row)
        for row in run.rows.decisions()
        if row["kind"] == "act" and row["unit"] == "match" and row["seat"] is not None
    )
    if unknown := sorted(set(matches) - set(moves)):
        raise UsageError(f"--match {unknown[0]}: {run.name} has no such match with rounds")
    return {
        match: {
            number: dict(of)
            for number, of in grouped((row["round"], (row["seat"], row["action"])) for row in rows).items()
        }
        for match, rows in moves.items()
        if (not matches or match in matches)
        and all(row["state"] == "done" and None not in (row["action"], row["round"]) for row in rows)
    }
