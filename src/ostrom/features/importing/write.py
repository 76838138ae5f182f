"""From foreign files to a run on disk: read, check, report, and only then write.

Assembles and checks the matches of imported tables, and collects what is wrong with them.
"""

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from ostrom.answers import Answer
from ostrom.engine.entries import Journaled, Place
from ostrom.engine.folder import Folder, check_name, new_manifest
from ostrom.engine.journal import Journal
from ostrom.engine.match import replay
from ostrom.engine.plan import Unit
from ostrom.engine.rows import rows_of
from ostrom.features.importing.check import POLICIES, Cause, CheckedMatch, Checker, Disagreement, SeatRound, by_cause
from ostrom.features.importing.mapping import LevelsByFile, Mapping, Value, canonical, load_mapping
from ostrom.features.importing.moves import MappedGames, Recorded, match_rows, number_in, put_together
from ostrom.features.importing.plan import ImportedPlan, ImportedUnit, write_units
from ostrom.features.importing.table import SourceRow, SourceTable, read_bytes, read_table
from ostrom.framing.config import Framing
from ostrom.games.game import Game
from ostrom.ground.errors import RunError, StudyError
from ostrom.ground.files import read_plain
from ostrom.ground.registry import Registry
from ostrom.ground.validation import validate
from ostrom.ground.words import how_many, join_words, scalar
from ostrom.mechanisms.base import match_score
from ostrom.studies.schema import StudyFile


@dataclass(frozen=True, slots=True)
class Ready:
    """A match that is ready to be written."""

    unit: ImportedUnit
    checked: CheckedMatch
    source: Recorded


class MatchReader:
    """Reads tables with one mapping, match by match, and collects disagreements."""

    def __init__(self, rule: Mapping, mapping_file: str, policy: str, *, several: bool) -> None:
        self.rule, self.policy, self.several = rule, policy, several
        self.games = MappedGames(rule, mapping_file)
        self.checker = Checker(rule, policy)
        self.ready: list[Ready] = []
        self.bad: list[Disagreement] = []
        """Matches that cannot be built or have an unusual length, with the problem."""
        self.columns = dict(rule.round_columns)
        self.by_file = {name: source for name, source in rule.factors.items() if isinstance(source, LevelsByFile)}
        self._demoted: Counter[str] = Counter()

    def read(self, table: SourceTable) -> None:
        """Read all matches of a table."""
        self.games.unit = table.unit
        for lines in match_rows(table, self.rule):
            try:
                match = put_together(table, self.rule, lines)
                label, spec, game = self.games.game_of_row(match.file, match.first)
                match_check = self.checker.match(match, game)
                framing = framing_of(match, game, self.rule)
            except StudyError as error:
                if error.file != table.file:  # the error is in the mapping or a table of games, not in a match
                    raise
                self._broken(table, lines, error)
                continue
            file = {"file": Path(table.file).stem} if self.several else {}
            cell = {"game": label, **self._factors(match), **_levels(framing), **file}
            players = tuple(self.rule.names.get(player, player) for player in match.players)
            payoffs = [list(row) for row in match_check.paid] if match_check.differs else None
            gaps = match_check.numbers != tuple(range(1, len(match_check.numbers) + 1))
            # A match with an illegal move is skipped or cut there; its planned length is that in the file.
            planned = len(match_check.rounds) if match_check.illegal is None else len(match.rounds)
            unit = ImportedUnit(
                spec, players, max(1, planned), cell, 0, payoffs,
                list(match_check.numbers) if gaps and match_check.illegal is None else None, framing or None,
            )  # fmt: skip
            self.ready.append(Ready(unit, match_check, match))

    def _broken(self, table: SourceTable, lines: Sequence[SourceRow], error: StudyError) -> None:
        done = self.policy if self.policy in ("skip", "skip-match") else "refuse"
        where = f"{error.file}: {error.key}: "
        why = str(error).removeprefix(where) if error.key else str(error).removeprefix(f"{error.file}: ")
        number, column = _place(error.key or "", lines[0].number)
        cause = re.sub(r"(on|begins on) (line|record) [0-9]+", r"\1 another \2", why)
        self.bad.append(Disagreement(table.file, number, column, 0, None, None, why, cause, "match", done, table.unit))

    def _factors(self, match: Recorded) -> dict[str, Any]:
        """Return a match's factors; a factor that changes within the match becomes a column of decisions."""
        values: dict[str, Any] = {}
        for name, (column, levels) in self.rule.levels.items():
            if len({canonical(move.row[column]) for moves in match.rounds for move in moves}) > 1:
                self._demoted[name] += 1
            value = canonical(match.first[column])
            values[name] = levels.get(value, value)
        file = Path(match.file).stem
        return {**values, **{name: source.file.get(file, file) for name, source in self.by_file.items()}}

    def finished(self) -> list[Ready]:
        """Return all matches, with lengths compared, factors resolved and replicates numbered."""
        self._lengths()
        cells = [match.unit.cell for match in self.ready]
        names, needless = ("game", *self.by_file), set(self._demoted)
        # Every file holds a game, or a level of another factor, of its own.
        if any(_one_to_one([(cell.get("file", ""), cell[name]) for cell in cells]) for name in names):
            needless.add("file")
        self.columns |= {name: self.rule.levels[name][0] for name in self._demoted}
        numbered, replicates = [], Counter[tuple[Any, ...]]()
        for match in self.ready:
            cell = {name: level for name, level in match.unit.cell.items() if name not in needless}
            key = (*cell.values(), *match.unit.players)
            numbered.append(replace(match, unit=replace(match.unit, cell=cell, seed=replicates[key])))
            replicates[key] += 1
        return numbered

    def _lengths(self) -> None:
        """Report matches of unusual length: they usually come from a truncated file."""
        rule = self.rule
        if rule.rounds == "any" or not self.ready:
            return
        lengths = Counter(len(match.source.rounds) for match in self.ready)
        wanted = rule.rounds if rule.rounds is not None else lengths.most_common(1)[0][0]
        for place, match in enumerate(self.ready):
            source, length = match.source, len(match.source.rounds)
            if length == wanted:
                continue
            short = (
                f"rounds, {'the mapping says' if rule.rounds else 'most others have'} {wanted} "
                "(rounds: any in the mapping allows it)"
            )
            why = f"the match of {join_words(source.players)} has {length} {short}"
            done = "refuse" if self.policy == "repair" else self.policy
            self.bad.append(
                Disagreement(
                    source.file, source.first.number, "", 0, length, wanted, why,
                    f"a match has {length} {short}", "length", done, source.unit,
                )
            )  # fmt: skip
            if done in ("skip", "skip-match"):
                self.ready[place] = replace(
                    match,
                    unit=replace(match.unit, rounds=max(1, length), numbers=None),
                    checked=replace(match.checked, illegal=f"{source.file}: {source.lines}: {why}"),
                )

    def as_numbers(self, ready: list[Ready]) -> list[Ready]:
        """Convert the levels of a factor to numbers if all of them are numbers."""
        for name in (name for name in self.rule.factors if name not in self._demoted):
            numbers = {text: scalar(text) for text in {match.unit.cell[name] for match in ready}}
            if all(isinstance(n, int | float) and not isinstance(n, bool) for n in numbers.values()):
                for match in ready:
                    match.unit.cell[name] = numbers[match.unit.cell[name]]
        return ready

    def round_columns(self) -> dict[str, str]:
        """Return the kind of each extra column of decisions: number if every filled cell is a number, else text."""
        kinds = {}
        for name, column in self.columns.items():
            cells = {
                canonical(move.row[column]) for match in self.ready for moves in match.source.rounds for move in moves
            }
            kinds[name] = "number" if all(not text or number_in(text) is not None for text in cells) else "text"
        return kinds

    def notes(self) -> list[str]:
        """Return further notes for the report."""
        return [
            *(
                f"{name} changes within {how_many(count, 'match')}: it is a column of the decisions table, not a factor"
                for name, count in self._demoted.items()
            ),
            *self.games.notes.values(),
        ]


