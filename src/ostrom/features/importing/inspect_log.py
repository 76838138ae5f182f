"""Reads logs written by `ostrom export --format inspect` back into a run: actions and payoffs."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson

from ostrom.features.importing.mapping import Mapping
from ostrom.features.importing.table import SourceRow, SourceTable, read_bytes
from ostrom.features.importing.write import Imported, import_tables
from ostrom.ground.errors import StudyError
from ostrom.ground.validation import validate
from ostrom.studies.factors import RESERVED

FORMAT = 1
FIXED = ("match", "round", "seat", "player", "action", "payoff", "game")
SOURCE = ("source_seed", "source_mechanism")
"""Factors with a match's seed and mechanism in the exported run: an imported run has its own seeds, one mechanism."""
NO_FACTORS = RESERVED | {*FIXED, *SOURCE, "file", "mechanism"}
MARK = b'"ostrom":{"format":'


def is_log(path: Path) -> bool:
    """Return whether the first megabyte of a file has the mark of a log that Ostrom wrote."""
    with suppress(OSError), path.open("rb") as file:
        return MARK in file.read(1 << 20).replace(b" ", b"")
    return False


def import_logs(paths: Sequence[Path], *, name: str, runs: str | Path, bad_rows: str | None = None) -> Imported:
    """Read the rounds of logs into ``runs/<name>``. Prompts and replies stay in the logs."""
    logs = [(path, *_log(path)) for path in paths]
    factors = {key: key for _, about, _ in logs for key in about["cell"] if key not in NO_FACTORS}
    games = {str(number): about["game"] for number, (_, about, _) in enumerate(logs)}
    rule = {
        "game": {"column": "game", "is": games},
        "match": {"by": ["match"]},
        "round": "round",
        "rounds": "any",
        "players": {"player": "player", "action": "action", "payoff": "payoff", "seat": "seat"},
        "factors": {**factors, **{name: name for name in SOURCE}},
        # Contracts and fines change what a game pays, so the recorded payoffs are kept.
        "bad_rows": "keep",
    }
    mapping = validate(Mapping, rule, "mapping")
    # All logs are one table: match numbers are unique across the cells of a run.
    first, *more = (_table(path, nth, about, of, list(factors)) for nth, (path, about, of) in enumerate(logs))
    table = replace(first, lines=tuple(line for table in (first, *more) for line in table.lines))
    if not table.lines:
        raise StudyError("holds no rounds", file=table.file)
    return import_tables([table], mapping, "mapping", name=name, runs=runs, policy=bad_rows or "keep")


def _log(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    try:
        log = orjson.loads(read_bytes(path))
        about, samples = log["eval"]["metadata"]["ostrom"], log["samples"]
        version, game = about["format"], about["game"]
        if not isinstance(about["cell"], dict) or not isinstance(samples, list):
            raise TypeError
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise StudyError("is no log that ostrom export --format inspect wrote", file=str(path)) from None
    if version != FORMAT:
        raise StudyError("was written by another version", file=str(path), actual=version, allowed=[str(FORMAT)])
    if not isinstance(game, dict):
        raise StudyError("holds matches of a game that no file can state; it cannot be read back", file=str(path))
    return about, samples


def _table(
    path: Path, number: int, about: dict[str, Any], samples: list[dict[str, Any]], factors: list[str]
) -> SourceTable:
    columns, cell = (*FIXED, *SOURCE, *factors), about["cell"]
    places = {name: place for place, name in enumerate(columns)}

    def lines() -> Iterator[SourceRow]:
        for nth, sample in enumerate(samples, 1):
            try:
                metadata = sample["metadata"]
                for row in metadata["rounds"]:
                    values = (
                        sample["id"], row["round"], row["seat"], row["agent"], row["action"], row["payoff"], number,
                        metadata["seed"], cell.get("mechanism"), *(cell.get(name, "") for name in factors),
                    )  # fmt: skip
                    yield SourceRow(nth, tuple("" if value is None else str(value) for value in values), places)
            except (KeyError, TypeError):
                raise StudyError("does not hold its rounds", file=str(path), key=f"sample {nth}") from None

    return SourceTable(str(path), columns, tuple(lines()), "sample")
