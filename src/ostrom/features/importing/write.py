"""From foreign files to a run on disk: read, check, report, and only then write."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import orjson

from ostrom.answers import Answer
from ostrom.engine.entries import Journaled, Place
from ostrom.engine.folder import Folder, check_name, new_manifest
from ostrom.engine.journal import Journal
from ostrom.engine.match import replay
from ostrom.engine.plan import Unit
from ostrom.engine.rows import rows_of
from ostrom.features.importing.check import POLICIES, Cause, Disagreement, SeatRound, by_cause
from ostrom.features.importing.mapping import Mapping, canonical, load_mapping
from ostrom.features.importing.plan import ImportedPlan, ImportedUnit, write_units
from ostrom.features.importing.reader import MatchReader, Ready
from ostrom.features.importing.table import SourceTable, read_bytes, read_table
from ostrom.ground.errors import RunError, StudyError
from ostrom.ground.files import read_plain
from ostrom.ground.registry import Registry
from ostrom.ground.validation import validate
from ostrom.mechanisms.base import match_score
from ostrom.studies.schema import StudyFile


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import. ``folder`` is None where it was refused."""

    folder: Path | None
    matches: int
    rounds: int
    skipped: tuple[str, ...]
    disagreements: tuple[Disagreement, ...]
    """Every bad row, whatever was done with it."""
    policy: str = "refuse"
    notes: tuple[str, ...] = ()
    """What else a reader must know: identical files, games that were recognised, factors that change."""

    @property
    def causes(self) -> list[Cause]:
        """Bad rows that are wrong in the same way, together."""
        return by_cause(self.disagreements)

    @property
    def refused(self) -> list[Cause]:
        """What stands in the way of the import."""
        return by_cause(row for row in self.disagreements if row.done == "refuse")

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "run": None if self.folder is None else str(self.folder),
            "matches": self.matches,
            "rounds": self.rounds,
            "skipped": list(self.skipped),
            "bad_rows": {"policy": self.policy, "causes": [cause.as_dict() for cause in self.causes]},
            "disagreements": [d.as_dict() for d in self.disagreements],
            "notes": list(self.notes),
        }


def import_rounds(
    paths: Sequence[str | Path],
    mapping: str | Path | Mapping,
    *,
    name: str,
    runs: str | Path = "runs",
    bad_rows: str | None = None,
) -> Imported:
    """Read files with a mapping into ``runs/<name>``; nothing is written where something is refused.

    ``bad_rows`` (refuse, skip, skip-match, keep or repair) goes before what the mapping says of rows that
    contradict the game or cannot be read.
    """
    rule, mapping_file = (mapping, "mapping") if isinstance(mapping, Mapping) else load_mapping(mapping)
    policy = bad_rows or rule.policy
    if policy not in POLICIES:
        raise StudyError("no such policy", key="bad_rows", found=policy, allowed=POLICIES)
    if not paths:
        raise StudyError("name at least one file to import")
    tables = [read_table(Path(path), rule, mapping_file) for path in paths]
    return import_tables(tables, rule, mapping_file, name=name, runs=runs, policy=policy)


def import_tables(
    tables: Sequence[SourceTable], rule: Mapping, mapping_file: str, *, name: str, runs: str | Path, policy: str
) -> Imported:
    """As ``import_rounds``, with tables that are read already."""
    folder = new_folder(runs, name)
    paths = [Path(table.file) for table in tables]
    files, notes = source_files(paths, Path(runs))
    reader = MatchReader(rule, mapping_file, policy, several=len(tables) > 1)
    for table in tables:
        reader.read(table)
    ready = reader.finished()
    bad_rows = (*reader.bad, *(row for match in ready for row in match.checked.bad))
    skipped = tuple(m.checked.illegal for m in ready if m.checked.illegal is not None)
    rounds = sum(len(match.checked.rounds) for match in ready)
    notes = (*notes, *reader.notes())
    result = Imported(None, len(ready), rounds, skipped, bad_rows, policy, notes)
    if result.refused:
        return result
    if not ready:
        raise StudyError("no match is left to import", file=str(paths[0]))
    for entry, table in zip(files, tables, strict=True):
        entry["rows"] = len(table.lines)
    imported = {
        "mapping": rule.model_dump(mode="json", by_alias=True, exclude_unset=True),
        "mapping_file": mapping_file,
        "files": files,
        "disagreements": [d.as_dict() for d in bad_rows],
        "bad_rows": result.as_dict()["bad_rows"],
        "notes": list(notes),
        "framings": list(rule.framing),
        "round_columns": reader.round_columns(),
    }
    ready = reader.as_numbers(ready)
    study, units = _study(name, rule, ready), [match.unit for match in ready]
    plan = ImportedPlan(study, units, mapping_file, imported)

    def journal(new: Journal) -> None:
        asyncio.run(_journal(new, ready, reader.columns, plan))

    write_run(folder, units, study, imported, journal)
    return replace(result, folder=folder.path)


