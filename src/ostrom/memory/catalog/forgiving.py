"""Old defections are let go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

from ostrom.games.game import Game
from ostrom.ground.parameters import Count, Ge, checked
from ostrom.mechanisms.protocol import Round, View
from ostrom.memory.base import Draw, Memory, Note, Shown, no_cooperation


class Forgiving(Memory):
    """Show everything but the defections that are older than ``m`` rounds.

    A round is a defection if someone did not play the cooperative action: one of the co-players
    (``whose``: others), or anybody, oneself included (``whose``: anyone). The last round is 1 round old, so
    ``forgiving:0`` never shows a defection. Of what is left the ``most`` recent rounds are shown.
    """

    name: ClassVar[str] = "forgiving"

    @checked
    def __init__(
        self,
        m: Annotated[int, Ge(0)] = 5,
        whose: Literal["others", "anyone"] = "others",
        most: Count | None = None,
    ) -> None:
        self.m, self.whose, self.most = m, whose, most

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> Shown:  # noqa: ARG002
        """All recent rounds, and of the older ones those without a defection."""
        recent = len(view.history) - self.m
        kept = [r for i, r in enumerate(view.history) if i >= recent or not self._defection(view, r)]
        return Shown(kept[-self.most :] if self.most else kept, gaps=True)

    def most_lines(self, rounds: int) -> int:
        """All of them, up to the limit."""
        return min(rounds, self.most or rounds)

    def _defection(self, view: View, played: Round) -> bool:
        return any(
            action != view.game.cooperative[seat]
            for seat, action in enumerate(played.actions)
            if seat != view.seat or self.whose == "anyone"
        )

    def lacks(self, game: Game) -> str | None:
        """Speaks of cooperation."""
        return no_cooperation(game)


MEMORY = Forgiving
