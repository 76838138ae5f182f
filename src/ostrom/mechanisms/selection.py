"""Selection: which strategies are adopted or inherited, depending on their payoffs.

Fitness is exp(strength x payoff): positive for every payoff, and for weak selection the 1 + strength x payoff of the
theory (Ohtsuki et al. 2006; Nowak et al. 2004).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, fsum
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from ostrom.ground.parameters import Amount, Count, OneOf, Share, options_of
from ostrom.ground.values import value
from ostrom.mechanisms.societies import SocietyState

if TYPE_CHECKING:
    import numpy as np

RULES = ("death-birth", "imitation", "pairwise")


def fitness(payoffs: Sequence[float], strength: float) -> list[float]:
    """Return fitness relative to the best payoff, so that strong selection cannot overflow.

    >>> fitness([1.0, 1.0], 5.0)
    [1.0, 1.0]
    """
    top = max(payoffs)
    return [exp(strength * (payoff - top)) for payoff in payoffs]


def takeover(rule: str, strength: float, own: float, others: Sequence[float]) -> list[float]:
    """Return the chance that a member adopts each neighbour's strategy; the rest is the chance to keep its own.

    ``death-birth``: the member dies and its neighbours compete for its place in proportion to fitness.
    ``imitation``: it compares itself with all of them, in proportion to fitness, its own included.
    ``pairwise``: it looks at one of them and changes over with chance 1 / (1 + exp(-strength x difference)).

    >>> takeover("death-birth", 0.0, 1.0, [0.0, 3.0]), takeover("imitation", 0.0, 1.0, [0.0, 3.0, 3.0])
    ([0.5, 0.5], [0.25, 0.25, 0.25])
    """
    if not others:
        return []
    if rule == "pairwise":
        return [fermi(strength * (other - own)) / len(others) for other in others]
    weights = fitness([own, *others] if rule == "imitation" else others, strength)
    total = fsum(weights)
    return [weight / total for weight in weights[-len(others) :]]


def fermi(gap: float) -> float:
    """1 / (1 + exp(-gap)) without overflow.

    >>> fermi(0.0), fermi(-1e6), fermi(1e6)
    (0.5, 0.0, 1.0)
    """
    return 1.0 / (1.0 + exp(-gap)) if gap >= 0.0 else exp(gap) / (1.0 + exp(gap))


def draw_index(chances: Sequence[float], u: float) -> int | None:
    """Return the index on which ``u`` falls if the chances are laid end to end from 0; None beyond the last.

    >>> draw_index([0.5, 0.25], 0.6), draw_index([0.5, 0.25], 0.9)
    (1, None)
    """
    passed = 0.0
    for place, chance in enumerate(chances):
        passed += chance
        if u < passed:
            return place
    return None


POPULATION_RULES = ("proportional", "tournament", "moran", "imitation")


def next_parents(
    rule: str,
    payoffs: Sequence[float],
    rng: np.random.Generator,
    *,
    strength: float,
    size: int,
    births: int,
    least: float,
) -> tuple[list[int], list[bool]]:
    """The parent of every member of the next generation, and whether the member is newborn.

    ``proportional``: all are born anew, parents drawn in proportion to payoff above ``least``. ``tournament``: all are
    born anew, each from the best of ``size`` drawn members. ``moran``: ``births`` times one is born, its parent drawn
    in proportion to fitness, and takes the place of anybody. ``imitation``: everybody looks at another member and takes
    over with chance 1 / (1 + exp(-strength x difference)); the others stay as they are.

    >>> import numpy as np
    >>> next_parents("moran", [1.0], np.random.default_rng(0), strength=1.0, size=2, births=1, least=0.0)
    ([0], [True])
    """
    import numpy as np

    count = len(payoffs)
    match rule:
        case "proportional":
            above = np.maximum(np.asarray(payoffs, dtype=np.float64) - least, 0.0)
            total = float(above.sum())
            shares = above / total if total > 0 else np.full(count, 1 / count)
            return [int(p) for p in rng.choice(count, size=count, p=shares)], [True] * count
        case "tournament":
            drawn = rng.integers(count, size=(count, size))
            return [int(max(row, key=lambda p: payoffs[p])) for row in drawn], [True] * count
    parents, newborn = list(range(count)), [False] * count
    if rule == "imitation":
        for member in range(count):
            other = int(rng.integers(count - 1)) if count > 1 else member
            other += count > 1 and other >= member
            if rng.random() < fermi(strength * (payoffs[other] - payoffs[member])) and other != member:
                parents[member], newborn[member] = other, True
        return parents, newborn
    for _ in range(births):
        weights = fitness([payoffs[p] for p in parents], strength)
        total = fsum(weights)
        place = draw_index([weight / total for weight in weights], float(rng.random()))
        parent = parents[count - 1 if place is None else place]
        dies = int(rng.integers(count))
        parents[dies], newborn[dies] = parent, True
    return parents, newborn


@value
class Imitation:
    """After every ``every``-th round, ``members`` random members may switch strategies (``takeover``).

    ``strength`` is the strength of selection on the payoffs of the round; with chance ``mutation`` a
    member adopts the strategy of a random member instead, whatever it earned. All changes after a round compare the
    same strategies and payoffs. ``names`` says whom the fact ``adopted`` names: the member that was ``imitated``, or
    the one that had its strategy ``first`` (runs begun before 2.0).
    """

    rule: Annotated[str, OneOf(RULES)] = "imitation"
    strength: Amount = 1.0
    members: Count = 1
    every: Count = 1
    mutation: Share = 0.0
    names: Literal["imitated", "first"] = "imitated"

    @classmethod
    def from_options(cls, given: Mapping[str, Any] | str | None) -> Self | None:
        """Read the options from a study: the name of a rule, or a mapping; None gives None."""
        return (
            None
            if given is None
            else options_of(cls, given if isinstance(given, str) else given or {}, "imitation", first="rule")
        )

    def step(self, life: SocietyState, number: int) -> None:
        """Draw members after a round, each of which may adopt another member's strategy."""
        if number % self.every:
            return
        rng = life.streams.for_round(number, 0, "imitation")
        chosen = sorted(int(p) for p in rng.permutation(life.count)[: self.members])
        before, last = list(life.ways), life.past[-1]
        for player in chosen:
            u, other = float(rng.random()), float(rng.random())
            around = sorted(life.links[player])
            if self.mutation and other < self.mutation:
                source: int | None = int(u * life.count)
            else:
                place = draw_index(
                    takeover(self.rule, self.strength, life.paid(player, last), [life.paid(p, last) for p in around]), u
                )
                # The rounding remainder goes to the last neighbour if somebody must take the place.
                if place is None and around and self.rule == "death-birth":
                    place = len(around) - 1
                source = None if place is None else around[place]
            if source is not None and before[source] != before[player]:
                life.ways[player] = before[source]
                life.facts["adopted"].append([number, player, source if self.names == "imitated" else before[source]])


def before_2(spec: Any) -> Any:
    """Return a specification as versions before 2.0 understood it, to replay their runs.

    >>> before_2({"name": "society", "imitation": "moran"})
    {'name': 'society', 'imitation': {'rule': 'moran', 'names': 'first'}}
    """
    if not isinstance(spec, Mapping) or spec["name"] != "society" or not spec.get("imitation"):
        return spec
    stated = spec["imitation"]
    return {**spec, "imitation": {**({"rule": stated} if isinstance(stated, str) else stated), "names": "first"}}
