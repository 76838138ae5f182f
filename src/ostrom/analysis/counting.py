"""Which rounds and decisions a figure counts: conditions on columns of ``rounds``, and not on those of matches."""

from collections.abc import Mapping
from typing import Any

from ostrom.analysis.measure import Measure
from ostrom.data.rundata import Counts, RunData
from ostrom.mechanisms.settlement import WHATS

COUNTED: Mapping[str, tuple[Any, ...]] = {"what": WHATS, "copied": (False, True)}
"""Columns of rounds on which a condition says which of them a measure counts, with their levels."""


def says_what_counts(measure: Measure, column: str) -> bool:
    """Whether a condition on a column says which rounds or decisions a measure counts."""
    tables = ("rounds",) if column == "what" else ("rounds", "decisions")
    return column in COUNTED and any(need.partition(".")[0] in tables for need in measure.needs)


def counting(run: RunData, measure: Measure, where: Mapping[str, Any]) -> tuple[RunData, Mapping[str, Any]]:
    """The run with the rounds that a condition asks for, and the rest of the condition."""
    own = {name: level for name, level in where.items() if says_what_counts(measure, name)}
    if not own:
        return run, where
    copied, what = (
        frozenset(level if isinstance(level, list | tuple | set | frozenset) else (level,))
        for level in (own.get("copied", False), own.get("what", ()))
    )
    return run.counting(Counts(copied, what)), {name: level for name, level in where.items() if name not in own}


def counted_levels(column: str) -> dict[str, Any]:
    """The levels of such a column, as people write them."""
    return {name: value for value in COUNTED[column] for name in (str(value), str(value).lower())}
