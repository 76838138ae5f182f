"""Rounds that are relevant to the present one."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import ClassVar, Literal

from ostrom.answers import Text
from ostrom.ground.parameters import Count, checked
from ostrom.mechanisms.protocol import View
from ostrom.memory.base import Draw, Memory, MemoryView, Note, NoteDue

_WORD = re.compile(r"\w+")
_SATURATION, _LENGTH = 1.2, 0.75
"""The usual k1 and b of BM25 (Robertson & Zaragoza 2009)."""


class Retrieval(Memory):
    """Show the last round and the ``k - 1`` earlier rounds that are most relevant to it, oldest first.

    ``by`` says what makes a round relevant. *situation*: the round before it ended as the last round did, so
    it tells what followed. *action*: as many players as possible did what they did in the last round.
    *notes*: the player writes a note of at most ``words`` words on every round, and the rounds whose notes
    are closest to the newest note are fetched (BM25); the notes themselves are not shown. Of equally
    relevant rounds the newer ones are shown, so there are always k lines once k rounds have been played.
    """

    name: ClassVar[str] = "retrieval"

    @checked
    def __init__(self, k: Count, by: Literal["situation", "action", "notes"] = "situation", words: Count = 30) -> None:
        self.k, self.by, self.words = k, by, words
        if self.by == "notes":
            self.readers = frozenset({"model"})

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:
        """Return a note on every round, if notes are searched."""
        covered = notes[-1].covers if notes else 0
        return (
            None
            if self.by != "notes" or covered == len(view.history)
            else NoteDue(Text(words=self.words), len(view.history), view.history[covered:])
        )

    @property
    def takes_notes(self) -> bool:
        """Return whether notes are searched."""
        return self.by == "notes"

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return the last round and those most similar to it."""
        history = view.history
        if len(history) <= self.k:
            return MemoryView(history, gaps=True)
        relevance = self._relevance(view, notes)
        last = len(history) - 1
        return MemoryView(
            [history[i] for i in sorted([*sorted(range(last), key=lambda i: (-relevance[i], -i))[: self.k - 1], last])],
            gaps=True,
        )

    def _relevance(self, view: View, notes: Sequence[Note]) -> Sequence[float]:
        history = view.history
        now = history[-1].actions
        if self.by == "situation":
            return [0, *(int(before.actions == now) for before in history[:-1])]
        if self.by == "action":
            return [sum(a == b for a, b in zip(r.actions, now, strict=False)) for r in history]
        scores = bm25([note.text for note in notes])
        scored: list[float] = []
        for note, score in zip(notes, scores, strict=True):
            scored.extend([score] * (note.covers - len(scored)))
        return scored + [0.0] * (len(history) - len(scored))

    def most_lines(self, rounds: int) -> int:
        """Return ``k``, or the number of rounds played if that is smaller."""
        return min(rounds, self.k)

    def most_notes(self, rounds: int) -> int:
        """Return one note per round, if notes are searched."""
        return rounds if self.by == "notes" else 0


def bm25(texts: Sequence[str]) -> list[float]:
    """Return each text's similarity to the last one, by shared words.

    Rounded, so that texts with the same words in another order rank alike on every machine.

    >>> [round(score, 3) for score in bm25(["they defected again", "all is calm", "they defected"])]
    [0.894, 0.0, 1.047]
    """
    bags = [Counter(_WORD.findall(text.casefold())) for text in texts]
    if not bags:
        return []
    sizes = [bag.total() for bag in bags]
    mean = sum(sizes) / len(sizes) or 1.0
    rarity = {}
    for word in bags[-1]:
        holding = sum(word in bag for bag in bags)
        rarity[word] = math.log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
    scores = []
    for bag, size in zip(bags, sizes, strict=True):
        norm = _SATURATION * (1 - _LENGTH + _LENGTH * size / mean)
        scores.append(round(sum(rarity[w] * bag[w] * (_SATURATION + 1) / (bag[w] + norm) for w in sorted(rarity)), 9))
    return scores


MEMORY = Retrieval
