"""Conditions on rounds: which rounds and decisions a measure counts."""

from collections.abc import Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import Counts, RunData
from ostrom.mechanisms.settlement import WHATS

COUNTED: Mapping[str, tuple[Any, ...]] = {"what": WHATS, "copied": (False, True)}
"""Columns of rounds that select what a measure counts, with their levels."""


def says_what_counts(measure: Measure, column: str) -> bool:
    """Return whether a condition on a column selects rounds or decisions."""
    tables = ("rounds",) if column == "what" else ("rounds", "decisions")
    return column in COUNTED and any(need.partition(".")[0] in tables for need in measure.needs)


def counting(run: RunData, measure: Measure, where: Mapping[str, Any]) -> tuple[RunData, Mapping[str, Any]]:
    """Return the run restricted to the requested rounds, and the rest of the condition."""
    own = {name: level for name, level in where.items() if says_what_counts(measure, name)}
    if not own:
        return run, where
    copied, what = (
        frozenset(level if isinstance(level, list | tuple | set | frozenset) else (level,))
        for level in (own.get("copied", False), own.get("what", ()))
    )
    return run.counting(Counts(copied, what)), {name: level for name, level in where.items() if name not in own}


def counted_levels(column: str) -> dict[str, Any]:
    """Return the levels of such a column by their spelling."""
    return {name: value for value in COUNTED[column] for name in (str(value), str(value).lower())}
