"""References: published figures, and the run's figures to compare with them."""

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
from ostrom.ground.moved import FormerNames
from ostrom.ground.registry import replications

Cell = tuple[str, ...]
"""The identity of a figure: one text for each column of the reference, empty if a column does not apply."""
POLICY_DOUBT = 0.05
"""The share of actions by the study's policy from which a doubt is noted."""


AGAINST = " against "
"""The separator between two agents or published models whose difference is the figure."""


@dataclass(frozen=True, slots=True)
class Published:
    """One printed number. ``model`` is None if it covers all of the paper's models."""

    cell: Cell
    model: str | None
    value: float
    spread: float | None
    """Standard deviation or standard error as printed; the reference says which."""
    source: str
    status: str
    """The status of the row's label: verified, relabelled, uncertain, ..."""
    doubts: tuple[str, ...] = ()
    """Reasons to doubt the value; empty if there are none."""
    word: str = ""
    """The printed word, if the paper prints a word; the value is its code."""
    count: str = ""
    """The counts behind a share, as printed: 205/265."""
    digits: int | None = None
    """The number of printed decimals, trailing zeros included; None if unknown."""


@dataclass(frozen=True, slots=True)
class RunFigure:
    """One figure of a run, in the unit of the paper. ``agent`` is None if all agents are pooled."""

    cell: Cell
    agent: str | None
    value: float
    low: float | None
    high: float | None
    spread: float | None
    matches: int
    doubts: tuple[str, ...] = ()
    """Doubts about the own figure, such as answers by the policy."""
    word: str = ""
    """The figure as a word, if it is one; the value is its code."""
    count: str = ""
    sure: tuple[float, float] | None = None
    """Guaranteed bounds, if the measure has some; low and high are the ends of an estimate."""
    unit: str = "match"
    """The independent unit."""
    se: float | None = None
    """The standard error; None without a spread, or with one unit."""
    df: float = 0.0
    width: float = 0.0
    """The range of a unit's possible values."""
    alike: bool = False
    """Whether all its matches are alike, or there is one: then the value decides by itself."""


Own = RunFigure
"""The name that packages import since 1.0."""


@dataclass(frozen=True)
class Games:
    """The games of a run by match, and those with the same label in the tables."""

    of: Callable[[int], Game]
    labelled: Mapping[str, Sequence[Game]]

    def pays_as(self, label: str, other: Game) -> bool:
        """Return whether all games of a label pay as another game, whatever its names."""
        return all(same_payoffs(game, other) is not None for game in self.labelled[label])


class Reference(FormerNames, ABC, former={"own": "run_figures"}):
    """The published figures of one paper, and the computation of the same figures from a run."""

    name: ClassVar[str]
    citation: ClassVar[str]
    columns: ClassVar[tuple[str, ...]]
    """The meaning of a cell's texts; the last column is the measure."""
    spread: ClassVar[str]
    """The kind of the printed spread."""
    protocol: ClassVar[Mapping[str, Any]] = {}
    """The paper's settings of the study, by path."""

    arms: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """The experimental arms of the paper, each by levels of columns; empty if every match belongs to the paper."""
    arms_differ_by: ClassVar[Sequence[str]] = ()
    """Columns that a run must vary to have the arms; other settings that it does not vary are as in the paper."""
    held: ClassVar[Mapping[str, Any]] = {}
    """Levels that all arms of the paper share."""

    def of_arms(self, data: RunData) -> RunData:
        """Return the matches of a run that belong to the paper's arms."""
        if not self.arms:
            return data
        columns = data.columns("matches")
        if not set(self.arms_differ_by) <= set(columns):
            return data.filtered("false")
        arms = " OR ".join(f"({_condition({**self.held, **arm}, columns)})" for arm in self.arms)
        return (
            data.filtered(arms) if data.records(f"SELECT 1 FROM matches WHERE ({arms}) IS NOT TRUE LIMIT 1") else data
        )

    def left_out(self, data: RunData) -> list[str]:
        """Return notes on how many matches belong to other arms, and in what they differ."""
        of_arms = self.of_arms(data)
        if of_arms is data:
            return []
        match_columns = data.columns("matches")
        if lacking := [name for name in self.arms_differ_by if name not in match_columns]:
            return [f"The run does not vary {' and '.join(lacking)}: none of its matches is of the paper's arms."]
        columns = [name for name in dict.fromkeys([*self.held, *self.arms[0]]) if name in match_columns]
        rows = data.records(f"SELECT DISTINCT {', '.join(map(quoted, columns))} FROM matches")

        def weight(names: Sequence[str]) -> tuple[int, int]:
            """Rank an arm by how many of its levels differ, those that define arms first."""
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
        """Return the run's values of the published figures, in the unit of the paper."""

    def remarks(self, data: RunData, games: Games) -> list[str]:  # noqa: ARG002
        """Return further notes for the comparison."""
        return []


def _has(level: Any, wanted: Any) -> bool:
    levels = map(str, wanted if isinstance(wanted, list) else [wanted])
    return level is wanted if wanted is None or level is None else str(level) in levels


def _condition(levels: Mapping[str, Any], columns: Sequence[str]) -> str:
    """Return the SQL condition that columns have levels; columns that a run lacks are left out."""

    def test(wanted: Any) -> str:
        listed = ", ".join(literal(str(one)) for one in (wanted if isinstance(wanted, list) else [wanted]))
        return "IS NULL" if wanted is None else f"IN ({listed})"

    parts = (f"CAST({quoted(name)} AS VARCHAR) {test(of)}" for name, of in levels.items() if name in columns)
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
    """Return the rows of a replication's table as text; unknown values are empty.

    >>> published_rows("memory_curse")[0]["value"]
    '96.9'
    """
    packages = replications()
    if replication not in packages:
        raise UnknownName("replication", replication, packages)
    return tuple(csv.DictReader(files(packages[replication]).joinpath(file).read_text(encoding="utf-8").splitlines()))


def number(text: str) -> float | None:
    """A number of a table; None where the cell is empty.

    >>> number("96.9"), number("")
    (96.9, None)
    """
    return float(text) if text else None
