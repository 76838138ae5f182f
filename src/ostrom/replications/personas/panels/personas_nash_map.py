"""A map of Nash rates: one line per agent, one column per condition, one block per type of scenario."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.rundata import RunData
from ostrom.errors import UnknownName
from ostrom.replications.personas.panels._shared import NOTHING, condition_label, conditions
from ostrom.replications.personas.profiles import profiles_of
from ostrom.replications.personas.rates import MEASURES, Rate, rates
from ostrom.reports.marks import import_altair
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import INK, SEQUENCE
from ostrom.reports.words import Share, labels, pretty

COLUMNS = ("successes", "n", "share", "low", "high", "scenarios", "method", "note")


class NashMap(Panel):
    """How often profiles are equilibria; ``measure`` takes any other rate of profiles."""

    def __init__(self, measure: str = "nash_rate") -> None:
        if measure not in MEASURES:
            raise UnknownName("measure of profiles", measure, MEASURES)
        self.measure = measure
        self.title = f"{pretty(measure).capitalize()} by agent and condition"

    def draw(self, data: RunData) -> Drawn:
        """The map, and a table with intervals."""
        found = profiles_of(data)
        if not found:
            return Drawn(notes=[NOTHING])
        by = conditions(data, found)
        made = rates(found, self.measure, by=("agent", *by))
        table = Table(
            f"personas_{self.measure}",
            ["scenario type", "agent", *by, *COLUMNS],
            [[r.scenario_type, *r.key.values(), *cells(r)] for r in made],
            f"{pretty(self.measure).capitalize()} with 95 % intervals over scenarios.",
        )
        caption = (
            "Share of played profiles"
            + (" that are pure Nash equilibria" if self.measure == "nash_rate" else "")
            + " by agent and condition, for all scenarios with one canonical equilibrium and for each class; "
            "mixed scenarios stand apart."
        )
        figure = Figure(
            f"personas_{self.measure}", _chart(made, by), caption, f"Map of the {pretty(self.measure)}."
        )
        return Drawn([figure], [table])


def cells(rate: Rate) -> list[Any]:
    """A rate as cells of a table."""

    made = rate.as_dict()
    shown = [None if made[name] is None else Share(made[name]) for name in ("share", "low", "high")]
    return [rate.successes, rate.n, *shown, made["scenarios"], made["method"], rate.note or None]


def _chart(made: list[Rate], by: list[str]) -> Any:
    alt = import_altair()
    names = labels(r.key["agent"] for r in made)
    rows = [
        {
            "type": r.scenario_type,
            "agent": names[r.key["agent"]],
            "condition": condition_label(r.key, by),
            "share": r.share,
            "text": f"{100 * r.share:.0f} %",
            "dark": r.share > 0.55,
        }
        for r in made
        if r.share is not None
    ]
    across = list(dict.fromkeys(row["condition"] for row in rows))
    charts = []
    for kind in dict.fromkeys(row["type"] for row in rows):
        base = alt.Chart(alt.Data(values=[row for row in rows if row["type"] == kind])).encode(
            x=alt.X("condition:N", sort=across, title=None, axis=alt.Axis(labelAngle=-30, labelLimit=220)),
            y=alt.Y("agent:N", sort=list(names.values()), title=None),
        )
        colour = alt.Color(
            "share:Q",
            scale=alt.Scale(domain=[0, 1], range=list(SEQUENCE)),
            legend=alt.Legend(title="share", format="%", values=[0, 0.5, 1]),
        )
        tone = alt.condition("datum.dark", alt.value("white"), alt.value(INK))
        charts.append(
            alt.layer(
                base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour),
                base.mark_text(fontSize=11).encode(text="text:N", color=tone),
            ).properties(title=kind, width=max(60, 62 * len(across)), height=alt.Step(30))
        )
    return alt.concat(*charts, columns=1 if len(across) > 5 else 2).resolve_scale(color="shared")


PANEL = NashMap
