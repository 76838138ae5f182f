"""`ostrom more evolve`: average payoffs of a tournament and the population that evolves on them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ostrom.analysis.registered import RegistrationStatus
from ostrom.cli.options import Runs, Safe, standing_of
from ostrom.cli.output import Output, Remark, TextItem, TextTable, print_stderr
from ostrom.features.evolution.evolution import (
    DEFAULTS,
    Tournament,
    check_settings,
    entry_of,
    read_payoff_files,
    result_rows,
    run_tournaments,
    write_evolution,
)
from ostrom.ground.errors import UsageError
from ostrom.studies.run import open_run


def evolve(
    source: Annotated[
        list[str], typer.Argument(help="A run, or payoff files (JSON) of another tournament, or a folder of them.")
    ],
    dynamics: Annotated[
        str, typer.Option(help="replicator | continuous | moran | fermi | alpha-rank | deviation | basins")
    ] = "replicator",
    by: Annotated[
        str | None,
        typer.Option(help="Columns that tell tournaments of a run apart (default: game, mechanism, all factors)."),
    ] = None,
    expected: Annotated[bool, typer.Option("--expected", help="Exact expectations instead of sampled scores.")] = False,
    start: Annotated[
        str | None, typer.Option(help="uniform (default) | random | name=share,name=share | a JSON object")
    ] = None,
    eta: Annotated[float | None, typer.Option(help="Step size of the replicator (0.1).")] = None,
    steps: Annotated[int | None, typer.Option(help="Most steps or events (1000; basins: 5000).", min=0)] = None,
    tolerance: Annotated[float | None, typer.Option(help="Advantage below which the replicator rests (1e-6).")] = None,
    duration: Annotated[float | None, typer.Option(help="How long the continuous replicator runs (100).")] = None,
    population: Annotated[int | None, typer.Option(help="Size of a finite population (50).", min=2)] = None,
    selection: Annotated[float | None, typer.Option(help="Moran: intensity of selection (0.1).")] = None,
    mapping: Annotated[
        str | None, typer.Option(help="Moran: fitness of a payoff, exponential (default) | linear.")
    ] = None,
    beta: Annotated[float | None, typer.Option(help="Fermi: intensity of imitation (1).")] = None,
    mutation: Annotated[
        float | None, typer.Option(help="Moran and Fermi: chance of a mutation per event of the path (0).")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(help="Alpha-rank: intensity (default: raised until the masses settle).")
    ] = None,
    samples: Annotated[int | None, typer.Option(help="Basins: random starts (500).", min=1)] = None,
    seed: Annotated[int | None, typer.Option(help="The seed of random starts and paths (0).")] = None,
    discount: Annotated[
        str, typer.Option(help="Payoff files: file (the file's own) | none (plain mean) | a number.")
    ] = "file",
    seats: Annotated[str, typer.Option(help="Payoff files: who sits where, auto | player_id | listed.")] = "auto",
    out: Annotated[Path | None, typer.Option(help="Write averages, results and trajectories there.")] = None,
    format: Annotated[str, typer.Option(help="Tables in --out: csv | parquet.")] = "csv",
    safe: Safe = False,
    runs: Runs = Path("runs"),
) -> Output:
    """Let agent types evolve on the payoffs of a tournament.

    Exit code: 1 when some tournament has no result because matches are missing or a file is wrong.
    """
    options = (
        eta, steps, tolerance, read_start(start), seed, population, selection, mapping, beta, mutation, alpha, duration,
        samples,
    )  # fmt: skip
    settings = {name: option for name, option in zip(DEFAULTS, options, strict=True) if option is not None}
    resolved = check_settings(dynamics, settings)
    if format not in ("csv", "parquet"):
        raise UsageError(f"--format {format!r} (allowed: csv, parquet)")
    if safe and (out is None or format != "csv"):
        raise UsageError("--safe is for the CSV files in --out")
    tournaments, others, wrong, registered = _tournaments(source, by, expected, discount, seats, runs)
    results = [entry_of(tournament, dynamics, settings) for tournament in tournaments]
    report = {
        "source": source,
        "dynamics": dynamics,
        "settings": resolved,
        "tournaments": [entry for entry, _ in results],
        "not_payoff_files": others,
        "wrong_files": wrong,
        **registered.document,
    }
    if out is not None:
        write_evolution(out, format, report, tournaments, [evolved for _, evolved in results], safe=safe)
        print_stderr(f"written: {out / 'evolution.json'}, evolution.{format}, trajectories.{format}")
    missing = [entry for entry, _ in results if entry["why"] and not entry["society"]]
    return Output(
        report,
        _text(dynamics, [entry for entry, _ in results]),
        [
            *([f"{len(others)} JSON files are no payoff files and were left alone: {_few(others)}"] if others else []),
            *(f"not used: {line}" for line in wrong),
            *(f"{_called(entry['cell'])}: {entry['why']}" for entry in missing),
        ],
        int(bool(wrong or missing)),
        registered,
    )


def read_start(text: str | None) -> Any:
    """Parse the start: a keyword, or shares by type name.

    >>> read_start("grim=0.9,m t=0=0.1")
    {'grim': 0.9, 'm t=0': 0.1}
    """
    if text is None or text in ("uniform", "random"):
        return text
    if text.lstrip().startswith("{"):
        import orjson

        try:
            shares = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise UsageError(f"--start is not JSON: {error}") from None
        if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in shares.values()):
            raise UsageError(f"--start {text!r}: every share must be a number")
        return {name: float(share) for name, share in shares.items()}
    shares = {}
    for piece in text.split(","):
        name, equals, number = piece.rpartition("=")
        try:
            if not equals or name.strip() in shares:
                raise ValueError
            shares[name.strip()] = float(number)
        except ValueError:
            raise UsageError(
                f"--start {text!r} (allowed: uniform, random, name=share,name=share with every name once)"
            ) from None
    return shares


def _tournaments(
    source: Sequence[str], by: str | None, expected: bool, discount: str, seats: str, runs: Path
) -> tuple[list[Tournament], list[str], list[str], RegistrationStatus]:
    if all(_is_foreign(item, runs) for item in source):
        if by is not None or expected:
            raise UsageError("--by and --expected are for runs, not for payoff files")

        read = read_payoff_files([Path(item) for item in source], discount=_discount(discount), seats=seats)
        return list(read.tournaments), list(read.others), list(read.wrong), RegistrationStatus()
    if len(source) > 1:
        raise UsageError("give one run, or any number of payoff files and folders, not both")
    if discount != "file" or seats != "auto":
        raise UsageError("--discount and --seats are for payoff files; the scores of a run are its mechanisms'")
    with open_run(source[0], runs) as run:
        if by is None:
            columns = list(dict.fromkeys(["game", "mechanism", *(f.name for f in run.plan.factors)]))
        else:
            columns = [column.strip() for column in by.split(",") if column.strip()]
        tournaments = run_tournaments(run.rows.matches(), run.plan.unit, columns, expected=expected)
        registered = standing_of(run)
    if not tournaments:
        raise UsageError(f"{source[0]}: no match has begun")
    return tournaments, [], [], registered


def _is_foreign(item: str, runs: Path) -> bool:
    """Return whether the source is a JSON file, or a folder that is no run."""
    path = Path(item)
    if path.suffix == ".json" or path.is_file():
        return True
    return path.is_dir() and not (path / "run.json").exists() and not (runs / item / "run.json").exists()


def _discount(text: str) -> Any:
    if text in ("file", "none"):
        return text
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"--discount {text!r} (allowed: file, none, a number)") from None


def _text(dynamics: str, entries: Sequence[dict[str, Any]]) -> list[TextItem]:
    rows = list(result_rows(entries))
    attractors = [
        f"{_called(entry['cell'])}: {one['share']:.1%} of starts end in a {one['kind']}: "
        + ", ".join(f"{name} {share:.3f}" for name, share in one["centre"].items())
        for entry in entries
        for one in entry.get("attractors", ())
    ]
    moving = sum(entry.get("settled") is False for entry in entries)
    societies = [entry for entry in entries if entry["society"]]
    names = _few([_called(entry["cell"]) for entry in societies])
    return [
        TextTable.from_mappings(f"Average score per type, and {dynamics}", rows) if rows else None,
        *map(Remark, attractors),
        Remark(f"{moving} of {len(entries)} had not come to rest, absent types included, when the dynamics ended")
        if moving
        else None,
        Remark(f"{names}: {societies[0]['why']}") if societies else None,
    ]


def _called(cell: dict[str, Any]) -> str:
    return ", ".join(str(value) for value in cell.values()) or "all matches"


def _few(names: Sequence[str]) -> str:
    return "; ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
