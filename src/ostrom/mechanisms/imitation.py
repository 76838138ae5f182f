"""Imitation: members of a society take over the way of playing of a neighbour, by what it earned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from ostrom.ground.values import value
from ostrom.mechanisms.parameters import amount, share, whole
from ostrom.mechanisms.selection import RULES, drawn, takeover
from ostrom.mechanisms.societies import Life


@value
class Imitation:
    """After every ``every``-th round ``members`` of the society, drawn by chance, may change over (``takeover``).

    ``strength`` is the strength of selection on the payoffs of the round; with chance ``mutation`` one takes over the
    way of anybody, whatever it earned. All changes of a round look at the same ways and payoffs.
    """

    rule: str = "imitation"
    strength: float = 1.0
    members: int = 1
    every: int = 1
    mutation: float = 0.0

    @classmethod
    def of(cls, given: Mapping[str, Any] | str | None) -> Self | None:
        """As a study states it: a rule, or a mapping."""
        if given is None:
            return None
        spec = {"rule": given} if isinstance(given, str) else dict(given)
        allowed = ("rule", "strength", "members", "every", "mutation")
        if strange := sorted(set(spec) - set(allowed)):
            raise ValueError(f"imitation may have {', '.join(allowed)}, found {', '.join(strange)}")
        if spec.get("rule", "imitation") not in RULES:
            raise ValueError(f"imitation.rule must be one of {', '.join(RULES)}, found {spec['rule']!r}")
        return cls(
            spec.get("rule", "imitation"),
            amount("imitation.strength", spec.get("strength", 1.0)),
            whole("imitation.members", spec.get("members", 1), 1),
            whole("imitation.every", spec.get("every", 1), 1),
            share("imitation.mutation", spec.get("mutation", 0.0)),
        )

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
