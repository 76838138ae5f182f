"""Served = assigned: whether every person met, in every round, the agent of the cell they were assigned to."""

from __future__ import annotations

from ostrom.data.rundata import RunData, quoted
from ostrom.people.panels.people_flow import NOBODY
from ostrom.reports.panel import Drawn, Panel, Table

OWN = "unit = 'match' AND kind = 'act' AND served IS NOT NULL"


class PeopleServed(Panel):
    """The audit of the treatment, round by round, from what was kept with every answer."""

    title = "Served = assigned, round by round"

    def draw(self, data: RunData) -> Drawn:
        """One row per cell, game and round."""
        if "visits" not in data.rows or not data.rows["visits"]:
            return Drawn(notes=[NOBODY])
        keys = [*data.factors, "game", "round"]
        picked = ", ".join(quoted(key) for key in keys)
        rows = data.records(
            f"SELECT {picked}, count(*) AS decisions, count(*) FILTER (served = assigned) AS same "
            f"FROM decisions WHERE {OWN} GROUP BY ALL ORDER BY {picked}"
        )
        if not rows:
            return Drawn(notes=["Nobody has decided in a match yet."])
        all_, same = sum(r["decisions"] for r in rows), sum(r["same"] for r in rows)
        table = Table(
            "people_served",
            [*keys, "decisions", "served = assigned", "share"],
            [[*(r[k] for k in keys), r["decisions"], r["same"], r["same"] / r["decisions"]] for r in rows],
            "Decisions of people, and how many of them met the agent that their cell says.",
        )
        notes = [
            f"Served = assigned in {same:,} of {all_:,} decisions of people ({100 * same / all_:.1f} %)."
        ]
        if same < all_:
            odd = data.records(
                f"SELECT person, match, round FROM decisions WHERE {OWN} AND served <> assigned ORDER BY 2, 3 LIMIT 5"
            )
            where = "; ".join(f"person {r['person']}, match {r['match']}, round {r['round']}" for r in odd)
            notes.append(f"The treatment was NOT the assigned one, first in: {where}.")
        return Drawn(tables=[table], notes=notes)


PANEL = PeopleServed
