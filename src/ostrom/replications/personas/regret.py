"""How costly choices were, and how far profiles lie from an equilibrium."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.statistics import Interval, StatisticsError, cluster_bootstrap_mean
from ostrom.replications.personas.profiles import Played, of_type, types_in
from ostrom.streams import Streams

RESAMPLES = 4000


@dataclass(frozen=True, slots=True)
class Regret:
    """Regret of one role in one group: mean in payoff units, and how often the choice was a best reply."""

    scenario_type: str
    key: Mapping[str, Any]
    role: str
    n: int
    mean: float
    interval: Interval | None
    best_replies: int

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
    """The regret of every role against what the others actually did; intervals resample scenarios."""
    made = []
    for kind in types_in(profiles) if types is None else types:
        groups: dict[tuple[tuple[Any, ...], str], list[tuple[str, float]]] = {}
        for p in of_type(profiles, kind):
            for role, value in zip(p.roles, p.regrets, strict=True):
                groups.setdefault((tuple(p[c] for c in by), role), []).append((p.scenario, value))
        for (key, role), rows in groups.items():
            values = [value for _, value in rows]
            made.append(
                Regret(
                    kind, dict(zip(by, key, strict=True)), role, len(rows), sum(values) / len(values),
                    _interval(rows), sum(value <= 1e-9 for value in values),
                )
            )  # fmt: skip
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


def _interval(rows: Sequence[tuple[str, float]]) -> Interval | None:
    if len(rows) < 2:
        return None
    try:
        return cluster_bootstrap_mean(
            [value for _, value in rows],
            clusters=[scenario for scenario, _ in rows],
            unit="scenario",
            rng=Streams(0, len(rows)).at(0, 0, "bootstrap"),
            resamples=RESAMPLES,
        ).ci
    except StatisticsError:
        return None
