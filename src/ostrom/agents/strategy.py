"""Strategies: pure functions from the past to the chance of cooperating.

A strategy never touches a random generator and carries nothing from match to match: what it answers depends
on the past it is shown and on nothing else. Whoever seats it draws from the odds it states.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Annotated, ClassVar, Generic, TypeAlias, TypeVar

from ostrom.agents.automaton import Automaton, explore, remember
from ostrom.agents.past import Past
from ostrom.answers import Form, Number
from ostrom.games.amounts import Value
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import Ge, checked
from ostrom.mechanisms.protocol import History, Round, View

C = 1.0
D = 0.0
Tolerance: TypeAlias = Annotated[int, Ge(0)]
"""So many co-players may defect in a round that counts as cooperative."""
UNBOUNDED = float("inf")
"""The memory depth of a strategy that may look at every round."""


class Strategy(ABC):
    """A rule of play. The first line of its docstring is the rule as people read it."""

    name: str
    """The name it is asked for by; by default that of its file."""
    title: ClassVar[str]
    citation: ClassVar[str]
    memory_depth: float
    """The move depends on the last so many rounds alone (and on their number, where there are fewer)."""
    stochastic: bool = False
    """Whether some past leaves the move to chance."""
    needs_cooperation: bool = True
    """Whether the rule speaks of cooperation, so that the game must define a cooperative action."""
    games_of_two: ClassVar[bool] = False
    """Whether the rule has no meaning with more than one co-player."""
    about_amounts: ClassVar[bool] = False
    """Whether the rule is about amounts, so that it plays no game of named actions alone."""
    tolerance: int = 0
    fixed_rounds: int = 0
    """In so many rounds from the first on its moves are fixed beforehand, so that a study can be checked against all
    of them; 0: they depend on what happens."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = cls.__module__.rpartition(".")[2]
        cls._by_move = cls.mix is Strategy.mix
        depth = vars(cls).get("memory_depth", 0)
        if not isinstance(depth, property) and not (isinstance(depth, int | float) and depth >= 0):
            raise TypeError(f"{cls.__name__}: memory_depth must be 0 or more, or UNBOUNDED (found {depth!r})")

    @abstractmethod
    def move(self, past: Past) -> float:
        """The chance of cooperating after this past."""

    def mix(self, past: Past) -> Sequence[float]:
        """The odds of each action of the seat; by default those of cooperating and defecting.

        Override it (and set ``needs_cooperation`` to False) for a rule about actions in any game.
        """
        # Asked in every round of a match: what depends on the game alone is checked once.
        if past is not self._fitted:
            self._fit(past.game, past.seat)
            self._fitted = past
        return self._odds_at(past, self.move(past))

    def _odds_at(self, past: Past, p: float) -> tuple[float, ...]:
        """The odds of each action where the chance of cooperating is p."""
        if p in self._pure:
            return self._pure[p]
        if not 0.0 < p < 1.0:
            raise StudyError(f"strategy {self.name} states a chance of cooperating outside 0 to 1", actual=p)
        return self._cd_odds(past.game, past.seat, p)

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:
        """What to do in a game whose payoffs follow from a rule: an amount or an option, odds, or None for even odds.

        By default the cooperative or the defective action, where the game defines them. Override it for a rule about
        amounts or stages (``past.view.facts["stage"]``).
        """
        game, seat = past.game, past.seat
        good, bad = game.cooperative[seat], game.defective[seat]
        if good is None or bad is None:
            raise StudyError(
                f"strategy {self.name} speaks of cooperation, and game {game.name} defines none for seat {seat + 1}"
            )
        p = self.move(past)
        return {clamped(form, game.value(seat, good)): p, clamped(form, game.value(seat, bad)): 1.0 - p}

    _past: Past | None = None
    _fitted: Past | None = None
    _pure: Mapping[float, tuple[float, ...]] = {}
    _by_move: ClassVar[bool]
    """Whether the odds follow from ``move`` alone."""

    def _fit(self, game: Game, seat: int) -> None:
        """Refuse a game that the rule has no meaning in; prepare the odds of certain moves."""
        if None in game.cooperative or game.defective[seat] is None:
            raise StudyError(
                f"strategy {self.name} needs a cooperative action for every seat, game {game.name} has none"
            )
        if self.games_of_two and game.seats != 2:
            raise StudyError(f"strategy {self.name} plays games of two, game {game.name} has {game.seats} seats")
        if self.tolerance and self.tolerance >= game.seats - 1:
            raise StudyError(
                f"strategy {self.name}: tolerance must be below the number of co-players, "
                f"which is {game.seats - 1} in game {game.name}",
                actual=self.tolerance,
            )
        self._pure = {p: self._cd_odds(game, seat, p) for p in (C, D)}

    @staticmethod
    def _cd_odds(game: Game, seat: int, p: float) -> tuple[float, ...]:
        chances = {game.cooperative[seat]: p, game.defective[seat]: 1.0 - p}
        return tuple(chances.get(action, 0.0) for action in range(len(game.actions[seat])))

    def odds(self, view: View, rounds: Sequence[Round] | None = None) -> tuple[float, ...]:
        """The odds of each action for a view; ``rounds`` in place of its history if memory shows others."""
        past = self._past
        if past is None or view.game is not past.game or view.seat != past.seat:
            past = self._past = Past(view, rounds, self.tolerance)
        else:
            past.view, past.rounds = view, view.history.played_rounds() if rounds is None else rounds
        if self._by_move and past is self._fitted:
            p = self.move(past)
            return self._pure.get(p) or self._odds_at(past, p)
        return tuple(self.mix(past))

    def forget(self) -> None:  # noqa: B027
        """Drop what was remembered to save time. Answers never change by it."""

    def automaton(self, game: Game, seat: int = 0) -> Automaton | None:
        """The same rule as a finite-state machine, for two seats with two actions each; None elsewhere."""
        if not _plain_dilemma(game) or self.memory_depth > _LONGEST:
            return None
        c = game.cooperative[seat]
        assert c is not None

        def cooperate(pairs: tuple[tuple[bool, bool], ...]) -> float:
            return float(self.odds(_view(game, seat, pairs))[c])

        return remember(int(self.memory_depth), cooperate)


