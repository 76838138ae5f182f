"""A window of fixed length whose older part is made up (Liu et al. 2026).

The window always has ``window`` rounds: the ``real`` most recent real ones at the end, made-up ones before
them, also in place of real rounds that have not been played yet. Play goes on underneath as it is; only what
is shown changes.

Numbers do not give the made-up rounds away. A made-up round bears the number of the round it stands for.
While fewer than ``window`` rounds have been played the match pretends to have begun earlier: the window is
numbered 1 to ``window`` and the round to come follows it. Once that many have been played all numbers are the
true ones, so that ``real`` equal to ``window`` is then the plain window.

Mode *ideal*: everybody cooperates. Mode *polar*: the combination of actions of a real round, drawn from those
played so far, each action pushed to the nearer end of the scale (the exact middle falls to either side). The
made-up version of a real round is drawn once, from the rounds played when it left the real part, and stays
the same in every later prompt. Rounds before the match have no such moment: each keeps its own random number,
which points into the rounds played so far, and moves with them. Before the first round nothing has been
played, and a combination is drawn evenly among all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

import numpy as np

from ostrom.games.game import Game
from ostrom.mechanisms.protocol import Round, View
from ostrom.memory.base import Draw, Memory, Note, Shown
from ostrom.memory.parameters import no_cooperation, one_of, whole


class Sanitized(Memory):
    """Show ``window`` rounds of which only the ``real`` most recent are real; ``mode`` is ideal or polar."""

    name: ClassVar[str] = "sanitized"

    def __init__(self, mode: str = "ideal", real: int = 2, window: int = 80) -> None:
        self.mode = one_of("mode", mode, ("ideal", "polar"))
        self.window = whole("window", window, least=1)
        self.real = whole("real", real, least=0, most=window)

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> Shown:  # noqa: ARG002
        """Made-up rounds, then real ones, always as many as the window has."""
        history = view.history
        played = len(history)
        first = history[0].number if played else view.round
        positions = range(played - self.window, played)
        before = max(0, self.window - played - first + 1)
        rounds = []
        for i in positions:
            number = history[i].number if i >= 0 else first + i
            if i >= 0 and i >= played - self.real:
                rounds.append(replace(history[i], number=number + before) if before else history[i])
                continue
            actions = self._made_up(view, i, draw)
            rounds.append(Round(number + before, actions, view.game.payoff(actions)))
        return Shown(rounds, span=self.window, before=before)

    def _made_up(self, view: View, i: int, draw: Draw) -> tuple[int, ...]:
        if self.mode == "ideal":
            return tuple(c for c in view.game.cooperative if c is not None)
        rng = draw(view.history[i].number, "polar") if i >= 0 else draw(0, f"polar{i}")
        known = len(view.history) if i < 0 else i + self.real + 1
        played: Sequence[Round] = view.history
        if view.history.gaps:
            played = [r for r in view.history[:known] if not r.void]
            known = len(played)
        u = rng.random()
        if known:
            drawn: Sequence[int] = played[int(u * known)].actions
        else:
            drawn = [int(rng.integers(len(names))) for names in view.game.actions]
        return tuple(
            _pushed(action, len(names), rng) for action, names in zip(drawn, view.game.actions, strict=True)
        )

    def lacks(self, game: Game) -> str | None:
        """Ideal rounds need cooperative actions; polar ones a scale with cooperation at one of its ends."""
        if self.mode == "ideal":
            return no_cooperation(game)
        for c, names in zip(game.cooperative, game.actions, strict=True):
            if len(names) > 2 and c not in (0, len(names) - 1):
                return f"the actions of game {game.name} are not a scale that ends with the cooperative one"
        return None

    def most_lines(self, rounds: int) -> int:  # noqa: ARG002
        """Always the whole window."""
        return self.window


def _pushed(action: int, count: int, rng: np.random.Generator) -> int:
    """The nearer end of a scale of so many actions.

    >>> [_pushed(a, 4, np.random.default_rng(0)) for a in range(4)]
    [0, 0, 3, 3]
    """
    last = count - 1
    if 2 * action == last and last:
        return last * int(rng.integers(2))
    return 0 if 2 * action < last else last


MEMORY = Sanitized
