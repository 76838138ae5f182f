"""A window of fixed length whose older part is invented (Liu et al. 2026).

The window always has ``window`` rounds: the ``real`` most recent real ones at the end, made-up ones before
them, also in place of real rounds that have not been played yet. Play goes on underneath as it is; only what
is shown changes.

Numbers do not give the made-up rounds away. A made-up round bears the number of the round it stands for.
While fewer than ``window`` rounds have been played the match pretends to have begun earlier: the window is
numbered 1 to ``window`` and the round to come follows it. Once that many have been played all numbers are the
true ones. With ``real`` equal to ``window`` nothing is made up: that is the plain window, from the first round on.

Mode *ideal*: everybody cooperates. Mode *polar*: a combination of actions, each pushed to the nearer end of the
scale (the exact middle falls to either side). It is drawn from ``shares``, how often every combination was played
in a baseline; a study file may write ``from: RUN`` and gets the shares of the same agent, style and game with a plain
window of the same length in that run. The made-up version of a round is drawn once and stays the same in every later
prompt.

Without shares polar rounds mirror the match itself: the combination of a real round, drawn from those played when the
made-up round left the real part. Rounds before the match have no such moment: each keeps its own random number,
which points into the rounds played so far, and moves with them. Before the first round nothing has been
played, and a combination is drawn evenly among all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ostrom.games.game import Game
from ostrom.ground.parameters import Count, Ge, checked
from ostrom.mechanisms.protocol import Round, View
from ostrom.memory.base import Draw, Memory, MemoryView, Note, no_cooperation

if TYPE_CHECKING:
    import numpy as np


class Sanitized(Memory):
    """Show ``window`` rounds of which only the ``real`` most recent are real; ``mode`` is ideal or polar.

    ``shares`` (polar alone) maps combinations of actions by seat to how often they occur: ``{"trust, trust":
    0.7, "betray, betray": 0.3}``, or games by name to such mappings.
    """

    name: ClassVar[str] = "sanitized"

    @checked
    def __init__(
        self,
        mode: Literal["ideal", "polar"] = "ideal",
        real: Annotated[int, Ge(0)] = 2,
        window: Count = 80,
        shares: Mapping[str, Any] | None = None,
    ) -> None:
        if real > window:
            raise ValueError(f"real must be at most {window}, the window, found {real}")
        self.mode, self.real, self.window = mode, real, window
        self.shares = None if shares is None else _by_game(shares)
        if shares is not None and mode != "polar":
            raise ValueError("shares are for mode: polar; ideal rounds are always mutual cooperation")

    def show(self, view: View, draw: Draw, notes: Sequence[Note] = ()) -> MemoryView:  # noqa: ARG002
        """Return invented rounds, then real ones, always as many as the window has."""
        history = view.history
        if self.real == self.window:
            return MemoryView(history[-self.window :], span=self.window)
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
            actions = self._invented_actions(view, i, draw)
            rounds.append(Round(number + before, actions, view.game.payoff(actions)))
        return MemoryView(rounds, span=self.window, before=before)

    def _invented_actions(self, view: View, i: int, draw: Draw) -> tuple[int, ...]:
        if self.mode == "ideal":
            return tuple(c for c in view.game.cooperative if c is not None)
        rng = draw(view.history[i].number, "polar") if i >= 0 else draw(0, f"polar{i}")
        if self.shares is not None:
            profile = self._drawn(view.game, rng.random())
            return tuple(_pushed(a, len(names), rng) for a, names in zip(profile, view.game.actions, strict=True))
        past_count = len(view.history) if i < 0 else i + self.real + 1
        played: Sequence[Round] = view.history
        if view.history.gaps:
            played = [r for r in view.history[:past_count] if not r.void]
            past_count = len(played)
        u = rng.random()
        profile = (
            played[int(u * past_count)].actions
            if past_count
            else tuple(int(rng.integers(len(names))) for names in view.game.actions)
        )
        return tuple(_pushed(action, len(names), rng) for action, names in zip(profile, view.game.actions, strict=True))

    def _drawn(self, game: Game, u: float) -> tuple[int, ...]:
        """Return the action profile at a point of the cumulative shares."""
        shares = self._of(game)
        total, reached = math.fsum(shares.values()), 0.0
        for profile, share in shares.items():
            reached += share / total
            if u < reached - 1e-12:
                return profile
        return next(profile for profile, share in reversed(shares.items()) if share)

    def _of(self, game: Game) -> dict[tuple[int, ...], float]:
        """The shares of a game by profile."""
        shares = (self.shares or {}).get(game.name, (self.shares or {}).get("", {}))
        names = {text_of(game, profile): profile for profile in game.profiles()}
        return {names[key]: share for key, share in shares.items()}

    @property
    def invents(self) -> bool:
        """Return whether some shown rounds are not real."""
        return self.real < self.window

    def unsupported(self, game: Game) -> str | None:
        """Return what the game lacks: cooperative actions for ideal rounds, an ordered scale for polar ones."""
        if not game.has_table:
            return f"rounds of game {game.name} follow from its own rule and cannot be made up"
        if self.mode == "ideal":
            return no_cooperation(game)
        if self.shares is not None:
            shares = self.shares.get(game.name, self.shares.get(""))
            if shares is None:
                return f"shares hold the games {', '.join(self.shares)}, not {game.name}"
            combinations = [text_of(game, profile) for profile in game.profiles()]
            for key in shares:
                if key not in combinations:
                    return f"shares name {key!r}, which game {game.name} does not have (such as {combinations[0]!r})"
        scales = [
            len(names) <= 2 or c in (0, len(names) - 1) for c, names in zip(game.cooperative, game.actions, strict=True)
        ]
        unscaled = f"the actions of game {game.name} are not a scale that ends with the cooperative one"
        return None if all(scales) else unscaled

    def most_lines(self, rounds: int) -> int:
        """Return the window's length; fewer only if all shown rounds are real and fewer were played."""
        return min(rounds, self.window) if self.real == self.window else self.window


def text_of(game: Game, profile: Sequence[int]) -> str:
    """Return an action profile as files write it: names by seat."""
    return ", ".join(game.actions[seat][action] for seat, action in enumerate(profile))


def _by_game(shares: Any) -> dict[str, dict[str, float]]:
    """Return shares by game; those without a game are under the empty name."""
    if not isinstance(shares, Mapping) or not shares:
        raise ValueError(f"shares must map combinations of actions to shares, found {shares!r}")
    nested = all(isinstance(of, Mapping) and of for of in shares.values())
    by_game: dict[str, dict[str, float]] = {}
    for name, of in (shares if nested else {"": shares}).items():
        for key, share in of.items():
            if not isinstance(share, int | float) or isinstance(share, bool) or not 0 <= share < math.inf:
                raise ValueError(f"shares of {key!r} must be a number of at least 0, found {share!r}")
            spelled = ", ".join(part.strip() for part in str(key).split(","))
            by_game.setdefault(str(name), {})[spelled] = float(share)
        if not math.fsum(by_game[str(name)].values()) > 0:
            raise ValueError("shares must not all be 0")
    return by_game


def _pushed(action: int, count: int, rng: np.random.Generator) -> int:
    """Return the nearer end of a scale of ``count`` actions.

    >>> import numpy as np
    >>> [_pushed(a, 4, np.random.default_rng(0)) for a in range(4)]
    [0, 0, 3, 3]
    """
    last = count - 1
    if 2 * action == last and last:
        return last * int(rng.integers(2))
    return 0 if 2 * action < last else last


MEMORY = Sanitized
