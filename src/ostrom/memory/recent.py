"""Memories of what happened: all rounds, recent ones, some of them, or counts."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from ostrom.games.game import Game
from ostrom.ground.parameters import Count, Ge, Share, checked
from ostrom.mechanisms.protocol import Round, View
from ostrom.memory.base import Draw, Frequency, Memory, MemoryView, Note, no_cooperation


class Full(Memory):
    """Show every round played so far."""

    name: ClassVar[str] = "full"

    @property
    def grows(self) -> bool:
        """Return True: every round that was shown stays."""
        return True

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """The whole history."""
        return MemoryView(view.history)


class Window(Memory):
    """Show the ``k`` most recent rounds; ``window:0`` shows nothing (Liu et al. 2026)."""

    name: ClassVar[str] = "window"

    @checked
    def __init__(self, k: Annotated[int, Ge(0)]) -> None:
        self.k = k

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """The last k rounds of the history."""
        return MemoryView(view.history[-self.k :] if self.k else (), span=self.k)

    def most_lines(self, rounds: int) -> int:
        """Return ``k``, or the number of rounds played if that is smaller."""
        return min(rounds, self.k)


class Forgetting(Memory):
    """Forget past rounds by chance, each for itself and for good.

    Mode *drop*: a round is forgotten at once with chance ``rate``, or never. Mode *decay*: in every round
    that goes by it is forgotten with chance ``rate``, so that after a rounds it is still there with chance
    (1 - rate) ** a. Every round has one random number per player that settles when it goes, which is why
    nothing that was forgotten comes back. Of the rounds that are left the ``most`` recent ones are shown.
    """

    name: ClassVar[str] = "forgetting"

    @checked
    def __init__(self, rate: Share = 0.1, mode: Literal["drop", "decay"] = "decay", most: Count | None = None) -> None:
        self.rate, self.mode, self.most = float(rate), mode, most

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return the rounds that are not forgotten."""
        played = len(view.history)
        rounds = [r for i, r in enumerate(view.history) if draw(r.number, "forget").random() >= self.gone(played - i)]
        return MemoryView(rounds[-self.most :] if self.most else rounds, gaps=True)

    def most_lines(self, rounds: int) -> int:
        """Return the number of rounds played, or ``most`` if that is smaller."""
        return min(rounds, self.most or rounds)

    def gone(self, age: int) -> float:
        """The chance that a round is forgotten when it is ``age`` rounds old (the last one is 1 old).

        >>> Forgetting(0.5, "decay").gone(2), Forgetting(0.5, "drop").gone(2)
        (0.75, 0.5)
        """
        return self.rate if self.mode == "drop" else 1.0 - (1.0 - self.rate) ** age


class Forgiving(Memory):
    """Show everything but the defections that are older than ``m`` rounds.

    A round is a defection if someone did not play the cooperative action: one of the co-players
    (``whose``: others), or anybody, oneself included (``whose``: anyone). The last round is 1 round old, so
    ``forgiving:0`` never shows a defection. Of what is left the ``most`` recent rounds are shown.
    """

    name: ClassVar[str] = "forgiving"

    @checked
    def __init__(
        self, m: Annotated[int, Ge(0)] = 5, whose: Literal["others", "anyone"] = "others", most: Count | None = None
    ) -> None:
        self.m, self.whose, self.most = m, whose, most

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return all recent rounds, and older ones without a defection."""
        recent = len(view.history) - self.m
        rounds = [r for i, r in enumerate(view.history) if i >= recent or not self._defection(view, r)]
        return MemoryView(rounds[-self.most :] if self.most else rounds, gaps=True)

    def most_lines(self, rounds: int) -> int:
        """Return the number of rounds played, or ``most`` if that is smaller."""
        return min(rounds, self.most or rounds)

    def _defection(self, view: View, played: Round) -> bool:
        return any(
            action != view.game.cooperative[seat]
            for seat, action in enumerate(played.actions)
            if seat != view.seat or self.whose == "anyone"
        )

    def unsupported(self, game: Game) -> str | None:
        """Return that a seat of the game has no cooperative action, in words; None if all have one."""
        return no_cooperation(game)


class TallyMemory(Memory):
    """Show counts instead of rounds.

    ``of`` combinations: how often each combination of everybody's actions came about. ``of`` players: how
    often each player, oneself first, took each action. What never happened is not listed. Rounds that are void
    because somebody missed them come first, as a count without actions.
    """

    name: ClassVar[str] = "tally"
    readers = frozenset({"model", "person"})

    @checked
    def __init__(self, of: Literal["combinations", "players"] = "combinations") -> None:
        self.of = of

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return counts in the order of the actions; for players, self first, then by seat."""
        profiles = Counter(r.actions for r in view.history)
        if self.of == "combinations":
            return MemoryView(counts=[Frequency(actions, times) for actions, times in sorted(profiles.items())])
        seats = view.game.seats
        counts = [Frequency((), void)] if (void := profiles.pop((), 0)) else []
        for seat in sorted(range(seats), key=lambda s: (s != view.seat, s)):
            tally: Counter[int] = Counter()
            for actions, times in profiles.items():
                tally[actions[seat]] += times
            for action, times in sorted(tally.items()):
                counts.append(Frequency(tuple(action if s == seat else None for s in range(seats)), times))
        return MemoryView(counts=counts)
