"""The flow of people: who came, how far they got, how visits ended, and who the analysis leaves out."""

from __future__ import annotations

from typing import Any

from ostrom.data.rundata import RunData, quoted
from ostrom.reports.panel import Drawn, Panel, Table

NOBODY = "No people took part in this run."
STAGES = {
    "arrived": "true",
    "agreed": "coalesce(consented, true)",
    "quiz passed": "coalesce(quiz_passed, cell IS NOT NULL)",
    "assigned": "cell IS NOT NULL",
    "finished a match": "matches_done > 0",
    "finished": "\"end\" = 'done'",
    "paid": "paid IS NOT NULL",
    "dropped out after assignment": "cell IS NOT NULL AND \"end\" <> 'done' AND state <> 'open'",
    "under way": "state = 'open'",
    "left out of the analysis": "coalesce(excluded, false)",
}
"""Columns of the table and the condition on a visit."""
PAID = "Paid: in a payment file (ostrom people RUN bonuses); what a platform pays by itself is not counted."


class PeopleFlow(Panel):
    """From arriving to being paid, by cell; dropouts by cell; the rule of exclusion with both counts."""

    title = "People: from arriving to being paid"

    def draw(self, data: RunData) -> Drawn:
        """Two tables and what to mind."""
        if "visits" not in data.rows or not data.rows["visits"]:
            return Drawn(notes=[NOBODY])
        counted = ", ".join(
            f"count(*) FILTER ({condition}) AS {quoted(name)}" for name, condition in STAGES.items()
        )
        keys = ", ".join(quoted(name) for name in data.factors)
        by_cell = data.records(
            f"SELECT {keys + ', ' if keys else ''}{counted} FROM visits GROUP BY ALL ORDER BY ALL"
        )
        total = data.records(f"SELECT {counted} FROM visits")[0]
        rows: list[list[Any]] = [
            [*("not assigned" if row[f] is None else row[f] for f in data.factors), *(row[s] for s in STAGES)]
            for row in by_cell
        ]
        rows.append([*(["all"] * len(data.factors)), *total.values()])
        flow = Table("people_flow", [*data.factors, *STAGES], rows, "People by cell: how far they got.")
        ends = data.records('SELECT "end", count(*) AS people FROM visits GROUP BY 1 ORDER BY 2 DESC, 1')
        ended = Table(
            "people_ends", ["end", "people"], [[r["end"], r["people"]] for r in ends], "How visits ended."
        )
        return Drawn(tables=[flow, ended], notes=[*_excluded(data), *_uneven(data), PAID])


def _excluded(data: RunData) -> list[str]:
    rule = ((data.study.get("people") or {}).get("exclude") or {}).get("missed")
    if rule is None:
        return ["No rule of exclusion is declared: everybody who finished a match is analysed."]
    out, all_ = data.records("SELECT count(*) FILTER (excluded) AS gone, count(*) AS came FROM visits")[
        0
    ].values()
    return [
        f"Declared rule (exclude: missed: {rule}): {out} of {all_} people missed {rule} or more rounds and are left "
        f"out of every estimate; {all_ - out} remain."
    ]


def _uneven(data: RunData) -> list[str]:
    found = data.records(
        "SELECT cell, count(*) FILTER (\"end\" = 'done') AS done FROM visits WHERE cell IS NOT NULL GROUP BY cell"
    )
    if len(found) < 2:
        return []
    done = [row["done"] for row in found]
    return [f"Cells have {min(done)} to {max(done)} people who finished."]


PANEL = PeopleFlow
