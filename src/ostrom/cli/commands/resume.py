"""`ostrom resume`: go on with a run as it was begun."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.commands.run import cluster_of, forecast_plan, play_and_tell, refuse_unused
from ostrom.cli.commands.validate import budget_of
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
    Prices,
    Prompts,
    Seeds,
    polling,
    say_allowed,
)
from ostrom.features.exporting.command import RUNS


def resume(
    run: Annotated[str, typer.Argument(help="A run: its name or folder.")],
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
    batch: Batch = None,
    batch_waves: BatchWaves = None,
    allow_key: AllowKey = None,
    dry_run: DryRun = False,
    from_: From = None,
    report: Annotated[bool, typer.Option(help="Write the HTML report at the end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Go on with a run where it stopped, with the study and the options that it was begun with.

    Options given here replace the kept ones: a higher budget, more seeds, a folder that was moved. Keys and
    --allow-key are never kept. Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    from ostrom.engine.runner import Options
    from ostrom.studies.resolve import resolve_run
    from ostrom.studies.session import RunOptions
    from ostrom.studies.waves import check_batch

    say_allowed(allow_key)
    given = RunOptions.of(
        prompts=prompts, prices=prices, cache=cache, max_connections=max_connections, batch=batch
    )
    found = resolve_run(
        run,
        runs,
        given=given,
        seeds=seeds,
        budget=budget_of(budget_usd, budget_calls, budget_tokens),
    )
    session = found.session
    if dry_run:
        forecast_plan(found.plan, found.prices, json, batch=bool(session.batch), like=from_, runs=runs)
        return
    refuse_unused(session.batch, batch_waves, from_)
    if batch:  # what was begun in batches goes on in them
        check_batch(found.plan, batch_waves)
    options = Options(
        max_connections=session.max_connections,
        limit=limit,
        cache=None if session.cache is None else Path(session.cache),
        prices=found.prices,
        cluster=cluster_of(session.executor, session.ray_address, session.workers),
        batch=polling(session.batch),
    )
    play_and_tell(replace(found, session=session), found.folder, options, report=report, json=json)