def _one_to_one(pairs: Sequence[tuple[str, str]]) -> bool:
    """Return whether two columns determine each other.

    >>> _one_to_one([("a", "1"), ("a", "1"), ("b", "2")]), _one_to_one([("a", "1"), ("b", "1")])
    (True, False)
    """
    return len(set(pairs)) == len({one for one, _ in pairs}) == len({two for _, two in pairs})


def _levels(framing: dict[str, Any]) -> dict[str, str]:
    """Return a framing as factors: one for each field stated in the file."""
    return {name: " ".join(wording) if isinstance(wording, list) else str(wording) for name, wording in framing.items()}


def _place(key: str, first: int) -> tuple[int, str]:
    """Return the row and column named by an error."""
    match = re.match(r"(?:line|record)s? ([0-9]+)(?:-[0-9]+)?(?:, column (.*))?$", key)
    return (int(match[1]), match[2] or "") if match else (first, "")


def framing_of(match: Recorded, game: Game, mapping: Mapping) -> dict[str, Any]:
    """Return a match's framing fields; a framing that changes within a match is refused.

    Labels are put in the order of the game's actions where ``actions`` says what they mean, so that columns
    which only tell the order of naming give the same labels in every row.
    """
    factors: dict[str, Any] = {}
    for name, source in mapping.framing.items():
        if isinstance(source, Value):
            factors[name] = source.value
            continue
        columns = source if isinstance(source, list) else [source]
        values = {
            _by_action(tuple(move.row[column].strip() for column in columns), game, mapping)
            for moves in match.rounds
            for move in moves
        }
        if len(values) > 1:
            examples = " and ".join(repr(" ".join(v)) for v in sorted(values)[:2])
            raise StudyError(
                f"framing {name} changes within a match ({examples}); keep it under round_columns",
                file=match.file, key=match.lines,
            )  # fmt: skip
        (value,) = values
        factors[name] = list(value) if isinstance(source, list) else value[0]
    try:
        Framing(**factors)
    except ValidationError as error:
        first = error.errors()[0]
        raise StudyError(
            f"framing.{'.'.join(map(str, first['loc']))}: {first['msg']}", file=match.file, key=match.lines
        ) from None
    return factors


