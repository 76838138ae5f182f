"""From foreign files to a run on disk: read, check, report, and only then write."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostrom.answers import Answer
from ostrom.engine.folder import Folder, check_name, new_manifest
from ostrom.engine.journal import Journal
from ostrom.errors import RunError, StudyError
from ostrom.framing import Library
from ostrom.framing.fingerprint import fingerprint
from ostrom.mechanisms.scoring import match_score
from ostrom.registry import scalar
from ostrom.studies.importing.check import CheckedMatch, Disagreement, check_match
from ostrom.studies.importing.games import Games
from ostrom.studies.importing.mapping import Mapping, canonical, load_mapping
from ostrom.studies.importing.moves import Recorded, recorded_matches
from ostrom.studies.importing.plan import ImportedUnit, write_units
from ostrom.studies.importing.table import Line, Table, read_table
from ostrom.studies.load import validate
from ostrom.studies.schema import StudyFile


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import. ``folder`` is None where it was refused."""

    folder: Path | None
    matches: int
    rounds: int
    skipped: tuple[str, ...]
    disagreements: tuple[Disagreement, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "run": None if self.folder is None else str(self.folder),
            "matches": self.matches,
            "rounds": self.rounds,
            "skipped": list(self.skipped),
            "disagreements": [d.as_dict() for d in self.disagreements],
        }


@dataclass(frozen=True, slots=True)
class _Ready:
    """A match that is about to be written."""

    unit: ImportedUnit
    checked: CheckedMatch


def import_rounds(
    paths: Sequence[str | Path],
    mapping: str | Path | Mapping,
    *,
    name: str,
    runs: str | Path = "runs",
    disagreements: str | None = None,
) -> Imported:
    """Read files with a mapping into ``runs/<name>``; nothing is written where something is refused.

    ``disagreements`` (refuse or keep) goes before what the mapping says of payoffs that contradict the game.
    """
    rule, mapping_file = (mapping, "mapping") if isinstance(mapping, Mapping) else load_mapping(mapping)
    policy = disagreements or rule.disagreements
    if policy not in ("refuse", "keep"):
        raise StudyError("no such policy", key="disagreements", found=policy, allowed=("refuse", "keep"))
    if not paths:
        raise StudyError("name at least one file to import")
    folder = Folder(Path(runs) / check_name(name))
    if folder.exists:
        raise RunError(f"{folder.path}: there is already a run of that name (choose another --name)")
    tables = [read_table(Path(path), rule, mapping_file) for path in paths]
    ready = _ready(tables, rule, mapping_file)
    found = tuple(d for match in ready for d in match.checked.disagreements)
    skipped = tuple(m.checked.illegal for m in ready if m.checked.illegal is not None)
    rounds = sum(len(match.checked.rounds) for match in ready)
    if found and policy == "refuse":
        return Imported(None, len(ready), rounds, skipped, found)
    imported = {
        "mapping": rule.model_dump(mode="json", by_alias=True, exclude_unset=True),
        "mapping_file": mapping_file,
        "files": [_described(Path(path), table) for path, table in zip(paths, tables, strict=True)],
        "disagreements": [d.as_dict() for d in found],
    }
    _write(folder, ready, _study(name, rule, ready), imported)
    return Imported(folder.path, len(ready), rounds, skipped, found)


def _ready(tables: Sequence[Table], rule: Mapping, mapping_file: str) -> list[_Ready]:
    games = Games(rule, mapping_file)
    seen: Counter[tuple[Any, ...]] = Counter()
    ready: list[_Ready] = []
    sources: list[Recorded] = []
    for table in tables:
        lines = {line.number: line for line in table.lines}
        for match in recorded_matches(table, rule):
            label, spec, game = games.of(match.file, match.first)
            checked = check_match(match, game, rule)
            cell = {"game": label, **_factors(match, lines, rule)}
            if len(tables) > 1:
                cell["file"] = Path(table.file).stem
            players = tuple(rule.names.get(player, player) for player in match.players)
            key = (*cell.values(), *players)
            payoffs = [list(row) for row in checked.paid] if checked.differs else None
            unit = ImportedUnit(spec, players, max(1, len(match.rounds)), cell, seen[key], payoffs)
            seen[key] += 1
            ready.append(_Ready(unit, checked))
            sources.append(match)
    _check_lengths(sources, rule)
    return _with_numbers(ready, rule.factors)


