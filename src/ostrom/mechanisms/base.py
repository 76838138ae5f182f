"""What every mechanism offers, the small steps that most of them share, and rules around rules."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from math import fsum
from operator import mul
from typing import Any, ClassVar, Self, TypeAlias

from ostrom.answers import Answer, Choice
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.moved import FormerNames
from ostrom.ground.streams import Streams
from ostrom.mechanisms.missing import Missing
from ostrom.mechanisms.protocol import Decision, Outcome, Play, View


@dataclass(frozen=True, slots=True)
class ArrayRules:
    """Simultaneous rounds of one game, all actions seen by all: the rules of plain repetition."""

    rounds: int
    noise: float = 0.0
    continuation: float | None = None
    """The chance of another round where chance ends the match; None: exactly ``rounds``."""
    discount: float | None = None


FORMER = {
    "sized": "for_players", "given": "with_preparations", "lasting": "with_rounds", "bystander": "observer_view"
}  # fmt: skip
"""What 1.0 called methods that packages override."""


class Mechanism(FormerNames, ABC, former=FORMER):
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
    """The rule for missed decisions; None: a missed decision ends the match with an error."""

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
    """How many units of work follow each other, each given the outcome of the one before."""

    def generation(self, number: int) -> Mechanism:  # noqa: ARG002
        """The mechanism for a generation, counted from 0; by default the same for all."""
        return self

    spreads: bool = False
    """Whether players may take over each other's ways of playing while a match goes on."""

    def population(self, names: Sequence[str], seats: int) -> Sequence[str]:
        """The types of a society's players, in order; by default one player per type and seat."""
        return [name for name in names for _ in range(seats)]

    def for_players(self, players: int) -> Mechanism:  # noqa: ARG002
        """This mechanism for so many players; only societies differ by it."""
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

    def with_preparations(self, outcomes: Sequence[Mapping[str, Any]]) -> Mechanism:
        """This mechanism with the facts of the preparations of a match's players, by seat."""
        raise NotImplementedError(f"{self.name} needs no preparations, got {len(outcomes)}")

    def most_rounds(self, game: Game) -> int:
        """An upper bound of the rounds of a match."""
        return max(1, int(getattr(self, "rounds", 1)), self.longest_history(game) + 1)

    def with_rounds(self, rounds: int) -> Self:
        """These rules for a match of exactly so many rounds, where they have rounds; what players are told stays."""
        changed = copy(self)
        if "rounds" in vars(changed):
            changed.rounds = rounds  # type: ignore[attr-defined]
        return changed

    def shortened(self) -> Mechanism:
        """These rules, shorter where that leaves every kind of question in them: societies take long to rehearse."""
        return self

    def score_range(self, game: Game) -> tuple[float, float] | None:  # noqa: ARG002
        """The least and the largest score that a player can have; None where the mechanism declares none."""
        return None

    def survival(self, number: int) -> float:  # noqa: ARG002
        """The chance that a round takes place, as far as chance alone ends a match."""
        return 1.0

    apart: bool = False
    """Whether a match has several tables at which rounds are counted each by itself (generations of a population)."""

    def weights(self, rounds: int) -> Sequence[float]:
        """What each of so many rounds of a meeting weighs in the score of a player: the score is the weighted sum of
        its payoffs. By default rounds weigh the same, or as ``discount`` says."""
        discount = getattr(self, "discount", None)
        if discount is None or discount == 1:
            return (1.0 / rounds,) * rounds
        return round_weights(rounds, discount)

    may_talk: ClassVar[bool] = True
    """Whether players can talk around these rules (``talk: {...}``)."""

    def observer_view(self, view: View, seat: int) -> View:
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


def seat_key(seat: int) -> str:
    """What a seat is called in the keys and values of an answer.

    >>> seat_key(0)
    'player_1'
    """
    return f"player_{seat + 1}"


def act(view: View, player: int | None = None) -> Decision:
    """The plain question: which action?"""
    seat = view.seat
    return Decision(seat if player is None else player, "act", view, choice_of(view.game.named_actions(seat)))


@lru_cache(maxsize=1024)
def choice_of(options: tuple[str, ...]) -> Choice:
    """The choice among these options: the same object every time, as it is asked for in every turn."""
    return Choice(options)


def unpredicting(view: View) -> View:
    """A view without what a prediction adds to it: whom it is about, and that an observer makes it."""
    added = ("target", "target_stage", "observer", "watched")
    return replace(view, facts={key: fact for key, fact in view.facts.items() if key not in added})


def closed_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON schema of an object that has all of these keys and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


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


@lru_cache(maxsize=256)
def round_weights(rounds: int, discount: float) -> tuple[float, ...]:
    """Weights (1-d)d^(t-1) of the rounds, the last one taking the whole tail d^(T-1); they sum to one.

    The tail belongs to the last round because the match stands for an endless one whose play no longer
    changes (Tewolde et al. 2026).

    >>> round_weights(3, 0.5)
    (0.5, 0.25, 0.25)
    """
    return (*((1 - discount) * discount**t for t in range(rounds - 1)), discount ** (rounds - 1))


