"""Cooperation by round, for each cell, with a band over matches.

Long matches are cut into bins of rounds in DuckDB; what comes into Python is one number per match and bin.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Any

import numpy as np

from ostrom.analysis.determinism import Determinism
from ostrom.analysis.intervals import mean_of
from ostrom.analysis.statistics.result import FEW
from ostrom.data.rundata import RunData, quoted
from ostrom.ground.values import grouped
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


@dataclass(frozen=True)
class RoundCurve:
    """Cooperation of one group along the rounds; NaN where a band is not known."""

    key: Mapping[str, Any]
    matches: int
    start: np.ndarray[Any, Any]
    """The first round of every bin."""
    mean: np.ndarray[Any, Any]
    low: np.ndarray[Any, Any]
    high: np.ndarray[Any, Any]


def counted_acts(data: RunData) -> str:
    """Return the SQL condition for rows of ``rounds`` that count: actions of matches without excluded people."""
    out = (
        " AND match NOT IN (SELECT match FROM matches WHERE excluded)" if "excluded" in data.columns("matches") else ""
    )
    return ACTS + out


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
    groups = grouped((tuple(row[name] for name in by), (row["n"], row["bin"], row["v"])) for row in rows)
    exact, band = Determinism(data.unit), cache(_band_of)
    curves = [
        _banded(dict(zip(by, key, strict=True)), of, width, exact, band)
        if banded
        else _plain(dict(zip(by, key, strict=True)), of, width)
        for key, of in groups.items()
    ]
    order = {name: {v: i for i, v in enumerate(levels(data, name))} for name in by}
    curves.sort(key=lambda c: tuple(order[name].get(c.key[name], -1) for name in by))
    return curves, banded


def _band_of(values: tuple[float, ...]) -> list[float]:
    """Return the interval of a mean of shares; NaN if unknown."""
    limits = mean_of(values, bounds=(0.0, 1.0), unit="match").limits()
    return [np.nan if end is None else end for end in (limits.low, limits.high)]


def _banded(
    key: Mapping[str, Any],
    of: list[tuple[int, int, float]],
    width: int,
    exact: Determinism,
    band: Callable[[tuple[float, ...]], list[float]],
) -> RoundCurve:
    """Return mean and band of one group; a match that ended early counts in the bins that it reached.

    ``band`` remembers: bins of a few rounds often have the same values, and their order changes no interval.
    """
    matches = sorted({m for m, _, _ in of})
    bins = sorted({b for _, b, _ in of})
    row, column = {m: i for i, m in enumerate(matches)}, {b: i for i, b in enumerate(bins)}
    values, present = np.zeros((2, len(matches), len(bins)))
    for match, place, value in of:
        values[row[match], column[place]] = value
        present[row[match], column[place]] = 1.0
    mean = values.sum(axis=0) / present.sum(axis=0)
    low = high = np.full(len(bins), np.nan)
    if all(map(exact, matches)):
        low = high = mean
    elif len(matches) > 1:
        ends = [band(tuple(np.sort(values[present[:, i] > 0, i]).tolist())) for i in range(len(bins))]
        low, high = np.array(ends).T
    return RoundCurve(key, len(matches), np.array(bins) * width + 1, mean, low, high)


def _plain(key: Mapping[str, Any], of: list[tuple[int, int, float]], width: int) -> RoundCurve:
    unknown = np.full(len(of), np.nan)
    starts = np.array([b for _, b, _ in of]) * width + 1
    return RoundCurve(key, max(n for n, _, _ in of), starts, np.array([v for _, _, v in of]), unknown, unknown)


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
        curves, banded = curves_over_rounds(data, by, width)
        colour, facets = self._split(data)
        unit = "round" if width == 1 else f"round (bins of {width})"
        columns = [*by, "matches", "first_round", "cooperation", "low", "high"]
        rows = [
            [*c.key.values(), c.matches, int(start), float(mean), _none_if_nan(low), _none_if_nan(high)]
            for c in curves
            for start, mean, low, high in zip(c.start, c.mean, c.low, c.high, strict=True)
        ]
        table = Table("cooperation_over_rounds", columns, rows, f"Cooperation by {unit}.", 0)
        named = {tuple(c.key[f] for f in facets): cell_label(c.key, facets) for c in curves}
        notes = [] if banded else ["Bands are left out: with so many matches they are thinner than the lines."]
        if len(named) > MOST_PANELS:
            by_factors = factors_identify_agents(data)
            figure = self._map(curves, data.factors if by_factors else by, width, unit, notes)
        else:
            figure = self._curves(data, curves, colour, facets, width, unit)
        return Drawn([figure], [table], notes)

    def _split(self, data: RunData) -> tuple[str, list[str]]:
        """Return the column for colours and the columns for small multiples."""
        factors, who = varied(data), agents(data)
        distinct = len(who) == 1 or factors_identify_agents(data)
        if not distinct and len(who) <= MOST_COLOURS:
            return "agent", factors
        rest = factors if distinct else [*factors, "agent"]
        few = [name for name in rest if len(levels(data, name)) <= MOST_COLOURS]
        return (few[-1], [f for f in rest if f != few[-1]]) if few else ("agent", rest)

    def _curves(
        self, data: RunData, round_curves: Sequence[RoundCurve], colour: str, facets: list[str], width: int, unit: str
    ) -> Figure:
        names = labels(levels(data, colour))
        middle = (width - 1) / 2
        rows: list[dict[str, Any]] = [
            {
                "x": float(start) + middle, "mean": float(mean), **_band(c, low, high),
                "series": names[c.key[colour]], "facet": cell_label(c.key, facets),
            }
            for c in round_curves
            for start, mean, low, high in zip(c.start, c.mean, c.low, c.high, strict=True)
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
        caption = f"Lines are means over matches, {bands}; n = {n[0]}{f' to {n[-1]}' if len(n) > 1 else ''} matches."
        alt = f"Curves of cooperation over rounds for {len(round_curves)} combinations of cell and agent."
        return Figure("cooperation_over_rounds", chart, caption, alt)

    def _map(self, curves: Sequence[RoundCurve], by: list[str], width: int, unit: str, notes: list[str]) -> Figure:
        lines = curves[:MOST_LINES]
        if len(curves) > len(lines):
            notes.append(f"The map shows the first {len(lines)} of {len(curves)} lines; the table has all.")
        used = [n for n in by if len({c.key[n] for c in curves}) > 1] or ["agent"]
        names = [f"{cell_label(c.key, used)}" for c in lines]
        rows = [
            {"label": name, "start": float(s) - 0.5, "end": float(s) + width - 0.5, "mean": float(m)}
            for name, c in zip(names, lines, strict=True)
            for s, m in zip(c.start, c.mean, strict=True)
        ]
        caption = f"Share of cooperative actions in each {unit}, mean over matches; one line per cell and agent."
        alt = f"Map of cooperation over rounds with {len(lines)} lines, dark where cooperation is high."
        return Figure("cooperation_over_rounds", heat(rows, labels=names, x=unit, legend="cooperation"), caption, alt)


def _band(curve: RoundCurve, low: float, high: float) -> dict[str, float | None]:
    """Return the ends of a band; None if there are too few matches."""
    if curve.matches < FEW and not INTERVALS.get():
        return {"low": None, "high": None}
    return {"low": _none_if_nan(low), "high": _none_if_nan(high)}


def _none_if_nan(value: float) -> float | None:
    return None if value != value else float(value)
