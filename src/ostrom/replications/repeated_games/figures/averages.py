"""Own figures from estimates, and medians of rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from ostrom.analysis.estimate import Estimate
from ostrom.analysis.references import Cell, Own


def own_of(cell: Cell, found: Estimate) -> Own:
    """An estimate by agent as an own figure."""
    return Own(cell, found.key["agent"], found.value, found.low, found.high, None, found.n)


def median_round(cell: Cell, agent: str, reached: Sequence[int | None], never: str, of: str) -> Iterator[Own]:
    """The median of the rounds in which something was reached; it never was where there is None."""
    known = [number for number in reached if number is not None]
    if known:
        missed = len(reached) - len(known)
        doubts = (f"{never} in {missed} of {len(reached)} {of}, which are left out",) if missed else ()
        yield Own(cell, agent, float(median(known)), None, None, None, len(reached), doubts)
