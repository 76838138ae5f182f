"""Cooperation in every cell, by agent, as dots with whiskers."""

from __future__ import annotations

from ostrom.analysis.rundata import RunData
from ostrom.reports.cells import means, why_nothing
from ostrom.reports.layout import dot_chart, lay_out
from ostrom.reports.panel import Drawn, Figure, Panel, Table

MOST_ROWS = 400


class Cooperation(Panel):
    """The share of cooperative actions: the mean over matches with a 95 % interval."""

    title = "Cooperation by cell"

    def draw(self, data: RunData) -> Drawn:
        """One row per cell, one dot per agent."""
        found = means(data, [*data.factors, "agent"])
        if not found:
            return Drawn(notes=[why_nothing(data)])
        layout = lay_out(data)
        caption = (
            "Share of cooperative actions. Dots are means over matches, whiskers 95 % percentile bootstrap "
            "intervals that resample matches; hollow dots are single matches, which have no interval."
        )
        notes = []
        if len(found) > MOST_ROWS:
            notes.append(f"The chart shows the first {MOST_ROWS} of {len(found)} cells; the table has all.")
        few = sum(1 for mean in found if 1 < mean.matches < 5)
        if few:
            notes.append(
                f"{few} of {len(found)} intervals rest on fewer than five matches and are rough: "
                "resampling so few matches understates how much they vary."
            )
        chart = dot_chart(found[:MOST_ROWS], layout, axis="cooperation", domain=(0, 1))
        rows = [[*m.key.values(), m.matches, m.mean, m.low, m.high] for m in found]
        columns = [*data.factors, "agent", "matches", "cooperation", "low", "high"]
        table = Table("cooperation", columns, rows, "Cooperation by cell and agent.")
        alt = f"Dot plot of cooperation from 0 to 1 for {len(found)} combinations of cell and agent."
        return Drawn([Figure("cooperation", chart, caption, alt)], [table], notes)


PANEL = Cooperation
