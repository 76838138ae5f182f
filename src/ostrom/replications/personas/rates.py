"""Shares of profiles and of actions, with Wilson's interval and one that resamples scenarios.

Repetitions of a scenario are alike, so Wilson's interval, which takes every match for independent, is too
narrow for a statement about scenarios in general; the cluster bootstrap draws whole scenarios.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.analysis.statistics import Interval, StatisticsError, cluster_bootstrap_means, ends, wilson
from ostrom.errors import UnknownName
from ostrom.replications.personas.profiles import Played, of_type, types_in
from ostrom.streams import Streams

RESAMPLES = 4000
MEASURES: Mapping[str, Callable[[Played], bool | None]] = {
    "nash_rate": lambda p: p.nash,
    "green_rate": lambda p: p.green,
    "tragedy_rate": lambda p: p.tragedy,
    "green_share_of_nash": lambda p: p.green if p.nash else None,
}
"""What can be said of a profile; None where the question does not arise."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share among the profiles of one group."""

    measure: str
    scenario_type: str
    key: Mapping[str, Any]
    successes: int
    n: int
    estimate: float | None
    wilson: Interval | None
    clustered: Interval | None
    """Over scenarios; None where there are fewer than two."""
    scenarios: int
    note: str = ""

    @property
    def interval(self) -> Interval | None:
        """The interval to show: over scenarios, or Wilson's where all matches agree.

        Resampling units that all agree gives an interval of no width, which would claim certainty.
        """
        if self.clustered is None or self.clustered.width == 0:
            return self.wilson
        return self.clustered

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "measure": self.measure,
            "scenario_type": self.scenario_type,
            **self.key,
            "successes": self.successes,
            "n": self.n,
            "estimate": self.estimate,
            "wilson_low": ends(self.wilson)[0],
            "wilson_high": ends(self.wilson)[1],
            "clustered_low": ends(self.clustered)[0],
            "clustered_high": ends(self.clustered)[1],
            "scenarios": self.scenarios,
            "note": self.note,
        }


def measure_of(name: str) -> Callable[[Played], bool | None]:
    """A measure by its name."""
    if name not in MEASURES:
        raise UnknownName("measure of profiles", name, MEASURES)
    return MEASURES[name]


def rates(
    profiles: Sequence[Played],
    measure: str = "nash_rate",
    by: Sequence[str] = ("agent", "persona", "payoffs"),
    types: Sequence[str] | None = None,
) -> list[Rate]:
    """A share for every group and type of scenario, groups in the order in which they occur."""
    ask = measure_of(measure)
    made = []
    for kind in types_in(profiles) if types is None else types:
        of_kind = of_type(profiles, kind)
        found = [(p, ask(p)) for p in of_kind]
        keys = list(dict.fromkeys(_key(p, by) for p in of_kind))
        values = [(_key(p, by), p.scenario, value) for p, value in found if value is not None]
        made += shares(measure, kind, by, keys, values)
    return made


def role_shares(
    profiles: Sequence[Played],
    by: Sequence[str] = ("agent", "persona", "payoffs"),
    types: Sequence[str] | None = None,
) -> list[Rate]:
    """The share of green actions of every role."""
    made = []
    for kind in types_in(profiles) if types is None else types:
        values = [
            ((*_key(p, by), role), p.scenario, green)
            for p in of_type(profiles, kind)
            for role, green in zip(p.roles, p.greens, strict=True)
        ]
        keys = list(dict.fromkeys(key for key, _, _ in values))
        made += shares("green_action_share", kind, (*by, "role"), keys, values)
    return made


def shares(
    measure: str,
    kind: str,
    by: Sequence[str],
    keys: Sequence[tuple[Any, ...]],
    values: Sequence[tuple[tuple[Any, ...], str, bool]],
) -> list[Rate]:
    """Shares of yes among (group, scenario, yes or no); a group without any question has no estimate."""
    clustered, note = _clustered(values)
    made = []
    for key in keys:
        own = [(scenario, value) for group, scenario, value in values if group == key]
        yes = sum(value for _, value in own)
        proportion = wilson(yes, len(own), unit="match")
        interval, why = clustered.get(key, (None, note))
        made.append(
            Rate(
                measure,
                kind,
                dict(zip(by, key, strict=True)),
                yes,
                len(own),
                proportion.estimate,
                proportion.ci,
                interval,
                len({scenario for scenario, _ in own}),
                why if own else "no profile to ask",
            )
        )
    return made


def _clustered(
    values: Sequence[tuple[tuple[Any, ...], str, bool]],
) -> tuple[dict[tuple[Any, ...], tuple[Interval | None, str]], str]:
    """Intervals over scenarios by group, and why there are none where there are none."""
    if len(values) < 2:
        return {}, "too few matches for an interval over scenarios"
    try:
        table = cluster_bootstrap_means(
            [float(value) for _, _, value in values],
            [repr(key) for key, _, _ in values],
            clusters=[scenario for _, scenario, _ in values],
            unit="scenario",
            rng=Streams(0, len(values)).at(0, 0, "bootstrap"),
            resamples=RESAMPLES,
        )
    except StatisticsError as error:
        return {}, str(error)
    keys = {repr(key): key for key, _, _ in values}
    return {keys[name]: (made.ci, made.note or "") for name, made in table.items()}, ""


def _key(profile: Played, by: Iterable[str]) -> tuple[Any, ...]:
    return tuple(profile[column] for column in by)
