"""Shares of profiles and of actions, regret and distance to equilibrium, with intervals over scenarios.

Repetitions of a scenario are alike, and the statement is about scenarios in general: a scenario is the unit. The
measures at the end have one value per match.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import fmean
from typing import Any

from ostrom.analysis.estimate import Estimate, estimated, partly_exact_mean
from ostrom.analysis.intervals import Bounds
from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.ground.errors import UnknownName
from ostrom.ground.values import grouped
from ostrom.replications.personas.keywords import SOURCE, condition, other_arm
from ostrom.replications.personas.profiles import Played, of_type, profiles_of, split, types_in

MEASURES: Mapping[str, Callable[[Played], bool | None]] = {
    "nash_rate": lambda p: p.nash,
    "green_rate": lambda p: p.green,
    "tragedy_rate": lambda p: p.tragedy,
    "green_share_of_nash": lambda p: p.green if p.nash else None,
}
"""Questions about a profile; None if a question does not apply."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share among the profiles of one group."""

    measure: str
    scenario_type: str
    key: Mapping[str, Any]
    successes: int
    n: int
    """The number of profiles (for roles: actions)."""
    estimate: Estimate | None
    """The share with its interval over scenarios; None without a profile."""

    @property
    def share(self) -> float | None:
        """Return the share; None without a profile."""
        return self.successes / self.n if self.n else None

    @property
    def note(self) -> str:
        """Return the note on the interval."""
        return "no profile to ask" if self.estimate is None else self.estimate.note

    @property
    def limits(self) -> tuple[float | None, float | None]:
        """Both ends of the interval."""
        return (None, None) if self.estimate is None else (self.estimate.low, self.estimate.high)


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
    """Return a share for every group and scenario type, in order of appearance."""
    ask = measure_of(measure)
    return [
        _rate(
            measure, kind, dict(zip(by, key, strict=True)), [(p, value) for p in own if (value := ask(p)) is not None]
        )
        for kind, key, own in split(profiles, by, types)
    ]


def of_paper_arms(profiles: Sequence[Played]) -> list[Played]:
    """Return the profiles of players who were told what the paper's were, whatever the scenario."""
    return [p for p in profiles if not other_arm(p.cell)]


def role_shares(
    profiles: Sequence[Played], by: Sequence[str] = ("agent", "persona", "payoffs"), types: Sequence[str] | None = None
) -> list[Rate]:
    """The share of green actions of every role."""
    return [
        _rate("green_action_share", kind, {**key, "role": role}, values)
        for kind, key, role, values in _by_role(profiles, by, types, lambda p: p.greens)
    ]


def _by_role(
    profiles: Sequence[Played], by: Sequence[str], types: Sequence[str] | None, of: Callable[[Played], Iterable[Any]]
) -> Iterator[tuple[str, dict[str, Any], str, list[tuple[Played, Any]]]]:
    """Yield a profile's value for each role, by scenario type, group and role."""
    for kind in types_in(profiles) if types is None else types:
        values = (
            ((*(p[c] for c in by), role), (p, value))
            for p in of_type(profiles, kind)
            for role, value in zip(p.roles, of(p), strict=True)
        )
        for (*key, role), own in grouped(values).items():
            yield kind, dict(zip(by, key, strict=True)), role, own


def _rate(measure: str, kind: str, key: Mapping[str, Any], values: Sequence[tuple[Played, bool]]) -> Rate:
    """Return the share of yes; a group without questions has no estimate."""
    share = mean_over_scenarios(values, (0.0, 1.0)) if values else None
    return Rate(measure, kind, key, sum(value for _, value in values), len(values), share)


def mean_over_scenarios(values: Sequence[tuple[Played, float]], bounds: Bounds) -> Estimate:
    """Return the mean of profile values, with an interval over scenarios."""
    inference = partly_exact_mean(
        [float(value) for _, value in values],
        [profile.exact for profile, _ in values],
        [1.0] * len(values),
        clusters=[profile.scenario for profile, _ in values],
        bounds=bounds,
        unit="scenario",
    )
    return estimated({}, inference, len({profile.scenario for profile, _ in values}), "scenario")


