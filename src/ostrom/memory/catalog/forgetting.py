"""Rounds that slip from memory by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from ostrom.ground.parameters import Count, Share, checked
from ostrom.mechanisms.protocol import View
from ostrom.memory.base import Draw, Memory, Note, Shown


class Forgetting(Memory):
    """Forget past rounds by chance, each for itself and for good.

    Mode *drop*: a round is forgotten at once with chance ``rate``, or never. Mode *decay*: in every round
    that goes by it is forgotten with chance ``rate``, so that after a rounds it is still there with chance
    (1 - rate) ** a. Every round has one random number per player that settles when it goes, which is why
    nothing that was forgotten comes back. Of the rounds that are left the ``most`` recent ones are shown.
    """

    name: ClassVar[str] = "forgetting"

    @checked
    def __init__(
        self, rate: Share = 0.1, mode: Literal["drop", "decay"] = "decay", most: Count | None = None
    ) -> None:
        self.rate, self.mode, self.most = float(rate), mode, most

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> Shown:  # noqa: ARG002
        """The rounds that are still there."""
        played = len(view.history)
        kept = [
            r
            for i, r in enumerate(view.history)
            if draw(r.number, "forget").random() >= self.gone(played - i)
        ]
        return Shown(kept[-self.most :] if self.most else kept, gaps=True)

    def most_lines(self, rounds: int) -> int:
        """All of them, up to the limit."""
        return min(rounds, self.most or rounds)

    def gone(self, age: int) -> float:
        """The chance that a round is forgotten when it is ``age`` rounds old (the last one is 1 old).

        >>> Forgetting(0.5, "decay").gone(2), Forgetting(0.5, "drop").gone(2)
        (0.75, 0.5)
        """
        return self.rate if self.mode == "drop" else 1.0 - (1.0 - self.rate) ** age


MEMORY = Forgetting
