"""Do those who look forward cooperate? Forward-looking ratio against cooperation, cell by cell."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.estimate import estimate
from ostrom.data.rundata import RunData
from ostrom.features.words.panels._traces_shared import CELL, table_or_note
from ostrom.features.words.traces.summary import source
from ostrom.replications.memory_curse.forward import ForwardLink, forward_link
from ostrom.replications.memory_curse.played import keyed
from ostrom.reports.cells import agents
from ostrom.reports.marks import import_altair, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.words import labels, pretty


class TracesForward(Panel):
    """One dot per agent, game and history length among reasoned replies."""

    title = "Looking forward and cooperating"

    def draw(self, data: RunData) -> Drawn:
        """A scatter with its correlation."""
        table, why = table_or_note(data)
        if table is None:
            return Drawn(notes=[why])
        ratios = keyed(estimate(data, "word_ratio", CELL), CELL)
        # Cooperation of the matches whose traces were counted: those asked for an answer alone have none.
        counted = {row["match"] for row in data.records(f"SELECT DISTINCT match FROM {source(table)}")}
        rates = keyed(estimate(data, "memory_cooperation", CELL, where={"match": counted}), CELL)
        link = forward_link(
            {key: one.value for key, one in ratios.items()}, {key: one.value for key, one in rates.items()}
        )
        both = [(key, one.value, rates[key].value) for key, one in ratios.items() if key in rates]
        if not both:
            return Drawn(notes=["No cell has both forward or backward words and a cooperation rate."])
        rows = [
            [agent, style, game, length, ratio, rate] for (length, game, style, agent), ratio, rate in both
        ]
        columns = ["agent", "style", "game", "history_length", "forward_looking_ratio", "cooperation"]
        tables = [
            Table("traces_forward", columns, rows, "Forward-looking ratio and cooperation of every cell."),
            _correlation(link),
        ]
        notes = [] if link.r is not None else [f"The correlation is not defined: {link.note}"]
        caption = "Each dot is one agent, game and history length. " + (
            f"Pearson r = {link.r:.2f} (95 % interval {link.low:.2f} to {link.high:.2f}) over {link.cells} "
            "cells."
            if link.r is not None
            else ""
        )
        alt = f"Scatter plot of cooperation against the forward-looking ratio for {len(both)} cells."
        return Drawn([Figure("traces_forward", _chart(data, rows), caption, alt)], tables, notes)


def _correlation(link: ForwardLink) -> Table:
    columns = ["cells", "r", "low", "high", "p", "note"]
    row = [link.cells, link.r, link.low, link.high, link.p, link.note or None]
    return Table(
        "traces_forward_correlation", columns, [row], "Correlation over cells (Fisher's z interval)."
    )


def _chart(data: RunData, rows: list[list[Any]]) -> Any:
    alt = import_altair()
    short = labels([a for a in agents(data) if any(row[0] == a for row in rows)])
    colours = series_colours(list(short.values()))
    values = [
        {"agent": short[agent], "game": pretty(game), "x": ratio, "y": rate}
        for agent, _, game, _, ratio, rate in rows
    ]
    many = len({v["game"] for v in values}) > 1
    return (
        alt.Chart(alt.Data(values=values))
        .mark_point(filled=True, size=60, opacity=0.85)
        .encode(
            x=alt.X("x:Q", title="forward-looking ratio", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("y:Q", title="cooperation", scale=alt.Scale(domain=[0, 1])),
            color=alt.Color(
                "agent:N", scale=alt.Scale(domain=list(colours), range=list(colours.values())),
                legend=alt.Legend(title="agent") if len(colours) > 1 else None,
            ),
            shape=alt.Shape("game:N", legend=alt.Legend(title="game")) if many else alt.value("circle"),
        )
        .properties(width=420, height=280)
    )  # fmt: skip


PANEL = TracesForward
