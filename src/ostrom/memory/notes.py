"""Memories kept by the player itself: selected rounds, and notes in its own words."""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from ostrom.answers import Form, Record, Text
from ostrom.ground.parameters import Count, Ge, checked
from ostrom.mechanisms.protocol import Round, View
from ostrom.memory.base import Draw, Memory, MemoryView, Note, NoteDue


def round_numbers(name: str, most: int, allowed: Sequence[int] | int) -> Record:
    """Return the form of at most ``most`` distinct rounds, of those listed or the first ``allowed``.

    >>> round_numbers("recall", 2, 9).schema["properties"]["rounds"]["maxItems"]
    2
    """
    number: dict[str, Any] = {"type": "integer"}
    if isinstance(allowed, int):
        number |= {"minimum": 1, "maximum": allowed}
    else:
        number["enum"] = list(allowed)
    rounds = {"type": "array", "items": number, "maxItems": most, "uniqueItems": True}
    return Record(
        name,
        {"type": "object", "properties": {"rounds": rounds}, "required": ["rounds"], "additionalProperties": False},
    )


class NamedRounds(Memory):
    """Show the rounds that the player names, at most ``k`` of them, before every decision anew.

    Naming them is a decision of its own (kind recall), taken without any round in view. While no more than
    ``k`` rounds have been played all of them are shown and nothing is asked.
    """

    name: ClassVar[str] = "asked"
    readers = frozenset({"model"})
    asks = "recall"
    note_form: Form = round_numbers("recall", 1, 1)

    @checked
    def __init__(self, k: Count) -> None:
        self.k = k

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:
        """Ask for a new list of rounds after every round, once there are more than can be shown."""
        played = len(view.history)
        return (
            None
            if played <= self.k or (notes and notes[-1].covers == played)
            else NoteDue(round_numbers("recall", self.k, played), played)
        )

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return the rounds that were named last."""
        if len(view.history) <= self.k:
            return MemoryView(view.history, gaps=True)
        named = set(notes[-1].rounds) if notes else set()
        return MemoryView([r for r in view.history if r.number in named], gaps=True)

    def most_lines(self, rounds: int) -> int:
        """At most ``k`` rounds are shown."""
        return min(rounds, self.k)

    def most_notes(self, rounds: int) -> int:
        """At most one note in every round after the first ``k``."""
        return max(0, rounds - self.k)


class Curated(Memory):
    """Show the rounds that the player keeps, at most ``k`` of them.

    Whenever a new round makes it more than ``k``, the player decides which ones to keep (kind keep): it sees
    those kept so far and the new one. What is not kept is gone for good.
    """

    name: ClassVar[str] = "curated"
    readers = frozenset({"model"})
    asks = "keep"
    note_form: Form = round_numbers("keep", 1, [1])

    @checked
    def __init__(self, k: Count) -> None:
        self.k = k

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:
        """Ask for a choice among the rounds in view, once there are too many."""
        left = self._left(view, notes)
        return (
            None
            if len(left) <= self.k
            else NoteDue(round_numbers("keep", self.k, [r.number for r in left]), len(view.history), left)
        )

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return the selected rounds and those played since, up to k."""
        return MemoryView(self._left(view, notes)[-self.k :], gaps=True)

    def _left(self, view: View, notes: Sequence[Note]) -> list[Round]:
        """Return the last selection and all rounds since."""
        if not notes:
            return list(view.history)
        numbers, last = set(notes[-1].rounds), notes[-1].covers
        return [r for i, r in enumerate(view.history) if i >= last or r.number in numbers]

    def most_lines(self, rounds: int) -> int:
        """At most ``k`` rounds are shown."""
        return min(rounds, self.k)

    def most_notes(self, rounds: int) -> int:
        """At most one note in every round after the first ``k``."""
        return max(0, rounds - self.k)


class Summary(Memory):
    """Show recent rounds as they were, and a note that the player itself wrote about all older ones.

    As soon as ``every`` rounds lie further back than the last ``keep``, the player rewrites its note: it is
    given the old note and the rounds that are new to it, and may use ``words`` words. Writing is a question
    within the decision and journaled as such. Rounds that no note covers yet are shown, so nothing falls in
    between: at least ``keep`` and fewer than ``keep + every`` of them.
    """

    name: ClassVar[str] = "summary"
    readers = frozenset({"model"})

    @checked
    def __init__(self, keep: Annotated[int, Ge(0)] = 5, every: Count = 10, words: Count = 100) -> None:
        self.keep, self.every, self.words = keep, every, words

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:
        """Ask for a new note once enough rounds are old."""
        last = notes[-1] if notes else None
        covered = last.covers if last else 0
        old = len(view.history) - self.keep
        return (
            None
            if old - covered < self.every
            else NoteDue(Text(words=self.words), old, view.history[covered:old], last.text if last else None)
        )

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return the latest note and all rounds that it does not cover."""
        return (
            MemoryView(view.history) if not notes else MemoryView(view.history[notes[-1].covers :], note=notes[-1].text)
        )

    def most_lines(self, rounds: int) -> int:
        """The rounds that no note covers, and about as many lines as the note has."""
        return min(rounds, self.keep + self.every - 1 + self.words // 4)

    def most_notes(self, rounds: int) -> int:
        """Return one note every ``every`` rounds, after the first are old."""
        return max(0, rounds - self.keep) // self.every
