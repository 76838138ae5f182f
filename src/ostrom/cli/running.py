"""`ostrom run`: play a study, or go on with one."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.data import RUNS
from ostrom.cli.ending import leave, say_trouble, spent, spent_data
from ostrom.cli.options import (
    AllowKey,
    BudgetCalls,
    BudgetTokens,
    BudgetUsd,
    Cache,
    DryRun,
    MaxConnections,
    Models,
    Presets,
    Prices,
    Prompts,
    Seeds,
    Sets,
    say_allowed,
)
from ostrom.cli.output import print_json, print_table, say
from ostrom.cli.validating import budget_of

if TYPE_CHECKING:
    from ostrom.engine.executors.cluster import Cluster
    from ostrom.engine.runner import Result
    from ostrom.studies.plan import StudyPlan


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
    allow_key: AllowKey = None,
    dry_run: DryRun = False,
    report: Annotated[bool, typer.Option(help="Write the HTML report at the end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Play a study against models; the same command resumes it.

    Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    from ostrom.cli.progress import watch_with
    from ostrom.engine.runner import Options
    from ostrom.studies.resolve import resolve
    from ostrom.studies.run import play_plan

    say_allowed(allow_key, model, set_)
    cluster = _cluster(executor, ray_address, workers)
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
    plan = found.plan
    if dry_run:
        _forecast(plan, found.prices, json)
        return
    options = Options(
        max_connections=max_connections, limit=limit, cache=cache, prices=found.prices, cluster=cluster
    )
    name = name or plan.name
    result = play_plan(plan, name=name, runs=runs, options=options, watch=watch_with(json=json))
    folder = runs / name
    _finish(result, folder, json)
    drawn = True
    if report:
        from ostrom.cli.data import finish_report, write_report

        made = write_report(folder)
        say(f"report: {made}")
        drawn = finish_report(made)
    if not drawn and result.complete:
        sys.exit(1)
    leave(result)


def _cluster(executor: str, address: str | None, workers: int | None) -> Cluster | None:
    from ostrom.engine.executors.cluster import Cluster
    from ostrom.errors import UsageError

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


def _forecast(plan: StudyPlan, prices: Any, json: bool) -> None:
    from ostrom.cli.forecasting import print_forecast
    from ostrom.studies.forecast import forecast

    bound = forecast(plan, prices)
    if json:
        print_json({"study": plan.name, **bound.as_dict()})
        return
    counted = {"cells": bound.cells, "matches": bound.matches, "decisions": bound.decisions}
    print_forecast(plan.name, counted, bound)


def _finish(result: Result, folder: Path, json: bool) -> None:
    from ostrom.analysis.summary import summarise
    from ostrom.studies.run import open_run

    tally = result.tally
    with open_run(folder) as run:
        cells = summarise(run.rows.matches())
    if json:
        print_json(
            {
                "run": str(folder),
                "complete": result.complete,
                "why": result.why,
                "matches": {
                    "planned": tally.matches,
                    "done": tally.done,
                    "skipped": tally.skipped,
                    "failed": tally.failed,
                },
                **spent_data(tally),
                "policy_answers": tally.policies,
                "refusals": tally.refused,
                "failed_tries": tally.retries,
                "lost_workers": tally.lost_workers,
                "cells": [cell.as_dict() for cell in cells],
            }
        )
    elif cells:
        factors = list(cells[0].factors)
        print_table(
            f"{folder.name}: cooperation by cell (mean over matches, 95 % interval)",
            [*factors, "agent", "matches", "cooperation", "95 % CI", "score"],
            [
                [*c.factors.values(), c.agent, c.matches, c.cooperation, c.interval_text, c.score]
                for c in cells
            ],
        )
    _say_end(result, folder)


def _say_end(result: Result, folder: Path) -> None:
    tally = result.tally
    say(
        f"{tally.done} of {tally.matches} matches done"
        + (f", {tally.skipped} skipped" if tally.skipped else "")
        + (f", {tally.failed} failed" if tally.failed else "")
        + f"; {spent(tally)}; "
        f"{tally.invalid} unreadable replies, {tally.policies} answers by policy, {tally.retries} failed tries"
        + (f", {tally.refused} refusals" if tally.refused else "")
        + (
            f"; {tally.lost_workers} workers lost, their matches handed to others"
            if tally.lost_workers
            else ""
        )
    )
    say_trouble(result)
    say(f"run: {folder}    report: ostrom report {folder}")
