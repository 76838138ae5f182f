"""The plan of an imported run: its units are the recorded matches; nothing is left to play."""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import orjson

from ostrom.agents.config import AgentConfig
from ostrom.engine.journal import Journal
from ostrom.engine.plan import Budget, Plan, PlanSource, Seated, Unit
from ostrom.framing import Library
from ostrom.framing.config import Framing
from ostrom.games.game import Game
from ostrom.ground.errors import RunError, StudyError
from ostrom.ground.files import read_plain, write_atomically
from ostrom.ground.streams import Streams
from ostrom.ground.validation import validate
from ostrom.ground.values import grouped
from ostrom.mechanisms import mechanisms
from ostrom.mechanisms.base import Mechanism, act, match_score, profile_of
from ostrom.mechanisms.catalog.repetition import Repetition
from ostrom.mechanisms.protocol import History, Outcome, Play, Round, View
from ostrom.studies.factors import Factor, Level
from ostrom.studies.plan import StudyPlan
from ostrom.studies.schema import StudyFile

UNITS = "imported.json"
MOST_UNITS = 256 << 20
"""The largest file of units, in bytes."""
PAID_ONLY = {"recorded": "payoffs"}
"""The facts of a match with recorded payoffs but no recorded actions."""


@dataclass(frozen=True, slots=True)
class ImportedUnit:
    """One match of an imported run, as stored beside the journal."""

    game: str | dict[str, Any]
    players: tuple[str, ...]
    rounds: int
    cell: dict[str, Any]
    seed: int
    payoffs: list[list[float]] | None = None
    """The recorded payoffs, where they differ from the game's."""
    numbers: list[int] | None = None
    """The round numbers, where rounds were left out."""
    framing: dict[str, Any] | None = None
    """The framing of the players, where the file states it."""
    mechanism: str | dict[str, Any] | None = None
    """The mechanism of a match without recorded actions; None means repetition with actions."""
    scores: list[float] | None = None
    """The recorded scores of a match without recorded actions."""
    memory: dict[str, Any] | None = None
    """The memory of players without recorded actions."""


