"""Agrees, differs, undecided or not comparable: what an own figure says about a printed one or about a claim.

As the paper reads it, a figure agrees where two one-sided tests (90 % interval) place its difference to the printed one
within a margin that was stated beforehand, and differs where the 95 % interval lies outside it; the variance is
moderated over the cells of its table (Smyth 2004). It is *guaranteed* where bounds that hold for every distribution say
the same.
A figure that was computed from the data of the paper itself has no error: it agrees within one unit of the last digit.
"""

import math
from dataclasses import dataclass
from typing import Literal

from ostrom.analysis.intervals.moderated import Prior
from ostrom.analysis.references import Own
from ostrom.analysis.statistics.means import t_quantile
from ostrom.ground.words import how_many

Answer = Literal["agrees", "differs", "undecided", "not comparable"]
NORMAL = 1.96
MOST_SEEDS = 10_000
MOST_TIMES = 10
ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class PaperVerdict:
    """The verdict, why it cannot be given, and for an undecided one about how many more seeds would decide."""

    answer: Answer
    why: str = ""
    seeds: int | None = None
    usd: float | None = None
    approximate: bool = False
    """Whether it rests on the interval alone: no bound that holds for every distribution says the same."""
    guaranteed: bool = False
    """Whether such bounds say the same."""

    def __str__(self) -> str:
        if self.answer == "undecided" and self.seeds is not None:
            price = f", {self.usd:.2f} USD" if self.usd else ""
            more = how_many(min(self.seeds, MOST_SEEDS), "more seed")
            words = f"undecided: {'more than' if self.seeds > MOST_SEEDS else 'about'} {more}{price}"
            return f"{words}; {self.why}" if self.why else words
        decided = self.answer in ("agrees", "differs")
        word = f"{self.answer}, guaranteed" if decided and self.guaranteed else self.answer
        return f"{word}: {self.why}" if self.why else word

    def as_dict(self) -> dict[str, object]:
        """Plain data."""
        return {
            "verdict": self.answer,
            "why": self.why or None,
            "more_seeds": self.seeds,
            "more_usd": self.usd,
            "approximate": self.approximate,
            "guaranteed": self.guaranteed,
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


def cell_verdict(own: Own, prior: Prior, printed: float, error: float, margin: float, seeds: int) -> PaperVerdict:
    """What a figure of matches says about a printed one with a standard error; ``prior`` is that of its table."""
    gap, slack = own.value - printed, ROUNDING * max(1.0, abs(printed))
    if own.alike:
        answer: Answer = "agrees" if abs(gap) <= margin + slack else "differs"
        return PaperVerdict(answer, "by its value and the margin: its matches are all alike", approximate=True)
    if own.se is None:
        return PaperVerdict("undecided", "too few matches for an interval")
    if own.width > 3 * margin:
        return PaperVerdict("undecided", "not judged: its values range over more than three margins")
    variance, df = prior.moderated(own.se**2 * own.matches, own.df)
    se = math.hypot(math.sqrt(variance / own.matches), error)
    df = df if error == 0 else se**4 * df / (variance / own.matches) ** 2
    near, far = (t_quantile(level, df) * se for level in (0.95, 0.975))
    sure = None if own.sure is None else (own.sure[0] - printed, own.sure[1] - printed)
    if abs(gap) + near <= margin + slack:
        inside = sure is not None and max(map(abs, sure)) + NORMAL * error <= margin + slack
        return PaperVerdict("agrees", approximate=not inside, guaranteed=inside)
    if abs(gap) - far > margin - slack:
        outside = sure is not None and (min(sure) > margin or max(sure) < -margin)
        return PaperVerdict("differs", approximate=not outside, guaranteed=outside)
    room, reach = (margin - abs(gap), near) if abs(gap) < margin else (abs(gap) - margin, far)
    ruled = f"a difference above {abs(gap) + far:.3g} is ruled out"
    if own.unit == "scenario":
        return PaperVerdict("undecided", f"{how_many(own.matches, 'scenario')}, and more seeds add none")
    if room <= error * NORMAL:
        return PaperVerdict("undecided", f"cannot: it lies at the border of the margin; {ruled}")
    more = math.ceil(seeds * (reach / room) ** 2) - seeds
    if more > MOST_TIMES * seeds:
        return PaperVerdict("undecided", f"small: {ruled}; more than {MOST_TIMES} x what was played would decide")
    return PaperVerdict("undecided", ruled, max(1, more))


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
