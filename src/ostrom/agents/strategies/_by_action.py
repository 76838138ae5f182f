"""Strategies about actions rather than cooperation: they work in every game."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar

from ostrom.agents.past import Past
from ostrom.agents.strategy import UNBOUNDED, Strategy
from ostrom.answers import Form
from ostrom.games.amounts import Value
from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import Share, checked


class ByAction(Strategy):
    """A strategy that names one action for certain."""

    needs_cooperation = False

    @abstractmethod
    def action(self, past: Past) -> int:
        """The index of the action to play after this past."""

    def mix(self, past: Past) -> Sequence[float]:
        """Return odds of 1 for the named action and 0 for all others."""
        return pure(past.game, past.seat, self.action(past))

    def move(self, past: Past) -> float:
        """Return 1 if the named action is the cooperative one, else 0."""
        return float(self.action(past) == past.game.cooperative[past.seat])


def action_index(game: Game, seat: int, action: str | float, strategy: str) -> int:
    """Return the action of that name or, without one, of that index (from 0)."""
    names = game.actions[seat]
    if game.has_action(seat, str(action)):
        return game.index(seat, str(action))
    if isinstance(action, int) and 0 <= action < len(names):
        return action
    raise StudyError(
        f"strategy {strategy}: seat {seat + 1} of game {game.name} has no such action", actual=action, allowed=names
    )


def at_stage(given: Mapping[str, Any], past: Past, strategy: str) -> Any:
    """Return the entry of the current stage in a parameter that maps stages to moves.

    The parameter may name stages of the study's other games too.
    """
    stage = past.view.facts.get("stage", "")
    if stage not in given:
        raise StudyError(
            f"strategy {strategy}: has no action for the stage {stage!r} of game {past.game.name}", actual=dict(given)
        )
    return given[stage]


def favourite(game: Game, seat: int, beneficiary: int) -> int:
    """Return ``seat``'s action in the outcome that pays ``beneficiary`` most; the first among equals."""
    return max(game.profiles(), key=lambda profile: game.payoff(profile)[beneficiary])[seat]


def pure(game: Game, seat: int, action: int) -> tuple[float, ...]:
    """The odds of playing one action for certain."""
    return _certain(len(game.actions[seat]), action)


@lru_cache(maxsize=1024)
def _certain(count: int, action: int) -> tuple[float, ...]:
    return tuple(float(i == action) for i in range(count))


class Alternator(ByAction):
    """Change the action every round, by default from cooperation or else from the other's favourite.

    ``start`` is ``own`` (the own favourite), ``other`` (that of the next player by seat) or an action. With
    more than two actions it goes through them in order. A slip of the hand shifts the pattern.
    """

    name = "alternator"
    title: ClassVar[str] = "Alternator"
    citation: ClassVar[str] = "Akata et al. (2025)"
    memory_depth = 1

    @checked
    def __init__(self, start: str | int | None = None) -> None:
        self.start = start

    def action(self, past: Past) -> int:
        """Return the next action after the own last one; at first the one that ``start`` says."""
        if past.rounds:
            return (past.own_action(-1) + 1) % len(past.game.actions[past.seat])
        game, seat = past.game, past.seat
        cooperative = game.cooperative[seat]
        if self.start is None and cooperative is not None:
            return cooperative
        if self.start == "own":
            return favourite(game, seat, seat)
        if self.start is None or self.start == "other":
            return favourite(game, seat, (seat + 1) % game.seats)
        return action_index(game, seat, self.start, self.name)


class Favourite(ByAction):
    """Play the action that belongs to the own best outcome; the first listed among equals."""

    name = "favourite"
    title: ClassVar[str] = "Favourite"
    citation: ClassVar[str] = "Luce and Raiffa (1957)"
    memory_depth = 0

    def action(self, past: Past) -> int:
        """Return the action of this seat in the outcome that pays it most."""
        return favourite(past.game, past.seat, past.seat)


