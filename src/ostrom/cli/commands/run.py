"""`ostrom run`: play a study, or go on with one."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.commands.validate import budget_of
from ostrom.cli.ending import counted, leave, say_trouble, spent, spent_data
from ostrom.cli.options import (
    AllowKey,
    Batch,
    BatchWaves,
    BudgetCalls,
    BudgetTokens,
    BudgetUsd,
    Cache,
    DryRun,
    From,
    MaxConnections,
    Models,
    Presets,
    Prices,
    Prompts,
    Seeds,
    Sets,
    polling,
    say_allowed,
)
from ostrom.cli.output import print_json, print_table, say
from ostrom.features.exporting.command import RUNS

if TYPE_CHECKING:
    from ostrom.engine.executors.cluster import Cluster
    from ostrom.engine.folder import Folder
    from ostrom.engine.runner import Options, Result
    from ostrom.studies.plan import StudyPlan
    from ostrom.studies.resolve import Resolved


def run(
    study: Annotated[str, typer.Argument(help="A study file (YAML) or the name of a built-in study.")],
    model: Models = None,
    preset: Presets = None,
    set_: Sets = None,
    name: Annotated[
        str | None, typer.Option(help="The name of the run (default: that of the study).")
    ] = None,
    runs: Annotated[Path, RUNS] = Path("runs"),
    seeds: Seeds = None,
    limit: Annotated[int | None, typer.Option(help="Play at most so many matches now.", min=1)] = None,
    budget_usd: BudgetUsd = None,
    budget_calls: BudgetCalls = None,
    budget_tokens: BudgetTokens = None,
    max_connections: MaxConnections = None,
    prompts: Prompts = None,
    prices: Prices = None,
    cache: Cache = None,
    executor: Annotated[
        str, typer.Option(help="Where matches are played: local (this process) or ray (a cluster).")
    ] = "local",
    ray_address: Annotated[
        str | None,
        typer.Option(help="The Ray cluster, host:port or auto (default: one made on this machine)."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="How many Ray workers (default: one per processor).", min=1)
    ] = None,
    batch: Batch = None,
    batch_waves: BatchWaves = None,
    allow_key: AllowKey = None,
    dry_run: DryRun = False,
    from_: From = None,
    report: Annotated[bool, typer.Option(help="Write the HTML report at the end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Play a study against models; the same command or `ostrom resume RUN` goes on with it.

    Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    from ostrom.engine.folder import check_name
    from ostrom.engine.runner import Options
    from ostrom.ground.errors import UsageError
    from ostrom.studies.resolve import resolve
    from ostrom.studies.session import RunOptions
    from ostrom.studies.waves import check_batch

    say_allowed(allow_key, model, set_)
    cluster = cluster_of(executor, ray_address, workers)
    found = resolve(
        study,
        preset=preset,
        changes=set_ or (),
        models=model or (),
        seeds=seeds,
        budget=budget_of(budget_usd, budget_calls, budget_tokens),
        prompts=prompts,
        prices=prices,
    )
    if found.plan.study.people is not None:
        raise UsageError(f"{study}: is a study with people; `ostrom serve {study}` serves it")
    if dry_run:
        forecast_plan(found.plan, found.prices, json, batch=bool(batch), like=from_, runs=runs)
        return
    refuse_unused(batch, batch_waves, from_)
    if batch:
        check_batch(found.plan, batch_waves)
    options = Options(
        max_connections=max_connections, limit=limit, cache=cache, prices=found.prices, cluster=cluster,
        batch=polling(batch),
    )  # fmt: skip
    session = RunOptions.of(
        prompts=prompts, prices=prices, cache=cache, max_connections=max_connections,
        executor=executor, ray_address=ray_address, workers=workers, batch=batch,
    )  # fmt: skip
    folder = runs / check_name(name or found.plan.name)
    play_and_tell(replace(found, session=session), folder, options, report=report, json=json)


def play_found(found: Resolved, folder: Path, options: Options, *, json: bool) -> Result:
    """Play a plan into a folder, with progress on stderr."""
    from ostrom.cli.progress import watch_with
    from ostrom.studies.run import play_plan
    from ostrom.studies.session import save_session

    async def begin(home: Folder) -> None:
        save_session(home.path, found.session)

    return play_plan(
        found.plan,
        name=folder.name,
        runs=folder.parent,
        options=options,
        watch=watch_with(json=json),
        begin=begin,
    )


def play_and_tell(found: Resolved, folder: Path, options: Options, *, report: bool, json: bool) -> None:
    """Play a plan into a folder, say how it ended, and leave with the exit code that says so too."""
    result = play_found(found, folder, options, json=json)
    _finish(result, folder, json)
    drawn = True
    if report:
        from ostrom.features.exporting.command import finish_report, write_report

        made = write_report(folder)
        say(f"report: {made}")
        drawn = finish_report(made)
    if not drawn and result.complete:
        sys.exit(1)
    leave(result)


def cluster_of(executor: str, address: str | None, workers: int | None) -> Cluster | None:
    """The Ray cluster that options name; None: this process."""
    from ostrom.engine.executors.cluster import Cluster
    from ostrom.ground.errors import UsageError

    if executor not in ("local", "ray"):
        raise UsageError(f"--executor {executor}: there is no such executor (allowed: local, ray)")
    if executor == "ray":
        return Cluster(address, workers)
    if address is not None or workers is not None:
        raise UsageError(
            f"{'--ray-address' if address is not None else '--workers'}: needs --executor ray, "
            "for the local executor has one process"
        )
    return None


def refuse_unused(batch: bool | None, waves: int | None, like: str | None) -> None:
    """Refuse options that would do nothing."""
    from ostrom.ground.errors import UsageError

    if like is not None:
        raise UsageError("--from: says what to expect, and needs --dry-run")
    if waves is not None and not batch:
        raise UsageError("--batch-waves: needs --batch")


def forecast_plan(
    plan: StudyPlan,
    prices: Any,
    json: bool,
    *,
    batch: bool | None = None,
    like: str | None = None,
    runs: Path = Path("runs"),
) -> None:
    """Say what a plan takes, directly and in batches, and whether its budget suffices."""
    from ostrom.cli.forecasting import forecast_data, print_forecast
    from ostrom.studies.forecast import forecast
    from ostrom.studies.measured import measure

    bound = forecast(plan, prices, None if like is None else measure(like, runs))
    if batch is None:  # the command knows no batches
        bound.waves = bound.batch_usd = bound.likely_batch_usd = None
    if json:
        print_json({"study": plan.name, **forecast_data(bound, plan.budget, batch=bool(batch))})
        return
    units = {"cells": bound.cells, "matches": bound.matches}
    if bound.designs:
        units["designs"] = bound.designs
    print_forecast(plan.name, {**units, "decisions": bound.decisions}, bound, plan.budget, batch=bool(batch))


def _finish(result: Result, folder: Path, json: bool) -> None:
    from ostrom.analysis.summary import summarise
    from ostrom.studies.run import open_run

    tally = result.tally
    with open_run(folder) as run:
        cells = summarise(run.rows)
    if json:
        print_json(
            {
                "run": str(folder),
                "complete": result.complete,
                "why": result.why,
                "matches": asdict(tally.of_matches()),
                **({"designs": asdict(tally.of_preparations())} if tally.preparations else {}),
                **spent_data(tally),
                "policy_answers": tally.policies,
                "refusals": tally.refused,
                "failed_tries": tally.retries,
                "lost_workers": tally.lost_workers,
                "batches_left": tally.batches_left,
                "cells": [cell.as_dict() for cell in cells],
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
    say_end(result, folder)


def say_end(result: Result, folder: Path) -> None:
    """What was played and spent, what went wrong, and where the run lies."""
    tally = result.tally
    designs = f"; {counted(tally.of_preparations(), 'designs')}" if tally.preparations else ""
    say(
        f"{counted(tally.of_matches(), 'matches')}{designs}; {spent(tally)}; "
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
            f"{tally.batches_left} batches go on at their service: `ostrom resume {folder}` collects their replies, "
            f"`ostrom batches {folder}` lists them"
        )
    say_trouble(result, again=f"`ostrom resume {folder}` or the same command")
    say(f"run: {folder}    report: ostrom report {folder}")