def regrets(
    profiles: Sequence[Played], by: Sequence[str] = ("agent", "persona", "payoffs"), types: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Return the mean regret of every role against the others' actual actions, and its number of best replies."""
    return [
        {
            "scenario_type": kind, "key": key, "role": role, "n": len(rows),
            "estimate": mean_over_scenarios(rows, (0.0, None)),
            "best_replies": sum(value <= 1e-9 for _, value in rows),
        }
        for kind, key, role, rows in _by_role(profiles, by, types, lambda p: p.regrets)
    ]  # fmt: skip


def distances(
    profiles: Sequence[Played], by: Sequence[str] = ("agent", "persona", "payoffs"), types: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Count the profiles of every group by distance to the nearest equilibrium (None without a pure one)."""
    return [
        {
            "scenario_type": kind,
            "key": dict(zip(by, key, strict=True)),
            "counts": dict(
                sorted(Counter(p.distance for p in own).items(), key=lambda item: (item[0] is None, item[0] or 0))
            ),
            "mean": fmean(known) if (known := [p.distance for p in own if p.distance is not None]) else None,
        }
        for kind, key, own in split(profiles, by, types)
    ]


NEEDS = ("rounds.action", "matches.game")


def profile_measure(name: str, definition: str) -> Measure:
    """The measure of a rate of profiles (``rates.MEASURES``)."""

    def values(data: RunData) -> Iterator[Mapping[str, Any]]:
        pairs = ((p, MEASURES[name](p)) for p in profiles_of(data))
        rated = [({"match": p.match}, p, float(value)) for p, value in pairs if value is not None]
        return averaged(rated, counted=name == "green_share_of_nash")

    return Measure(
        name=name,
        title=name.replace("_", " ").capitalize(),
        scale="share",
        definition=definition,
        values=values,
        unit="scenario",
        needs=NEEDS,
        source=SOURCE,
        columns=("condition",),
    )


def per_player(
    data: RunData, of: Callable[[Played], Iterable[float]]
) -> Iterator[tuple[Mapping[str, Any], Played, float]]:
    """Yield one value per player of every profile, with its role and kind of actor."""
    seated = {
        (row["match"], row["seat"]): row["player"]
        for row in data.records("SELECT match, seat, player FROM matches WHERE seat IS NOT NULL")
    }
    for p in profiles_of(data):
        kinds = data.game(p.match).words.kinds or (None,) * len(p.roles)
        for seat, (role, kind, value) in enumerate(zip(p.roles, kinds, of(p), strict=True), 1):
            yield {"match": p.match, "player": seated[p.match, seat], "role": role, "actor": kind}, p, float(value)


def averaged(
    values: Iterable[tuple[Mapping[str, Any], Played, float]], *, counted: bool = False
) -> Iterator[Mapping[str, Any]]:
    """One row per match (or player): the mean over its rounds, with their number where play decides on it."""
    groups: dict[tuple[Any, ...], tuple[Mapping[str, Any], Played, list[float]]] = {}
    for key, profile, value in values:
        groups.setdefault(tuple(key.values()), (key, profile, []))[2].append(value)
    for key, profile, of in groups.values():
        yield {
            **key, "value": fsum(of) / len(of), **({"weight": float(len(of))} if counted else {}),
            "scenario_class": profile.scenario_class, "condition": condition(profile.cell),
        }  # fmt: skip


GREEN_ACTION = Measure(
    name="green_action",
    title="Share of green actions",
    scale="share",
    definition="The share of actions that are green (cooperative), by role or by actor: economic ones (industrialist, "
    "government) and social ones (activist, citizen).",
    values=lambda data: averaged(per_player(data, lambda p: p.greens)),
    unit="scenario",
    needs=NEEDS,
    source=SOURCE,
    columns=("role", "actor", "condition"),
)

BEST_REPLY = Measure(
    name="best_reply",
    title="Best replies",
    scale="share",
    definition="Whether no other action would have paid a player more against what the others did.",
    values=lambda data: averaged(per_player(data, lambda p: [float(r <= 0) for r in p.regrets])),
    unit="scenario",
    needs=NEEDS,
    source=SOURCE,
    columns=("role", "actor", "condition"),
)

REGRET = Measure(
    name="regret",
    title="Regret",
    scale="points",
    definition="What a player's best reply to the others' actual actions would have added to its payoff.",
    values=lambda data: averaged(per_player(data, lambda p: p.regrets)),
    bounds=(0.0, None),
    unit="scenario",
    needs=NEEDS,
    source=SOURCE,
    columns=("role", "actor", "condition"),
)
