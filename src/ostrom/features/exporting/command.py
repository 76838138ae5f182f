"""`ostrom export`: a run as files for other tools."""

from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.options import Json, RunName, Runs, Safe, standing_of
from ostrom.cli.output import print_json, say


def export(
    run: RunName,
    format: Annotated[
        str,
        typer.Option(
            help="parquet | csv | jsonl | inspect | hf | otree | shared | every-eval (see docs/export.md)"
        ),
    ] = "parquet",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write (default: the run's folder, for inspect, hf and otree a folder in it)."
        ),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="hf, every-eval: add prompts and replies (hf: and reasoning).")
    ] = False,
    visits: Annotated[
        bool,
        typer.Option(
            "--visits", help="hf, otree: add what people answered in surveys; look for names first."
        ),
    ] = False,
    licence: Annotated[
        str | None, typer.Option(help="hf: the licence of the data on its card, for example cc-by-4.0.")
    ] = None,
    safe: Safe = False,
    runs: Runs = Path("runs"),
    json: Json = False,
) -> None:
    """Write a run as files for other tools.

    Tables, Inspect logs, a dataset folder, oTree's wide table, or a shared run without texts.
    """
    from ostrom.features.exporting import export_run
    from ostrom.studies.run import open_run

    with open_run(run, runs) as opened:
        registered = standing_of(opened)
        written = export_run(opened, format, out, texts=texts, visits=visits, safe=safe, licence=licence)
        far = opened.plan.so_far(opened.journal.states(), playing=opened.folder.being_played)
    if far:
        say(f"{opened.name}: {far}")
    if json:
        files = {name: {"file": str(path), "rows": rows} for name, (path, rows) in written.items()}
        print_json({**files, **registered.document})
    else:
        for name, (path, rows) in written.items():
            say(f"{name}: {rows} rows in {path}")
        for line in (line for one in registered.bound for line in one.lines):
            say(line)
