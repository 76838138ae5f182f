"""How costly choices were, and how far profiles lie from an equilibrium."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.estimate import Estimate
from ostrom.replications.personas.profiles import Played, of_type, types_in
from ostrom.replications.personas.rates import mean_over_scenarios


@dataclass(frozen=True, slots=True)
class Regret:
    """Regret of one role in one group: mean in payoff units, and how often the choice was a best reply."""

    scenario_type: str
    key: Mapping[str, Any]
    role: str
    n: int
    estimate: Estimate
    """The mean with its interval over scenarios."""
    best_replies: int

    @property
    def mean(self) -> float:
        """The mean regret."""
        return self.estimate.value

    @property
    def best_reply_share(self) -> float:
        """The share of choices that were best replies to what the others did."""
        return self.best_replies / self.n


@dataclass(frozen=True, slots=True)
class Distances:
    """How many profiles lie how many changes from the nearest equilibrium; None: there is no pure one."""

    scenario_type: str
    key: Mapping[str, Any]
    counts: Mapping[int | None, int]

    @property
    def mean(self) -> float | None:
        """The mean distance where there is an equilibrium."""
        known = {distance: n for distance, n in self.counts.items() if distance is not None}
        return sum(d * n for d, n in known.items()) / sum(known.values()) if known else None


def regrets(
    profiles: Sequence[Played],
    by: Sequence[str] = ("agent", "persona", "payoffs"),
    types: Sequence[str] | None = None,
) -> list[Regret]:
    """The regret of every role against what the others actually did."""
    made = []
    for kind in types_in(profiles) if types is None else types:
        groups: dict[tuple[tuple[Any, ...], str], list[tuple[Played, float]]] = {}
        for p in of_type(profiles, kind):
            for role, value in zip(p.roles, p.regrets, strict=True):
                groups.setdefault((tuple(p[c] for c in by), role), []).append((p, value))
        for (key, role), rows in groups.items():
            best = sum(value <= 1e-9 for _, value in rows)
            mean = mean_over_scenarios(rows, (0.0, None))
            made.append(Regret(kind, dict(zip(by, key, strict=True)), role, len(rows), mean, best))
    return made


def distances(
    profiles: Sequence[Played],
    by: Sequence[str] = ("agent", "persona", "payoffs"),
    types: Sequence[str] | None = None,
) -> list[Distances]:
    """How far the profiles of every group lie from the nearest equilibrium."""
    made = []
    for kind in types_in(profiles) if types is None else types:
        groups: dict[tuple[Any, ...], Counter[int | None]] = {}
        for p in of_type(profiles, kind):
            groups.setdefault(tuple(p[c] for c in by), Counter())[p.distance] += 1
        made += [
            Distances(
                kind,
                dict(zip(by, key, strict=True)),
                dict(sorted(counts.items(), key=lambda item: (item[0] is None, item[0] or 0))),
            )
            for key, counts in groups.items()
        ]
    return made
