"""Imports payoff files of published tournaments as one run, by a mapping of games and mechanisms.

The matches of such a run have scores and payoffs, and no actions. A mapping tells which game, mechanism and
settings a file is about, by their names in the tournament.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from ostrom.engine.journal import Journal
from ostrom.features.importing.check import Disagreement
from ostrom.features.importing.plan import PAID_ONLY, ImportedUnit
from ostrom.features.importing.write import Imported, Importer, new_folder, source_files, write_run
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.registry import NamedFiles, replication_files
from ostrom.ground.validation import Declared, validate
from ostrom.ground.values import grouped
from ostrom.ground.yaml import read_yaml
from ostrom.replications.coopeval.payoff_readers.tournaments import (
    Discount,
    ForeignTournament,
    Seats,
    identity,
    labels,
    load_json,
    parsed_files,
)
from ostrom.studies.schema import StudyFile

PAID_AS_PRINTED = ("none", "repetition", "mediation", "reputation")
"""Mechanisms under which a round pays what the game pays."""


@dataclass(frozen=True, slots=True)
class _File:
    """One payoff file: its path, content, game and mechanism."""

    path: Path
    read: ForeignTournament
    about: About


def import_tournaments(
    paths: Sequence[Path],
    mapping: str,
    *,
    name: str,
    runs: str | Path = "runs",
    bad_rows: str | None = None,
    discount: Discount = "file",
    seats: Seats = "auto",
) -> Imported:
    """Read payoff files, or all in folders, into ``runs/<name>``.

    If one file is wrong all are refused; with ``bad_rows`` skip the wrong one is left out.
    """
    policy = bad_rows or "refuse"
    if policy not in ("refuse", "skip"):
        raise StudyError("no such policy for tournaments", key="bad_rows", actual=policy, allowed=("refuse", "skip"))
    rule, mapping_file = load_tournament_mapping(mapping)
    folder = new_folder(runs, name)
    parsed, others = parsed_files(paths, discount, seats)
    files: list[_File] = []
    bad: list[Disagreement] = []
    for path, _, read in parsed:
        try:
            if isinstance(read, StudyError):
                raise read
            files.append(_File(path, read, describe_file(path, rule)))
        except StudyError as error:
            why = str(error).removeprefix(f"{path}: ")
            bad.append(Disagreement(str(path), 0, "", 0, None, None, why, why, "file", policy, "file"))
    units = _units(files, rule)
    entries, notes = source_files([file.path for file in files], Path(runs))
    notes = (*notes, *_notes(files, others))
    result = Imported(None, len(units), sum(u.rounds for u in units), (), tuple(bad), policy, notes)
    if result.refused or not units:
        return result
    imported = {
        "mapping": rule.model_dump(mode="json", exclude_unset=True),
        "mapping_file": mapping_file,
        "kind": "tournaments",
        "files": [
            {**entry, "name": str(file.path), "matches": len(file.read.matches)}
            for entry, file in zip(entries, files, strict=True)
        ],
        "disagreements": [row.as_dict() for row in bad],
        "bad_rows": result.as_dict()["bad_rows"],
        "notes": list(notes),
    }

    write_run(folder, units, _study(name, rule, units), imported, lambda journal: asyncio.run(_journal(journal, units)))
    return replace(result, folder=folder.path)


def _units(files: Sequence[_File], rule: TournamentMapping) -> list[ImportedUnit]:
    """Return one unit for each match; a type has one name in all files, and files of one cell are replicates."""
    configurations = grouped((identity(c), c) for file in files for c in file.read.configurations.values())
    titles = labels({key: same[0] for key, same in configurations.items()})
    names = {key: rule.names.get(label, label) for key, label in titles.items()}
    twice = [name for name, count in Counter(names.values()).items() if count > 1]
    if twice:
        raise StudyError(f"two types are called {twice[0]!r}: tell them apart under names", key="names")
    replicates: Counter[tuple[str, str]] = Counter()
    units = []
    for file in files:
        about = file.about
        cell = {"game": about.game_name, "mechanism": about.mechanism_name}
        seed = replicates[about.game_name, about.mechanism_name]
        replicates[about.game_name, about.mechanism_name] += 1
        type_names = {label: names[identity(c)] for label, c in file.read.configurations.items()}
        seats = build_game(about.game).seats
        memory = None if about.window is None else {"name": "window", "k": about.window}
        for match, rounds in zip(file.read.matches, file.read.rounds, strict=True):
            if len(match.types) != seats and not (file.read.society and len(match.types) % seats == 0):
                raise StudyError(
                    f"a match has {len(match.types)} players, game {about.game_name} has {seats} seats",
                    file=str(file.path),
                )
            units.append(
                ImportedUnit(
                    about.game, tuple(type_names[label] for label in match.types), len(rounds), dict(cell), seed,
                    [list(paid) for paid in rounds], mechanism=about.mechanism, scores=list(match.scores),
                    memory=memory,
                )
            )  # fmt: skip
    return units


def _notes(files: Sequence[_File], others: Sequence[str]) -> Iterator[str]:
    unplayed = sum(len(file.read.unplayed) for file in files)
    if unplayed:
        yield f"{unplayed} profiles hold no match and are left out"
    odd: Counter[str] = Counter()
    for file in files:
        spec = file.about.mechanism
        if (spec if isinstance(spec, str) else str(spec["name"])) in PAID_AS_PRINTED:
            odd[file.about.game_name] += _unprinted(file, build_game(file.about.game))
    for game_name, count in (+odd).items():
        yield f"{count} rounds pay what game {game_name} never pays: was it played with other payoffs?"
    if others:
        kinds = Counter(Path(other).name for other in others)
        commonest = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common(5))
        yield f"{len(others)} JSON files are no payoff files and were left alone ({commonest})"


def _unprinted(file: _File, game: Game) -> int:
    """Return the number of rounds whose payoffs are not the game's."""
    vectors = {tuple(row) for row in game.payoffs.reshape(-1, game.seats).round(9).tolist()}
    single = {value for row in vectors for value in row}
    paid = [tuple(round(value, 9) for value in row) for rounds in file.read.rounds for row in rounds]
    if file.read.society:
        return sum(any(value not in single for value in row) for row in paid)
    return sum(row not in vectors for row in paid)