class AsRecorded(Repetition):
    """Repetition that pays the recorded payoffs instead of the game's, if there are any."""

    def __init__(
        self, rounds: int, payoffs: Sequence[Sequence[float]] | None = None, numbers: Sequence[int] | None = None
    ) -> None:
        super().__init__(rounds=rounds)
        self.payoffs = payoffs
        self.numbers = range(1, rounds + 1) if numbers is None else numbers

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Ask all seats round after round; the answers come from the record."""
        rounds: list[Round] = []
        for place, number in enumerate(self.numbers):
            past = History(rounds)
            answers = yield [act(View(game, seat, self.name, number, past, self.told)) for seat in range(game.seats)]
            profile = profile_of(game, answers)
            paid = game.payoff(profile) if self.payoffs is None else tuple(map(float, self.payoffs[place]))
            rounds.append(Round(number, profile, paid))
        return Outcome(rounds, tuple(match_score([r.payoffs[s] for r in rounds]) for s in range(game.seats)))


def as_scored(rules: Mechanism, payoffs: Sequence[Sequence[float]], scores: Sequence[float]) -> Mechanism:
    """Return a copy of the rules for a match with recorded payoffs only: its play asks no player and returns these."""

    def play(game: Game, streams: Streams) -> Play:  # noqa: ARG001
        return Outcome(
            [Round(n, (), tuple(map(float, paid)), what=("chose",) * len(paid)) for n, paid in enumerate(payoffs, 1)],
            tuple(scores),
            PAID_ONLY,
        )
        yield []  # makes this function a generator, as every play must be

    scored = copy(rules)
    scored.play = play  # type: ignore[method-assign]
    return scored


class ImportedPlan(StudyPlan):
    """The matches of an imported run."""

    kind: ClassVar[str] = "imported"
    stop = None

    def __init__(
        self, study: StudyFile, units: Sequence[ImportedUnit], file: str, imported: Mapping[str, Any] | None = None
    ) -> None:
        self.study, self.file, self.name = study, file, study.name
        self.library = Library()
        self.retries, self.policy, self.refused = study.invalid.retries, study.invalid.policy, study.refused
        self.budget = Budget()
        self.models: tuple[str, ...] = ()
        self._units = units
        self._rules = lru_cache(maxsize=1024)(lambda spec: mechanisms.build(orjson.loads(spec)))
        self._build = lru_cache(maxsize=1024)(self._build_game)
        self.round_columns = {
            name: float if kind == "number" else str
            for name, kind in ((imported or {}).get("round_columns") or {}).items()
        }
        """Extra columns of the decisions table, with their types."""
        self.factors = _factors(units, (imported or {}).get("framings") or ())
        self.cells = len({orjson.dumps(u.cell, option=orjson.OPT_SORT_KEYS) for u in units})

    def use_old_names(self, journal: Journal) -> None:
        """Keep the action names of the journal for games built later."""
        self._questions = journal.questions

    @classmethod
    def read(cls, source: PlanSource) -> Self:
        """Read the plan of an imported run from its manifest and its file of units."""
        path, imported = source.folder / UNITS, source.manifest["imported"]
        study = validate(StudyFile, source.manifest["study"], source.file, "study")
        try:
            data = read_plain(path, MOST_UNITS)
        except OSError as error:
            raise RunError(f"{path}: cannot be read ({error.strerror})") from None
        if hashlib.blake2b(data, digest_size=16).hexdigest() != imported["digest"]:
            raise RunError(f"{path}: is not what was imported; import the file again under another name")
        units = [ImportedUnit(**{**entry, "players": tuple(entry["players"])}) for entry in orjson.loads(data)]
        return cls(study, units, source.file, imported)

    @classmethod
    def resume_hint(cls, manifest: Mapping[str, Any]) -> str | None:  # noqa: ARG003
        """Return why `ostrom resume` cannot continue an imported run."""
        return "was imported, so there is nothing to play"

    games = ()
    """Games by a rule: none, since imported games have payoff tables."""

    @cached_property
    def prompts(self) -> dict[str, str]:
        """Return no prompts: no model is asked."""
        return {}

    def __len__(self) -> int:
        return len(self._units)

    def settings(self, model: str) -> Mapping[str, Any]:
        """Raise an error: an imported run has no models."""
        raise StudyError(f"an imported run has no models (asked for {model})")

    def unit(self, index: int) -> Unit:
        """Return the match with this index."""
        if not 0 <= index < len(self._units):
            raise StudyError(f"there are {len(self)} matches, numbered from 0", key="match", actual=index)
        record = self._units[index]
        memory = {} if record.memory is None else {"memory": record.memory}
        config: dict[str, Any] = {"framing": Framing(**(record.framing or {})), **memory}
        players = tuple(Seated(name, AgentConfig(recorded=name, **config)) for name in record.players)
        key = orjson.dumps([record.cell, record.players], option=orjson.OPT_SORT_KEYS).decode()
        game = self._build(orjson.dumps(record.game))
        return Unit(index, key, record.seed, record.cell, game, self._rules_of(record), players)

    def _rules_of(self, record: ImportedUnit) -> Mechanism:
        if record.mechanism is None:
            return AsRecorded(record.rounds, record.payoffs, record.numbers)
        assert record.payoffs is not None and record.scores is not None
        return as_scored(
            self._rules(orjson.dumps(record.mechanism)).for_players(len(record.players)), record.payoffs, record.scores
        )

    def units(self) -> Iterator[Unit]:
        """Return all matches in the order of the file."""
        return Plan.units(self)

    def rules(self, index: int, changes: Mapping[str, Any]) -> Repetition:
        """Return the rules under which an imported match could be continued."""
        return Repetition(**{"rounds": self._units[index].rounds, **changes})


def _factors(units: Sequence[ImportedUnit], framings: Collection[str]) -> tuple[Factor, ...]:
    """Return the columns that differ between matches as factors, with levels in order of appearance."""
    levels = grouped(pair for unit in units for pair in unit.cell.items())
    paths = {name: f"agent.framing.{name}" if name in framings else name for name in levels}
    # What a level sets is not known where the file states no framing.
    return tuple(
        Factor(name, tuple(Level(value, {paths[name]: value} if framings else {}) for value in dict.fromkeys(values)))
        for name, values in levels.items()
    )


def write_units(folder: Path, units: Sequence[ImportedUnit]) -> str:
    """Write the matches of an imported run; return the hash stored in the manifest."""
    data = orjson.dumps(list(units))
    try:
        write_atomically(folder / UNITS, data)
    except OSError as error:
        raise RunError(f"{folder / UNITS}: cannot be written ({error.strerror})") from None
    return hashlib.blake2b(data, digest_size=16).hexdigest()
