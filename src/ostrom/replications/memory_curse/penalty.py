"""What thinking costs: cooperation without reasoning minus cooperation with it, at a long memory.

Liu et al. (2026, Appendix Table 12) print the difference the other way round (reasoning minus no reasoning)
at history length 80, for the game in which each model loses most.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ostrom.analysis.estimate import Estimate, contrast, estimate
from ostrom.data.rundata import RunData
from ostrom.replications.memory_curse.played import WINDOW, keyed

LENGTH = 80
STYLES = ("direct", "reasoned")


@dataclass(frozen=True, slots=True)
class Penalty:
    """The deliberation penalty of one agent in one game; positive where reasoning costs cooperation."""

    agent: str
    game: str
    length: int
    """The history length at which it was taken: 80, or the longest that both conditions have."""
    cost: Estimate
    matches: int


def penalties(data: RunData) -> list[Penalty]:
    """The penalty of every agent and game that was asked both directly and for reasons."""
    by = ("game", "agent", "history_length")
    rates = keyed(estimate(data, "memory_cooperation", (*by, "style"), where=WINDOW), (*by, "style"))
    if not set(STYLES) <= {key[-1] for key in rates}:
        return []
    costs = keyed(contrast(data, "memory_cooperation", "style", STYLES, by, where=WINDOW), by)
    found = []
    for game, agent in dict.fromkeys(key[:2] for key in costs):
        lengths = [n for g, a, n in costs if (g, a) == (game, agent)]
        key = game, agent, LENGTH if LENGTH in lengths else max(lengths)
        found.append(Penalty(agent, game, key[2], costs[key], sum(rates[*key, s].n for s in STYLES)))
    return found


def largest(penalties_by_game: Mapping[str, float]) -> tuple[str, float] | None:
    """The game with the largest penalty; of equal ones the first; None where there is none.

    >>> largest({"public_goods": 0.05, "trust": 0.931})
    ('trust', 0.931)
    """
    if not penalties_by_game:
        return None
    # Rounded, so that the last digits do not choose between equal ones.
    game = max(penalties_by_game, key=lambda name: round(penalties_by_game[name], 9))
    return game, penalties_by_game[game]
