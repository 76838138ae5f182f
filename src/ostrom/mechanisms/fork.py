"""Rules for matches that continue, or repeat a decision of, another match."""

from collections.abc import Sequence
from itertools import count
from typing import Any, cast

from ostrom.answers import Answer
from ostrom.games.game import Game
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import AskSteps, DelegatingMechanism, Mechanism, drive
from ostrom.mechanisms.protocol import Decision, Outcome, Play


class Branched(DelegatingMechanism):
    """The same rules, with the random draws of the original match up to a step and own draws after it."""

    def __init__(self, rules: Mechanism, step: int) -> None:
        self.rules, self.step = rules, step
        self.name = rules.name  # type: ignore[misc]
        self.told = getattr(rules, "told", {})
        self.missing = rules.missing

    def play(self, game: Game, streams: Streams) -> Play:
        """Play by the rules; the random streams are switched at the step."""
        chance = _ForkedStreams(streams.origin or streams)
        # The rules only draw, which is all that the replacement supports.
        play, steps = self.rules.play(game, cast("Streams", chance)), count()

        def ask(due: list[Decision]) -> AskSteps:
            if next(steps) == self.step:
                chance.now = streams
            return (yield due)

        return drive(play, ask)

    def most_decisions(self, game: Game) -> int:
        """Delegates to the rules that were forked."""
        return self.rules.most_decisions(game)


class Moment(Mechanism):
    """One decision of another match, asked again."""

    def __init__(self, name: str, decision: Decision, earlier: Sequence[tuple[int, Answer]] = ()) -> None:
        self.name = name  # type: ignore[misc]
        self.decision, self.earlier = decision, earlier

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Ask once; there is no score."""
        yield [self.decision]
        return Outcome((), ())

    def most_decisions(self, game: Game) -> int:  # noqa: ARG002
        """Return 1: the decision is asked once."""
        return 1

    def longest_history(self, game: Game) -> int:  # noqa: ARG002
        """Return the length of the history at that decision."""
        return len(self.decision.view.history)


class _ForkedStreams:
    """Random streams of one match up to a step, then those of another."""

    def __init__(self, first: Streams) -> None:
        self.now = first

    def __getattr__(self, name: str) -> Any:
        return getattr(self.now, name)
