"""Strategies: pure functions from the past to the chance of cooperating.

A strategy never touches a random generator and carries nothing from match to match: what it answers depends
on the past it is shown and on nothing else. The agent that plays it draws from the odds it states.
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
"""The number of co-players that may defect in a round that counts as cooperative."""
UNBOUNDED = float("inf")
"""The memory depth of a strategy that may look at every round."""


class Strategy(ABC):
    """A strategy. The first line of its docstring is the rule for readers."""

    name: str
    """The name of the strategy; by default that of its file."""
    title: ClassVar[str]
    citation: ClassVar[str]
    memory_depth: float
    """The number of last rounds that the move depends on."""
    stochastic: bool = False
    """Whether some move is random."""
    needs_cooperation: bool = True
    """Whether the game must define a cooperative action."""
    games_of_two: ClassVar[bool] = False
    """Whether the strategy only works with one co-player."""
    about_amounts: ClassVar[bool] = False
    """Whether the strategy is about amounts, so that it needs a game of amounts."""
    tolerance: int = 0
    fixed_rounds: int = 0
    """The number of first rounds whose moves are fixed beforehand, so that a study can be checked against them; 0 if
    moves depend on the past."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "name" not in vars(cls):
            cls.name = cls.__module__.rpartition(".")[2]
        cls._by_move = cls.mix is Strategy.mix and cls.odds is Strategy.odds
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
        # Called in every round: what depends on the game alone is checked once.
        if past is not self._fitted:
            self._fit(past.game, past.seat)
            self._fitted = past
        return self._odds_at(past, self.move(past))

    def _odds_at(self, past: Past, p: float) -> tuple[float, ...]:
        """Return the odds of each action for a chance p of cooperating."""
        if p not in self._pure and not 0.0 < p < 1.0:
            raise StudyError(f"strategy {self.name} states a chance of cooperating outside 0 to 1", actual=p)
        return self._pure.get(p) or self._cd_odds(past.game, past.seat, p)

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:
        """Return the move in a game by a rule: an amount, an option, odds, or None for even odds.

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

    @property
    def fitted(self) -> Past | None:
        """Return the past of the game that was checked last, if the chance of cooperating after it says all."""
        return self._fitted if self._by_move else None

    _past: Past | None = None
    _fitted: Past | None = None
    _pure: Mapping[float, tuple[float, ...]] = {}
    _by_move: ClassVar[bool]
    """Whether ``odds`` follow from ``move`` alone."""

    def _fit(self, game: Game, seat: int) -> None:
        """Refuse an unsuitable game; prepare the odds of certain moves."""
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
        """Return the odds for a view; ``rounds`` replaces its history if memory shows others."""
        past = self._past
        if past is None or view.game is not past.game or view.seat != past.seat:
            past = self._past = Past(view, rounds, self.tolerance)
        else:
            past.view, past.rounds = view, view.history.played_rounds() if rounds is None else rounds
        return tuple(self.mix(past))

    def forget(self) -> None:  # noqa: B027
        """Clear caches; answers do not change."""

    def automaton(self, game: Game, seat: int = 0) -> Automaton | None:
        """Return the strategy as an automaton, for two seats with two actions each; None otherwise."""
        if not _plain_dilemma(game) or self.memory_depth > _LONGEST:
            return None
        c = game.cooperative[seat]
        assert c is not None

        def cooperate(pairs: tuple[tuple[bool, bool], ...]) -> float:
            return float(self.odds(_view(game, seat, pairs))[c])

        return remember(int(self.memory_depth), cooperate)


class Reciprocator(Strategy):
    """A strategy that reacts to the others' actions.

    With several co-players the natural version counts a round as cooperative if all of them cooperated, or
    all but ``tolerance``.
    """

    @checked
    def __init__(self, *, tolerance: Tolerance = 0) -> None:
        self.tolerance = tolerance


def clamped(form: Form, value: Value) -> Value:
    """Return the nearest allowed amount; an option unchanged."""
    return form.amounts.nearest(value) if isinstance(form, Number) and not isinstance(value, str) else value


S = TypeVar("S", bound=Hashable)


class Machine(Reciprocator, Generic[S]):
    """A strategy with a state updated round by round: fast for long histories."""

    memory_depth = UNBOUNDED
    initial: S

    @abstractmethod
    def step(self, state: S, own: bool, others: bool) -> S:
        """Return the state after a round, given whether this seat and the others cooperated."""

    @abstractmethod
    def cooperate(self, state: S) -> float:
        """The chance of cooperating in a state."""

    # The state after the last processed rounds, with the first and last of them to recognise the match.
    _memo: tuple[S, int, Round | None, Round | None, int] | None = None

    def move(self, past: Past) -> float:
        """Process the rounds since the last call, or all of them if the past is another one."""
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
        """Process from the start next time."""
        self._memo = None

    def automaton(self, game: Game, seat: int = 0) -> Automaton | None:  # noqa: ARG002
        """Return the automaton over the reachable states."""
        return explore(self.initial, self.step, self.cooperate) if _plain_dilemma(game) else None


_LONGEST = 4


def _plain_dilemma(game: Game) -> bool:
    return game.seats == 2 and all(len(names) == 2 for names in game.actions) and None not in game.cooperative


def _view(game: Game, seat: int, pairs: Sequence[tuple[bool, bool]]) -> View:
    """Return a view whose history has these (own, other) moves, True for cooperation."""
    by_seat = [pair if seat == 0 else pair[::-1] for pair in pairs]
    choices = [(c, d) for c, d in zip(game.cooperative, game.defective, strict=True) if c is not None and d is not None]
    moves = [
        tuple(c if cooperates else d for (c, d), cooperates in zip(choices, pair, strict=True)) for pair in by_seat
    ]
    rounds = [Round(number, actions, game.payoff(actions)) for number, actions in enumerate(moves, 1)]
    return View(game, seat, "repetition", len(rounds) + 1, History(rounds))