def _by_action(labels: tuple[str, ...], game: Game, mapping: Mapping) -> tuple[str, ...]:
    places = []
    for label in labels:
        meant = mapping.actions.get(canonical(label))
        if isinstance(meant, str) and game.has_action(0, meant):
            places.append(game.index(0, meant))
        elif isinstance(meant, int):
            places.append(meant - 1)
        else:
            return labels
    return tuple(label for _, label in sorted(zip(places, labels, strict=True)))


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import; ``folder`` is None if it was refused."""

    folder: Path | None
    matches: int
    rounds: int
    skipped: tuple[str, ...]
    disagreements: tuple[Disagreement, ...]
    """Every bad row, whatever policy was applied to it."""
    policy: str = "refuse"
    notes: tuple[str, ...] = ()
    """Further notes: identical files, recognised games, factors that change."""

    @property
    def causes(self) -> list[Cause]:
        """Return the bad rows grouped by cause."""
        return by_cause(self.disagreements)

    @property
    def refused(self) -> list[Cause]:
        """Return the causes that prevent the import."""
        return by_cause(row for row in self.disagreements if row.done == "refuse")

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
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

    ``bad_rows`` (refuse, skip, skip-match, keep or repair) overrides the mapping's policy for rows that contradict
    the game or cannot be read.
    """
    rule, mapping_file = (mapping, "mapping") if isinstance(mapping, Mapping) else load_mapping(mapping)
    policy = bad_rows or rule.policy
    if policy not in POLICIES:
        raise StudyError("no such policy", key="bad_rows", actual=policy, allowed=POLICIES)
    if not paths:
        raise StudyError("name at least one file to import")
    tables = [read_table(Path(path), rule, mapping_file) for path in paths]
    return import_tables(tables, rule, mapping_file, name=name, runs=runs, policy=policy)


def import_tables(
    tables: Sequence[SourceTable], rule: Mapping, mapping_file: str, *, name: str, runs: str | Path, policy: str
) -> Imported:
    """Import tables that were already read, as ``import_rounds`` does with files."""
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
    """Return the folder of a new imported run; an existing one is refused."""
    folder = Folder(Path(runs) / check_name(name))
    if folder.exists:
        raise RunError(f"{folder.path}: there is already a run of that name (choose another --name)")
    return folder


def source_files(paths: Sequence[Path], runs: Path) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """Return the manifest entry of every file, and notes on files identical to each other or to imported ones."""
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
            digests = {entry["sha256"] for entry in orjson.loads(read_plain(manifest))["imported"]["files"]}
        except (OSError, RunError, ValueError, KeyError, TypeError):
            continue
        same = (path for digest, path in first.items() if digest in digests)
        notes += [f"{path} is identical to a file of the run {manifest.parent.name}" for path in same]
    return files, tuple(notes)


def _study(name: str, rule: Mapping, ready: Sequence[Ready]) -> StudyFile:
    """Return the study description of an imported run, as far as the files state it."""
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
        manifest = new_manifest(
            ImportedPlan.kind,
            study.model_dump(mode="json", exclude={"stop", "models"}),
            {},
            imported={**imported, "digest": write_units(folder.path, units)},
        )
        journal(folder.open_journal(manifest, create=True))
        # The manifest is written last: a folder without one is no run, so a failed import leaves no run.
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
                    cells = tuple(canonical(row[column]) for column in columns.values())
                    if (one, cells) not in cache:
                        cache[one, cells] = _answer(one, dict(zip(columns, cells, strict=True)))
                    answer = cache[one, cells]
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


def _answer(one: SeatRound, columns: dict[str, str]) -> Answer:
    labels = {} if one.written is None else {"labels": {one.action: one.written.strip()}}
    facts: dict[str, Any] = {**labels, **({"columns": columns} if columns else {})}
    return Answer(one.action, "imported", None, one.note, facts or None)


def _finish(journal: Journal, unit: Unit, match: Ready, answers: dict[Place, Journaled]) -> None:
    """Write the end of a match with its rows, so that an imported run reads as fast as a played one."""
    steps = len(match.checked.rounds)
    if match.checked.illegal is not None:
        journal.finish(unit.index, "skipped", match.checked.illegal, steps)
        return
    scores = [match_score(paid) for paid in zip(*match.checked.paid, strict=True)]
    replayed = replay(unit, unit.mechanism.play(unit.game, unit.streams), answers)
    journal.finish(unit.index, "done", None, steps, scores, rows=rows_of(unit, *replayed, answers).to_bytes())


@dataclass(frozen=True)
class Importer:
    """An importer for one published file layout."""

    reads: Callable[[Path, str], bool]
    """Returns whether the importer handles the first file and the named mapping."""
    read: Callable[..., Imported]
    """Reads files into ``runs/<name>``: ``read(paths, mapping, name=..., runs=..., bad_rows=...)``."""
    of: str
    """What its mappings describe, for example tournaments."""
    mappings: Callable[[], dict[str, Any]]
    """Returns the shipped mappings by name, with title and citation."""


importers: Registry[Importer] = Registry("importer", None, "IMPORTER", "ostrom.importers", folder="importers")
