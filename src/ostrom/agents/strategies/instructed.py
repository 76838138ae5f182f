"""Instructed: plays the strategy that its instruction names."""

import re
from collections.abc import Sequence
from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategy import UNBOUNDED, Strategy
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import checked

_NAME = re.compile(r"[a-z][a-z0-9_]*(?::[0-9.]+)?")


class Instructed(Strategy):
    """Play the first strategy that the instruction names (``random:0.3``, say); without one, ``otherwise``.

    It stands for a model that follows its instruction to the letter, where instructions evolve.
    """

    title: ClassVar[str] = "Instructed"
    citation: ClassVar[str] = "this library"
    memory_depth = UNBOUNDED

    @checked
    def __init__(self, otherwise: str = "cooperator") -> None:
        self.otherwise = otherwise
        self._followed: dict[str, Strategy] = {}
        self.strategy(otherwise)

    def strategy(self, instruction: str) -> Strategy:
        """The strategy that an instruction names."""
        from ostrom.agents.strategies import strategies

        cached = self._followed.get(instruction)
        if cached is None:
            names = [n for n in _NAME.findall(instruction) if n.partition(":")[0] in strategies]
            cached = self._followed[instruction] = strategies.build(
                next((n for n in names if n.partition(":")[0] != self.name), self.otherwise)
            )
        return cached

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        good = past.game.cooperative[past.seat]
        return 0.0 if good is None else float(self.mix(past)[good])

    def mix(self, past: Past) -> Sequence[float]:
        """The odds of the strategy that is followed."""
        followed = self.strategy(str(past.view.facts.get("instruction", self.otherwise)))
        try:
            return followed.odds(past.view, past.rounds)
        except StudyError as error:
            raise StudyError(f"strategy {self.name}: {error.problem}") from None

    def forget(self) -> None:
        """Clear the caches of the followed strategies."""
        for followed in self._followed.values():
            followed.forget()


STRATEGY = Instructed
