"""Own figures that average over games, matches or series."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

import numpy as np

from ostrom.analysis.summary import bootstrap_interval
from ostrom.studies.compare.figures import Cell, Own


def mean_of(cell: Cell, agent: str, values: Sequence[float]) -> Own:
    """The mean with its interval."""
    array = np.array(values, dtype=np.float64)
    low, high = bootstrap_interval(array)
    return Own(cell, agent, float(array.mean()), low, high, None, len(array))


def median_round(cell: Cell, agent: str, reached: Sequence[int | None], never: str, of: str) -> Iterator[Own]:
    """The median of the rounds in which something was reached; it never was where there is None."""
    known = [number for number in reached if number is not None]
    if known:
        missed = len(reached) - len(known)
        doubts = (f"{never} in {missed} of {len(reached)} {of}, which are left out",) if missed else ()
        yield Own(cell, agent, float(median(known)), None, None, None, len(reached), doubts)
