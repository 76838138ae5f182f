"""What every memory offers: from a view to what is shown of the past."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from ostrom.answers import Answer, Form, Text
from ostrom.games.game import Game
from ostrom.ground.values import value
from ostrom.mechanisms.protocol import Round, View

if TYPE_CHECKING:
    import numpy as np

Draw: TypeAlias = "Callable[[int, str], np.random.Generator]"
"""A keyed stream of the match for a round number and a purpose; the same arguments, the same draws."""


@value
class Note:
    """What a player wrote down when its first ``covers`` rounds had been played."""

    text: str
    covers: int
    rounds: tuple[int, ...] = ()
    """Numbers of rounds, where the player was asked to name some."""

    @classmethod
    def from_answer(cls, answer: Answer) -> Note:
        """The note that an answer in the journal holds."""
        covers = int((answer.facts or {})["covers"])
        if isinstance(answer.value, Mapping):
            return cls("", covers, tuple(sorted(answer.value["rounds"])))
        return cls(str(answer.value), covers)


@value
class NoteDue:
    """A note that has to be written before the next decision."""

    form: Form
    """How it is written: as text, or as the numbers of rounds."""
    covers: int
    """How many rounds have been played when it is written."""
    rounds: Sequence[Round] = ()
    """The rounds that are shown while it is written."""
    old: str | None = None
    """The note that it replaces."""


@value
class Frequency:
    """How often something happened: the action of each seat, None where any action counts.

    No actions at all: rounds that are void because somebody missed them.
    """

    actions: tuple[int | None, ...]
    times: int


@value
class MemoryView:
    """What a seat is shown of the past."""

    rounds: Sequence[Round] = ()
    """The rounds shown, oldest first; a memory may make them up."""
    span: int | None = None
    """How many recent rounds the memory reaches back at most (None: all of them)."""
    note: str | None = None
    """Words in place of older rounds."""
    gaps: bool = False
    """Single rounds may be missing from those shown."""
    counts: Sequence[Frequency] | None = None
    """How often what happened, in place of the rounds."""
    before: int = 0
    """So many rounds the match pretends to have had before its first; numbers shown are that much higher."""


Shown = MemoryView
"""The name of ``MemoryView`` before 2.0."""


class Memory(ABC):
    """Which part of the past a seat sees. Stateless: what it shows depends on the view and keyed draws."""

    name: ClassVar[str]
    readers: frozenset[str] = frozenset({"strategy", "model", "person"})
    """Who can use it: a script reads rounds alone, only a model writes notes."""
    asks: str = "note"
    """The kind of the decision in which a note is written."""
    note_form: Form = Text()
    """The form of a note, as an example: its bounds depend on what has been played."""

    @abstractmethod
    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:
        """What the seat is shown before it decides; ``notes`` are its own earlier notes, oldest first."""

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:  # noqa: ARG002
        """The note that the player has to write before it decides, if any."""
        return None

    @property
    def takes_notes(self) -> bool:
        """Whether notes are ever due; if not, there are none to show."""
        return type(self).due is not Memory.due

    @property
    def grows(self) -> bool:
        """Whether all that it has shown stays, and what is new comes after it: a dialogue then only grows."""
        return False

    @property
    def invents(self) -> bool:
        """Whether it shows rounds that were never played: no turn of a dialogue can stand for them."""
        return False

    def unsupported(self, game: Game) -> str | None:  # noqa: ARG002
        """What the game would have to have for this memory and has not, in words."""
        return None

    def most_lines(self, rounds: int) -> int:
        """An upper bound of the rounds shown when ``rounds`` have been played, for forecasts."""
        return rounds

    def most_notes(self, rounds: int) -> int:  # noqa: ARG002
        """How many notes are written over a match of so many rounds, for forecasts."""
        return 0


def no_cooperation(game: Game) -> str | None:
    """Why a memory that needs a cooperative action cannot be used in this game; None if it can."""
    if None in game.cooperative:
        return f"game {game.name} does not define a cooperative action for every seat"
    return None
