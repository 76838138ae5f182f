"""Advised: a client who does what its adviser recommends."""

from collections.abc import Sequence
from typing import ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategies._by_action import pure
from ostrom.agents.strategy import Strategy
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import Share, checked


class AdvisedClient(Strategy):
    """With chance ``trust`` do what the adviser recommends, else (and without advice) play ``otherwise``."""

    title: ClassVar[str] = "Advised"
    citation: ClassVar[str] = "this library"

    @checked
    def __init__(self, trust: Share = 1.0, otherwise: str = "defector") -> None:
        from ostrom.agents.strategies import strategies

        self.trust, self.otherwise = float(trust), strategies.build(otherwise)
        self.memory_depth = self.otherwise.memory_depth
        self.stochastic = 0 < self.trust < 1 or self.otherwise.stochastic

    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""
        good = past.game.cooperative[past.seat]
        return 0.0 if good is None else float(self.mix(past)[good])

    def mix(self, past: Past) -> Sequence[float]:
        """The recommended action as far as it is trusted."""
        advice = past.view.facts.get("advice")
        try:
            own = self.otherwise.odds(past.view, past.rounds)
        except StudyError as error:
            raise StudyError(f"strategy {self.name}: {error.problem}") from None
        if advice is None:
            return own
        return [
            self.trust * a + (1 - self.trust) * b
            for a, b in zip(pure(past.game, past.seat, int(advice)), own, strict=True)
        ]

    def forget(self) -> None:
        """Clear the caches of the inner strategy."""
        self.otherwise.forget()


STRATEGY = AdvisedClient
