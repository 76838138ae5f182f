"""Mechanisms whose players first design something (a mediator, a contract) and then vote on it.

A design is made once per agent type and seat, before all matches, and used in every match of that player.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from typing import Any, ClassVar, Self

from ostrom.answers import Answer, Record
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.base import Mechanism, closed_object
from ostrom.mechanisms.incentives import is_equilibrium
from ostrom.mechanisms.protocol import Decision, Outcome, Play, View

Steps = Generator[list[Decision], Sequence[Answer], dict[str, Any]]


class Designed(Mechanism):
    """A mechanism with designs, which players prepare or the study gives, an approval vote, and one winner."""

    one_shot: ClassVar[bool] = True
    letter: ClassVar[str]
    """The letter of a proposal's label; its seat number follows."""

    sham: bool = False
    """Whether the players' decisions have no consequence (a control)."""

    def __init__(self, designs: Sequence[Sequence[int]] | None = None) -> None:
        self.fixed = designs is not None
        self.designs = None if designs is None else [_plain(design) for design in designs]

    @abstractmethod
    def form(self, game: Game, seat: int) -> Record:
        """The form of a design, in the action names of the designer's seat."""

    @abstractmethod
    def read(self, game: Game, seat: int, value: Mapping[str, Any]) -> list[int]:
        """Return the design in an answer of this form, as a list."""

    @abstractmethod
    def refuse(self, game: Game, design: Sequence[int]) -> str | None:
        """Return why a design is invalid in a game; None if it is valid."""

    @abstractmethod
    def induced(self, game: Game, design: Sequence[int]) -> Game:
        """Return the game with the payoffs under a design."""

    @abstractmethod
    def cooperation(self, game: Game, design: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the profiles of the induced game in which everybody cooperates."""

    def stable(self, game: Game, design: Sequence[int]) -> bool:
        """Return whether universal cooperation (directly or by delegating) is an equilibrium under a design."""
        induced = self.induced(game, design)
        return any(is_equilibrium(induced, profile) for profile in self.cooperation(game, design))

    @abstractmethod
    def pivotal(self, game: Game, seat: int) -> int:
        """Return the action of the induced game that a good design makes dominant."""

    def told(self, game: Game) -> dict[str, Any]:  # noqa: ARG002
        """Return the facts about the rules in every view."""
        return {"sham": True} if self.sham else {}

    def common_design(self) -> list[int]:
        """Return the given design of all seats; refused unless one is given and the same for every seat."""
        if not self.designs or any(design != self.designs[0] for design in self.designs):
            raise GameError(
                f"mechanism {self.name}: the control 'induced' needs one design, the same for every seat: "
                "give `designs`"
            )
        return self.designs[0]

    def induced_game(self, game: Game) -> Game:
        """The game with the given design in force."""
        return self.induced(game, self.common_design())

    def as_sham(self) -> Self:
        """A copy of the mechanism whose designs, votes and signatures have no consequence."""
        return self.with_values(sham=True)

    def check(self, game: Game) -> None:
        """Refuse games whose seats have different numbers of actions: a design names actions by index."""
        if len({len(names) for names in game.actions}) > 1:
            raise GameError(
                f"mechanism {self.name}: all seats need the same number of actions, game {game.name} has "
                + ", ".join(str(len(names)) for names in game.actions)
            )
        for design in self.designs or ():
            if problem := self.refuse(game, design):
                raise GameError(f"mechanism {self.name}: design {design}: {problem}")
        if self.designs is not None and len(self.designs) != game.seats:
            raise GameError(
                f"mechanism {self.name}: {len(self.designs)} designs given, game {game.name} has {game.seats} seats"
            )

    def preparation(self, game: Game, seat: int) -> Design | None:  # noqa: ARG002
        """Return the preparation in which a player makes its design; None if designs are given."""
        return None if self.fixed else Design(self, seat)

    def with_preparations(self, outcomes: Sequence[Mapping[str, Any]]) -> Self:
        """A copy of the mechanism with the designs of a match's players, by seat."""
        return self.with_values(designs=[_plain(facts["design"]) for facts in outcomes])

    def labels(self, game: Game) -> list[str]:
        """The labels of the proposals, by seat."""
        return [f"{self.letter}{seat + 1}" for seat in range(game.seats)]

    def vote(self, game: Game, streams: Streams) -> Steps:
        """Ask for approvals; the winner is drawn among the most approved proposals."""
        self.check(game)
        if self.designs is None:
            raise GameError(f"mechanism {self.name} needs a design per seat: give `designs`, or play it in a study")
        labels = self.labels(game)
        proposals = [
            {"label": label, "seat": seat, "design": design}
            for seat, (label, design) in enumerate(zip(labels, self.designs, strict=True))
        ]
        facts = {**self.told(game), "proposals": proposals}
        ballot = ballot_form(labels)
        answers = yield [
            Decision(seat, "vote", View(game, seat, self.name, facts=facts), ballot) for seat in range(game.seats)
        ]
        votes = [[label for label in labels if answer.value[label]] for answer in answers]
        approvals = [sum(label in vote for vote in votes) for label in labels]
        best = [seat for seat, count in enumerate(approvals) if count == max(approvals)]
        winner = best[int(streams.for_round(0, 0, "winner").integers(len(best)))] if len(best) > 1 else best[0]
        return {
            "proposals": proposals,
            "votes": votes,
            "approvals": approvals,
            "winner": labels[winner],
            "design": self.designs[winner],
        }


class Design(Mechanism):
    """The preparation in which one player makes its design."""

    def __init__(self, rules: Designed, seat: int) -> None:
        self.rules, self.seat, self.name = rules, seat, rules.name  # type: ignore[misc]

    def check(self, game: Game) -> None:
        """Refuse the games that the mechanism itself refuses."""
        self.rules.check(game)

    def play(self, game: Game, streams: Streams) -> Play:  # noqa: ARG002
        """Ask the one player for its design."""
        self.check(game)
        answers = yield [
            Decision(
                0,
                "design",
                View(game, self.seat, self.name, facts=self.rules.told(game)),
                self.rules.form(game, self.seat),
            )
        ]
        design = self.rules.read(game, self.seat, answers[0].value)
        if problem := self.rules.refuse(game, design):
            raise GameError(f"mechanism {self.name}: design {design}: {problem}")
        return Outcome([], (), {"design": design})

    def most_decisions(self, game: Game) -> int:  # noqa: ARG002
        """The design is the only decision."""
        return 1


def ballot_form(labels: Sequence[str]) -> Record:
    """Return the ballot: yes or no to every proposal, so that any number can be approved."""
    return Record("ballot", closed_object({label: {"type": "boolean"} for label in labels}))


def _plain(design: Any) -> list[int]:
    if isinstance(design, str) or not isinstance(design, Sequence):
        raise ValueError(f"a design is a list of whole numbers, found {design!r}")
    if any(not isinstance(x, int) or isinstance(x, bool) for x in design):
        raise ValueError(f"a design is a list of whole numbers, found {list(design)!r}")
    return list(design)
