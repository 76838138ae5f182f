"""What thinking costs: cooperation without reasoning minus cooperation with it, at a long memory.

Liu et al. (2026, Appendix Table 12) print the difference the other way round (reasoning minus no reasoning)
at history length 80, for the game in which each model loses most.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostrom.replications.memory_curse.episodes import Episode, grouped
from ostrom.replications.memory_curse.estimates import Estimate, difference

LENGTH = 80


@dataclass(frozen=True, slots=True)
class Penalty:
    """The deliberation penalty of one agent in one game; positive where reasoning costs cooperation."""

    agent: str
    game: str
    length: int
    """The history length at which it was taken: 80, or the longest that both conditions have."""
    penalty: Estimate


def penalties(rows: Sequence[Episode]) -> list[Penalty]:
    """The penalty of every agent and game that was asked both directly and for reasons."""
    found = []
    for (agent, game), of in grouped(rows, lambda r: (r.agent, r.game)).items():
        cells = grouped((r for r in of if r.length is not None and r.alike), lambda r: (r.style, r.length))
        length = common_length(
            {n for style, n in cells if style == "direct"}, {n for style, n in cells if style == "reasoned"}
        )
        if length is None:
            continue
        cost = difference(cells["direct", length], cells["reasoned", length])
        if cost is not None:
            found.append(Penalty(agent, game, length, cost))
    return found


def common_length(direct: set[int | None], reasoned: set[int | None], wanted: int = LENGTH) -> int | None:
    """The wanted history length if both have it, else the longest that both have.

    >>> common_length({0, 10, 80}, {10, 80}), common_length({0, 10, 80}, {0, 10}), common_length({1}, {2})
    (80, 10, None)
    """
    both = {n for n in direct & reasoned if n is not None}
    return wanted if wanted in both else max(both, default=None)


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
