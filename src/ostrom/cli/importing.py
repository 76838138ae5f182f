"""`ostrom import`: rounds that somebody else recorded, as a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.data import RUNS
from ostrom.cli.output import print_json, say

if TYPE_CHECKING:
    from ostrom.studies.importing import Imported


def import_files(
    files: Annotated[list[Path], typer.Argument(help="CSV files, all of the same layout.")],
    mapping: Annotated[
        str | None,
        typer.Option(help="A mapping file (YAML) or the name of a shipped one: ostrom list mappings."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The name of the run (default: that of the file).")] = None,
    runs: Annotated[Path, RUNS] = Path("runs"),
    disagreements: Annotated[
        str | None,
        typer.Option(help="Where payoffs contradict the game: refuse | keep (default: as the mapping says)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read foreign rounds into a run, so that all measures, charts and tests work on them.

    A table of the 144 ordinal games is checked instead: every row that is wrong is reported.
    Exit code: 0 imported, 1 refused (payoffs contradict the game, a table is wrong), 2 wrong use.
    """
    from ostrom.errors import UsageError
    from ostrom.studies.importing import import_rounds, mapping_names

    if mapping is None:
        if len(files) == 1 and _is_table_of_games(files[0]):
            check_games(files[0], json)
            return
        raise UsageError(f"say what the columns mean: --mapping FILE, or one of {', '.join(mapping_names())}")
    done = import_rounds(files, mapping, name=name or files[0].stem, runs=runs, disagreements=disagreements)
    if json:
        print_json(done.as_dict())
    _tell(done)
    if done.folder is None:
        sys.exit(1)


def _tell(done: Imported) -> None:
    for found in done.disagreements:
        say(str(found))
    for line in done.skipped:
        say(f"skipped: {line}")
    count = len(done.disagreements)
    if done.folder is None:
        say(
            f"refused: {count} payoffs or totals contradict the game "
            "(--disagreements keep imports them as written, with a note on every such row)"
        )
        return
    say(
        f"{done.matches} matches, {done.rounds} rounds"
        + (f", {len(done.skipped)} matches skipped" if done.skipped else "")
        + (f"; {count} payoffs or totals contradict the game and were kept as written" if count else "")
    )
    say(f"run: {done.folder}    report: ostrom report {done.folder}")


def _is_table_of_games(file: Path) -> bool:
    from ostrom.games.ordinal_table import CELLS
    from ostrom.games.text_file import read_text

    header = read_text(file, what="table").partition("\n")[0]
    return all(name in header for name in ("game_number", *CELLS))


def check_games(file: Path, json: bool) -> None:
    """Report every row of a table of the 144 games that is wrong; exit code 1 if there is one."""
    from ostrom.games.ordinal_table import check_table, read_table

    rows, problems = len(read_table(file)), check_table(file)
    if json:
        print_json({"file": str(file), "kind": "table of 2x2 games", "rows": rows, "problems": problems})
    else:
        for line in problems:
            print(f"{file}: {line}")
        say(f"{rows} games, {len(problems)} of them wrong" if problems else f"{rows} games, all right")
    if problems:
        sys.exit(1)
