"""Cooperation by round, for each cell, with a band over matches.

Long matches are cut into bins of rounds in DuckDB; what comes into Python is one number per match and bin.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any

from ostrom.analysis.determinism import Determinism
from ostrom.analysis.intervals import mean_of
from ostrom.analysis.statistics.result import FEW
from ostrom.data.rundata import RunData, quoted
from ostrom.ground.values import grouped
from ostrom.ground.words import how_many
from ostrom.reports.cells import INTERVALS, agents, factors_identify_agents, levels, varied, why_nothing
from ostrom.reports.layout import cell_label, tones
from ostrom.reports.marks import MOST_PANELS, curves, heat
from ostrom.reports.panel import Drawn, Figure, Panel, Table
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import labels, pretty

MOST_LINES = 300
MOST_BINS = 30
MOST_NUMBERS = 1_500_000
"""The number of values from which a band would be thinner than its line, and is omitted."""
ACTS = "cooperative IS NOT NULL"


Band = tuple[float | None, float | None]
Point = tuple[int, float, float | None, float | None]
"""The first round of a bin, the mean over matches, and the ends of its band, where they are known."""


@dataclass(frozen=True)
class RoundCurve:
    """Cooperation of one group by round."""

    key: Mapping[str, Any]
    matches: int
    points: Sequence[Point]


def counted_acts(data: RunData) -> str:
    """Return the SQL condition for rows of ``rounds`` that count: actions of matches without excluded people."""
    return ACTS + (
        " AND match NOT IN (SELECT match FROM matches WHERE excluded)" if "excluded" in data.columns("matches") else ""
    )


def last_round(data: RunData) -> int:
    """The longest finished match with cooperative actions, in rounds; 0 if there is none."""
    return int(data.records(f"SELECT coalesce(max(round), 0) AS r FROM rounds WHERE {counted_acts(data)}")[0]["r"])


def curves_over_rounds(data: RunData, by: Sequence[str], width: int) -> tuple[list[RoundCurve], bool]:
    """Return a curve for every combination of columns, and whether there are bands."""
    data.need("rounds", by)
    keys = "".join(f"{quoted(name)}, " for name in by)
    source = (
        f"SELECT {keys}match, (round - 1) // {width} AS bin, avg(cooperative::INTEGER) AS v "
        f"FROM rounds WHERE {counted_acts(data)} GROUP BY {keys}match, bin"
    )
    banded = data.records(f"SELECT count(*) AS n FROM ({source})")[0]["n"] <= MOST_NUMBERS
    rows = data.records(
        f"SELECT {keys}match AS n, bin, v FROM ({source}) ORDER BY match, bin"
        if banded
        else f"SELECT {keys}bin, avg(v) AS v, count(*) AS n FROM ({source}) GROUP BY {keys}bin ORDER BY bin"
    )
    groups = grouped((tuple(row[name] for name in by), row) for row in rows)
    exact, band = Determinism(data.unit), cache(_band_of)  # bins of a few rounds often have the same values
    curves = [
        _banded(dict(zip(by, key, strict=True)), of, width, exact, band)
        if banded
        else RoundCurve(
            dict(zip(by, key, strict=True)),
            max(row["n"] for row in of),
            [(row["bin"] * width + 1, row["v"], None, None) for row in of],
        )
        for key, of in groups.items()
    ]
    order = {name: {v: i for i, v in enumerate(levels(data, name))} for name in by}
    curves.sort(key=lambda c: tuple(order[name].get(c.key[name], -1) for name in by))
    return curves, banded


def _band_of(values: tuple[float, ...]) -> Band:
    """Return the interval of a mean of shares; None if unknown."""
    limits = mean_of(values, bounds=(0.0, 1.0), unit="match").limits()
    return limits.low, limits.high


def _banded(
    key: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    width: int,
    exact: Determinism,
    band: Callable[[tuple[float, ...]], Band],
) -> RoundCurve:
    """Return mean and band of one group; a match that ended early counts in the bins that it reached."""
    matches = {row["n"] for row in rows}
    certain, points = all(map(exact, matches)), list[Point]()
    for place, values in sorted(grouped((row["bin"], row["v"]) for row in rows).items()):
        mean = sum(values) / len(values)
        points.append(
            (
                place * width + 1,
                mean,
                *((mean, mean) if certain else band(tuple(sorted(values))) if len(matches) > 1 else (None, None)),
            )
        )
    return RoundCurve(key, len(matches), points)


class CooperationOverRounds(Panel):
    """Curves with bands; beyond a few dozen cells a map."""

    title = "Cooperation over rounds"

    def draw(self, data: RunData) -> Drawn:
        """Small multiples with one colour per agent, or per level of the last factor."""
        last = last_round(data)
        if last < 2:
            return Drawn(
                notes=["Every match has a single round, so there is no course to draw." if last else why_nothing(data)]
            )
        width = ceil(last / MOST_BINS)
        by = [*data.factors, "agent"]
        curves, banded = curves_over_rounds(data, by, width)
        colour, facets = self._split(data)
        unit = "round" if width == 1 else f"round (bins of {width})"
        table = Table(
            "cooperation_over_rounds",
            [*by, "matches", "first_round", "cooperation", "low", "high"],
            [[*c.key.values(), c.matches, *point] for c in curves for point in c.points],
            f"Cooperation by {unit}.",
            0,
        )
        named = {tuple(c.key[f] for f in facets): cell_label(c.key, facets) for c in curves}
        notes = [] if banded else ["Bands are left out: with so many matches they are thinner than the lines."]
        if len(named) <= MOST_PANELS:
            return Drawn([self._curves(data, curves, colour, facets, width, unit)], [table], notes)
        return Drawn(
            [self._map(curves, data.factors if factors_identify_agents(data) else by, width, unit, notes)],
            [table],
            notes,
        )

    def _split(self, data: RunData) -> tuple[str, list[str]]:
        """Return the column for colours and the columns for small multiples."""
        factors, who = varied(data), agents(data)
        distinct = len(who) == 1 or factors_identify_agents(data)
        if not distinct and len(who) <= MOST_COLOURS:
            return "agent", factors
        rest = factors if distinct else [*factors, "agent"]
        colourable = [name for name in rest if len(levels(data, name)) <= MOST_COLOURS]
        return (colourable[-1], [f for f in rest if f != colourable[-1]]) if colourable else ("agent", rest)

    def _curves(
        self, data: RunData, round_curves: Sequence[RoundCurve], colour: str, facets: list[str], width: int, unit: str
    ) -> Figure:
        names = labels(levels(data, colour))
        middle = (width - 1) / 2
        rows: list[dict[str, Any]] = [
            {
                "x": start + middle, "mean": mean, "low": low if shown else None, "high": high if shown else None,
                "series": names[c.key[colour]], "facet": cell_label(c.key, facets),
            }
            for c in round_curves
            for shown in [c.matches >= FEW or INTERVALS.get()]  # few matches do not say how far a band reaches
            for start, mean, low, high in c.points
        ]  # fmt: skip
        chart = curves(
            rows,
            x=unit,
            y="cooperation",
            facets=list(dict.fromkeys(row["facet"] for row in rows)),
            series=tones(data, colour, names),
            legend=pretty(colour),
            points=False,
        )
        bands = "bands, where drawn, are 95 % intervals" if any(r["low"] is not None for r in rows) else "no bands"
        n = sorted({c.matches for c in round_curves})
        size = f"{n[0]} to {n[-1]} matches" if len(n) > 1 else how_many(n[0], "match")
        return Figure(
            "cooperation_over_rounds",
            chart,
            f"Lines are means over matches, {bands}; n = {size}.",
            f"Curves of cooperation over rounds for {len(round_curves)} combinations of cell and agent.",
        )

    def _map(self, curves: Sequence[RoundCurve], by: list[str], width: int, unit: str, notes: list[str]) -> Figure:
        lines = curves[:MOST_LINES]
        if len(curves) > len(lines):
            notes.append(f"The map shows the first {len(lines)} of {len(curves)} lines; the table has all.")
        used = [n for n in by if len({c.key[n] for c in curves}) > 1] or ["agent"]
        names = [f"{cell_label(c.key, used)}" for c in lines]
        rows = [
            {"label": name, "start": start - 0.5, "end": start + width - 0.5, "mean": mean}
            for name, c in zip(names, lines, strict=True)
            for start, mean, _, _ in c.points
        ]
        return Figure(
            "cooperation_over_rounds",
            heat(rows, labels=names, x=unit, legend="cooperation"),
            f"Share of cooperative actions in each {unit}, mean over matches; one line per cell and agent.",
            f"Map of cooperation over rounds with {len(lines)} lines, dark where cooperation is high.",
        )
