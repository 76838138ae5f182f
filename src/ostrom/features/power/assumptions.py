"""What power is computed from: means, spread and correlation of partners, stated or as a pilot shows them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from ostrom.analysis.pairing import TwoSides, comparison
from ostrom.analysis.query import Query
from ostrom.analysis.units import observations
from ostrom.data.rundata import RunData
from ostrom.features.power.simulation import Assumed, SeedLayout
from ostrom.ground.errors import UsageError
from ostrom.studies.design import condition_columns, condition_of, sides_of

ENOUGH_PAIRS = 10
"""Pairs beyond one per condition from which on the correlation of a pilot is taken: of two pairs it is always 1."""


def assumed_from(pilot: RunData, query: Query) -> tuple[Assumed, str]:
    """Baselines, spread and correlation as a pilot shows them, and the pilot in words."""
    found = observations(pilot, query.part, query.condition(pilot))
    if not found.rows:
        raise UsageError(
            f"{pilot.name}: no finished match that is asked for has a value of {query.part.name}"
        )
    sides = sides_of(found, query)
    made, columns = comparison(found, *sides, query.pair[0], ()), condition_columns(found, query, *sides)
    low, high = made.bounds
    values: list[dict[tuple[str, ...], list[float]]] = [{}, {}]
    for side, units in enumerate(made.units):
        for of in units:
            key = condition_of(of[0].rows[0], columns)
            values[side].setdefault(key, []).extend(unit.value for unit in of)
    squares, freedom, room = 0.0, 0, 0.0
    for seen in (
        of for one, sure in zip(values, made.certain, strict=True) if not sure for of in one.values()
    ):
        mean = math.fsum(seen) / len(seen)
        squares += math.fsum((x - mean) ** 2 for x in seen)
        freedom += len(seen) - 1
        if low is not None and high is not None:
            room += (len(seen) - 1) * (mean - low) * (high - mean)
    if freedom < (1 if any(made.certain) else 2) or squares <= 1e-12:
        raise UsageError(
            f"{pilot.name}: shows no spread between matches of one condition; state one with --sd"
        )
    second = [x for seen in values[1].values() for x in seen]
    baseline = math.fsum(second) / len(second)
    conditions = {key: math.fsum(seen) / len(seen) for key, seen in values[1].items()}
    words = f"run {pilot.name}: {made.n} {'pairs' if made.pairs is not None else 'matches'}"
    assumed = Assumed(baseline, math.sqrt(squares / freedom), _correlation(made), conditions)
    if low is None or high is None or room <= 0:
        return assumed, words
    # The share of the largest possible variance is what stays the same where means differ.
    return at_share(replace(assumed, share=min(1.0, squares / room)), made.bounds), words


def at_share(assumed: Assumed, bounds: tuple[float | None, float | None]) -> Assumed:
    """The same with the sd that its share of the largest possible variance gives at the baseline."""
    low, high = bounds
    if assumed.share is None or low is None or high is None:
        return assumed
    room = max(0.0, (assumed.baseline - low) * (high - assumed.baseline))
    return replace(assumed, sd=math.sqrt(assumed.share * room))


def stated_over(
    assumed: Assumed, given: dict[str, Any], bounds: tuple[float | None, float | None]
) -> Assumed:
    """What a pilot says, with what is stated in its place."""
    changed = dict(given)
    if "baseline" in given:
        changed["conditions"] = {}
    if "sd" in given:
        changed["share"] = None
    return at_share(replace(assumed, **changed), bounds)


def _correlation(made: TwoSides) -> float:
    """Of partners, within conditions; 0 where the pairs are too few to tell."""
    if made.pairs is None or made.strata is None:
        return 0.0
    groups: dict[Any, list[tuple[float, float]]] = {}
    for key, one, two in zip(made.strata, made.first, made.second, strict=True):
        groups.setdefault(key, []).append((one, two))
    if len(made.pairs) - len(groups) < ENOUGH_PAIRS:
        return 0.0
    both = left = right = 0.0
    for of in groups.values():
        a, b = (math.fsum(pair[i] for pair in of) / len(of) for i in (0, 1))
        both += math.fsum((x - a) * (y - b) for x, y in of)
        left += math.fsum((x - a) ** 2 for x, _ in of)
        right += math.fsum((y - b) ** 2 for _, y in of)
    return 0.0 if left * right <= 1e-18 else round(max(-1.0, min(1.0, both / math.sqrt(left * right))), 6)


def assumed_of(
    design: SeedLayout, baseline: float | None, sd: float | None, correlation: float | None
) -> Assumed:
    """Stated assumptions; between two bounds the middle and the spread of a uniform distribution by default."""
    low, high = design.comparison.bounds
    if low is None or high is None:
        if sd is None or baseline is None:
            raise UsageError(
                "this measure has no bounds: state --baseline and --sd, or name a pilot with --from RUN"
            )
        return Assumed(baseline, sd, correlation or 0.0)
    middle = (low + high) / 2 if baseline is None else baseline
    room = max(0.0, (middle - low) * (high - middle))
    usual = min((high - low) / math.sqrt(12), math.sqrt(room))
    # On a bound there is no spread to be seen; what leaves it is assumed to go all the way, as it is close to it.
    share = 1.0 if sd is None and room == 0 else None
    return Assumed(middle, usual if sd is None else sd, correlation or 0.0, share=share)


def pace_of(pilot: RunData) -> float | None:
    """Seconds per call of a run: the time in which any call was under way, over the number of calls."""
    rows = pilot.records(
        'SELECT "at", latency FROM calls WHERE error IS NULL AND "at" IS NOT NULL ORDER BY "at"'
    )
    busy, until = 0.0, -math.inf
    for row in rows:
        begun, ended = float(row["at"]), float(row["at"]) + float(row["latency"] or 0.0)
        busy += max(0.0, ended - max(begun, until))
        until = max(until, ended)
    return busy / len(rows) if rows else None
