"""`ostrom check`: a run checked from end to end."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.options import Json, RunName, Runs
from ostrom.cli.output import print_json, say


def check(
    run: RunName,
    rows: Annotated[
        bool,
        typer.Option("--rows", help="Make the rows of all matches anew from their entries."),
    ] = False,
    processes: Annotated[
        int | None, typer.Option(min=1, help="Processes that replay (default: one per core for a large run).")
    ] = None,
    runs: Runs = Path("runs"),
    json: Json = False,
) -> None:
    """Check a run from end to end: every seal, every match replayed.

    What a match left for the tables is held against its replay.
    """
    from ostrom.features.checking.check import check_run
    from ostrom.studies.run import find_run

    folder = find_run(run, runs).path
    with _bar() as tell:
        done = check_run(folder, rows=rows, tell=tell, processes=processes)
    if json:
        print_json(asdict(done))
        return
    made = f", rows of {done.made} made anew" if rows else f", {done.compared} held against their rows"
    many = f" by {done.processes} processes" if done.processes > 1 else ""
    say(f"{folder}: {done.entries} entries are intact; {done.replayed} matches replayed{many}{made}")


@contextmanager
def _bar() -> Iterator[Callable[[int, int], None] | None]:
    """A bar on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from ostrom.ground.terminal import console

    columns = (TextColumn("replaying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as shown:
        task = shown.add_task("replaying", total=None)
        yield lambda done, of: shown.update(task, completed=done, total=of)
