"""What is compared: a published figure, an own figure, and the reference that knows both."""

import csv
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

from ostrom.data.rundata import RunData, quoted
from ostrom.data.tables import literal
from ostrom.games.comparison import same_payoffs
from ostrom.games.game import Game
from ostrom.ground.errors import UnknownName
from ostrom.ground.registry import replications

Cell = tuple[str, ...]
"""Which figure it is: one text for each of the reference's columns, empty where a column does not apply."""
POLICY_DOUBT = 0.05
"""From this share on, actions that the study's policy gave are said to a reader."""


AGAINST = " against "
"""Between the names of two agents, or of two published models, whose difference is the figure."""


@dataclass(frozen=True, slots=True)
class Published:
    """One printed number. ``model`` is None where it speaks of all the paper's models together."""

    cell: Cell
    model: str | None
    value: float
    spread: float | None
    """Standard deviation or standard error as printed; the reference says which."""
    source: str
    status: str
    """What is known about the row's label: verified, relabelled, uncertain, ..."""
    doubts: tuple[str, ...] = ()
    """Why the value cannot be taken at face value; empty where it can."""
    word: str = ""
    """What the paper prints where it prints a word; the value is its code."""
    count: str = ""
    """The counts behind a share, as printed: 205/265."""
    digits: int | None = None
    """Decimals that are printed, zeros at the end among them; None where it is not known."""


@dataclass(frozen=True, slots=True)
class RunFigure:
    """One figure of a run, in the unit of the paper. ``agent`` is None where all agents are pooled."""

    cell: Cell
    agent: str | None
    value: float
    low: float | None
    high: float | None
    spread: float | None
    matches: int
    doubts: tuple[str, ...] = ()
    """What a reader must know about the own figure, such as answers given by the policy."""
    word: str = ""
    """The figure where it is a word; the value is its code."""
    count: str = ""
    sure: tuple[float, float] | None = None
    """Bounds that hold for every distribution, where the measure has some; low and high are those of an estimate."""
    unit: str = "match"
    """What is independent of each other."""
    se: float | None = None
    """The standard error; None where there is no spread, or one unit."""
    df: float = 0.0
    width: float = 0.0
    """From the smallest to the largest value of a unit."""
    alike: bool = False
    """Whether its matches are all alike or one: the value then decides by itself."""


@dataclass(frozen=True)
class Games:
    """The games of a run: of every match, and all that go by one label in the tables."""

    of: Callable[[int], Game]
    labelled: Mapping[str, Sequence[Game]]

    def pays_as(self, label: str, other: Game) -> bool:
        """Whether all games of a label pay as another does, whatever it and its actions are called."""
        return all(same_payoffs(game, other) is not None for game in self.labelled[label])


class Reference(ABC):
    """The published figures of one paper and the way to compute the same ones from a run."""

    name: ClassVar[str]
    citation: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    """What the texts of a cell say; the last column is the measure."""
    spread: ClassVar[str]
    """What the printed spread is."""
    protocol: ClassVar[Mapping[str, Any]] = {}
    """Fields of the study as the paper had them, by path."""

    arms: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """The arms that the paper has figures of, each by levels of columns; none: every match is of the paper."""
    arms_differ_by: ClassVar[Sequence[str]] = ()
    """Columns without which a run has none of the arms; what else a run does not vary is as in the paper."""
    held: ClassVar[Mapping[str, Any]] = {}
    """Levels that all arms of the paper have."""

    def of_arms(self, data: RunData) -> RunData:
        """The matches of a run that are of the paper's arms."""
        if not self.arms:
            return data
        columns = data.columns("matches")
        if not set(self.arms_differ_by) <= set(columns):
            return data.filtered("false")
        arms = " OR ".join(f"({_condition({**self.held, **arm}, columns)})" for arm in self.arms)
        rows = data.records(f"SELECT 1 FROM matches WHERE ({arms}) IS NOT TRUE LIMIT 1")
        return data.filtered(arms) if rows else data

    def left_out(self, data: RunData) -> list[str]:
        """How many matches of a run are of other arms than the paper's, and in what they differ."""
        of_arms = self.of_arms(data)
        if of_arms is data:
            return []
        match_columns = data.columns("matches")
        if lacking := [name for name in self.arms_differ_by if name not in match_columns]:
            return [f"The run does not vary {' and '.join(lacking)}: none of its matches is of the paper's arms."]
        columns = [name for name in dict.fromkeys([*self.held, *self.arms[0]]) if name in match_columns]
        rows = data.records(f"SELECT DISTINCT {', '.join(map(quoted, columns))} FROM matches")

        def weight(names: Sequence[str]) -> tuple[int, int]:
            """The nearest arm is one with the same levels of what tells arms apart."""
            return len(set(names) & set(self.arms_differ_by)), len(names)

        apart = [
            min(([n for n in columns if not _has(row[n], {**self.held, **arm}[n])] for arm in self.arms), key=weight)
            for row in rows
        ]
        names = [name for name in columns if any(name in one for one in apart)]
        count = "SELECT count(DISTINCT match) AS n FROM matches"
        every, inside = (of.records(count)[0]["n"] for of in (data, of_arms))
        return [
            f"{every - inside} of {every} matches are not of the paper's arms (another {' or '.join(names)}) and "
            "enter no figure here."
        ]

    @abstractmethod
    def published(self) -> Sequence[Published]:
        """Every printed number that a run can be compared with."""

    @abstractmethod
    def run_figures(self, data: RunData, games: Games) -> Sequence[RunFigure]:
        """The run's own values of the published figures, in the unit of the paper."""

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """What else a reader must know before comparing."""
        return []


def _has(level: Any, wanted: Any) -> bool:
    if wanted is None or level is None:
        return level is wanted
    return str(level) in map(str, wanted if isinstance(wanted, list) else [wanted])


def _condition(levels: Mapping[str, Any], columns: Sequence[str]) -> str:
    """The condition in SQL that columns have levels; columns that a run does not have are left out."""
    parts = []
    for name, wanted in levels.items():
        if name in columns:
            allowed = wanted if isinstance(wanted, list) else [wanted]
            listed = ", ".join(literal(str(one)) for one in allowed)
            test = "IS NULL" if wanted is None else f"IN ({listed})"
            parts.append(f"CAST({quoted(name)} AS VARCHAR) {test}")
    return " AND ".join(parts) or "true"


def doubts_in(note: str) -> tuple[str, ...]:
    """The doubts that a note of a reference table states.

    >>> doubts_in("CONFLICT: Table 10 prints 64.5. Evidence: 9/9 cells")
    ('CONFLICT: Table 10 prints 64.5. Evidence: 9/9 cells',)
    >>> doubts_in("identical to the matching cell")
    ()
    """
    places = [place for word in ("CONFLICT:", "SUSPICIOUS:") if (place := note.find(word)) >= 0]
    return (note[min(places) :],) if places else ()


@cache
def published_rows(replication: str, file: str = "reference.csv") -> tuple[dict[str, str], ...]:
    """The rows of a table of a replication as text; what is not known is empty.

    >>> published_rows("memory_curse")[0]["value"]
    '96.9'
    """
    packages = replications()
    if replication not in packages:
        raise UnknownName("replication", replication, packages)
    text = files(packages[replication]).joinpath(file).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def number(text: str) -> float | None:
    """A number of a table; None where the cell is empty.

    >>> number("96.9"), number("")
    (96.9, None)
    """
    return float(text) if text else None
