"""Prisoner's Dilemma: each is better off defecting, both are better off cooperating."""

from __future__ import annotations

from typing import Any

from ostrom.games.bimatrix import symmetric_2x2
from ostrom.games.game import Game
from ostrom.games.parameters import number, require, shown, switch
from ostrom.ground.errors import GameError

PRESETS: dict[str, tuple[float, float, float, float]] = {
    "axelrod": (5, 3, 1, 0),  # Axelrod (1984)
    "coopeval": (3, 2, 1, 0),  # Tewolde et al. (2026)
    "memory_curse": (300, 200, 100, -100),  # Liu et al. (2026)
    "repeated_games": (10, 8, 5, 0),  # Akata et al. (2025)
}
"""Temptation, reward, punishment and sucker's payoff as studies have used them."""


def build(
    preset: str = "axelrod",
    T: Any = None,
    R: Any = None,
    P: Any = None,
    S: Any = None,
    *,
    strict: bool = True,
) -> Game:
    """Cooperate or defect, with the payoffs of a study or any others.

    ``preset`` names the payoffs of a study (axelrod, coopeval, memory_curse, repeated_games). ``T``
    (temptation), ``R`` (reward), ``P`` (punishment) and ``S`` (sucker's payoff) replace single values of the
    preset. ``strict`` demands T > R > P > S and 2R > T + S, without which it is another game.

    >>> build("coopeval").payoff((1, 0))
    (3.0, 0.0)
    """
    name = "prisoners_dilemma"
    if preset not in PRESETS:
        raise GameError(f"game {name}: unknown preset {preset!r} (allowed: {', '.join(PRESETS)})")
    given = zip("TRPS", (T, R, P, S), PRESETS[preset], strict=True)
    t, r, p, s = (number(name, what, base if value is None else value) for what, value, base in given)
    found = f"T={shown(t)}, R={shown(r)}, P={shown(p)}, S={shown(s)}"
    if switch(name, "strict", strict):
        require(name, t > r > p > s, "needs T > R > P > S", found)
        require(name, 2 * r > t + s, "needs 2R > T + S, or taking turns beats cooperating", found)
    return symmetric_2x2(
        name,
        ("cooperate", "defect"),
        both=r,
        alone=s,
        other=t,
        neither=p,
        cooperative=(0, 0),
        title="Prisoner's Dilemma",
        citation="Rapoport & Chammah (1965), Prisoner's Dilemma; "
        "Axelrod (1984), The Evolution of Cooperation",
        params={"preset": preset, "T": t, "R": r, "P": p, "S": s, "strict": strict},
    )


GAME = build