class Reciprocator(Strategy):
    """A rule that answers what the others did.

    With several co-players the natural version counts a round as cooperative if all of them cooperated, or
    all but ``tolerance``.
    """

    @checked
    def __init__(self, *, tolerance: Tolerance = 0) -> None:
        self.tolerance = tolerance


def clamped(form: Form, value: Value) -> Value:
    """An amount as it can be given here: the nearest one that the form allows; an option as it is."""
    if isinstance(form, Number) and not isinstance(value, str):
        return form.amounts.nearest(value)
    return value


S = TypeVar("S", bound=Hashable)


class Machine(Reciprocator, Generic[S]):
    """A rule with a state of its own, folded over the rounds one by one: cheap however long the past is."""

    memory_depth = UNBOUNDED
    initial: S

    @abstractmethod
    def step(self, state: S, own: bool, others: bool) -> S:
        """The state after a round in which this seat and the others cooperated or not."""

    @abstractmethod
    def cooperate(self, state: S) -> float:
        """The chance of cooperating in a state."""

    # The state after the rounds folded last, with the first and last of them to recognise the same match.
    _memo: tuple[S, int, Round | None, Round | None, int] | None = None

    def move(self, past: Past) -> float:
        """Fold the rounds that are new since the last call, or all of them if the past is another one."""
        state, done = self._state_before(past)
        rounds, length = past.rounds, len(past.rounds)
        if done < length:
            for i in range(done, length):
                state = self.step(state, past.i_cooperated(i), past.cooperated(i))
            self._memo = (state, length, rounds[0], rounds[-1], past.seat)
        return self.cooperate(state)

    def _state_before(self, past: Past) -> tuple[S, int]:
        if self._memo is not None:
            state, done, first, last, seat = self._memo
            rounds = past.rounds
            if seat == past.seat and done <= len(rounds) and rounds[0] is first and rounds[done - 1] is last:
                return state, done
        return self.initial, 0

    def forget(self) -> None:
        """Fold from the start next time."""
        self._memo = None

    def automaton(self, game: Game, seat: int = 0) -> Automaton | None:  # noqa: ARG002
        """The machine itself, over the states that can be reached."""
        return explore(self.initial, self.step, self.cooperate) if _plain_dilemma(game) else None


_LONGEST = 4


def _plain_dilemma(game: Game) -> bool:
    return game.seats == 2 and all(len(names) == 2 for names in game.actions) and None not in game.cooperative


def _view(game: Game, seat: int, pairs: Sequence[tuple[bool, bool]]) -> View:
    """A view whose history has these (own, other) moves, True for cooperation."""
    rounds = []
    for number, pair in enumerate(pairs, 1):
        by_seat = pair if seat == 0 else pair[::-1]
        actions = tuple(
            c if cooperates else d
            for c, d, cooperates in zip(game.cooperative, game.defective, by_seat, strict=True)
            if c is not None and d is not None
        )
        rounds.append(Round(number, actions, game.payoff(actions)))
    return View(game, seat, "repetition", len(rounds) + 1, History(rounds))
