"""`ostrom export`: a run as files for other tools."""

from pathlib import Path
from typing import Annotated

import typer

from ostrom.cli.options import RunName, Runs, Safe, standing_of
from ostrom.cli.output import Output, Remark, print_stderr
from ostrom.ground.words import how_many


def export(
    run: RunName,
    format: Annotated[
        str,
        typer.Option(help="parquet | csv | jsonl | inspect | hf | otree | shared | every-eval (see docs/export.md)"),
    ] = "parquet",
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write (default: export/ in the run's folder; inspect, hf, otree, ...: a folder in that)."
        ),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="hf, every-eval: add prompts and replies (hf: and reasoning).")
    ] = False,
    visits: Annotated[
        bool, typer.Option("--visits", help="hf, otree: add what people answered in surveys; look for names first.")
    ] = False,
    licence: Annotated[
        str | None, typer.Option(help="hf: the licence of the data on its card, for example cc-by-4.0.")
    ] = None,
    safe: Safe = False,
    runs: Runs = Path("runs"),
) -> Output:
    """Write a run as files for other tools.

    Tables, Inspect logs, a dataset folder, oTree's wide table, or a shared run without texts.
    """
    from ostrom.features.exporting import export_run
    from ostrom.studies.run import open_run

    with open_run(run, runs) as opened:
        registered = standing_of(opened)
        written = export_run(
            opened, format, out, texts=texts, visits=visits, safe=safe, licence=licence, say=print_stderr
        )
        far = opened.plan.so_far(opened.journal.states(), playing=opened.folder.being_played)
    if far:
        print_stderr(f"{opened.name}: {far}")
    files = {name: {"file": str(path), "rows": rows} for name, (path, rows) in written.items()}
    lines = (f"{name}: {how_many(rows, 'row')} in {path}" for name, (path, rows) in written.items())
    return Output(files | registered.document, map(Remark, [*lines, *registered.lines]))
