"""Say how two games differ."""

from __future__ import annotations

import numpy as np

from ostrom.games.game import Game


def differences(one: Game, other: Game) -> list[str]:
    """What differs between two games, payoff by payoff; empty when they are the same game.

    >>> from ostrom.games import games
    >>> build = games.get("prisoners_dilemma")
    >>> differences(build("axelrod"), build(T=6, strict=False))[1]
    'payoffs at (0, 1): (0.0, 5.0) and (0.0, 6.0)'
    """
    found = [
        f"{what}: {getattr(one, what)!r} and {getattr(other, what)!r}"
        for what in ("name", "title", "citation", "actions", "roles", "cooperative", "defective")
        if getattr(one, what) != getattr(other, what)
    ]
    if dict(one.params) != dict(other.params):
        found.append(f"params: {dict(one.params)} and {dict(other.params)}")
    if one.payoffs.shape != other.payoffs.shape:
        found.append(f"payoffs: shapes {one.payoffs.shape} and {other.payoffs.shape}")
    else:
        for at in np.argwhere((one.payoffs != other.payoffs).any(axis=-1)):
            profile = tuple(int(i) for i in at)
            found.append(f"payoffs at {profile}: {one.payoff(profile)} and {other.payoff(profile)}")
    return found
