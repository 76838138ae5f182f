"""The turns of the dialogues of one match: answers that hold what was asked and what was replied (``agents.turn``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ostrom.agents.turn import turn_of
from ostrom.answers import Answer
from ostrom.engine.entries import Journaled, Place


class Turns:
    """Collects turns as a match goes on; a match that is resumed or forked begins with those of its journal."""

    def __init__(self, earlier: Sequence[tuple[int, Answer]], known: Mapping[Place, Journaled]) -> None:
        self._done: dict[int, list[Answer]] = {}
        self._within: dict[tuple[int, int], list[Answer]] = {}
        for player, answer in earlier:
            self._done.setdefault(player, []).append(answer)
        for (step, player, part), (answer, *_) in known.items():
            if part:
                self.add_within(step, player, answer)

    def add(self, step: int, player: int, answer: Answer) -> None:
        """Take in the answer to a decision, after those to the questions within it."""
        if turn_of(answer) is not None:
            self._done.setdefault(player, []).extend([*self._questions(step, player), answer])

    def add_within(self, step: int, player: int, answer: Answer) -> None:
        """Take in the answer to a question within a decision."""
        if turn_of(answer) is not None:
            self._within.setdefault((step, player), []).append(answer)

    def before(self, step: int, player: int) -> list[Answer]:
        """The answers of a player that left a turn so far, oldest first."""
        return [*self._done.get(player, ()), *self._questions(step, player)]

    def _questions(self, step: int, player: int) -> list[Answer]:
        return sorted(self._within.get((step, player), ()), key=_place)


def _place(answer: Answer) -> int:
    turn = turn_of(answer)
    return 0 if turn is None else turn.nth