class Constant(ByAction):
    """Play one action always, given by its name or its index (a name goes before an index).

    Where actions are amounts it is the amount; where a round has stages, there may be one action for each
    (``{offer: 40, reply: accept}``).
    """

    name = "constant"
    title: ClassVar[str] = "Constant"
    citation: ClassVar[str] = "Akata et al. (2025)"
    memory_depth = 0
    fixed_rounds = 1

    @checked
    def __init__(self, action: str | float | Mapping[str, str | float]) -> None:
        self.given = action

    def action(self, past: Past) -> int:
        """The index of the action that the parameter names."""
        if isinstance(self.given, Mapping) or (isinstance(self.given, float) and not self.given.is_integer()):
            raise StudyError(f"strategy {self.name}: game {past.game.name} has named actions", actual=self.given)
        action = int(self.given) if isinstance(self.given, float) else self.given
        return action_index(past.game, past.seat, action, self.name)

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:  # noqa: ARG002
        """Return the given amount or option, by stage if there are several."""
        return at_stage(self.given, past, self.name) if isinstance(self.given, Mapping) else self.given


class Script(ByAction):
    """Play given moves one after the other, by name or by index, whatever the others do; then the last one again.

    Moves count rounds: a round that asks several times gets the same move each time. Where a round has stages, there
    may be a list for each (``{offer: [40, 50], reply: [accept, reject]}``).
    """

    name = "script"
    title: ClassVar[str] = "Script"
    citation: ClassVar[str] = "Akata et al. (2025)"
    memory_depth = UNBOUNDED

    def __init__(self, moves: Sequence[str | float] | Mapping[str, Sequence[str | float]] = (0, 1, 0, 0, 1)) -> None:
        self.moves = {
            stage: _listed(listing)
            for stage, listing in (moves.items() if isinstance(moves, Mapping) else [("", moves)])
        }
        self.by_stage = isinstance(moves, Mapping)
        self.fixed_rounds = max(map(len, self.moves.values()), default=0)
        if not self.fixed_rounds:
            raise ValueError(f"moves must be a list of actions, found {moves!r}")

    def action(self, past: Past) -> int:
        """The move of this round."""
        if self.by_stage:
            raise StudyError(
                f"strategy {self.name}: game {past.game.name} has named actions and no stages", actual=self.moves
            )
        move = self.choose(past)
        return action_index(past.game, past.seat, int(move) if isinstance(move, float) else move, self.name)

    def choose(self, past: Past, form: Form | None = None) -> Value:  # noqa: ARG002
        """Return the move of this round, an amount or an option, by stage if given so."""
        moves = at_stage(self.moves, past, self.name) if self.by_stage else self.moves[""]
        move: Value = moves[min(len(past), len(moves) - 1)]
        return move


def _listed(moves: Sequence[str | float]) -> tuple[str | float, ...]:
    listing = [moves] if isinstance(moves, str | int | float) else list(moves)
    if not listing or not all(isinstance(m, str | int | float) and not isinstance(m, bool) for m in listing):
        raise ValueError(f"moves must be a list of actions, found {moves!r}")
    return tuple(listing)


class Random(Strategy):
    """Cooperate with chance p; without p, play every action with equal chance, in any game."""

    name = "random"
    title: ClassVar[str] = "Random"
    citation: ClassVar[str] = "Axelrod (1980)"
    memory_depth = 0
    stochastic = True

    @checked
    def __init__(self, p: Share | None = None) -> None:
        self.p = None if p is None else float(p)
        self.needs_cooperation = self.p is not None
        self.stochastic = self.p is None or 0 < self.p < 1

    def move(self, past: Past) -> float:
        """The chance of cooperating, whatever the past."""
        return 1 / len(past.game.actions[past.seat]) if self.p is None else self.p

    def mix(self, past: Past) -> Sequence[float]:
        """Equal odds, or those of cooperating and defecting where p is given."""
        if self.p is not None:
            return super().mix(past)
        actions = len(past.game.actions[past.seat])
        return (1 / actions,) * actions

    def choose(self, past: Past, form: Form) -> Value | Mapping[Value, float] | None:
        """In a game by a rule, return even odds (None) without p, else those of cooperating and defecting."""
        return None if self.p is None else super().choose(past, form)
