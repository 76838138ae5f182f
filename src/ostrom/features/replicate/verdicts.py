"""Agrees, differs, undecided or not comparable: what an own figure says about a printed one or about a claim.

A figure agrees where its difference to the printed one, with the errors of both, lies within a margin that was stated
beforehand. It differs where the difference is clearly not 0 and may exceed the margin. Otherwise it is undecided.
A figure that was computed from the data of the paper itself has no error: it agrees within one unit of the last digit.
"""

import math
from dataclasses import dataclass
from typing import Literal

from ostrom.ground.words import how_many

Answer = Literal["agrees", "differs", "undecided", "not comparable"]
NORMAL = 1.96
MOST_SEEDS = 10_000
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PaperVerdict:
    """The verdict, why it cannot be given, and for an undecided one about how many more seeds would decide."""

    answer: Answer
    why: str = ""
    seeds: int | None = None
    usd: float | None = None
    approximate: bool = False
    """Whether it rests on the interval of an estimate: no bound that holds for every distribution is at hand."""

    def __str__(self) -> str:
        if self.answer == "undecided" and self.seeds is not None:
            price = f", {self.usd:.2f} USD" if self.usd else ""
            more = how_many(min(self.seeds, MOST_SEEDS), "more seed")
            return f"undecided: {'more than' if self.seeds > MOST_SEEDS else 'about'} {more}{price}"
        decided = self.answer in ("agrees", "differs")
        word = f"{self.answer}, approximate" if self.approximate and decided else self.answer
        return f"{word}: {self.why}" if self.why else word

    def as_dict(self) -> dict[str, object]:
        """Plain data."""
        return {
            "verdict": self.answer,
            "why": self.why or None,
            "more_seeds": self.seeds,
            "more_usd": self.usd,
            "approximate": self.approximate,
        }


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with the ends of its interval, and the seeds and the price behind it."""

    value: float
    low: float | None
    high: float | None
    seeds: int
    usd: float = 0.0
    scenarios: int | None = None
    """How many scenarios it rests on, where these are what is independent: more seeds add none."""


def claim_verdict(
    one: Interval, expect: Literal["below", "above", "equal"], threshold: float, smallest: float
) -> PaperVerdict:
    """What an interval says about a claim; an effect smaller than ``smallest`` counts as none.

    >>> claim_verdict(Interval(-0.04, -0.06, -0.02, 3), "below", 0, 0.01).answer
    'agrees'
    >>> str(claim_verdict(Interval(-0.04, -0.12, 0.04, 3), "below", 0, 0.01))
    'undecided: about 9 more seeds'
    """
    if one.low is None or one.high is None:
        return PaperVerdict("undecided", "too few matches for an interval")
    # Ends at a border lie on the same side of it on every machine.
    slack = ROUNDING * max(1.0, abs(threshold), smallest)
    if expect == "equal":
        distance = abs(one.value - threshold)
        if max(one.high - threshold, threshold - one.low) <= smallest + slack:
            return PaperVerdict("agrees")
        if one.low > threshold + smallest + slack or one.high < threshold - smallest - slack:
            return PaperVerdict("differs")
        return _undecided(one, smallest - distance, distance - smallest)
    # A claim "above" is one "below" in the mirror.
    sign = 1.0 if expect == "below" else -1.0
    value = sign * (one.value - threshold)
    low, high = sorted((sign * (one.low - threshold), sign * (one.high - threshold)))
    if high < -slack:
        return PaperVerdict("agrees")
    if low > slack - smallest:
        return PaperVerdict("differs", "" if value > smallest else f"no effect as large as {smallest:g}")
    return _undecided(one, -value, value + smallest)


def cell_verdict(one: Interval, printed: float, error: float, margin: float) -> PaperVerdict:
    """What an interval says about a printed figure with a standard error.

    >>> cell_verdict(Interval(81.0, 78.0, 84.0, 3), 80.0, 0.5, 5.0).answer
    'agrees'
    >>> cell_verdict(Interval(60.0, 50.0, 70.0, 3), 80.0, 0.5, 5.0).answer
    'differs'
    """
    if one.low is None or one.high is None:
        return PaperVerdict("undecided", "too few matches for an interval")
    gap = one.value - printed
    low = gap - math.hypot(one.value - one.low, NORMAL * error)
    high = gap + math.hypot(one.high - one.value, NORMAL * error)
    slack = ROUNDING * max(1.0, abs(printed))
    if -margin - slack <= low and high <= margin + slack:
        return PaperVerdict("agrees")
    if low > slack or high < -slack:
        return PaperVerdict("differs")
    return _undecided(one, margin - abs(gap), abs(gap), NORMAL * error)


def recomputed_verdict(value: float, printed: float, digits: int) -> PaperVerdict:
    """A figure from the data of the paper: it agrees within one unit of the last printed digit.

    >>> recomputed_verdict(0.4867, 0.486, 3).answer, recomputed_verdict(0.4871, 0.486, 3).answer
    ('agrees', 'differs')
    """
    # Printed figures are rounded or cut.
    within = abs(value - printed) <= 10.0**-digits * (1 + 1e-6) + 1e-12
    return PaperVerdict("agrees" if within else "differs", "computed from the data of the paper")


def _undecided(one: Interval, *room: float) -> PaperVerdict:
    """Half the width of an interval shrinks with the root of the seeds; the widest that would decide is taken."""
    assert one.low is not None and one.high is not None
    if one.scenarios is not None:
        return PaperVerdict("undecided", f"{how_many(one.scenarios, 'scenario')}, and more seeds add none")
    half, widest = (one.high - one.low) / 2, max(room[:2])
    error = room[2] if len(room) > 2 else 0.0
    if widest <= error or half <= 0:
        return PaperVerdict("undecided", "no number of seeds decides: the value lies at the border")
    whole = one.seeds * half**2 / (widest**2 - error**2)
    more = max(1, math.ceil(min(whole, 10.0 * MOST_SEEDS) - one.seeds))
    return PaperVerdict("undecided", "", more, more * one.usd / one.seeds if one.usd else None)
