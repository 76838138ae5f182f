"""Cooperation from the first round to the last, cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.reports.bands import MOST_BINS, RoundCurve, curves_over_rounds, last_round
from ostrom.reports.cells import agents, agents_are_told_by_factors, levels, varied, why_nothing
from ostrom.reports.layout import cell_label
from ostrom.reports.marks import MOST_PANELS, curves, heat, series_colours
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import is_bare, labels, pretty

MOST_LINES = 300


class CooperationOverRounds(Panel):
    """Curves with bands; beyond a few dozen cells a map."""

    title = "Cooperation over rounds"

    def draw(self, data: RunData) -> Drawn:
        """Small multiples with one colour per agent, or per level of the last factor."""
        last = last_round(data)
        if last == 0:
            return Drawn(notes=[why_nothing(data)])
        if last == 1:
            return Drawn(notes=["Every match has a single round, so there is no course to draw."])
        width = ceil(last / MOST_BINS)
        by = [*data.factors, "agent"]
        found, banded = curves_over_rounds(data, by, width)
        colour, facets = self._split(data)
        unit = "round" if width == 1 else f"round (bins of {width})"
        columns = [*by, "matches", "first_round", "cooperation", "low", "high"]
        table = Table("cooperation_over_rounds", columns, _table_rows(found), f"Cooperation by {unit}.", 0)
        named = {tuple(c.key[f] for f in facets): cell_label(c.key, facets) for c in found}
        notes = (
            [] if banded else ["Bands are left out: with so many matches they are thinner than the lines."]
        )
        if len(named) > MOST_PANELS:
            told = agents_are_told_by_factors(data)
            figure = self._map(found, data.factors if told else by, width, unit, notes)
        else:
            figure = self._curves(data, found, colour, facets, width, unit)
        return Drawn([figure], [table], notes)

    def _split(self, data: RunData) -> tuple[str, list[str]]:
        """What makes colours and what makes small multiples."""
        factors, who = varied(data), agents(data)
        told = len(who) == 1 or agents_are_told_by_factors(data)
        if not told and len(who) <= MOST_COLOURS:
            return "agent", factors
        rest = factors if told else [*factors, "agent"]
        for name in reversed(rest):
            if len(levels(data, name)) <= MOST_COLOURS:
                return name, [f for f in rest if f != name]
        return "agent", rest

    def _curves(
        self,
        data: RunData,
        found: Sequence[RoundCurve],
        colour: str,
        facets: list[str],
        width: int,
        unit: str,
    ) -> Figure:
        values = levels(data, colour)
        ordered = all(is_bare(v) for v in values)
        names = labels(values)
        middle = (width - 1) / 2
        rows: list[dict[str, Any]] = [
            {
                "x": float(start) + middle, "mean": float(mean), "low": _known(low), "high": _known(high),
                "series": names[c.key[colour]], "facet": cell_label(c.key, facets),
            }
            for c in found
            for start, mean, low, high in zip(c.start, c.mean, c.low, c.high, strict=True)
        ]  # fmt: skip
        chart = curves(
            rows,
            x=unit,
            y="cooperation",
            facets=list(dict.fromkeys(row["facet"] for row in rows)),
            series=series_colours(list(names.values()), ordered=ordered),
            legend=pretty(colour),
            points=False,
        )
        caption = (
            f"Share of cooperative actions in each {unit}: mean over matches; bands are 95 % "
            "intervals over matches. Where matches end at different rounds, later "
            "rounds rest on fewer of them."
        )
        alt = f"Curves of cooperation over rounds for {len(found)} combinations of cell and agent."
        return Figure("cooperation_over_rounds", chart, caption, alt)

    def _map(
        self, found: Sequence[RoundCurve], by: list[str], width: int, unit: str, notes: list[str]
    ) -> Figure:
        shown = found[:MOST_LINES]
        if len(found) > len(shown):
            notes.append(f"The map shows the first {len(shown)} of {len(found)} lines; the table has all.")
        used = [n for n in by if len({c.key[n] for c in found}) > 1] or ["agent"]
        names = [f"{cell_label(c.key, used)}" for c in shown]
        rows = [
            {"label": name, "start": float(s) - 0.5, "end": float(s) + width - 0.5, "mean": float(m)}
            for name, c in zip(names, shown, strict=True)
            for s, m in zip(c.start, c.mean, strict=True)
        ]
        caption = (
            f"Share of cooperative actions in each {unit}, mean over matches; one line per cell and agent."
        )
        alt = f"Map of cooperation over rounds with {len(shown)} lines, dark where cooperation is high."
        chart = heat(rows, labels=names, x=unit, legend="cooperation")
        return Figure("cooperation_over_rounds", chart, caption, alt)


def _known(value: float) -> float | None:
    return None if value != value else float(value)


def _table_rows(found: Sequence[RoundCurve]) -> list[list[Any]]:
    return [
        [*c.key.values(), c.matches, int(start), float(mean), _known(low), _known(high)]
        for c in found
        for start, mean, low, high in zip(c.start, c.mean, c.low, c.high, strict=True)
    ]


PANEL = CooperationOverRounds
