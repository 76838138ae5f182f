"""`ostrom import`: rounds that somebody else recorded, as a run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.options import Json, Runs
from ostrom.cli.output import print_json, say, write
from ostrom.ground.words import how_many

if TYPE_CHECKING:
    from ostrom.features.importing import Imported

SHOWN = 20


def import_files(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="CSV or JSON files, all of the same layout, or logs of `ostrom export --format inspect`."
        ),
    ],
    mapping: Annotated[
        str | None,
        typer.Option(help="A mapping file (YAML) or the name of a shipped one: ostrom list mappings."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The name of the run (default: that of the file).")] = None,
    runs: Runs = Path("runs"),
    bad_rows: Annotated[
        str | None,
        typer.Option(
            help="Rows that contradict the game or cannot be read: refuse | skip | skip-match | keep | repair "
            "(default: as the mapping says)."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Read matches that were played elsewhere into a run.

    All measures, charts and tests then work on them.

    A table of the 144 ordinal games is checked instead: every row that is wrong is reported.
    Exit code: 0 imported, 1 refused (payoffs contradict the game, a table is wrong), 2 wrong use.
    """
    from ostrom.features.importing import import_rounds, mapping_names
    from ostrom.features.importing.inspect_log import import_logs, is_log
    from ostrom.features.importing.write import Importer, importers
    from ostrom.ground.errors import UsageError

    readers = [importers.part(reader, Importer) for reader in importers]
    reader = next((one for one in readers if mapping is not None and one.reads(files[0], mapping)), None)
    if mapping is not None and reader is not None:
        chosen = name or files[0].resolve().stem
        _end(reader.read(files, mapping, name=chosen, runs=runs, bad_rows=bad_rows), json)
        return
    if mapping is None:
        if is_log(files[0]):
            chosen = name or files[0].stem.partition("_")[2].partition("_")[0] or files[0].stem
            _end(import_logs(files, name=chosen, runs=runs, bad_rows=bad_rows), json)
            return
        if len(files) == 1 and files[0].suffix.lower() != ".json" and _is_table_of_games(files[0]):
            check_games(files[0], json)
            return
        own = (row["name"] for one in readers for row in one.mappings())
        known = ", ".join((*mapping_names(), *own))
        raise UsageError(f"say what the columns mean: --mapping FILE, or one of {known}")
    _end(import_rounds(files, mapping, name=name or files[0].stem, runs=runs, bad_rows=bad_rows), json)


def _end(done: Imported, json: bool) -> None:
    if json:
        print_json(done.as_dict())
    _tell(done)
    if done.folder is None:
        sys.exit(1)


def _tell(result: Imported) -> None:
    from ostrom.features.importing.check import DONE

    for note in result.notes:
        say(f"note: {note}")
    if result.folder is None:
        for cause in result.refused:
            say(str(cause))
        rows = sum(len(cause.rows) for cause in result.refused)
        if result.policy == "refuse":
            hint = "--bad-rows skip | skip-match | keep | repair imports the rest"
        else:
            hint = f"these cannot be dealt with by {result.policy}; --bad-rows skip or skip-match leaves them out"
        say(f"refused: {rows} bad rows of {how_many(len(result.refused), 'kind')} ({hint})")
        return
    for cause in result.causes:
        notes = "; ".join(cause.as_dict()["notes"][:3])
        say(f"{DONE[cause.done]}: {cause}" + (f" [{notes}]" if notes else ""))
    for line in result.skipped[:SHOWN]:
        say(f"skipped: {line}")
    if len(result.skipped) > SHOWN:
        say(f"and {len(result.skipped) - SHOWN} more matches were skipped")
    bad = len(result.disagreements)
    say(
        f"{how_many(result.matches, 'match')}, {how_many(result.rounds, 'round')}"
        + (f", {how_many(len(result.skipped), 'match')} skipped" if result.skipped else "")
        + (f"; {how_many(bad, 'bad row')}, {DONE[result.policy]}" if bad else "")
    )
    say(f"run: {result.folder}    report: ostrom report {result.folder}")


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
            write(f"{file}: {line}")
        say(f"{rows} games, {len(problems)} of them wrong" if problems else f"{rows} games, all right")
    if problems:
        sys.exit(1)
