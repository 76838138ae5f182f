"""The first screen: what was found, in words and one chart, with n and the interval."""

from __future__ import annotations

from typing import Any

from ostrom.analysis.estimate import Estimate, contrast, estimate, fixed
from ostrom.analysis.measure import measures
from ostrom.analysis.verdicts import above
from ostrom.data.rundata import RunData
from ostrom.ground.errors import OstromError
from ostrom.reports.cells import agents, levels, varied
from ostrom.reports.chart import Chart
from ostrom.reports.charts.curve import Curve
from ostrom.reports.charts.dots import Dots
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import is_bare, labels, pretty

MOST_LEVELS = 40
"""A factor with more levels (scenarios, games) is no headline."""
MOST_FACETS = 6


def headline_measure(data: RunData) -> str | None:
    """What the first screen speaks of: cooperation where it is defined, else the score."""
    for name in ("cooperation", "score"):
        found = data.records(
            f"SELECT count({name}) AS n FROM matches WHERE state = 'done' AND unit = 'match'"
        )
        if found[0]["n"]:
            return name
    return None


def findings(data: RunData) -> list[str]:
    """Sentences: the mean over everything, then the factors between whose levels the difference is largest."""
    name = headline_measure(data)
    if name is None:
        return []
    title = measures.named(name).title
    (whole,) = estimate(data, name)
    said = [f"{title}: {whole}."]
    columns = [*varied(data), *(["agent"] if len(agents(data)) > 1 else [])]
    spread = [s for c in columns if len(levels(data, c)) <= MOST_LEVELS and (s := _spread(data, name, c))]
    verdicts = above([difference for _, _, difference in spread], 0.0)
    for (high, low, difference), verdict in zip(spread, verdicts, strict=True):
        column = next(iter(high.key))
        top, bottom = (_level(column, e) for e in (high, low))
        size = "clear" if verdict.answer == "yes" else str(verdict)
        said.append(
            f"By {pretty(column)}: highest {top}, lowest {bottom}; {_compared(high, low, difference)} ({size})."
        )
    if spread:
        said.append(f"Highest and lowest levels were picked by the data; {verdicts.control}.")
    return said + amounts(data)


def amounts(data: RunData) -> list[str]:
    """How much of what may be named is named, at each stage of games with amounts; nothing where there are none."""
    measure = measures.named("amount_share")
    try:
        measure.check(data)
    except OstromError:
        return []
    found = estimate(data, measure.name, ["game", "stage"])
    return [f"{measure.title}, {pretty(e.key['game'])}, {pretty(e.key['stage'])}: {e}." for e in found]


def _spread(data: RunData, name: str, column: str) -> tuple[Estimate, Estimate, Estimate] | None:
    found = estimate(data, name, [column])
    if len(found) < 2:
        return None
    high, low = max(found, key=lambda e: e.value), min(found, key=lambda e: e.value)
    if high.value - low.value <= 1e-9 * max(abs(high.value), abs(low.value), 1.0):
        return None
    made = contrast(data, name, column, (high.key[column], low.key[column]))
    return (high, low, made[0]) if made else None


def _compared(high: Estimate, low: Estimate, difference: Estimate) -> str:
    """The difference, and over what it is taken where that is not all matches of both levels."""
    plain = high.value - low.value
    if abs(difference.value - plain) <= 1e-9 * max(abs(high.value), abs(low.value), 1.0):
        return f"difference {difference.text()}"
    return f"difference {fixed(plain)}; {difference.text()} where matches pair (the same match, or cell and seed)"


def _level(column: str, one: Estimate) -> str:
    value = one.key[column]
    return f"{labels([value])[value]} ({one.value:.2f})"


def first_chart(data: RunData) -> Chart | None:
    """One chart of the headline measure: along a factor of numbers where there is one, else by cell."""
    name = headline_measure(data)
    if name is None:
        return None
    factors = varied(data)
    numeric = [f for f in factors if len(levels(data, f)) > 2 and all(is_bare(v) for v in levels(data, f))]
    rest = [f for f in [*factors, "agent"] if f not in numeric[:1] and len(levels(data, f)) > 1]
    try:
        if numeric:
            chosen: dict[str, Any] = {}
            for role, most in (("facet", MOST_FACETS), ("colour", MOST_COLOURS)):
                fitting = [f for f in rest if f not in chosen.values() and len(levels(data, f)) <= most]
                if fitting:
                    chosen[role] = fitting[0] if role == "facet" and len(rest) > 1 else fitting[-1]
            return Curve(name, numeric[0], **chosen)
        few = [f for f in rest if len(levels(data, f)) <= MOST_LEVELS]
        return Dots(name, few[:1] or None) if few else None
    except OstromError:
        return None