def _check_lengths(matches: Sequence[Recorded], rule: Mapping) -> None:
    """Matches of another length than the rest are usually a file that breaks off: refuse them by name."""
    if rule.rounds == "any":
        return
    lengths = Counter(len(match.rounds) for match in matches)
    wanted = rule.rounds if rule.rounds is not None else lengths.most_common(1)[0][0]
    for match in matches:
        if len(match.rounds) != wanted:
            who = " and ".join(match.players)
            raise StudyError(
                f"the match of {who} has {len(match.rounds)} rounds, "
                f"{'the mapping says' if rule.rounds else 'most others have'} {wanted} "
                "(rounds: any in the mapping allows it)",
                file=match.file, key=match.lines,
            )  # fmt: skip


def _factors(match: Recorded, lines: dict[int, Line], rule: Mapping) -> dict[str, Any]:
    numbers = {move.line for moves in match.rounds for move in moves} | {match.first.number}
    values: dict[str, Any] = {}
    for name, column in rule.factors.items():
        written = canonical(match.first.cells[column])
        for number in sorted(numbers):
            here = canonical(lines[number].cells[column])
            if here != written:
                raise StudyError(
                    f"factor {name} changes within a match, from {written!r} to {here!r}",
                    file=match.file, key=f"line {number}, column {column}",
                )  # fmt: skip
        values[name] = written
    return values


def _with_numbers(ready: list[_Ready], factors: Iterable[str]) -> list[_Ready]:
    """A factor whose every level is a number is one of numbers."""
    for name in factors:
        texts = {match.unit.cell[name] for match in ready}
        numbers = {text: scalar(text) for text in texts}
        if all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers.values()):
            for match in ready:
                match.unit.cell[name] = numbers[match.unit.cell[name]]
    return ready


def _described(path: Path, table: Table) -> dict[str, Any]:
    return {
        "name": path.name,
        "rows": len(table.lines),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }


def _study(name: str, rule: Mapping, ready: Sequence[_Ready]) -> StudyFile:
    """What the run says about itself: the study that was played elsewhere, as far as the file tells."""
    names = dict.fromkeys(player for match in ready for player in match.unit.players)
    data = {
        "name": name,
        "title": rule.title,
        "about": rule.about,
        "citation": rule.citation,
        "game": ready[0].unit.game,
        "mechanism": {"name": "repetition", "rounds": max(match.unit.rounds for match in ready)},
        "types": {player: {"recorded": player} for player in names},
        "seating": "ordered",
        "report": rule.report,
    }
    return validate(StudyFile, data, "mapping")


def _write(folder: Folder, ready: Sequence[_Ready], study: StudyFile, imported: dict[str, Any]) -> None:
    folder.lock()
    try:
        digest = write_units(folder.path, [match.unit for match in ready])
        asyncio.run(_journal(folder, ready))
        manifest = new_manifest(
            study.model_dump(mode="json"), fingerprint(Library()), imported={**imported, "digest": digest}
        )
        # The manifest comes last: a folder without one is no run, so a broken import leaves none behind.
        folder.write_manifest(manifest)
    finally:
        folder.unlock()


async def _journal(folder: Folder, ready: Sequence[_Ready]) -> None:
    for stale in folder.path.glob("journal.db*"):
        stale.unlink()
    journal = Journal(folder.journal, create=True)
    try:
        journal.start()
        for index, match in enumerate(ready):
            for step, played in enumerate(match.checked.rounds):
                for seat, one in enumerate(played):
                    facts = None if one.written is None else {"labels": {one.action: one.written.strip()}}
                    answer = Answer(one.action, "imported", None, one.note, facts)
                    journal.answer(index, step, seat, "", answer, 0)
            _finish(journal, index, match)
            if journal.backlog > 20_000:
                await journal.flush()
        await journal.flush()
    finally:
        journal.close()


def _finish(journal: Journal, index: int, match: _Ready) -> None:
    steps = len(match.checked.rounds)
    if match.checked.illegal is not None:
        journal.finish(index, "skipped", match.checked.illegal, steps)
        return
    scores = [match_score(paid) for paid in zip(*match.checked.paid, strict=True)]
    journal.finish(index, "done", None, steps, scores)
