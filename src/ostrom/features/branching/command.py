"""`ostrom more branch`: continue a finished match from one of its rounds with something changed."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.ending import exit_code, spending_text, trouble
from ostrom.cli.options import BUDGET, MatchNumber, NewRun, PlayOptions, RunName, Runs, standing_of, with_play_options
from ostrom.cli.output import Output, TextTable
from ostrom.engine.progress import watch_with
from ostrom.features.branching.branch import branch as play_branch  # what `Run.branch` in Python calls
from ostrom.features.branching.branch import continuations, measure_of
from ostrom.studies.run import open_run


@with_play_options(*BUDGET, "max_connections", "prices", "cache", "batch", "allow_key", "allow_command")
def branch(
    run: RunName,
    match: MatchNumber,
    at: Annotated[int, typer.Option(help="The first round to be played anew.", min=1)],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="memory=window:2, agent.model=..., rounds=...; may be given several times."),
    ] = None,
    seat: Annotated[int | None, typer.Option(help="Change only the player at this seat.", min=1)] = None,
    seeds: Annotated[int, typer.Option(help="How many replicates.", min=1)] = 1,
    name: NewRun = None,
    runs: Runs = Path("runs"),
    options: PlayOptions = PlayOptions(),
) -> Output:
    """Play on from a round of a finished match as a new run.

    The same command resumes it.

    The first replicate has the chance of the match itself from there on, the others chance of their own.
    """
    with open_run(run, runs) as parent:
        result = play_branch(
            parent,
            match,
            at,
            set_ or (),
            seat=seat,
            seeds=seeds,
            name=name,
            runs=runs,
            budget=options.budget,
            options=options,
            watch=watch_with(),
        )
        with open_run(result.folder) as child:
            rows, unit = continuations(parent, child, result.origin), child.plan.unit(0)
        registered = standing_of(parent)
    what = measure_of(unit.game)
    table = TextTable(
        f"{result.folder.name}: {what} from round {result.origin.round} on ({unit.cell['branch']})",
        ["player", "agent", "before", "parent after", "branch after", "change", "replicates"],
        [[r.player, r.agent, r.before, r.parent, r.branch, r.change, r.replicates] for r in rows],
    )
    return Output(
        {
            "run": str(result.folder),
            "complete": result.result.complete,
            "parent": result.origin.model_dump(),
            "measure": what,
            "players": [asdict(row) for row in rows],
        },
        [table],
        [f"{spending_text(result.result.tally)}; run: {result.folder}", *trouble(result.result)],
        exit_code(result.result),
        registered,
    )
