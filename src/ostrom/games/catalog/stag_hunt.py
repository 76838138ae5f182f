"""Stag Hunt: together the hunters take the stag, alone each is sure of a hare."""

from __future__ import annotations

from typing import Any

from ostrom.games.bimatrix import symmetric_2x2
from ostrom.games.game import Game
from ostrom.games.parameters import number, require, shown, switch


def build(
    stag: Any = 5, hare: Any = 3, alone: Any = 0, both_hare: Any = None, *, strict: bool = True
) -> Game:
    """Hunt the stag, which takes two, or the hare, which does not.

    ``stag`` is paid to both when both hunt it, ``alone`` to who hunts it alone, ``hare`` to who leaves the
    other alone, ``both_hare`` to both when both hunt hares (by default the same as ``hare``). ``strict``
    demands stag > hare >= both_hare > alone. Defaults: Tewolde et al. (2026).

    >>> build().payoff((0, 1))
    (0.0, 3.0)
    """
    name = "stag_hunt"
    most, safe, none = number(name, "stag", stag), number(name, "hare", hare), number(name, "alone", alone)
    shared = safe if both_hare is None else number(name, "both_hare", both_hare)
    if switch(name, "strict", strict):
        found = f"stag={shown(most)}, hare={shown(safe)}, both_hare={shown(shared)}, alone={shown(none)}"
        require(name, most > safe >= shared > none, "needs stag > hare >= both_hare > alone", found)
    return symmetric_2x2(
        name,
        ("stag", "hare"),
        both=most,
        alone=none,
        other=safe,
        neither=shared,
        cooperative=(0, 0),
        title="Stag Hunt",
        citation="Skyrms (2004), The Stag Hunt and the Evolution of Social Structure",
        params={"stag": most, "hare": safe, "alone": none, "both_hare": shared, "strict": strict},
    )


GAME = build
