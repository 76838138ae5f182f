"""Forgivers and grudge-holders: cooperation when short memories sit among long ones."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.rundata import RunData
from ostrom.replications.memory_curse.panels._shared import by_policy, triple, why_empty
from ostrom.replications.memory_curse.played import FORGIVER, GRUDGE_HOLDER
from ostrom.replications.memory_curse.roles import RoleGroup, companies
from ostrom.reports.chart import rests_on
from ostrom.reports.layout import named
from ostrom.reports.marks import import_altair
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import INK

TONES = {"all players": "#9aa4ae", FORGIVER: "#0072B2", GRUDGE_HOLDER: "#E69F00"}


class MemoryAsymmetric(Panel):
    """Compositions of history lengths beside homogeneous tables (Liu et al. 2026, section 4.4)."""

    title = "Short memories among long ones"

    def draw(self, data: RunData) -> Drawn:
        """Bars by role with whiskers, and tables by role and seat."""
        made = companies(data)
        if not any(c.gap is not None for c in made):
            return Drawn(notes=[why_empty(data, "No finished match mixes players of different memory.")])
        mixed = {(c.agent, c.game, c.style) for c in made if c.gap is not None}
        made = [c for c in made if (c.agent, c.game, c.style) in mixed]
        many = len({c.agent for c in made}) > 1
        several = len({c.style for c in made} - {None}) > 1
        chart = _chart([row for c in made for row in _bars(c, many, several)])
        caption = (
            "Share of cooperative actions by role: forgivers have the shortest memory at the table, "
            "grudge-holders the longest. Whiskers are 95 % intervals; a bar without has none. "
            f"{rests_on([c.overall for c in made])}"
        )
        alt = f"Bars of cooperation by role for {len(made)} compositions of memory."
        tables = [_roles(made), _seats(made)]
        return Drawn([Figure("memory_asymmetric", chart, caption, alt)], tables, by_policy(data))


def _bars(c: RoleGroup, many: bool, several: bool) -> list[dict[str, Any]]:
    facet = named(c.game, c.agent if many else None, c.style if several else None)
    roles = {"all players": c.overall, FORGIVER: c.forgiver, GRUDGE_HOLDER: c.grudge_holder}
    return [
        {"facet": facet, "label": c.name, "role": role, "value": e.value, "low": e.low, "high": e.high}
        for role, e in roles.items()
        if e is not None
    ]


def _chart(rows: list[dict[str, Any]]) -> Any:
    alt = import_altair()
    charts = []
    for facet in dict.fromkeys(row["facet"] for row in rows):
        of = [row for row in rows if row["facet"] == facet]
        base = alt.Chart(alt.Data(values=of)).encode(
            y=alt.Y("label:N", sort=list(dict.fromkeys(r["label"] for r in of)), title=None),
            yOffset=alt.YOffset("role:N", sort=list(TONES)),
        )
        scale = alt.Scale(domain=[0, 1])
        bars = base.mark_bar().encode(
            x=alt.X("value:Q", title="cooperation", scale=scale),
            color=alt.Color(
                "role:N", scale=alt.Scale(domain=list(TONES), range=list(TONES.values())),
                legend=alt.Legend(title=None),
            ),
        )  # fmt: skip
        whiskers = (
            base.transform_filter("isValid(datum.low)")
            .mark_rule(color=INK)
            .encode(x=alt.X("low:Q", scale=scale, title="cooperation"), x2="high:Q")
        )
        height = 16 * len({(r["label"], r["role"]) for r in of}) + 12
        charts.append(alt.layer(bars, whiskers).properties(title=facet, width=440, height=height))
    return charts[0] if len(charts) == 1 else alt.vconcat(*charts)


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
