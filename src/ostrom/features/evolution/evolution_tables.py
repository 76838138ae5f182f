"""What came of tournaments as plain data: one entry per tournament, and tables of results and paths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from ostrom.data.spreadsheet import safe_rows
from ostrom.data.tables import write_csv, write_parquet
from ostrom.features.evolution.evolution import EvolutionSettings, Evolved, evolve
from ostrom.features.evolution.tournament import Tournament
from ostrom.ground.errors import RunError, UsageError
from ostrom.ground.files import draft_of, write_whole

RESULTS = ("long_run", "final", "mass", "rating", "rank", "expected")
"""Results per type that the dynamics give, in the order of columns."""


def entry_of(
    tournament: Tournament, dynamics: str, settings: EvolutionSettings
) -> tuple[dict[str, Any], Evolved | None]:
    """A tournament and what came of it as plain data; ``why`` says why a population cannot evolve on it."""
    evolved, why = None, None
    if not tournament.matches:
        why = f"no match is finished ({tournament.unfinished} are not)"
    else:
        try:
            evolved = evolve(tournament, dynamics, settings)
        except UsageError as error:
            why = str(error)
    entry: dict[str, Any] = {
        "cell": dict(tournament.cell),
        "types": list(tournament.types),
        "matches": len(tournament.matches),
        "matches_of": tournament.matches_of(),
        "unfinished": tournament.unfinished,
        "society": tournament.society,
        "mean": tournament.means(),
        **({name: dict(of) for name, of in evolved.shares.items()} if evolved else {}),
        **(evolved.facts if evolved else {}),
        "why": why,
    }
    if tournament.configurations:
        entry["configurations"] = {name: dict(of) for name, of in tournament.configurations.items()}
    return entry, evolved


def result_rows(entries: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """One row per tournament and type."""
    met = [name for name in RESULTS if any(name in entry for entry in entries)]
    for entry in entries:
        for kind in entry["types"]:
            yield {
                **entry["cell"],
                "type": kind,
                "matches": entry["matches_of"].get(kind, 0),
                "mean": entry["mean"].get(kind),
                **{name: entry.get(name, {}).get(kind) for name in met},
            }


def write_evolution(
    out: Path,
    format: str,
    report: dict[str, Any],
    tournaments: Sequence[Tournament],
    evolved: Sequence[Evolved | None],
    *,
    safe: bool = False,
) -> None:
    """Write the whole report as JSON, the results per type and the paths as tables."""
    writer = write_csv if format == "csv" else write_parquet
    numbers = dict.fromkeys(["mean", "share", "time", *RESULTS], float)
    kinds: dict[str, type] = {**numbers, "matches": int, "step": int, "seed": int}
    try:
        out.mkdir(parents=True, exist_ok=True)
        text = orjson.dumps(report, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str)
        write_whole(out / "evolution.json", text + b"\n")
        for name, rows in (
            ("evolution", result_rows(report["tournaments"])),
            ("trajectories", path_rows(tournaments, evolved)),
        ):
            path = out / f"{name}.{format}"
            draft = draft_of(path)
            writer(draft, safe_rows(rows) if safe else rows, kinds)
            draft.replace(path)
    except OSError as error:
        raise RunError(f"{out}: cannot be written ({error.strerror or error})") from None


def path_rows(
    tournaments: Sequence[Tournament], evolved: Sequence[Evolved | None]
) -> Iterator[dict[str, Any]]:
    """One row per tournament, step and type."""
    for tournament, result in zip(tournaments, evolved, strict=True):
        if result is None or result.path is None:
            continue
        for step, (time, shares) in enumerate(zip(result.path.times, result.path.states, strict=True)):
            for kind, share in zip(tournament.types, shares, strict=True):
                yield {
                    **tournament.cell, "step": step, "time": float(time), "type": kind, "share": float(share)
                }  # fmt: skip
