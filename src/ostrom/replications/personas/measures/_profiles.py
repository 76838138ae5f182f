"""Measures of profiles: one value per match, scenarios are the unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import fsum
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import RunData
from ostrom.replications.personas.keywords import condition
from ostrom.replications.personas.profiles import Played, profiles_of
from ostrom.replications.personas.rates import MEASURES

SOURCE = "Manoranjan & Gaikwad (2026), When Personas Override Payoffs"
NEEDS = ("decisions.action", "matches.game")


def profile_measure(name: str, definition: str) -> Measure:
    """The measure of a rate of profiles (``rates.MEASURES``)."""
    return Measure(
        name=name,
        title=name.replace("_", " ").capitalize(),
        scale="share",
        definition=definition,
        values=_values(name),
        unit="scenario",
        needs=NEEDS,
        source=SOURCE,
        columns=("condition",),
    )


def _values(name: str) -> Callable[[RunData], Iterator[Mapping[str, Any]]]:
    def rows(data: RunData) -> Iterator[Mapping[str, Any]]:
        found = ((p, MEASURES[name](p)) for p in profiles_of(data))
        yield from averaged(({"match": p.match}, p, float(value)) for p, value in found if value is not None)

    return rows


def per_player(
    data: RunData, of: Callable[[Played], Iterable[float]]
) -> Iterator[tuple[Mapping[str, Any], Played, float]]:
    """One value per player of every profile, with the role and the kind of actor that it was."""
    seated = {
        (row["match"], row["seat"]): row["player"]
        for row in data.records("SELECT match, seat, player FROM matches WHERE seat IS NOT NULL")
    }
    for p in profiles_of(data):
        kinds = data.game(p.match).words.kinds or (None,) * len(p.roles)
        for seat, (role, kind, value) in enumerate(zip(p.roles, kinds, of(p), strict=True), 1):
            key = {"match": p.match, "player": seated[p.match, seat], "role": role, "actor": kind}
            yield key, p, float(value)


def averaged(
    values: Iterable[tuple[Mapping[str, Any], Played, float]],
) -> Iterator[Mapping[str, Any]]:
    """One row per match (or player): the mean over its rounds, weighted by their number."""
    groups: dict[tuple[Any, ...], tuple[Mapping[str, Any], Played, list[float]]] = {}
    for key, profile, value in values:
        groups.setdefault(tuple(key.values()), (key, profile, []))[2].append(value)
    for key, profile, of in groups.values():
        yield {
            **key, "value": fsum(of) / len(of), "weight": float(len(of)),
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
