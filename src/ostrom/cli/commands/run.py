"""`ostrom run` and `ostrom resume`: play a study, or go on with one."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.ending import (
    count_text,
    forecast_data,
    leave,
    print_forecast,
    say_failures,
    say_trouble,
    spending_text,
    spent_data,
)
from ostrom.cli.options import (
    BUDGET,
    DryRun,
    From,
    Models,
    Presets,
    RunName,
    Runs,
    Seeds,
    Sets,
    StudyName,
    WriteReport,
    opened_runs,
    say_allowed,
    with_play_options,
)
from ostrom.cli.output import print_json, print_standing, print_table, say
from ostrom.engine.play_options import PlayOptions
from ostrom.ground.words import how_many

if TYPE_CHECKING:
    from ostrom.analysis.registered import Standing
    from ostrom.engine.folder import Folder
    from ostrom.engine.runner import Result
    from ostrom.studies.plan import StudyPlan
    from ostrom.studies.resolve import Resolved


@with_play_options(
    "limit",
    *BUDGET,
    "max_connections",
    "prompts",
    "prices",
    "cache",
    "executor",
    "ray_address",
    "workers",
    "batch",
    "batch_waves",
    "allow_key",
    "allow_command",
    "shard",
    "registered",
)
def run(
    study: StudyName,
    model: Models = None,
    preset: Presets = None,
    set_: Sets = None,
    name: Annotated[
        str | None, typer.Option(help="The name of the run (default: that of the study).")
    ] = None,
    runs: Runs = Path("runs"),
    seeds: Seeds = None,
    options: PlayOptions = PlayOptions(),
    dry_run: DryRun = False,
    from_: From = None,
    report: WriteReport = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Play a study against models; the same command goes on with it.

    What was begun goes on with the same command, or with `ostrom resume RUN`.
    Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    from ostrom.engine.folder import check_name
    from ostrom.ground.errors import UsageError
    from ostrom.studies.resolve import resolve

    say_allowed(options.allow_key, model, set_)
    found = resolve(
        study, preset=preset, changes=set_ or (), models=model or (), seeds=seeds, options=options
    )
    if found.plan.study.people is not None:
        raise UsageError(f"{study}: is a study with people; `ostrom serve {study}` serves it")
    if dry_run:
        forecast_plan(found, json, like=from_, runs=runs)
        return
    refuse_unused(found, from_)
    play_and_tell(found, runs / check_name(found.plan.run_name(name)), report=report, json=json)


@with_play_options(
    "limit",
    *BUDGET,
    "max_connections",
    "prompts",
    "prices",
    "cache",
    "ray_address",
    "batch",
    "batch_waves",
    "allow_key",
    "allow_command",
)  # fmt: skip
def resume(
    run: RunName,
    runs: Runs = Path("runs"),
    seeds: Seeds = None,
    options: PlayOptions = PlayOptions(),
    dry_run: DryRun = False,
    from_: From = None,
    report: WriteReport = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Go on with a run where it stopped.

    It keeps the study and the options that it was begun with. Options given here replace the kept ones: a higher
    budget, more seeds, a folder that was moved. Keys, --allow-key and --allow-command are never kept. Exit code: 0
    complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    from ostrom.studies.resolve import resolve_run

    say_allowed(options.allow_key)
    found = resolve_run(run, runs, options=options, seeds=seeds)
    if dry_run:
        forecast_plan(found, json, like=from_, runs=runs)
        return
    refuse_unused(found, from_, begun=not options.batch)  # what was begun in batches goes on in them
    play_and_tell(found, found.folder, report=report, json=json)


def play_found(resolved: Resolved, folder: Path, *, json: bool) -> Result:
    """Play a plan into a folder, with progress on stderr."""
    from ostrom.engine.progress import watch_with
    from ostrom.studies.resolve import save_session
    from ostrom.studies.run import play_plan

    async def begin(home: Folder) -> None:
        save_session(home.path, resolved.options)

    return play_plan(
        resolved.plan,
        name=folder.name,
        runs=folder.parent,
        options=resolved.options,
        watch=watch_with(json=json),
        begin=begin,
    )


def play_and_tell(
    found: Resolved, folder: Path, *, report: bool, json: bool, parent: Standing | None = None
) -> None:
    """Play a plan into a folder, say how it ended, and leave with the exit code that says so too.

    ``parent`` is what is said of the registration of the run that the plan was made from.
    """
    result = play_found(found, folder, json=json)
    _finish(result, folder, json, parent)
    if (shard := found.plan.shard) is not None:
        name = folder.name.removesuffix(shard.folder(""))
        say(f"when all shards are played: ostrom join {name} {folder.with_name(name)}.*-of-{shard.of}")
    drawn = True
    if report:
        from ostrom.reports.build import build_report

        with opened_runs([str(folder)], folder.parent) as [data]:
            written = build_report(data)
        say(f"report: {written}")
        drawn = say_failures(written)
    if not drawn and result.complete:
        sys.exit(1)
    leave(result)


def refuse_unused(found: Resolved, like: str | None = None, *, begun: bool = False) -> None:
    """Refuse options that would do nothing, and too many batches one after another unless the run has begun."""
    from ostrom.costs.waves import check_batch
    from ostrom.ground.errors import UsageError

    if like is not None:
        raise UsageError("--from: says what to expect, and needs --dry-run")
    if found.options.batch and not begun:
        check_batch(found.plan, found.options.batch_waves)


def forecast_plan(found: Resolved, json: bool, *, like: str | None = None, runs: Path | None = None) -> None:
    """Say what a plan takes, directly and in batches, and whether its budget suffices.

    ``runs`` is the folder of the run that ``--from`` may name; None where a command has no such option.
    """
    from ostrom.analysis.replicates import planned_repeats
    from ostrom.costs.forecast import forecast, measure, missing_adapters

    plan, batch = found.plan, bool(found.options.batch)
    bound = forecast(plan, found.options.rates, None if like is None else measure(like, runs or "runs"))
    missing = missing_adapters(plan)
    if json:
        lacks = {"missing_adapters": missing} if missing else {}
        part = {} if plan.shard is None else {"shard": str(plan.shard)}
        print_json({"study": plan.name, **part, **forecast_data(bound, plan.budget, batch=batch), **lacks})
        return
    if missing:
        say(
            f"adapters that are not here yet: {', '.join(missing)} "
            "(`ostrom more corpus` and `ostrom more train` make them)"
        )
    units = {"cells": bound.cells, "matches": bound.matches}
    if bound.designs:
        units["designs"] = bound.designs
    print_forecast(plan.run_name(None), units, bound, plan.budget, batch=batch)
    if plan.shard is not None:
        say(f"shard {plan.shard}: {divided_budget(plan)}")
    if warning := planned_repeats(
        (plan.unit(i) for i in range(len(plan) // plan.study.seeds)), plan.study.seeds
    ):
        say(f"warning: {warning}")
    if runs is not None and like is None and bound.assumes:
        say("--from RUN takes what it can of this from a run that was played")


def divided_budget(plan: StudyPlan) -> str:
    """What a shard may spend of the study's budget, in words."""
    whole, own = plan.study.budget.model_dump(), asdict(plan.budget)
    parts = [f"{own[name]:g} of {bound:g} {name}" for name, bound in whole.items() if bound is not None]
    return f"the budget of the study is divided equally; it may spend {', '.join(parts)}" if parts else (
        "the study has no budget; one would be divided equally"
    )  # fmt: skip


