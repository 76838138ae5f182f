"""Forgivers and grudge-holders: cooperation when short memories sit among long ones."""

from __future__ import annotations

from typing import Any

from ostrom.data.rundata import RunData
from ostrom.replications.memory_curse.panels._shared import by_policy, triple, why_empty
from ostrom.replications.memory_curse.played import FORGIVER, GRUDGE_HOLDER
from ostrom.replications.memory_curse.roles import RoleGroup, companies
from ostrom.reports.chart import rests_on
from ostrom.reports.layout import named
from ostrom.reports.marks import dots
from ostrom.reports.panel import Drawn, Figure, Panel, Table

TONES = {"all players": "#9aa4ae", FORGIVER: "#0072B2", GRUDGE_HOLDER: "#E69F00"}


class MemoryAsymmetric(Panel):
    """Compositions of history lengths beside homogeneous tables (Liu et al. 2026, section 4.4)."""

    title = "Short memories among long ones"

    def draw(self, data: RunData) -> Drawn:
        """Dots by role with whiskers, and tables by role and seat."""
        made = companies(data)
        if not any(c.gap is not None for c in made):
            return Drawn(notes=[why_empty(data, "No finished match mixes players of different memory.")])
        mixed = {(c.agent, c.game, c.style) for c in made if c.gap is not None}
        made = [c for c in made if (c.agent, c.game, c.style) in mixed]
        many = len({c.agent for c in made}) > 1
        several = len({c.style for c in made} - {None}) > 1
        chart = _chart(made, many, several)
        caption = (
            "Share of cooperative actions by role: forgivers have the shortest memory at the table, "
            "grudge-holders the longest. Whiskers are 95 % intervals; a hollow dot has none. "
            f"{rests_on([c.overall for c in made])}"
        )
        alt = f"Dots of cooperation by role for {len(made)} compositions of memory."
        tables = [_roles(made), _seats(made)]
        return Drawn([Figure("memory_asymmetric", chart, caption, alt)], tables, by_policy(data))


def _chart(made: list[RoleGroup], many: bool, several: bool) -> Any:
    groups: dict[str, list[dict[str, Any]]] = {}
    for c in made:
        facet = named(c.game, c.agent if many else None, c.style if several else None)
        roles = {"all players": c.overall, FORGIVER: c.forgiver, GRUDGE_HOLDER: c.grudge_holder}
        groups.setdefault(facet, []).extend(
            {"label": c.name, "series": role, "mean": e.value, "low": e.low, "high": e.high}
            for role, e in roles.items()
            if e is not None
        )
    return dots(groups, axis="cooperation", series=TONES, domain=(0.0, 1.0))


def _roles(made: list[RoleGroup]) -> Table:
    columns = ["agent", "game", "style", "composition", "matches"]
    for name in ("overall", "forgiver", "grudge_holder", "gap"):
        columns += [name, f"{name}_low", f"{name}_high"]
    rows = [
        [c.agent, c.game, c.style, c.name, c.overall.n, *triple(c.overall), *triple(c.forgiver),
         *triple(c.grudge_holder), *triple(c.gap)]
        for c in made
    ]  # fmt: skip
    return Table(
        "memory_roles", columns, rows, "Cooperation by role; the gap is forgiver minus grudge-holder."
    )


def _seats(made: list[RoleGroup]) -> Table:
    rows = [
        [c.agent, c.game, c.style, c.name, seat, *triple(e), *triple(c.seat_gaps.get(seat))]
        for c in made
        for seat, e in c.seats.items()
    ]
    columns = [
        "agent", "game", "style", "composition", "seat", "cooperation", "low", "high",
        "minus_other_seats", "difference_low", "difference_high",
    ]  # fmt: skip
    return Table("memory_seats", columns, rows, "Cooperation by seat, and each seat minus the other seats.")


PANEL = MemoryAsymmetric