def payoff_range(game: Game) -> tuple[float, float] | None:
    """The least and the largest payoff of a round; None where a rule pays instead of a table."""
    return (float(game.payoffs.min()), float(game.payoffs.max())) if game.has_table else None


def match_score(payoffs: Sequence[float], discount: float | None = None) -> float:
    """The mean payoff, or the discounted mean in which the last round stands for all that could follow.

    >>> match_score([2.0, 3.0])
    2.5
    >>> match_score([2.0, 4.0], 0.5)
    3.0
    """
    if discount is None or discount == 1:
        return fsum(payoffs) / len(payoffs)
    return fsum(map(mul, payoffs, round_weights(len(payoffs), discount)))


AskSteps: TypeAlias = Generator[list[Decision], Sequence[Answer], Sequence[Answer]]


def drive(play: Play, ask: Callable[[list[Decision]], AskSteps]) -> Play:
    """Play a match through ``ask``, which asks what is due, and more around it, and returns the answers to it."""
    due = next(play)
    while True:
        answers = yield from ask(due)
        try:
            due = play.send(answers)
        except StopIteration as stop:
            outcome: Outcome = stop.value
            return outcome


class DelegatingMechanism(Mechanism):
    """A mechanism whose rounds are those of the ``rules`` that it holds."""

    rules: Mechanism

    def with_rounds(self, rounds: int) -> Self:
        """This mechanism over rules that last so many rounds."""
        changed = copy(self)
        changed.rules = self.rules.with_rounds(rounds)
        return changed

    def most_rounds(self, game: Game) -> int:
        """Delegates to the rules."""
        return self.rules.most_rounds(game)

    def survival(self, number: int) -> float:
        """Delegates to the rules."""
        return self.rules.survival(number)

    def longest_history(self, game: Game) -> int:
        """Delegates to the rules."""
        return self.rules.longest_history(game)

    def weights(self, rounds: int) -> Sequence[float]:
        """Delegates to the rules."""
        return self.rules.weights(rounds)


class WrappedMechanism(DelegatingMechanism):
    """A mechanism that leaves everything to the ``rules`` inside but what a subclass adds.

    What the rules alone have (``rounds``, ``noise``, ``window``) is read through it, as tables and charts ask for it.
    """

    def __init__(self, rules: Mechanism) -> None:
        self.rules = rules
        self.name, self.one_shot = rules.name, rules.one_shot  # type: ignore[misc]
        self.society, self.may_miss = rules.society, rules.may_miss  # type: ignore[misc]
        self.any_game, self.may_talk = rules.any_game, rules.may_talk  # type: ignore[misc]
        self.observers, self.spreads = rules.observers, rules.spreads
        self.missing = rules.missing

    def __getattr__(self, name: str) -> Any:
        if name == "rules" or name.startswith("__"):  # not there yet while a copy is made
            raise AttributeError(name)
        return getattr(self.rules, name)

    def around(self, rules: Mechanism) -> Self:
        """A copy of this wrapper around other rules."""
        changed = copy(self)
        changed.rules, changed.missing = rules, rules.missing
        return changed

    def allowing(self, missing: Missing) -> Mechanism:
        """This wrapper around rules that have a rule for missed decisions."""
        return self.around(self.rules.allowing(missing))

    def population(self, names: Sequence[str], seats: int) -> Sequence[str]:
        """Delegates to the wrapped rules."""
        return self.rules.population(names, seats)

    def for_players(self, players: int) -> Mechanism:
        """This wrapper around rules for so many players."""
        return self.around(self.rules.for_players(players))

    def with_preparations(self, outcomes: Sequence[Mapping[str, Any]]) -> Mechanism:
        """This wrapper around rules that have the players' preparations."""
        return self.around(self.rules.with_preparations(outcomes))

    def check(self, game: Game) -> None:
        """Delegates to the wrapped rules."""
        self.rules.check(game)

    def preparation(self, game: Game, seat: int) -> Mechanism | None:
        """Delegates to the wrapped rules, without the wrapper: a player prepares alone."""
        return self.rules.preparation(game, seat)

    def observer_view(self, view: View, seat: int) -> View:
        """Delegates to the wrapped rules."""
        return self.rules.observer_view(view, seat)

    def shortened(self) -> Mechanism:
        """This wrapper around brief rules."""
        return self.around(self.rules.shortened())

    def decisions_of(self, game: Game, player: int, players: int) -> int:
        """The decisions of the wrapped rules, which do not count added observers."""
        added = self.observers - self.rules.observers
        if player >= players - added:
            return 0
        return self.rules.decisions_of(game, player, players - added)

    def most_decisions(self, game: Game) -> int:
        """The sum over all players."""
        players = self.members(game) + self.observers
        return sum(self.decisions_of(game, player, players) for player in range(players))

    def members(self, game: Game) -> int:
        """How many players take part: one per seat, or those of a society."""
        return getattr(self.rules, "players", None) or game.seats
