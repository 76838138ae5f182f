"""The protocol of matches: rounds, views, decisions and outcomes.

A mechanism is a generator. It yields the decisions that are due at the same time and receives their answers,
in the same order. It is pure: no I/O, no clock, no randomness but the streams it is given.
"""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeAlias, overload

from ostrom.answers import Answer, Form
from ostrom.games.game import Game
from ostrom.ground.values import value

NOTHING: Mapping[str, Any] = MappingProxyType({})


@value
class Round:
    """One finished round. ``players[s]`` is the player at seat s; actions and payoffs are by seat.

    A round that was voided because somebody missed it has no actions and pays 0 to every seat. So has the round of a
    player who meets nobody (``unmet``), and one that an early end of the game took away (``unplayed``).
    """

    number: int
    actions: tuple[int, ...]
    payoffs: tuple[float, ...]
    players: tuple[int, ...] = ()
    expected: tuple[float, ...] | None = None
    """Exact expected payoffs, if all odds are known."""
    facts: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    missed: tuple[int, ...] = ()
    """The seats that did not answer in time."""
    what: tuple[str, ...] = ()
    """By seat the kind of its action (``settlement.WHATS``), if it does not follow from the moves."""
    paid: tuple[float, ...] = ()
    """By seat the part of the payoff from agreements or fines, if the rules have such payments."""

    @property
    def void(self) -> bool:
        """Whether the round does not count as played."""
        return not self.actions

    @property
    def unplayed(self) -> bool:
        """Return whether the game ended before this round: it pays nothing, but counts in the score."""
        return not self.actions and bool(self.what) and set(self.what) == {"not reached"}


class History(Sequence[Round]):
    """The finished rounds, oldest first: a cheap snapshot of a growing list."""

    __slots__ = ("_length", "_rounds", "gaps")

    def __init__(self, rounds: list[Round], length: int | None = None, gaps: bool = False) -> None:
        self._rounds = rounds
        """The growing list; only its first ``length`` rounds belong to this history."""
        self._length = len(rounds) if length is None else length
        self.gaps = gaps
        """Whether some of the rounds are void."""

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Round: ...
    @overload
    def __getitem__(self, index: slice) -> list[Round]: ...
    def __getitem__(self, index: int | slice) -> Round | list[Round]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._length)
            return self._rounds[start:stop:step] if step > 0 else [self._rounds[i] for i in range(start, stop, step)]
        if index < 0:
            index += self._length
        if 0 <= index < self._length:
            return self._rounds[index]
        raise IndexError("round out of range")

    def played_rounds(self) -> list[Round]:
        """Return the played rounds as a list for immediate reading; void ones are left out.

        It is a copy only if the match has gone on or has void rounds.
        """
        rounds = self._rounds
        if self.gaps:
            return [played for played in self if played.actions]
        return rounds if len(rounds) == self._length else rounds[: self._length]

    def __iter__(self) -> Iterator[Round]:
        return islice(self._rounds, self._length)


EMPTY = History([])


@value
class View:
    """What one seat may know when it decides, as structured data."""

    game: Game
    seat: int
    mechanism: str
    round: int = 1
    history: History = EMPTY
    facts: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    """Facts for this seat (horizon, continuation, contract in force, ...), as plain data."""
    names: tuple[str, ...] = ()
    """Pseudonyms of the seats, if players have any; otherwise seats are numbered."""


@value
class Decision:
    """One question to one player, with its view and the form of a valid answer."""

    player: int
    kind: str
    view: View
    form: Form
    agent: int | None = None
    """The player whose agent answers, if it is not the player's own (adopted strategies)."""


@value
class Outcome:
    """The end of a match: its rounds, one score per player, and facts.

    Every player has exactly one place in each round of its match, and its payoffs, weighted as the mechanism states
    (``Mechanism.weights``), sum to its score.
    """

    rounds: Sequence[Round]
    scores: tuple[float, ...]
    facts: Mapping[str, Any] = field(default_factory=lambda: NOTHING)

    @property
    def played(self) -> list[Round]:
        """Return the rounds that took place, without those after an early end."""
        return [played for played in self.rounds if not played.unplayed]


Play: TypeAlias = Generator[list[Decision], Sequence[Answer], Outcome]
RoundPlay: TypeAlias = Generator[list[Decision], Sequence[Answer], Round]
