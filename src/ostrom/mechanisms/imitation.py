"""Imitation: members of a society take over the way of playing of a neighbour, by what it earned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from ostrom.ground.parameters import Amount, Count, OneOf, Share, options_of
from ostrom.ground.values import value
from ostrom.mechanisms.selection import RULES, drawn, takeover
from ostrom.mechanisms.societies import Life


@value
class Imitation:
    """After every ``every``-th round ``members`` of the society, drawn by chance, may change over (``takeover``).

    ``strength`` is the strength of selection on the payoffs of the round; with chance ``mutation`` one takes over the
    way of anybody, whatever it earned. All changes of a round look at the same ways and payoffs.
    """

    rule: Annotated[str, OneOf(RULES)] = "imitation"
    strength: Amount = 1.0
    members: Count = 1
    every: Count = 1
    mutation: Share = 0.0

    @classmethod
    def of(cls, given: Mapping[str, Any] | str | None) -> Self | None:
        """As a study states it: a rule, or a mapping."""
        return None if given is None else options_of(cls, given, "imitation", first="rule")

    def step(self, life: Life, number: int) -> None:
        """Let the members of a round change over."""
        if number % self.every:
            return
        rng = life.streams.about(number, 0, "imitation")
        chosen = sorted(int(p) for p in rng.permutation(life.count)[: self.members])
        before, last = list(life.ways), life.past[-1]
        for player in chosen:
            u, other = float(rng.random()), float(rng.random())
            around = sorted(life.links[player])
            if self.mutation and other < self.mutation:
                source: int | None = int(u * life.count)
            else:
                paid = [life.paid(p, last) for p in around]
                place = drawn(takeover(self.rule, self.strength, life.paid(player, last), paid), u)
                # What rounding leaves over belongs to the last neighbour where somebody must take the place.
                if place is None and around and self.rule == "death-birth":
                    place = len(around) - 1
                source = None if place is None else around[place]
            if source is not None and before[source] != before[player]:
                life.ways[player] = before[source]
                life.facts["adopted"].append([number, player, before[source]])
