"""Unequal memories in one match: the forgiver, who sees few rounds, and the grudge-holder, who sees many."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ostrom.analysis.estimate import Estimate, contrast, estimate
from ostrom.analysis.measure import Measure, Rows, measures
from ostrom.data.rundata import RunData
from ostrom.replications.memory_curse.played import FORGIVER, GRUDGE_HOLDER, keyed

COMPANY = ("game", "company", "agent", "style")
WHERE = {"memory_kind": "window"}


@dataclass(frozen=True, slots=True)
class RoleGroup:
    """One agent in one game and composition of memories."""

    agent: str
    game: str
    style: str | None
    name: str
    """The history lengths around the table as text."""
    overall: Estimate
    forgiver: Estimate | None
    grudge_holder: Estimate | None
    gap: Estimate | None
    """Forgiver minus grudge-holder."""
    seats: dict[int, Estimate]
    seat_gaps: dict[int, Estimate]
    """Each seat minus the mean of the other seats."""


def companies(data: RunData) -> list[RoleGroup]:
    """Every agent, game, style and composition of memories; those of equal memories have no roles."""
    rate = measures.named("memory_cooperation")
    overall = keyed(estimate(data, rate, COMPANY, where=WHERE), COMPANY)
    roles = keyed(estimate(data, rate, (*COMPANY, "memory_role"), where=WHERE), (*COMPANY, "memory_role"))
    seats = keyed(estimate(data, rate, (*COMPANY, "seat"), where=WHERE), (*COMPANY, "seat"))
    gaps = _gaps(data, rate, "memory_role", (FORGIVER, GRUDGE_HOLDER), (key[-1] for key in roles))
    numbers = list(dict.fromkeys(key[-1] for key in seats))
    beside = {
        seat: _gaps(data, _seat_and_others(rate, seat), "place", ("seat", "others"), ("seat", "others"))
        for seat in numbers
        if len(numbers) > 1
    }
    return [
        RoleGroup(
            agent, game, style, name, found, roles.get((*key, FORGIVER)), roles.get((*key, GRUDGE_HOLDER)),
            gaps.get(key), {s: seats[*key, s] for s in numbers if (*key, s) in seats},
            {s: of[key] for s, of in beside.items() if key in of},
        )
        for key, found in overall.items()
        for game, name, agent, style in [key]
        if name is not None
    ]  # fmt: skip


def _gaps(
    data: RunData, measure: Measure, factor: str, levels: tuple[str, str], met: Iterable[Any]
) -> dict[tuple[Any, ...], Estimate]:
    if not set(levels) <= set(met):
        return {}
    return keyed(contrast(data, measure, factor, levels, COMPANY, where=WHERE), COMPANY)


def _seat_and_others(measure: Measure, seat: int) -> Measure:
    """The same values with a column that tells one seat from all others."""

    def values(data: RunData) -> Rows:
        at = {
            (row["match"], row["player"]): row["seat"]
            for row in data.records("SELECT match, player, seat FROM matches")
        }
        for row in measure.rows(data):
            yield {**row, "place": "seat" if at[row["match"], row["player"]] == seat else "others"}

    return replace(measure, values=values, columns=(*measure.columns, "place"))