def _study(name: str, rule: TournamentMapping, units: Sequence[ImportedUnit]) -> StudyFile:
    types = dict.fromkeys(player for unit in units for player in unit.players)
    data: Mapping[str, Any] = {
        "name": name,
        "title": rule.title,
        "about": rule.about,
        "citation": rule.citation,
        "game": units[0].game,
        "mechanism": units[0].mechanism,
        "types": {player: {"recorded": player} for player in types},
        "seating": "ordered",
        "seeds": max(unit.seed for unit in units) + 1,
        "report": rule.report,
    }
    return validate(StudyFile, dict(data), "mapping")


async def _journal(journal: Journal, units: Sequence[ImportedUnit]) -> None:
    try:
        journal.start()
        for index, unit in enumerate(units):
            journal.finish(index, "done", None, 0, unit.scores, PAID_ONLY)
            if journal.backlog > 20_000:
                await journal.flush()
        await journal.flush()
    finally:
        journal.close()


CONFIG = "config.json"
Spec = str | dict[str, Any]


class TournamentMapping(Declared):
    """Names of games, mechanisms and settings in folders and configurations."""

    title: str = ""
    about: str = ""
    citation: str = ""
    games: dict[str, Spec] = Field(description="name there: game")
    mechanisms: dict[str, Spec] = Field(description="name there: mechanism")
    window: int | None = Field(default=None, description="how many past rounds players of a repetition saw")
    words: dict[str, dict[str, Any]] = Field(
        default_factory=dict, description="word in a folder's name: settings of the mechanism"
    )
    config: dict[str, list[str]] = Field(
        default_factory=dict, description="setting in config.json: settings of the mechanism"
    )
    names: dict[str, str] = Field(default_factory=dict, description="what types are called in tables")
    report: dict[str, Any] = Field(default_factory=dict, description="panels of the report")


