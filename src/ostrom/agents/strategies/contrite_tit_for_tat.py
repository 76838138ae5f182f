"""Contrite tit for tat."""

from __future__ import annotations

from typing import ClassVar

from ostrom.agents.strategy import C, D, Machine

Standing = tuple[bool, bool]
"""Whether this seat and the others are in good standing."""


class ContriteTitForTat(Machine[Standing]):
    """Tit for tat that accepts punishment for its own slips: defect only when good and the other is not.

    Whoever cooperates is in good standing. Whoever defects loses it, unless the defection was due: from good
    standing against an other in bad standing. The strategy itself defects only when that is due, so
    without noise it is tit for tat; after a slip it makes up for it by cooperating, and does not
    answer the punishment.
    """

    title: ClassVar[str] = "Contrite Tit for Tat"
    citation: ClassVar[str] = "Sugden (1986); Boyd (1989); Wu and Axelrod (1995)"
    initial = (True, True)

    def step(self, state: Standing, own: bool, others: bool) -> Standing:
        """The standing of both sides after a round."""
        mine, theirs = state
        return own or (mine and not theirs), others or (theirs and not mine)

    def cooperate(self, state: Standing) -> float:
        """Defect only when that is due."""
        mine, theirs = state
        return D if mine and not theirs else C


STRATEGY = ContriteTitForTat
