"""`ostrom observe`: let models watch matches that were played or imported, and predict them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.options import BUDGET, DryRun, Runs, WriteReport, say_allowed, with_play_options
from ostrom.engine.play_options import PlayOptions


@with_play_options(
    "prompts", *BUDGET, "max_connections", "prices", "cache", "batch", "batch_waves", "allow_key"
)
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
    runs: Runs = Path("runs"),
    options: PlayOptions = PlayOptions(),
    dry_run: DryRun = False,
    report: WriteReport = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Show models the matches of a run round by round and ask what happens next; the same command resumes it.

    Exit code: 0 complete, 1 incomplete, 2 wrong use, 130 interrupted.
    """
    from ostrom.cli.commands.run import forecast_plan, play_and_tell, refuse_unused
    from ostrom.engine.folder import check_name
    from ostrom.features.observing.plan import observation_of, with_observers
    from ostrom.studies.resolve import resolve
    from ostrom.studies.run import open_run

    say_allowed(options.allow_key, model, set_)
    with open_run(run, runs) as seen:
        watched = observation_of(seen, watched=watch, matches=match or (), name=name)
    found = resolve(
        with_observers(watched, model),
        changes=set_ or (),
        options=options,
    )
    if dry_run:
        forecast_plan(found, json)
        return
    refuse_unused(found)
    play_and_tell(found, runs / check_name(found.plan.name), report=report, json=json)
