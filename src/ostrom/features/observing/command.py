"""`ostrom observe`: let models watch matches that were played or imported, and predict them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
    MaxConnections,
    Prices,
    Prompts,
    polling,
    say_allowed,
)
from ostrom.features.exporting.command import RUNS


def observe(
    run: Annotated[str, typer.Argument(help="A run, played or imported: its name or folder.")],
    model: Annotated[list[str], typer.Option(help="A model that watches; may be given several times.")],
    watch: Annotated[
        int | None, typer.Option(help="Predict this seat alone (default: all of them).", min=1)
    ] = None,
    match: Annotated[
        list[int] | None, typer.Option(help="Watch this match alone; may be given several times.", min=0)
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a field, as in `ostrom run`: agent.framing.labels=QX."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The name of the new run (default: RUN-observed).")] = None,
    runs: Annotated[Path, RUNS] = Path("runs"),
    prompts: Prompts = None,
    budget_usd: BudgetUsd = None,
    budget_calls: BudgetCalls = None,
    budget_tokens: BudgetTokens = None,
    max_connections: MaxConnections = None,
    prices: Prices = None,
    cache: Cache = None,
    batch: Batch = None,
    batch_waves: BatchWaves = None,
    allow_key: AllowKey = None,
    dry_run: DryRun = False,
    report: Annotated[bool, typer.Option(help="Write the HTML report at the end.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show models the matches of a run round by round and ask what happens next; the same command resumes it.

    Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    from dataclasses import replace

    from ostrom.cli.commands.run import forecast_plan, play_and_tell, refuse_unused
    from ostrom.engine.folder import check_name
    from ostrom.engine.runner import Options
    from ostrom.features.observing.plan import observation_of, with_observers
    from ostrom.studies.resolve import resolve
    from ostrom.studies.run import open_run
    from ostrom.studies.session import RunOptions
    from ostrom.studies.waves import check_batch

    say_allowed(allow_key, model, set_)
    with open_run(run, runs) as seen:
        watched = observation_of(seen, watched=watch, matches=match or (), name=name)
    found = resolve(
        with_observers(watched, model),
        changes=set_ or (),
        budget=budget_of(budget_usd, budget_calls, budget_tokens),
        prompts=prompts,
        prices=prices,
    )
    if dry_run:
        forecast_plan(found.plan, found.prices, json, batch=bool(batch))
        return
    refuse_unused(batch, batch_waves, None)
    if batch:
        check_batch(found.plan, batch_waves)
    options = Options(max_connections=max_connections, cache=cache, prices=found.prices, batch=polling(batch))
    session = RunOptions.of(
        prompts=prompts, prices=prices, cache=cache, max_connections=max_connections, batch=batch
    )
    folder = runs / check_name(found.plan.name)
    play_and_tell(replace(found, session=session), folder, options, report=report, json=json)
