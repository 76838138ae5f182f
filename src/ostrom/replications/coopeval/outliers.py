"""Matches that alone move a mean by more than its interval.

Two contracts without bound among 972 matches moved a published mean from .867 to .557. Such matches are
looked for so that they cannot hide each other: the most extreme matches of a mean are set aside together, the
mean and its interval are taken from the rest, and a match is named when putting it back alone moves that mean
by more than half the width of that interval. All matches of a type count as one sample here, whoever they were
played against: a match is odd if it does not look like the others. At most one match in twenty (but one in any
case), and never more than five, are set aside: what is more common than that is no outlier. A mean of fewer
than eight matches is not searched.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum, sqrt
from typing import Any

from ostrom.analysis.intervals import mean_of
from ostrom.replications.coopeval.scores import Point

FEWEST = 8
"""Below so many matches every match moves its mean a lot, and none of them is odd."""
MOST = 5
ONE_IN = 20


@dataclass(frozen=True, slots=True)
class Outlier:
    """A match and the mean that it moves."""

    mechanism: str
    game: str
    type: str
    match: int
    seed: int
    score: float
    """The mean score of the type in this match, as played."""
    mean: float
    """The normalised mean with all matches."""
    without: float
    """The normalised mean without the matches that are named."""
    shift: float
    """What this match alone adds to it."""
    half_width: float
    """Half the width of the interval of the mean without them."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


def outliers(points: Sequence[Point]) -> list[Outlier]:
    """The matches to name, mean by mean (mechanism, game, type), the largest shift first."""
    groups: dict[tuple[str, str, str], dict[int, list[Point]]] = {}
    for point in points:
        matches = groups.setdefault((point.mechanism, point.game, point.type), {})
        matches.setdefault(point.match, []).append(point)
    found = [outlier for key, matches in groups.items() for outlier in _of_mean(key, matches)]
    # Rounded, here and below, so that the last digits decide neither an order nor who is set aside.
    return sorted(found, key=lambda o: -round(abs(o.shift), 9))


def _of_mean(key: tuple[str, str, str], matches: Mapping[int, list[Point]]) -> list[Outlier]:
    if len(matches) < FEWEST:
        return []
    everything = [p for of in matches.values() for p in of]
    overall = _mean(everything)
    middle = sorted(p.value for p in everything)[len(everything) // 2]
    extreme = sorted(matches, key=lambda m: -round(abs(fsum(p.value - middle for p in matches[m])), 9))
    for aside in range(max(1, min(MOST, len(matches) // ONE_IN)), 0, -1):
        core = [p for m, of in matches.items() if m not in extreme[:aside] for p in of]
        if len({p.match for p in core}) < 2:
            continue
        rest = _mean(core)
        shifts = {m: _mean([*core, *matches[m]]) - rest for m in extreme[:aside]}
        # Far below what independent matches would leave unsure: no interval needs to be computed.
        if min(map(abs, shifts.values())) <= _spread(core) / 2:
            continue
        half = half_width(core)
        if half is not None and all(abs(shift) > half for shift in shifts.values()):
            return [
                Outlier(
                    *key, m, matches[m][0].seed, fsum(p.score for p in matches[m]) / len(matches[m]),
                    overall, rest, shift, half,
                )
                for m, shift in shifts.items()
            ]  # fmt: skip
    return []


def half_width(points: Sequence[Point]) -> float | None:
    """Half the width of the interval that the spread of some points gives; 0 where they do not differ."""
    units = {(p.seed, p.design) for p in points}
    if len(units) < 2:
        return None
    made = mean_of([p.value for p in points], clusters=[(p.seed, p.design) for p in points])
    if made.groups[0].alike:
        return 0.0
    found = made.limits()
    return None if found.low is None or found.high is None else (found.high - found.low) / 2


def _spread(points: Sequence[Point]) -> float:
    """The standard error of a mean, as if all points were independent."""
    middle = _mean(points)
    return sqrt(fsum((p.value - middle) ** 2 for p in points)) / len(points)


def _mean(points: Sequence[Point]) -> float:
    return fsum(p.value for p in points) / len(points)
