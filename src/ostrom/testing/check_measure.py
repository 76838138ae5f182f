"""Conformance checks for measures: run them on your own as we run them on ours.

from ostrom.testing import check_measure
check_measure("cooperation")
check_measure(my_package.trust.MEASURE, data=my_run)
"""

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from ostrom.analysis.estimate import estimate
from ostrom.analysis.measure import Measure, measures
from ostrom.data.rundata import RunData
from ostrom.testing.small_run import amounts_run, people_run, small_run


def check_measure(
    measure: str | Mapping[str, Any] | Measure, *, data: RunData | Sequence[RunData] | None = None, valued: bool = True
) -> None:
    """Raise AssertionError with one line if a measure breaks the contract.

    ``measure`` is a name, a specification or the object. ``data`` are runs to try it on; by default a small one
    of scripted players is played, or one with amounts or with simulated people where the measure is about these.
    Some match must have a value, unless ``valued`` is False: then what is there is checked.
    """
    part = measures.named(measure)
    check_declaration(part)
    tried: list[str] = []
    for played in [small_run(data)] if data is not None else [small_run(), amounts_run(), people_run()]:
        with played as runs:
            needs = [need.split(".") for need in part.needs]  # some columns exist only in runs with people
            if data is None and not all(column in runs[0].columns(table) for table, column in needs):
                continue
            has_values = [check_values(part, run) for run in runs]
            tried += [run.name for run in runs]
            if any(has_values) or not valued:
                return
    raise AssertionError(
        f"{part.name}: no match of the run {', '.join(tried)} has a value; "
        "give data=, a run in which some match has one"
    )


def check_declaration(part: Measure) -> None:
    """Check that name, title, definition and bounds are valid."""
    assert isinstance(part, Measure), f"is a {type(part).__name__}, not a Measure"
    assert part.name.isidentifier(), f"the measure's name {part.name!r} is not an identifier"
    assert part.title.strip(), f"{part.name}: no title"
    assert part.definition.strip().endswith("."), f"{part.name}: the definition is no sentence"
    for need in part.needs:
        assert need.count(".") == 1, f"{part.name}: needs {need!r} is not table.column"
    if not callable(part.bounds) and part.bounds is not None:
        low, high = part.bounds
        assert low is None or high is None or low < high, f"{part.name}: bounds {part.bounds} are out of order"
        if part.scale == "share":
            assert part.bounds == (0.0, 1.0), f"{part.name}: a share lies between 0 and 1, not {part.bounds}"


def check_values(part: Measure, data: RunData) -> int:
    """Check the values: finite, within bounds, one per unit and player, repeatable; return their number."""
    rows = [dict(row) for row in part.rows(data)]
    assert rows == [dict(row) for row in part.rows(data)], f"{part.name}: asked again it gives other values"
    bounds = part.bounds_of(data)
    places = {(row["match"], row["player"]) for row in data.records("SELECT match, player FROM matches")}
    matches = {match for match, _ in places}
    seen: set[tuple[Any, ...]] = set()
    for row in rows:
        for column in ("match", "value"):
            assert column in row, f"{part.name}: its rows have no column {column!r}"
        match = row["match"]
        assert match in matches, f"{part.name}: match {match!r} is not in the run"
        has_player = "player" not in row or (match, row["player"]) in places
        assert has_player, f"{part.name}: match {match} has no player {row.get('player')!r}"
        rest = tuple(sorted((k, str(v)) for k, v in row.items() if k not in ("value", "weight")))
        assert rest not in seen, f"{part.name}: two values for {dict(rest)}"
        seen.add(rest)
        value = row["value"]
        if value is None:
            continue
        assert isinstance(value, int | float | Decimal) and math.isfinite(value), (
            f"{part.name}: value {value!r} is not a finite number"
        )
        low, high = bounds(match)
        value = float(value)
        assert (low is None or value >= low - 1e-9) and (high is None or value <= high + 1e-9), (
            f"{part.name}: {value:g} in match {match} lies beyond its bounds {(low, high)}"
        )
        weight = row.get("weight", 1.0)
        assert weight is None or (math.isfinite(weight) and weight >= 0), f"{part.name}: weight {weight!r}"
    for cell in estimate(data, part, by=["game"]):
        assert math.isfinite(cell.value), f"{part.name}: no mean in {dict(cell.key)}"
    return sum(row["value"] is not None for row in rows)
