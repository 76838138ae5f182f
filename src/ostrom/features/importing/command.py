"""`ostrom import`: matches recorded elsewhere, read into a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.options import Runs
from ostrom.cli.output import Output, Remark
from ostrom.ground.words import how_many

if TYPE_CHECKING:
    from ostrom.features.importing import Imported

MOST_LISTED = 20


def import_files(
    files: Annotated[
        list[Path],
        typer.Argument(help="CSV or JSON files, all of the same layout, or logs of `ostrom export --format inspect`."),
    ],
    mapping: Annotated[
        str | None, typer.Option(help="A mapping file (YAML) or the name of a shipped one: ostrom list mappings.")
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
) -> Output:
    """Read matches that were played elsewhere into a run.

    All measures, charts and tests then work on them.

    A table of the 144 ordinal games is checked instead: every row that is wrong is reported.
    Exit code: 0 imported, 1 refused (payoffs contradict the game, a table is wrong), 2 wrong use.
    """
    from ostrom.features.importing import import_rounds, mapping_names
    from ostrom.features.importing.inspect_log import import_logs, is_log
    from ostrom.features.importing.write import Importer, importers
    from ostrom.ground.errors import UsageError

    readers = [importers.get_instance(reader, Importer) for reader in importers]
    reader = next((one for one in readers if mapping is not None and one.reads(files[0], mapping)), None)
    if mapping is not None and reader is not None:
        return _ended(reader.read(files, mapping, name=name or files[0].resolve().stem, runs=runs, bad_rows=bad_rows))
    if mapping is None:
        if is_log(files[0]):
            chosen = name or files[0].stem.partition("_")[2].partition("_")[0] or files[0].stem
            return _ended(import_logs(files, name=chosen, runs=runs, bad_rows=bad_rows))
        if len(files) == 1 and files[0].suffix.lower() != ".json" and _is_table_of_games(files[0]):
            return check_games(files[0])
        names = ", ".join((*mapping_names(), *(name for one in readers for name in one.mappings())))
        raise UsageError(f"say what the columns mean: --mapping FILE, or one of {names}")
    return _ended(import_rounds(files, mapping, name=name or files[0].stem, runs=runs, bad_rows=bad_rows))


def _ended(result: Imported) -> Output:
    notes = [f"note: {note}" for note in result.notes]
    lines = _refusal(result) if result.folder is None else _summary(result)
    return Output(result.as_dict(), (), [*notes, *lines], int(result.folder is None))


def _refusal(result: Imported) -> list[str]:
    rows = sum(len(cause.rows) for cause in result.refused)
    hint = (
        "--bad-rows skip | skip-match | keep | repair imports the rest"
        if result.policy == "refuse"
        else f"these cannot be dealt with by {result.policy}; --bad-rows skip or skip-match leaves them out"
    )
    return [*map(str, result.refused), f"refused: {rows} bad rows of {how_many(len(result.refused), 'kind')} ({hint})"]


def _summary(result: Imported) -> list[str]:
    from ostrom.features.importing.check import DONE

    notes = ["; ".join(cause.as_dict()["notes"][:3]) for cause in result.causes]
    bad, more = len(result.disagreements), len(result.skipped) - MOST_LISTED
    return [
        *(
            f"{DONE[cause.done]}: {cause}" + (f" [{note}]" if note else "")
            for cause, note in zip(result.causes, notes, strict=True)
        ),
        *(f"skipped: {line}" for line in result.skipped[:MOST_LISTED]),
        *([f"and {more} more matches were skipped"] if more > 0 else []),
        f"{how_many(result.matches, 'match')}, {how_many(result.rounds, 'round')}"
        + (f", {how_many(len(result.skipped), 'match')} skipped" if result.skipped else "")
        + (f"; {how_many(bad, 'bad row')}, {DONE[result.policy]}" if bad else ""),
        f"run: {result.folder}    report: ostrom report {result.folder}",
    ]


def _is_table_of_games(file: Path) -> bool:
    from ostrom.games.ordinal_table import CELLS
    from ostrom.games.text_file import read_text

    header = read_text(file, what="table").partition("\n")[0]
    return all(name in header for name in ("game_number", *CELLS))


def check_games(file: Path) -> Output:
    """Report every row of a table of the 144 games that is wrong; exit code 1 if there is one."""
    from ostrom.games.ordinal_table import check_table, read_table

    rows, problems = len(read_table(file)), check_table(file)
    end = f"{rows} games, {len(problems)} of them wrong" if problems else f"{rows} games, all right"
    return Output(
        {"file": str(file), "kind": "table of 2x2 games", "rows": rows, "problems": problems},
        [*(f"{file}: {line}" for line in problems), Remark(end)],
        code=int(bool(problems)),
    )
