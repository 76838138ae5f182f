"""Payoff files of other tournaments: one file, several, or all in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from ostrom.features.evolution.tournament import PayoffFiles, Tournament
from ostrom.ground.errors import StudyError, UsageError
from ostrom.replications.coopeval.released.tournament_files import (
    SHAPES,
    ForeignTournament,
    Seats,
    load_json,
    parse_tournament,
)

Discount = float | Literal["file", "none"]


def read_payoff_files(
    paths: Sequence[Path], *, discount: Discount = "file", seats: Seats = "auto"
) -> PayoffFiles:
    """Read payoff files; a folder is searched for them at any depth and its files go by their relative paths.

    A file that is named must be right. In a folder, JSON files of another shape are listed as others, and one
    payoff file that is wrong does not keep the others from being read.
    """
    tournaments: list[Tournament] = []
    others: list[str] = []
    wrong: list[str] = []
    for path in paths:
        if not path.is_dir():
            read = parse_tournament(load_json(path), str(path), discount=discount, seats=seats)
            tournaments.append(foreign_tournament(read, str(path)))
            continue
        found = sorted(p for p in path.rglob("*.json") if p.is_file())
        if not found:
            raise UsageError(f"{path}: the folder holds no JSON file")
        for file in found:
            name = file.relative_to(path).as_posix()
            try:
                content = load_json(file)
                if not looks_like_payoffs(content):
                    others.append(name)
                    continue
                read = parse_tournament(content, str(file), discount=discount, seats=seats)
            except StudyError as error:
                wrong.append(str(error))
                continue
            tournaments.append(foreign_tournament(read, name))
    if not tournaments and not wrong:
        raise UsageError(
            f"{', '.join(map(str, paths))}: none of {len(others)} JSON files is a payoff file "
            '({"discount": ..., "profile": [{"players": ..., "payoffs": ...}, or {"player": ..., "points": ...}]})'
        )
    return PayoffFiles(tuple(tournaments), tuple(others), tuple(wrong))


def looks_like_payoffs(content: object) -> bool:
    """Whether a document is meant as a payoff file, right or wrong.

    >>> looks_like_payoffs({"discount": 0.8, "profile": []}), looks_like_payoffs({"gpt": 1.5})
    (True, False)
    """
    if isinstance(content, dict):
        return "profile" in content
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(item, dict) and any(shape <= set(item) for shape in SHAPES) for item in content)
    )


def foreign_tournament(read: ForeignTournament, name: str) -> Tournament:
    """A payoff file of another tournament, under the name of its file."""
    return Tournament(
        {"file": name},
        read.types,
        read.matches,
        read.society or _one_society(read),
        len(read.unplayed),
        configurations=read.configurations,
    )


def _one_society(read: ForeignTournament) -> bool:
    """Whether every match seats the same company: all types together, and more players than types."""
    companies = {tuple(sorted(match.types)) for match in read.matches}
    company = next(iter(companies))
    return len(companies) == 1 and 1 < len(read.types) < len(company) and set(company) == set(read.types)