@dataclass(frozen=True, slots=True)
class About:
    """The game and mechanism of one payoff file."""

    game: Spec
    game_name: str
    mechanism: Spec
    mechanism_name: str
    """The mechanism's name in tables, with deviating settings."""
    window: int | None


def _shipped() -> NamedFiles:
    return replication_files("tournaments", ".yaml", "mapping of tournaments")


def tournament_names() -> list[str]:
    """Return the names of the tournament mappings that are part of the package."""
    return sorted(_shipped())


def load_tournament_mapping(source: str) -> tuple[TournamentMapping, str]:
    """Load a mapping from a file, or a shipped one by its name; returns it with its source."""
    return validate(TournamentMapping, read_yaml(_shipped().text(source), source), source), source


def describe_file(path: Path, mapping: TournamentMapping) -> About:
    """Describe a payoff file by the configuration beside it, its folder's name or its own."""
    config = _config(path.parent / CONFIG)
    stated = {key: _plain(_inside(config, key, "type")) for key in ("game", "mechanism")}
    facts: dict[str, str] = {}
    for key, specs in (("game", mapping.games), ("mechanism", mapping.mechanisms)):
        texts = [stated[key], _plain(path.stem), _plain(path.parent.name)]
        name = next((n for text in texts if text and (n := _named(text, specs)) is not None), None)
        if name is None:
            where = f" ({CONFIG} says {_inside(config, key, 'type')!r})" if stated[key] else ""
            raise StudyError(
                f"neither its name nor its folder's says which {key} it is of{where}",
                file=str(path), allowed=list(specs),
            )  # fmt: skip
        facts[key] = name
    words = set(re.split(r"[^a-z0-9]+", f"{path.parent.name} {path.stem}".lower()))
    changes = {key: of for word, settings in mapping.words.items() if word in words for key, of in settings.items()}
    kwargs = _inside(config, "mechanism", "kwargs")
    for name, ours in mapping.config.items():
        if isinstance(kwargs, Mapping) and isinstance(kwargs.get(name), int | float):
            changes |= dict.fromkeys(ours, kwargs[name])
    return _described(mapping, facts["game"], facts["mechanism"], changes)


def _described(mapping: TournamentMapping, game: str, mechanism: str, changes: dict[str, Any]) -> About:
    """Return the game and the mechanism with changed settings, which the mechanism's name in tables states."""
    spec = mapping.mechanisms[mechanism]
    plain: dict[str, Any] = {"name": spec} if isinstance(spec, str) else dict(spec)
    window = mapping.window if plain["name"] == "repetition" else None
    different: list[str] = []
    for name, value in changes.items():
        if plain["name"] == "repetition" and name == "window":
            if value != window:
                different.append(f"window {value}")
            window = int(value)
        elif name in plain and plain[name] != value:
            plain[name] = value
            different.append(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}")
    extra = [text for text in different if not text.startswith("told_")]
    return About(
        mapping.games[game], game, spec if isinstance(spec, str) else plain, " ".join([mechanism, *extra]), window
    )  # fmt: skip


def _config(path: Path) -> Mapping[str, Any]:
    content = load_json(path) if path.is_file() else None
    return content if isinstance(content, dict) else {}


def _inside(config: Mapping[str, Any], key: str, inner: str) -> Any:
    part = config.get(key)
    return part.get(inner) if isinstance(part, Mapping) else None


def _plain(text: object) -> str:
    """Normalise a name: PrisonersDilemma and prisoners_dilemma are the same."""
    return re.sub(r"[^a-z0-9]", "", text.lower()) if isinstance(text, str) else ""


def _named(text: str, known: Mapping[str, Spec]) -> str | None:
    """Return the longest known name in a text."""
    return max([name for name in known if _plain(name) in text], key=len, default=None)


def _reads(file: Path, mapping: str) -> bool:
    """Return whether a mapping is one of tournaments: a shipped one, or a file with the key ``mechanisms``."""
    if mapping in tournament_names() or file.is_dir():
        return True
    try:
        return "\nmechanisms:" in "\n" + Path(mapping).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


IMPORTER = Importer(
    _reads,
    import_tournaments,
    "tournaments",
    lambda: {name: load_tournament_mapping(name)[0] for name in tournament_names()},
)
