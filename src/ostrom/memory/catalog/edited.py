"""Another memory with one round removed or changed, for counterfactual decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from ostrom.games.game import Game
from ostrom.ground.errors import StudyError
from ostrom.ground.parameters import Count, checked
from ostrom.mechanisms.protocol import Round, View
from ostrom.mechanisms.rounds import otherwise
from ostrom.memory.base import Draw, Memory, MemoryView, Note, NoteDue


class Edited(Memory):
    """Show what the memory ``of`` shows, except for one round.

    ``back`` says which: 1 is the last round shown, 2 the one before. Edit *drop* leaves it out. Edit *flip*
    shows it as if ``seat`` had played otherwise, with the payoffs that follow: the defective action in place
    of the cooperative one, the cooperative action in place of any other; in a game by a rule the end of the range that
    lies further away, or the next option.
    """

    name: ClassVar[str] = "edited"

    @checked
    def __init__(
        self,
        of: str | Mapping[str, Any],
        back: Count,
        edit: Literal["drop", "flip"] = "drop",
        seat: Count | None = None,
    ) -> None:
        from ostrom.memory import memories

        self.inner = memories.build(of, key="of")
        self.back, self.seat = back, seat
        if (seat is None) != (edit == "drop"):
            raise ValueError("seat belongs to edit=flip and to nothing else")
        self.readers = self.inner.readers
        self.asks, self.note_form = self.inner.asks, self.inner.note_form

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:
        """Return the rounds with one removed or changed; unchanged if there are fewer."""
        memory = self.inner.show(view, draw, notes)
        rounds = list(memory.rounds)
        if self.back > len(rounds):
            return memory
        place = len(rounds) - self.back
        if self.seat is None:
            del rounds[place]
        else:
            rounds[place] = flipped(view.game, rounds[place], self.seat - 1)
        return replace(memory, rounds=rounds)

    def due(self, view: View, notes: Sequence[Note]) -> NoteDue | None:
        """Return the note of the inner memory; None if there is none."""
        return self.inner.due(view, notes)

    @property
    def takes_notes(self) -> bool:
        """Whether the inner memory takes notes."""
        return self.inner.takes_notes

    @property
    def invents(self) -> bool:
        """Return whether the inner memory shows invented rounds; a flipped round does not count."""
        return self.inner.invents

    def unsupported(self, game: Game) -> str | None:
        """Return what the game lacks for this memory: a seat, an action to flip to, or what the inner memory needs."""
        if self.seat is not None:
            if self.seat > game.seats:
                return f"game {game.name} has seats 1 to {game.seats}"
            if (lacking := no_flip(game, self.seat - 1)) is not None:
                return lacking
        return self.inner.unsupported(game)

    def most_lines(self, rounds: int) -> int:
        """An upper bound of the rounds that the inner memory shows."""
        return self.inner.most_lines(rounds)

    def most_notes(self, rounds: int) -> int:
        """Return the number of notes of the inner memory over a match."""
        return self.inner.most_notes(rounds)


def no_flip(game: Game, seat: int) -> str | None:
    """Return why no round can be shown with a seat's action flipped; None if it can."""
    if not game.has_table:
        return f"rounds of game {game.name} follow from each other" if game.stateful else None
    return (
        f"game {game.name} does not say what cooperating and defecting are for seat {seat + 1}"
        if game.cooperative[seat] is None or game.defective[seat] is None
        else None
    )


def flipped(game: Game, played: Round, seat: int) -> Round:
    """Return the round as if a seat had cooperated instead of defecting, or the reverse.

    In a game by a rule, as if it had made another move (``otherwise``).

    >>> from ostrom.games import build_game
    >>> pd = build_game("prisoners_dilemma")
    >>> flipped(pd, Round(1, (0, 0), pd.payoff((0, 0))), 1).actions
    (0, 1)
    """
    if played.void:
        raise StudyError(f"round {played.number} was missed and has no actions, so it cannot be flipped")
    if not game.has_table:
        if (other := otherwise(game, played, seat)) is None:
            raise StudyError(
                f"round {played.number} of game {game.name} cannot be flipped for seat {seat + 1}: nobody can say what "
                "would have followed"
            )
        return other
    c, d = game.cooperative[seat], game.defective[seat]
    assert c is not None and d is not None
    if played.payoffs != game.payoff(played.actions):
        raise StudyError(
            f"round {played.number} did not pay what game {game.name} pays by itself, so it cannot be flipped"
        )
    actions = list(played.actions)
    actions[seat] = d if actions[seat] == c else c
    return replace(played, actions=tuple(actions), payoffs=game.payoff(actions), expected=None)


MEMORY = Edited
