"""The game interface: seats, options, play of a round, and payoffs.

A round is a generator, as a mechanism is: it yields the turns that are due at the same time, receives what was done
(amounts as numbers, options by name), and returns how the round ended. There are two kinds of games. A ``TensorGame``
holds every payoff in a table (``has_table``) and has equilibria; its round is one step in which all decide. A
``FunctionGame`` computes payoffs by a rule, so that its actions may be amounts, its decisions may follow each other,
and a round may leave something behind for the next one. What needs the table asks for ``payoffs``, and is refused in
one line where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ostrom.games.amounts import Amounts, Options, Value
from ostrom.games.words import Words
from ostrom.ground.errors import GameError
from ostrom.ground.moved import FormerNames

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ostrom.games.formula import ClaimFormula, Formula

Profile = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Due:
    """A due decision: its seat, stage, options and facts for the seat."""

    seat: int
    stage: str
    options: Options
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Private facts for this seat besides the rules: plain data for ``games/NAME_STAGE.txt``."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of a round: payoffs, public facts, and state for the next round."""

    payoffs: Sequence[float]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Public facts besides the moves: plain data for ``games/NAME_past.txt``."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """The state at the start of the next round, as plain data."""
    over: str | None = None
    """Why no further round can follow, in one word; None if the game can continue."""
    hidden: Mapping[str, Any] = field(default_factory=dict)
    """Facts that nobody is told but analysis needs (such as bidders' values), stored in the match facts."""


@dataclass(frozen=True, slots=True)
class Now:
    """The start of a round: its number, the state left by the previous round, and random draws."""

    round: int = 1
    state: Mapping[str, Any] = field(default_factory=dict)
    chance: Callable[[int, str], float] = lambda seat, purpose: 0.5  # noqa: ARG005
    """Returns a number in [0, 1) for a seat and a purpose; fixed within a round of a match."""
    known: Mapping[tuple[int, str], Value] = field(default_factory=dict)
    """Known draws, by seat and purpose."""

    def draw(self, seat: int, purpose: str, amounts: Amounts) -> Value:
        """Return a uniformly drawn amount, or the known one; the fact that tells a seat of it is named ``purpose``."""
        preset = self.known.get((seat, purpose))
        return amounts.value(int(self.chance(seat, purpose) * amounts.levels)) if preset is None else preset


Stages: TypeAlias = Generator[Sequence[Due], Sequence[Value], End]
Theory: TypeAlias = Callable[[int, str, Mapping[str, Any]], Value | None]
"""The theoretical move of a seat at a stage, given its facts; None if theory is silent."""


class Game(FormerNames, former={"payoff_told": "stated_payoff"}):
    """Seats, actions and payoffs. Actions are indices into ``actions``, the names of each seat's options.

    It is no abstract base class, because ``isinstance`` runs in every turn and is several times slower on those.
    """

    name: str
    actions: tuple[Options, ...]
    """The options of each seat: a tuple of names, or ``Amounts``, which is a sequence of names too."""
    cooperative: tuple[int | None, ...]
    defective: tuple[int | None, ...]
    roles: tuple[str, ...]
    title: str
    citation: str
    params: Mapping[str, Any]
    words: Words
    formula: Formula | ClaimFormula | None
    formerly: tuple[str, ...] = ()
    """Former names of the actions of every seat: still accepted, and used by runs that were begun with them."""
    has_table: ClassVar[bool] = False
    """Whether all payoffs are in a table. A game without one has its own texts and is played move by move."""
    payoffs: NDArray[np.float64]
    """The payoffs of all profiles; refused for a game without a table."""
    play: Callable[[Now], Stages]
    """Plays one round; a pure generator function."""
    stages: tuple[str, ...]
    """The stages of a round, in the order in which they first come. The one step of a game with a table has no name:
    such a game does not define ``stages``, and prompt files test that (``game.stages is defined``)."""
    stateful: bool = False
    """Whether a round leaves state for the next one."""
    theory: Theory | None = None
    """The benchmark: moves of rational, selfish players; subgame perfect if moves are seen."""
    theory_payoffs: tuple[float, ...] = ()
    """The payoffs of a round with the moves of ``theory``, if they do not depend on chance or the past."""

    @property
    def seats(self) -> int:
        """The number of seats."""
        return len(self.actions)

    @property
    def turns(self) -> int:
        """The most decisions of one round."""
        return self.seats

    @property
    def best_total(self) -> float | None:
        """Return the largest possible total payoff of a round; None if unknown."""
        return None

    def begin(self, now: Now | None = None) -> Stages:
        """Start a round."""
        return self.play(Now() if now is None else now)

    def payoff(self, profile: Sequence[int]) -> tuple[float, ...]:
        """The payoff of each seat at a profile of action indices."""
        raise NotImplementedError

    def stated_payoff(self, reader: int, profile: Sequence[int]) -> tuple[float, ...]:
        """Return the payoffs that a seat is told; nearly always the actual ones."""
        raise NotImplementedError

    def profiles(self) -> Iterator[Profile]:
        """Every combination of actions, in order."""
        raise NotImplementedError

    def expected(self, mixtures: Sequence[Sequence[float]]) -> tuple[float, ...]:
        """Exact expected payoffs under independent mixed strategies, one per seat."""
        raise NotImplementedError

    @cached_property
    def _index(self) -> tuple[dict[str, int], ...]:
        return tuple({name: i for i, name in enumerate(names)} for names in self.actions)

    @cached_property
    def named(self) -> Named:
        """Return the profiles by action names, seat after seat: ``game.named["stag"]["hare"]``."""
        return Named(self)

    def index(self, seat: int, action: Value) -> int:
        """Return the index of a seat's move: an option by name, or an amount."""
        try:
            return self._index[seat][action]  # type: ignore[index]  # numbers are refused as unknown names are
        except KeyError:
            if action in self.formerly:
                return self.formerly.index(str(action))
            allowed = ", ".join(self.actions[seat])
            raise GameError(
                f"game {self.name}: seat {seat + 1} has no action {action!r} (allowed: {allowed})"
            ) from None

    def has_action(self, seat: int, name: str) -> bool:
        """Return whether a seat has an action of this name, or had before a renaming."""
        return name in self.actions[seat] or name in self.formerly

    def as_journaled(self, questions: Iterable[str]) -> Game:  # noqa: ARG002
        """Return the game with the action names of a journal's questions."""
        return self

    def value(self, seat: int, action: int) -> Value:
        """Return the meaning of an action: an option's name, or an amount."""
        options = self.actions[seat]
        return options.value(action) if isinstance(options, Amounts) and action < options.levels else options[action]

    def named_actions(self, seat: int) -> tuple[str, ...]:
        """Return the names of a seat's actions; refused for amounts, which are not enumerated."""
        options = self.actions[seat]
        if type(options) is not tuple:  # not isinstance: that takes several times as long on a Sequence
            raise GameError(
                f"game {self.name}: seat {seat + 1} names an amount, and a list of named actions is needed here"
            )
        return options

    def index_of(self, seat: int) -> Mapping[str, int]:
        """The indices of a seat's actions by name."""
        return self._index[seat]

    def cooperates(self, seat: int, action: int) -> bool | None:
        """Return whether an action is the cooperative one; None if the game defines none."""
        cooperative = self.cooperative[seat]
        return None if cooperative is None else action == cooperative

    def amount(self, seat: int, action: int) -> float | None:
        """Return the amount of an action; None if it is no amount."""
        options = self.actions[seat]
        return None if not isinstance(options, Amounts) or action >= options.levels else float(options.value(action))

    def _complete(self, **values: Any) -> None:
        """Set fields of the game while it is constructed, although it is frozen."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _refuse_if(self, wrong: object, problem: str) -> None:
        if wrong:
            raise GameError(f"game {self.name}: {problem}")

    def _indices(self, what: str, given: tuple[int | None, ...]) -> tuple[int | None, ...]:
        if not given:
            return (None,) * len(self.actions)
        self._refuse_if(len(given) != len(self.actions), f"{what} names {len(given)} seats, the game has {self.seats}")
        given = tuple(given)
        for seat, (index, names) in enumerate(zip(given, self.actions, strict=True), 1):
            self._refuse_if(
                index is not None and not (isinstance(index, int) and 0 <= index < len(names)),
                f"{what} action of seat {seat} is {index}, not an action",
            )
        return given


class Named(dict[str, Any]):
    """A nested dict: the action names of all seats, one level per seat, lead to the tuple of action indices.

    Every turn of every match converts action names to a profile. This lookup takes a third of the time of
    building the tuple from indices. An inner dict is created at its first use.

    >>> from ostrom.games import build_game
    >>> Named(build_game("prisoners_dilemma"))["cooperate"]["defect"]
    (0, 1)
    """

    def __init__(self, game: Game, before: tuple[int, ...] = ()) -> None:
        super().__init__()
        self.game, self.before = game, before

    def __missing__(self, action: str) -> Any:
        profile = (*self.before, self.game.index(len(self.before), action))
        self[action] = entry = profile if len(profile) == self.game.seats else Named(self.game, profile)
        return entry
