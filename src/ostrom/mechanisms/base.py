"""What every mechanism offers, and the small steps that most of them share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar

from ostrom.answers import Answer, Choice
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.streams import Streams
from ostrom.mechanisms.arrays import ArrayRules
from ostrom.mechanisms.missing import Missing
from ostrom.mechanisms.protocol import Decision, Play, View


class Mechanism(ABC):
    """The rules around a game. Build one per study; ``play`` starts a fresh match each time."""

    name: ClassVar[str]
    one_shot: ClassVar[bool] = False
    """The game is played once, so exact expectations of the payoffs exist when the odds are known."""

    society: ClassVar[bool] = False
    """All agent types live in one society and meet each other; otherwise a match has one player per seat."""

    observers: int = 0
    """How many players a match has beyond the game's seats: they are asked questions but never act."""

    may_miss: ClassVar[bool] = False
    """Whether the rules can say what a missed decision means (parameter ``missed``)."""

    missing: Missing | None = None
    """What they say; None: a decision that is missed ends the match with an error."""

    def allowing(self, missing: Missing) -> Mechanism:
        """These rules with a rule for missed decisions; refused where missing one has no meaning."""
        if not self.may_miss:
            raise GameError(
                f"mechanism {self.name}: has no rule for missed decisions, so nobody's time to decide can be limited"
            )
        changed = copy(self)
        changed.missing = missing
        return changed

    earlier: Sequence[tuple[int, Answer]] = ()
    """Answers by player that came before the first decision: a dialogue goes on from the turns that they hold."""

    generations: int = 1
    """How many units of work follow each other, each given what the one before came to."""

    def generation(self, number: int) -> Mechanism:  # noqa: ARG002
        """These rules in a later generation, counted from 0."""
        return self

    spreads: bool = False
    """Whether players may take over each other's ways of playing while a match goes on."""

    def population(self, names: Sequence[str], seats: int) -> Sequence[str]:
        """The types of a society's players, in order; by default one player per type and seat."""
        return [name for name in names for _ in range(seats)]

    def sized(self, players: int) -> Mechanism:  # noqa: ARG002
        """This mechanism for so many players; only societies care."""
        return self

    any_game: ClassVar[bool] = False
    """Whether the rules can hold any game, also one without a table of payoffs."""

    def fit(self, game: Game) -> None:
        """Refuse a game that these rules cannot hold, or have no meaning in, before anything is played."""
        if not (game.has_table or self.any_game):
            raise GameError(
                f"mechanism {self.name}: needs a table of payoffs, and those of game {game.name} follow from a rule"
            )
        self.check(game)

    def check(self, game: Game) -> None:
        """Refuse a game that these rules have no meaning in (GameError), before anything is played."""
        if self.missing is not None:
            self.missing.check(game)

    def preparation(self, game: Game, seat: int) -> Mechanism | None:  # noqa: ARG002
        """What a player at a seat does once before all its matches, if anything: design a contract, say."""
        return None

    @abstractmethod
    def play(self, game: Game, streams: Streams) -> Play:
        """Play one match: yield what is due at the same time, receive the answers, return the outcome."""

    @abstractmethod
    def most_decisions(self, game: Game) -> int:
        """An upper bound of the decisions of one match, for forecasts of calls and cost."""

    def decisions_of(self, game: Game, player: int, players: int) -> int:  # noqa: ARG002
        """An upper bound of what one of so many players of a match is asked; by default an equal share."""
        return -(-self.most_decisions(game) // players)

    def given(self, outcomes: Sequence[Mapping[str, Any]]) -> Mechanism:
        """This mechanism with the facts of the preparations of a match's players, by seat."""
        raise NotImplementedError(f"{self.name} needs no preparations, got {len(outcomes)}")

    def most_rounds(self, game: Game) -> int:
        """An upper bound of the rounds of a match."""
        return max(1, int(getattr(self, "rounds", 1)), self.longest_history(game) + 1)

    may_talk: ClassVar[bool] = True
    """Whether players can talk around these rules (``talk: {...}``)."""

    def bystander(self, view: View, seat: int) -> View:
        """What a seat that is not asked now may know when it talks; ``view`` is that of a seat that is asked.

        By default the same, without what a game by a rule tells the seat whose turn it is. Rules whose facts hold what
        only one seat may know say here what others may.
        """
        facts = view.facts
        if not view.game.has_table:
            facts = {key: facts[key] for key in getattr(self, "told", {})}
        return replace(view, seat=seat, facts=facts)

    def array_rules(self, game: Game) -> ArrayRules | None:  # noqa: ARG002
        """The rules as plain repetition, where they are that: scripted matches are then played as arrays."""
        return None

    def longest_history(self, game: Game) -> int:  # noqa: ARG002
        """The most rounds any view of a match can hold, for forecasts of prompt length."""
        return 0


def act(view: View, player: int | None = None) -> Decision:
    """The plain question: which action?"""
    seat = view.seat
    return Decision(seat if player is None else player, "act", view, choice_of(view.game.named_actions(seat)))


@lru_cache(maxsize=1024)
def choice_of(options: tuple[str, ...]) -> Choice:
    """The choice among these options: the same object every time, as it is asked for in every turn."""
    return Choice(options)


def profile_of(game: Game, answers: Sequence[Answer]) -> tuple[int, ...]:
    """The action profile that the answers of all seats make."""
    followed: Any = game.named
    for answer in answers:
        followed = followed[answer.value]
    profile: tuple[int, ...] = followed
    return profile


def odds_of(game: Game, answers: Sequence[Answer]) -> list[list[float]] | None:
    """Every seat's odds over its actions, or None when one of them is not known.

    A pure answer without stated odds counts as certain only if its reading is a deterministic script's.
    """
    odds = []
    for seat, answer in enumerate(answers):
        if answer.probabilities is not None:
            odds.append([float(answer.probabilities.get(name, 0.0)) for name in game.actions[seat]])
        elif answer.reading == "scripted":
            odds.append([float(name == answer.value) for name in game.actions[seat]])
        else:
            return None
    return odds


def expected_payoffs(game: Game, answers: Sequence[Answer]) -> tuple[float, ...] | None:
    """The exact expectation of the payoffs, where every seat's odds are known."""
    odds = odds_of(game, answers)
    return None if odds is None else game.expected(odds)
