"""What every game offers: seats, what each of them may do, how a round is played, and what it pays.

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

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ostrom.games.formula import ClaimFormula, Formula

Profile = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Due:
    """A decision that is due: whose, at which stage of the round, among which options, and what the seat is told."""

    seat: int
    stage: str
    options: Options
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What this seat alone is told beside the rules: plain data for ``games/NAME_STAGE.txt``."""


@dataclass(frozen=True, slots=True)
class End:
    """How a round ended: what every seat is paid, what everybody learns of it, and what it leaves behind."""

    payoffs: Sequence[float]
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What everybody learns beside the moves: plain data for ``games/NAME_past.txt``."""
    state: Mapping[str, Any] = field(default_factory=dict)
    """What the next round begins with: plain data."""
    over: str | None = None
    """Why no further round can follow, in one word; None: the game can go on."""
    hidden: Mapping[str, Any] = field(default_factory=dict)
    """What nobody is told and analysis wants to know (the values of bidders): in the facts of the match."""


@dataclass(frozen=True, slots=True)
class Now:
    """Where a round begins: its number, what the round before left behind, and chance."""

    round: int = 1
    state: Mapping[str, Any] = field(default_factory=dict)
    chance: Callable[[int, str], float] = lambda seat, purpose: 0.5  # noqa: ARG005
    """A number in [0, 1) for a seat and a purpose; always the same in the same round of the same match."""
    known: Mapping[tuple[int, str], Value] = field(default_factory=dict)
    """What was drawn, where that is known already: by seat and purpose."""

    def draw(self, seat: int, purpose: str, amounts: Amounts) -> Value:
        """One of these amounts by chance, each alike. Tell it to a seat under the name of its purpose."""
        preset = self.known.get((seat, purpose))
        return amounts.value(int(self.chance(seat, purpose) * amounts.levels)) if preset is None else preset


Stages: TypeAlias = Generator[Sequence[Due], Sequence[Value], End]
Theory: TypeAlias = Callable[[int, str, Mapping[str, Any]], Value | None]
"""What theory says that a seat does at a stage, given what it is told; None where it says nothing."""


class Game:
    """Seats, actions and payoffs. Actions are indices into ``actions``, the names of what each seat may do.

    No abstract base class: ``isinstance`` is asked in every turn, and takes several times as long on one.
    """

    name: str
    actions: tuple[Options, ...]
    """What each seat may do: a tuple of names, or ``Amounts``, which is a sequence of names too."""
    cooperative: tuple[int | None, ...]
    defective: tuple[int | None, ...]
    roles: tuple[str, ...]
    title: str
    citation: str
    params: Mapping[str, Any]
    words: Words
    formula: Formula | ClaimFormula | None
    formerly: tuple[str, ...] = ()
    """What the actions of every seat were called before they were renamed: still understood, and the names of runs
    that were begun with them."""
    has_table: ClassVar[bool] = False
    """Whether all payoffs are in a table. A game without one is told in words of its own, rounds move by move."""
    payoffs: NDArray[np.float64]
    """The payoffs of all profiles; a game without a table refuses."""
    play: Callable[[Now], Stages]
    """Plays one round; pure."""
    stages: tuple[str, ...]
    """The stages of a round, in the order in which they first come. The one step of a game with a table has no name:
    such a game does not define them, and prompt files ask for that (``game.stages is defined``)."""
    stateful: bool = False
    """Whether a round leaves something behind for the next one."""
    theory: Theory | None = None
    """The benchmark: what rational players who care for their own payoff do; subgame perfect where moves are seen."""
    theory_payoffs: tuple[float, ...] = ()
    """What each seat is paid in a round that is played so, where that does not depend on chance or on the past."""

    @property
    def seats(self) -> int:
        """How many seats the game has."""
        return len(self.actions)

    @property
    def turns(self) -> int:
        """The most decisions of one round."""
        return self.seats

    @property
    def best_total(self) -> float | None:
        """The most that all seats together can be paid, round after round; None where nobody can say."""
        return None

    def begin(self, now: Now | None = None) -> Stages:
        """Start a round."""
        return self.play(Now() if now is None else now)

    def payoff(self, profile: Sequence[int]) -> tuple[float, ...]:
        """What each seat is paid at a profile of action indices."""
        raise NotImplementedError

    def stated_payoff(self, reader: int, profile: Sequence[int]) -> tuple[float, ...]:
        """What a seat is told that each is paid at a profile; nearly always what is paid."""
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
        """The profiles by the names of the actions, seat after seat: ``game.named["stag"]["hare"]``."""
        return Named(self)

    def index(self, seat: int, action: Value) -> int:
        """The index of what a seat did: an option by name, or an amount where it may name amounts."""
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
        """Whether a seat has an action of this name, or had before it was renamed."""
        return name in self.actions[seat] or name in self.formerly

    def as_journaled(self, questions: Iterable[str]) -> Game:  # noqa: ARG002
        """The game in the names in which the questions of a journal asked about it."""
        return self

    def value(self, seat: int, action: int) -> Value:
        """What an action stands for: the name of an option, or an amount."""
        options = self.actions[seat]
        if isinstance(options, Amounts) and action < options.levels:
            return options.value(action)
        return options[action]

    def named_actions(self, seat: int) -> tuple[str, ...]:
        """The names of a seat's actions; refused where they are amounts, which nobody lists."""
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
        """Whether an action is the cooperative one; None where the game defines none."""
        cooperative = self.cooperative[seat]
        return None if cooperative is None else action == cooperative

    def amount(self, seat: int, action: int) -> float | None:
        """The amount that an action stands for; None where it is no amount."""
        options = self.actions[seat]
        if not isinstance(options, Amounts) or action >= options.levels:
            return None
        return float(options.value(action))

    def _indices(self, what: str, given: tuple[int | None, ...]) -> tuple[int | None, ...]:
        if not given:
            return (None,) * len(self.actions)
        if len(given) != len(self.actions):
            raise GameError(f"game {self.name}: {what} names {len(given)} seats, the game has {self.seats}")
        given = tuple(given)
        for seat, (index, names) in enumerate(zip(given, self.actions, strict=True), 1):
            if index is not None and not (isinstance(index, int) and 0 <= index < len(names)):
                raise GameError(f"game {self.name}: {what} action of seat {seat} is {index}, not an action")
        return given


class Named(dict[str, Any]):
    """What the actions of one seat lead to: those of the next seat, and after the last seat the profile.

    Named actions become a profile in every turn of every match: following them from seat to seat takes a
    third of the time of making a tuple of their indices. A branch is made when it is first asked for.

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
