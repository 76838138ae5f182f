"""The base classes of mechanisms, steps that most of them share, and wrappers."""

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
from ostrom.mechanisms.protocol import Decision, Play, Round, View


@dataclass(frozen=True, slots=True)
class ArrayRules:
    """Simultaneous rounds with public actions: the rules of plain repetition."""

    rounds: int
    noise: float = 0.0
    continuation: float | None = None
    """The chance of another round if the length is random; None for exactly ``rounds``."""
    discount: float | None = None


FORMER = {
    "sized": "for_players", "given": "with_preparations", "lasting": "with_rounds", "bystander": "observer_view",
    "brief": "shortened", "powerless": "as_sham",
}  # fmt: skip
"""Names of overridable methods in 1.0, and their present names."""


class Mechanism(FormerNames, ABC, former=FORMER):
    """The rules around a game. Build one per study; ``play`` starts a new match each time."""

    name: ClassVar[str]
    one_shot: ClassVar[bool] = False
    """Whether the game is played once, so that known odds give exact expected payoffs."""

    society: ClassVar[bool] = False
    """Whether all agent types live in one society; otherwise a match has one player per seat."""

    observers: int = 0
    """The number of players beyond the game's seats: they answer questions but never act."""

    may_miss: ClassVar[bool] = False
    """Whether the rules define what a missed decision means (parameter ``missed``)."""

    missing: Missing | None = None
    """The rule for missed decisions; None if a missed decision is an error."""

    def allowing(self, missing: Missing) -> Mechanism:
        """Return these rules with a rule for missed decisions; refused if that has no meaning."""
        if self.may_miss:
            return self.with_values(missing=missing)
        raise GameError(
            f"mechanism {self.name}: has no rule for missed decisions, so nobody's time to decide can be limited"
        )

    def with_values(self, **values: Any) -> Self:
        """Return a copy of these rules with other values of these attributes."""
        changed = copy(self)
        vars(changed).update(values)
        return changed

    earlier: Sequence[tuple[int, Answer]] = ()
    """Answers by player from before the first decision: a dialogue continues from them."""

    generations: int = 1
    """The number of generations, played one after the other; each begins with the outcome of the one before."""

    def generation(self, number: int) -> Mechanism:  # noqa: ARG002
        """The mechanism for a generation, counted from 0; by default the same for all."""
        return self

    spreads: bool = False
    """Whether players may adopt each other's strategies during a match."""

    def population(self, names: Sequence[str], seats: int) -> Sequence[str]:
        """The types of a society's players, in order; by default one player per type and seat."""
        return [name for name in names for _ in range(seats)]

    def for_players(self, players: int) -> Mechanism:  # noqa: ARG002
        """Return this mechanism for a number of players; only societies depend on it."""
        return self

    any_game: ClassVar[bool] = False
    """Whether the rules work with any game, also one without a payoff table."""

    def fit(self, game: Game) -> None:
        """Refuse a game that does not work with these rules, before play."""
        self.require(
            game.has_table or self.any_game,
            f"needs a table of payoffs, and those of game {game.name} follow from a rule",
        )
        self.check(game)

    def require(self, fits: bool, problem: str) -> None:
        """Raise a GameError that names this mechanism and the problem, unless the game fits."""
        if not fits:
            raise GameError(f"mechanism {self.name}: {problem}")

    def require_equal_actions(self, game: Game) -> None:
        """Refuse a game whose seats have different numbers of actions: one action stands for those of all seats."""
        counts = [str(len(names)) for names in game.actions]
        self.require(
            len(set(counts)) == 1,
            f"all seats need the same number of actions, game {game.name} has {', '.join(counts)}",
        )

    def check(self, game: Game) -> None:
        """Refuse a game that does not work with these rules (GameError), before play."""
        if self.missing is not None:
            self.missing.check(game)

    def preparation(self, game: Game, seat: int) -> Mechanism | None:  # noqa: ARG002
        """Return the rules of what a player does once before all its matches (design a contract, say), or None."""
        return None

    @abstractmethod
    def play(self, game: Game, streams: Streams) -> Play:
        """Play one match: yield simultaneous decisions, receive their answers, return the outcome."""

    @abstractmethod
    def most_decisions(self, game: Game) -> int:
        """An upper bound of the decisions of one match, for forecasts of calls and cost."""

    def decisions_of(self, game: Game, player: int, players: int) -> int:  # noqa: ARG002
        """Return an upper bound of one player's decisions; by default an equal share."""
        return -(-self.most_decisions(game) // players)

    def with_preparations(self, outcomes: Sequence[Mapping[str, Any]]) -> Mechanism:
        """This mechanism with the facts of the preparations of a match's players, by seat."""
        raise NotImplementedError(f"{self.name} needs no preparations, got {len(outcomes)}")

    def most_rounds(self, game: Game) -> int:
        """An upper bound of the rounds of a match."""
        return max(1, int(getattr(self, "rounds", 1)), self.longest_history(game) + 1)

    def with_rounds(self, rounds: int) -> Self:
        """Return these rules with exactly this many rounds, if they have rounds; the prompts stay the same."""
        return self.with_values(**({"rounds": rounds} if "rounds" in vars(self) else {}))

    def shortened(self) -> Mechanism:
        """Return shorter rules with the same kinds of questions: societies take long to rehearse."""
        return self

    def score_range(self, game: Game) -> tuple[float, float] | None:  # noqa: ARG002
        """Return the smallest and largest possible score of a player; None if unknown."""
        return None

    def survival(self, number: int) -> float:  # noqa: ARG002
        """Return the chance that a round takes place, if only chance ends a match."""
        return 1.0

    apart: bool = False
    """Whether rounds are counted separately at each table (generations of a population)."""

    def weights(self, rounds: int) -> Sequence[float]:
        """Return the weight of each of ``rounds`` rounds of a meeting: the score of a player is the weighted sum of its
        payoffs. By default all weigh the same, or as ``discount`` says."""
        discount = getattr(self, "discount", None)
        return (1.0 / rounds,) * rounds if discount is None or discount == 1 else round_weights(rounds, discount)

    may_talk: ClassVar[bool] = True
    """Whether players can talk under these rules (``talk: {...}``)."""

    def observer_view(self, view: View, seat: int) -> View:
        """Return the view of a seat that has no decision now, made from ``view``, that of a seat that has one.

        By default it is the same, without the facts that a game by a rule tells only the seat whose turn it is. Rules
        with facts for one seat alone override this.
        """
        facts = view.facts if view.game.has_table else {key: view.facts[key] for key in getattr(self, "told", {})}
        return replace(view, seat=seat, facts=facts)

    def array_rules(self, game: Game) -> ArrayRules | None:  # noqa: ARG002
        """Return the rules as plain repetition, if they are that, so that scripted matches run as arrays."""
        return None

    def longest_history(self, game: Game) -> int:  # noqa: ARG002
        """Return the most rounds in any view of a match, for forecasts of prompt length."""
        return 0

    def induced_game(self, game: Game) -> Game | None:  # noqa: ARG002
        """Return the one-shot game that rational players face under these rules; None if unknown."""
        return None

    def realised_profile(self, game: Game, profile: tuple[int, ...]) -> tuple[int, ...]:  # noqa: ARG002
        """Return the actions of the game for a profile of the induced game; by default they are the same."""
        return profile

    def as_sham(self) -> Mechanism | None:
        """Return these rules with the same words and steps but without consequences; None if meaningless."""
        return None


def seat_key(seat: int) -> str:
    """Return a seat's name in the keys and values of an answer.

    >>> seat_key(0)
    'player_1'
    """
    return f"player_{seat + 1}"


def act(view: View, player: int | None = None) -> Decision:
    """Return the decision about the action of a view's seat."""
    seat = view.seat
    return Decision(seat if player is None else player, "act", view, choice_of(view.game.named_actions(seat)))


@lru_cache(maxsize=1024)
def choice_of(options: tuple[str, ...]) -> Choice:
    """Return the choice among these options, cached, because it is needed in every turn."""
    return Choice(options)


def unpredicting(view: View) -> View:
    """Return a view without the facts that a prediction adds."""
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
    """Return the action profile of all seats' answers."""
    followed: Any = game.named
    for answer in answers:
        followed = followed[answer.value]
    return followed  # type: ignore[no-any-return]


def expected_payoffs(game: Game, answers: Sequence[Answer]) -> tuple[float, ...] | None:
    """Return the exact expected payoffs; None if a seat's odds over its actions are unknown.

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
    return game.expected(odds)


@lru_cache(maxsize=256)
def round_weights(rounds: int, discount: float) -> tuple[float, ...]:
    """Return the weights (1-d)d^(t-1) of the rounds, with the tail d^(T-1) on the last one; they sum to one.

    The tail belongs to the last round because the match stands for an endless one whose play no longer
    changes (Tewolde et al. 2026).

    >>> round_weights(3, 0.5)
    (0.5, 0.25, 0.25)
    """
    return (*((1 - discount) * discount**t for t in range(rounds - 1)), discount ** (rounds - 1))


def payoff_range(game: Game) -> tuple[float, float] | None:
    """Return the smallest and largest payoff of a round; None without a payoff table."""
    return (float(game.payoffs.min()), float(game.payoffs.max())) if game.has_table else None


def match_score(payoffs: Sequence[float], discount: float | None = None) -> float:
    """Return the mean payoff, or the discounted mean in which the last round stands for all that follow.

    >>> match_score([2.0, 3.0])
    2.5
    >>> match_score([2.0, 4.0], 0.5)
    3.0
    """
    return (
        fsum(payoffs) / len(payoffs)
        if discount is None or discount == 1
        else fsum(map(mul, payoffs, round_weights(len(payoffs), discount)))
    )


def scores_by_seat(game: Game, rounds: Sequence[Round], discount: float | None = None) -> tuple[float, ...]:
    """Return the score of each seat in a match of these rounds."""
    return tuple(match_score([r.payoffs[seat] for r in rounds], discount) for seat in range(game.seats))


AskSteps: TypeAlias = Generator[list[Decision], Sequence[Answer], Sequence[Answer]]


def drive(play: Play, ask: Callable[[list[Decision]], AskSteps]) -> Play:
    """Play a match, passing its decisions to ``ask``, which may ask more around them and returns the answers."""
    due = next(play)
    while True:
        answers = yield from ask(due)
        try:
            due = play.send(answers)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]


def _of_rules(name: str) -> Any:
    """Return a method that calls the method of this name of the inner rules."""
    return lambda self, *args, **named: getattr(self.rules, name)(*args, **named)


def _around_rules(name: str) -> Any:
    """Return a method that puts the wrapper around what the inner rules return."""
    return lambda self, *args, **named: self.around(getattr(self.rules, name)(*args, **named))


class DelegatingMechanism(Mechanism):
    """A mechanism whose rounds are those of its inner ``rules``."""

    rules: Mechanism
    most_rounds, survival = _of_rules("most_rounds"), _of_rules("survival")
    longest_history, weights = _of_rules("longest_history"), _of_rules("weights")

    def with_rounds(self, rounds: int) -> Self:
        """Return this mechanism over rules with this many rounds."""
        return self.with_values(rules=self.rules.with_rounds(rounds))


_COPIED = ("name", "one_shot", "society", "may_miss", "any_game", "may_talk", "observers", "spreads", "missing")


class WrappedMechanism(DelegatingMechanism):
    """A mechanism that delegates everything to its inner ``rules`` except what a subclass adds.

    Attributes that only the rules have (``rounds``, ``noise``, ``window``) are read through the wrapper: tables and
    charts need them. A preparation is that of the rules, unwrapped: a player prepares alone.
    """

    check, population, preparation = _of_rules("check"), _of_rules("population"), _of_rules("preparation")
    observer_view, induced_game = _of_rules("observer_view"), _of_rules("induced_game")
    realised_profile = _of_rules("realised_profile")
    allowing, for_players = _around_rules("allowing"), _around_rules("for_players")
    with_preparations, shortened = _around_rules("with_preparations"), _around_rules("shortened")

    def __init__(self, rules: Mechanism) -> None:
        self.rules = rules
        vars(self).update({name: getattr(rules, name) for name in _COPIED})

    def __getattr__(self, name: str) -> Any:
        if name == "rules" or name.startswith("__"):  # not set yet while a copy is made
            raise AttributeError(name)
        return getattr(self.rules, name)

    def around(self, rules: Mechanism) -> Self:
        """A copy of this wrapper around other rules."""
        return self.with_values(rules=rules, missing=rules.missing)

    def as_sham(self) -> Self | None:
        """Return this wrapper around the sham of the rules; None if they have none."""
        sham = self.rules.as_sham()
        return None if sham is None else self.around(sham)

    def decisions_of(self, game: Game, player: int, players: int) -> int:
        """Return a player's decisions under the wrapped rules; 0 for an observer whom this wrapper adds."""
        added = self.observers - self.rules.observers
        return 0 if player >= players - added else self.rules.decisions_of(game, player, players - added)

    def most_decisions(self, game: Game) -> int:
        """Return the sum of the decisions of all players."""
        players = self.members(game) + self.observers
        return sum(self.decisions_of(game, player, players) for player in range(players))

    def members(self, game: Game) -> int:
        """Return the number of players: one per seat, or those of a society."""
        return getattr(self.rules, "players", None) or game.seats
