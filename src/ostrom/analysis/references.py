"""What is compared: a published figure, an own figure, and the reference that knows both."""

import csv
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, ClassVar

from ostrom.data.rundata import RunData
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


@dataclass(frozen=True, slots=True)
class Own:
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

    @abstractmethod
    def published(self) -> Sequence[Published]:
        """Every printed number that a run can be compared with."""

    @abstractmethod
    def own(self, data: RunData, games: Games) -> Sequence[Own]:
        """The same figures of a run; in the unit of the paper."""

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """What else a reader must know before comparing."""
        return []


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
    known = replications()
    if replication not in known:
        raise UnknownName("replication", replication, known)
    text = files(known[replication]).joinpath(file).read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def number(text: str) -> float | None:
    """A number of a table; None where the cell is empty.

    >>> number("96.9"), number("")
    (96.9, None)
    """
    return float(text) if text else None