def new_folder(runs: str | Path, name: str) -> Folder:
    """The folder of a run that is about to be imported; there must be none of that name."""
    folder = Folder(Path(runs) / check_name(name))
    if folder.exists:
        raise RunError(f"{folder.path}: there is already a run of that name (choose another --name)")
    return folder


def source_files(paths: Sequence[Path], runs: Path) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """What the manifest says of every file, and which of them are identical: to each other, or to a run's."""
    files: list[dict[str, Any]] = []
    notes: list[str] = []
    first: dict[str, Path] = {}
    for path in paths:
        digest = hashlib.sha256(read_bytes(path)).hexdigest()
        if digest in first:
            if path.resolve() == first[digest].resolve():
                raise StudyError("is named twice", file=str(path))
            notes.append(f"{path} is identical to {first[digest]}: all of its matches count twice")
        first.setdefault(digest, path)
        files.append({"name": path.name, "sha256": digest})
    for manifest in sorted(runs.glob("*/run.json")) if runs.is_dir() else []:
        try:
            other = orjson.loads(read_plain(manifest))
            known = {entry["sha256"] for entry in other["imported"]["files"]}
        except (OSError, RunError, ValueError, KeyError, TypeError):
            continue
        for digest, path in first.items():
            if digest in known:
                notes.append(f"{path} is identical to a file of the run {manifest.parent.name}")
    return files, tuple(notes)


def _study(name: str, rule: Mapping, ready: Sequence[Ready]) -> StudyFile:
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
        **({"seeds_shared": True} if rule.shared else {}),
    }
    return validate(StudyFile, data, "mapping")


def write_run(
    folder: Folder,
    units: Sequence[ImportedUnit],
    study: StudyFile,
    imported: dict[str, Any],
    journal: Callable[[Journal], None],
) -> None:
    """Write an imported run: its units, its journal and, last, its manifest."""
    folder.lock()
    try:
        for stale in folder.path.glob("journal.db*"):
            stale.unlink()
        digest = write_units(folder.path, units)
        manifest = new_manifest(
            ImportedPlan.kind,
            study.model_dump(mode="json", exclude={"stop", "models"}),
            {},
            imported={**imported, "digest": digest},
        )
        journal(folder.open_journal(manifest, create=True))
        # The manifest comes last: a folder without one is no run, so a broken import leaves none behind.
        folder.write_manifest(manifest)
    finally:
        folder.unlock()


async def _journal(journal: Journal, ready: Sequence[Ready], columns: dict[str, str], plan: ImportedPlan) -> None:
    cache: dict[Any, Answer] = {}
    try:
        journal.start()
        for index, match in enumerate(ready):
            numbers, answers = match.checked.numbers, dict[Place, Journaled]()
            for step, played in enumerate(match.checked.rounds):
                for seat, one in enumerate(played):
                    row = match.source.rounds[numbers[step] - 1][seat].row
                    kept = tuple(canonical(row[column]) for column in columns.values())
                    answer = cache.get((one, kept))
                    if answer is None:
                        answer = _answer(one, dict(zip(columns, kept, strict=True)))
                        cache[one, kept] = answer
                    journal.answer(index, step, seat, "", answer, 0)
                    answers[step, seat, ""] = answer, 0, None
            _finish(journal, plan.unit(index), match, answers)
            if journal.backlog > 20_000:
                await journal.flush()
                if len(cache) > 50_000:
                    cache.clear()
        await journal.flush()
    finally:
        journal.close()


def _answer(one: SeatRound, kept: dict[str, str]) -> Answer:
    facts: dict[str, Any] = {}
    if one.written is not None:
        facts["labels"] = {one.action: one.written.strip()}
    if kept:
        facts["columns"] = kept
    return Answer(one.action, "imported", None, one.note, facts or None)


def _finish(journal: Journal, unit: Unit, match: Ready, answers: dict[Place, Journaled]) -> None:
    """The end of a match, with its rows: an imported run is read as quickly as one that was played."""
    steps = len(match.checked.rounds)
    if match.checked.illegal is not None:
        journal.finish(unit.index, "skipped", match.checked.illegal, steps)
        return
    scores = [match_score(paid) for paid in zip(*match.checked.paid, strict=True)]
    replayed = replay(unit, unit.mechanism.play(unit.game, unit.streams), answers)
    journal.finish(unit.index, "done", None, steps, scores, rows=rows_of(unit, *replayed, answers).kept())


class ReadFiles(Protocol):
    """Reads files into the run ``runs/<name>``."""

    def __call__(
        self, paths: Sequence[Path], mapping: str, *, name: str, runs: str | Path = "runs", bad_rows: str | None = None
    ) -> Imported:
        """The run, or why the files are refused."""


@dataclass(frozen=True)
class Importer:
    """A reader of released files of a layout of their own."""

    reads: Callable[[Path, str], bool]
    """Whether the first file and the mapping that a person named are for this reader."""
    read: ReadFiles
    mappings: Callable[[], list[dict[str, Any]]]
    """One row for each mapping that ships for it: name, of, title, after."""


importers: Registry[Importer] = Registry("importer", None, "IMPORTER", "ostrom.importers", folder="importers")
