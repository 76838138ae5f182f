"""The memory interface: from a view to the past that is shown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from ostrom.answers import Answer, Form, Text
from ostrom.games.game import Game
from ostrom.ground.moved import FormerNames
from ostrom.ground.values import value
from ostrom.mechanisms.protocol import Round, View

if TYPE_CHECKING:
    import numpy as np

Draw: TypeAlias = "Callable[[int, str], np.random.Generator]"
"""Returns a random stream of the match for a round number and a purpose."""


@value
class Note:
    """A player's note about its first ``covers`` rounds."""

    text: str
    covers: int
    rounds: tuple[int, ...] = ()
    """Round numbers, if the player was asked to name some."""

    @classmethod
    def from_answer(cls, answer: Answer) -> Note:
        """Return the note in a journaled answer."""
        covers = int((answer.facts or {})["covers"])
        return (
            cls("", covers, tuple(sorted(answer.value["rounds"])))
            if isinstance(answer.value, Mapping)
            else cls(str(answer.value), covers)
        )


@value
class NoteDue:
    """A note to be written before the next decision."""

    form: Form
    """The form of the note: a text, or round numbers."""
    covers: int
    """The number of first rounds of the match that the note is about."""
    rounds: Sequence[Round] = ()
    """The rounds shown while the note is written."""
    old: str | None = None
    """The text of the note that the new one replaces."""


@value
class Frequency:
    """How often an outcome happened: each seat's action, None for any.

    No actions at all: rounds that are void because somebody missed them.
    """

    actions: tuple[int | None, ...]
    times: int


@value
class MemoryView:
    """The past that a seat is shown."""

    rounds: Sequence[Round] = ()
    """The shown rounds, oldest first; a memory may invent them."""
    span: int | None = None
    """The most recent rounds that the memory covers (None for all)."""
    note: str | None = None
    """Text in place of older rounds."""
    gaps: bool = False
    """Whether single rounds may be missing."""
    counts: Sequence[Frequency] | None = None
    """Frequencies of outcomes, in place of rounds."""
    before: int = 0
    """The number of rounds the match pretends to have had before its first; shown numbers are higher by it."""


Shown = MemoryView
"""The name of ``MemoryView`` before 2.0."""


class Memory(FormerNames, ABC, former={"lacks": "unsupported"}):
    """Selects the past that a seat sees. Stateless: it depends on the view and keyed draws."""

    name: ClassVar[str]
    readers: frozenset[str] = frozenset({"strategy", "model", "person"})
    """The kinds of agents that can use it: scripts read rounds alone, only models write notes."""
    asks: str = "note"
    """The kind of decision in which a note is written."""
    note_form: Form = Text()
    """The form of a note as an example: its bounds depend on the rounds played."""

    @abstractmethod
    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:
        """Return the past for a decision; ``notes`` are the player's earlier notes, oldest first."""

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:  # noqa: ARG002
        """Return the note that the player must write before it decides; None if there is none."""
        return None

    @property
    def takes_notes(self) -> bool:
        """Return whether notes are ever due."""
        return type(self).due is not Memory.due

    @property
    def grows(self) -> bool:
        """Return whether everything shown stays and new rounds are appended, so that a dialogue only grows."""
        return False

    @property
    def invents(self) -> bool:
        """Return whether it shows rounds that were never played, for which a dialogue has no turns."""
        return False

    def unsupported(self, game: Game) -> str | None:  # noqa: ARG002
        """Return what the game lacks for this memory, in words; None if nothing."""
        return None

    def most_lines(self, rounds: int) -> int:
        """Return an upper bound of the rounds shown after ``rounds`` rounds, for forecasts."""
        return rounds

    def most_notes(self, rounds: int) -> int:  # noqa: ARG002
        """Return the number of notes over a match, for forecasts."""
        return 0


def no_cooperation(game: Game) -> str | None:
    """Why a memory that needs a cooperative action cannot be used in this game; None if it can."""
    return f"game {game.name} does not define a cooperative action for every seat" if None in game.cooperative else None
