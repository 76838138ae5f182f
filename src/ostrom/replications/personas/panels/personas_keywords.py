"""What reasons are made of: keyword categories per 1,000 rationales."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.rundata import RunData
from ostrom.replications.personas.keywords import keyword_rows
from ostrom.replications.personas.panels._shared import condition_label, conditions
from ostrom.replications.personas.profiles import profiles_of
from ostrom.reports.marks import import_altair
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import INK, SEQUENCE
from ostrom.reports.words import Share, labels, pretty


class Keywords(Panel):
    """Nine categories of words (Manoranjan & Gaikwad 2026) by agent and condition."""

    title = "Words of the rationales"

    def draw(self, data: RunData) -> Drawn:
        """A map per agent: categories by conditions."""
        found = profiles_of(data)
        by = conditions(data, found)
        titles = sorted({role for p in found for role in p.roles})
        decisions = data.records(
            "SELECT * FROM decisions WHERE rationale IS NOT NULL AND state = 'done' "
            "ORDER BY match, step, seat"
        )
        rows = keyword_rows(decisions, titles, ("agent", *by))
        if not rows:
            return Drawn(notes=["No rationale was given (agents give one with answer: explained)."])
        table = Table(
            "personas_keywords",
            ["agent", *by, "category", "rationales", "occurrences", "per 1,000", "with at least one"],
            [[*list(r.values())[: len(by) + 4], r["per_1000"], Share(r["share_with_one"])] for r in rows],
            "Keywords in rationales: whole words; 'as a ...' counts with a role's name only.",
        )
        caption = (
            "Occurrences of keyword categories per 1,000 rationales. Words match as wholes, so 'just' is not "
            "found in 'adjust'; every category counts its own terms, some terms belong to two."
        )
        figure = Figure(
            "personas_keywords", _chart(rows, by), caption, "Maps of keyword categories by condition."
        )
        return Drawn([figure], [table])


def _chart(rows: list[dict[str, Any]], by: list[str]) -> Any:
    alt = import_altair()
    names = labels(row["agent"] for row in rows)
    values = [
        {
            "agent": names[row["agent"]],
            "condition": condition_label(row, by),
            "category": pretty(row["category"]),
            "per_1000": row["per_1000"],
            "text": f"{row['per_1000']:.0f}",
        }
        for row in rows
    ]
    most = max(1.0, *(row["per_1000"] for row in values))
    across = list(dict.fromkeys(row["condition"] for row in values))
    down = list(dict.fromkeys(row["category"] for row in values))
    charts = []
    for agent in names.values():
        own = [{**row, "dark": row["per_1000"] > 0.55 * most} for row in values if row["agent"] == agent]
        base = alt.Chart(alt.Data(values=own)).encode(
            x=alt.X("condition:N", sort=across, title=None, axis=alt.Axis(labelAngle=-30, labelLimit=220)),
            y=alt.Y("category:N", sort=down, title=None),
        )
        colour = alt.Color(
            "per_1000:Q",
            scale=alt.Scale(domain=[0, most], range=["#ffffff", *SEQUENCE]),
            legend=alt.Legend(title="per 1,000 rationales"),
        )
        tone = alt.condition("datum.dark", alt.value("white"), alt.value(INK))
        charts.append(
            alt.layer(
                base.mark_rect(stroke="white", strokeWidth=1).encode(color=colour),
                base.mark_text(fontSize=10).encode(text="text:N", color=tone),
            ).properties(title=agent, width=max(60, 58 * len(across)), height=alt.Step(22))
        )
    return alt.concat(*charts, columns=2 if len(across) <= 5 else 1).resolve_scale(color="shared")


PANEL = Keywords
