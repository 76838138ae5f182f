"""Whether those who look forward cooperate: the correlation of the forward-looking ratio and cooperation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from ostrom.analysis.statistics import StatisticsError, pearson

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class ForwardLink:
    """A correlation over cells; ``r`` is None where it is undefined, and ``note`` says why."""

    r: float | None
    low: float | None
    high: float | None
    p: float | None
    cells: int
    note: str = ""


def forward_link(ratios: Mapping[Key, float | None], rates: Mapping[Key, float | None]) -> ForwardLink:
    """Correlate over the cells that have both figures.

    >>> ratios = {80: 0.2, 40: 0.3, 20: 0.5, 2: 0.4, 1: None}
    >>> link = forward_link(ratios, {80: 0.1, 40: 0.2, 20: 0.9, 2: 0.5, 1: 1.0})
    >>> round(link.r, 2), link.cells
    (0.97, 4)
    """
    pairs = [
        (ratio, rate)
        for key, ratio in ratios.items()
        if ratio is not None and (rate := rates.get(key)) is not None
    ]
    try:
        found = pearson([a for a, _ in pairs], [b for _, b in pairs], unit="cell")
    except StatisticsError as error:
        return ForwardLink(None, None, None, None, len(pairs), str(error))
    return ForwardLink(found.estimate, found.ci.low, found.ci.high, found.p, found.n)