def _finish(result: Result, folder: Path, json: bool, parent: Standing | None) -> None:
    from ostrom.analysis.summary import summarise
    from ostrom.data.early_looks import seeds_missing
    from ostrom.studies.run import open_run

    tally = result.tally
    with open_run(folder) as run:
        # Who sees results of a registered run before it is complete could go on by them.
        bound = run.manifest.get("registered")
        whole = result.complete and run.plan.shard is None and not seeds_missing(run.manifest)
        blind = bool(bound) and not whole
        cells = [] if blind else summarise(run.rows)
    if blind:
        say("results are not shown: the run is bound to a registration and not complete")
    elif bound:
        say(f"what is shown here is exploratory; the registered contrasts: ostrom report {folder}")
    if parent is not None and not json:
        print_standing(parent)
    if json:
        print_json(
            {
                "run": str(folder),
                "complete": result.complete,
                "why": result.why,
                **({"label": "exploratory", "registration": bound["hash"]} if bound else {}),
                "matches": asdict(tally.of_matches()),
                **({"designs": asdict(tally.of_preparations())} if tally.preparations else {}),
                **spent_data(tally),
                "policy_answers": tally.policies,
                "refusals": tally.refused,
                "failed_tries": tally.retries,
                "lost_workers": tally.lost_workers,
                "batches_left": tally.batches_left,
                "cells": [cell.as_dict() for cell in cells],
                **({} if parent is None else parent.document),
            }
        )
    elif cells:
        factors = list(cells[0].factors)
        if any(cell.cooperation is not None for cell in cells):
            title, columns = (
                "cooperation by cell (mean over matches, 95 % interval)",
                ["cooperation", "95 % CI"],
            )
        else:  # the actions of these games have no cooperative one among them
            title, columns = "score by cell (mean over matches)", []
        print_table(
            f"{folder.name}: {title}",
            [*factors, "agent", "matches", *columns, "score"],
            [
                [
                    *c.factors.values(),
                    c.agent,
                    c.matches,
                    *([c.cooperation, c.interval_text] if columns else []),
                    c.score,
                ]
                for c in cells
            ],
        )
        if alike := [c for c in cells if c.distinct is not None]:
            n = sorted({c.distinct for c in alike if c.distinct is not None})
            say(
                f"{len(alike)} of {len(cells)} cells have matches that repeat each other (temperature 0): n is "
                f"{n[0] if len(n) == 1 else f'{n[0]} to {n[-1]}'} per cell, and more seeds add nothing there"
            )
    say_end(result, folder)


def say_end(result: Result, folder: Path) -> None:
    """What was played and spent, what went wrong, and where the run lies."""
    tally = result.tally
    designs = f"; {count_text(tally.of_preparations(), 'designs')}" if tally.preparations else ""
    say(
        f"{count_text(tally.of_matches(), 'matches')}{designs}; {spending_text(tally)}; "
        f"{tally.invalid} unreadable replies, {tally.policies} answers by policy, {tally.retries} failed tries"
        + (f", {tally.refused} refusals" if tally.refused else "")
        + (
            f"; {tally.lost_workers} workers lost, their matches handed to others"
            if tally.lost_workers
            else ""
        )
    )
    if tally.batches_left:
        say(
            f"{how_many(tally.batches_left, 'batch')} still at work at their service: `ostrom resume {folder}` "
            f"collects their replies, `ostrom more batches {folder}` lists them"
        )
    say_trouble(result, again=f"`ostrom resume {folder}` or the same command")
    say(f"run: {folder}    report: ostrom report {folder}")
