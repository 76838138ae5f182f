"""`ostrom check`: verify every record of a run."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.options import RunName, Runs
from ostrom.cli.output import Output, Remark, bar


def check(
    run: RunName,
    rows: Annotated[bool, typer.Option("--rows", help="Make the rows of all matches anew from their entries.")] = False,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes that replay (default: one per core for a large run).")
    ] = None,
    runs: Runs = Path("runs"),
) -> Output:
    """After playing: is this run intact? Every seal, every match.

    Prompts are written and replies read again. What a match left for the tables is held against its replay, its prompts
    against those that the study writes, its answers against what its replies say, and its models against run.json.
    Seals are no signatures: who alters all of these so that they fit each other is not found.
    """
    from ostrom.studies.run import find_run
    from ostrom.studies.verify import check_run

    folder = find_run(run, runs).path
    with bar("replaying") as tell:
        done = check_run(folder, rows=rows, tell=tell, processes=processes)
    again = f", rows of {done.made} made anew" if rows else f", {done.compared} held against their rows"
    many = f" by {done.processes} processes" if done.processes > 1 else ""
    line = (
        f"{folder}: {done.entries} entries are intact; {done.replayed} matches replayed{many}{again}, {done.followed} "
        "followed from prompts to answers"
    )
    skipped = done.unfollowed
    return Output(
        asdict(done),
        [
            Remark(line),
            *([] if skipped is None else [Remark(f"{folder}: matches with models were not followed: {skipped}")]),
        ],
    )
