"""Verdicts (agrees, differs, undecided, not comparable) on a printed figure or a claim.

As the paper reads it, a figure agrees where two one-sided tests (90 % interval) place its difference to the printed one
within a margin that was stated beforehand, and differs where the 95 % interval lies outside it. A direction agrees
where the 95 % interval excludes zero on the printed side and the effect is not smaller than the printed one by more
than the smallest effect that matters; it differs where the interval excludes that smallest effect. The variance is
moderated over the cells of a table (Smyth 2004). It is *guaranteed* where bounds that hold for every distribution say
the same. What is undecided is *small*, *too few* or *cannot*.
A figure that was computed from the data of the paper itself has no error: it agrees within one unit of the last digit.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from ostrom.analysis.intervals.kinds import share_of
from ostrom.analysis.intervals.moderated import Prior
from ostrom.analysis.references import RunFigure
from ostrom.analysis.statistics.means import t_quantile
from ostrom.ground.words import how_many

Answer = Literal["agrees", "differs", "undecided", "not comparable"]
Expected = Literal["below", "above", "equal", "not above", "not below"]
NORMAL, ONE_SIDED = 1.96, 1.645
MOST_TIMES = 10
ROUNDING = 1e-9
MAY_LACK = 0.25
"""The share of a printed effect that may be missing; beyond it, half of the effect is nearer than the whole."""
ONE_MATCH = "By its value and the margin: every cell has one distinct match."
MANY = "More than 10 x what was played would decide: ostrom power --from RUN."
SMALLER = "The direction is that of the paper; whether the effect is smaller by more than the margin is open."
BELOW_MEAN = (
    "The direction is that of the paper; the effect is smaller than the mean of its models and lies in their range: "
    "--as AGENT=MODEL compares with one of them."
)
ALL_ALIKE = "By its value and the margin: its matches are all alike."


@dataclass(frozen=True, slots=True)
class PaperVerdict:
    """The verdict, why it is given or cannot be, and for an undecided one about how many more seeds would decide."""

    answer: Answer
    why: str = ""
    seeds: int | None = None
    usd: float | None = None
    approximate: bool = False
    """Whether the verdict rests on the interval alone, without guaranteed bounds."""
    guaranteed: bool = False
    """Whether guaranteed bounds give the same verdict."""
    kind: Literal["", "small", "too few", "cannot"] = ""
    """Of an undecided one: an effect that matters is nearly ruled out, more seeds decide, or this design cannot."""

    def __str__(self) -> str:
        word = f"{self.answer}, {self.kind}" if self.kind else self.answer
        if self.seeds is not None:
            price = f", {self.usd:.2f} USD" if self.usd else ""
            word += f": about {how_many(self.seeds, 'more seed')}{price}"
            return f"{word}. {self.why}" if self.why else word
        return f"{word}: {self.why}" if self.why else word

    def as_dict(self) -> dict[str, object]:
        """Return this as plain data, for JSON."""
        return {
            "verdict": self.answer,
            "undecided": self.kind or None,
            "why": self.why or None,
            "more_seeds": self.seeds,
            "more_usd": self.usd,
            "approximate": self.approximate,
            "guaranteed": self.guaranteed,
        }


@dataclass(frozen=True, slots=True)
class Interval:
    """A value with its interval, and the seeds and the price behind it."""

    value: float
    low: float | None
    high: float | None
    seeds: int
    usd: float = 0.0
    scenarios: int | None = None
    """The number of scenarios, if these are the independent units: more seeds add none."""
    scale: float = 1.0
    """The factor to the unit in which the value is printed."""


def claim_verdict(
    one: Interval, expect: Expected, threshold: float, smallest: float, printed: Sequence[float] = ()
) -> PaperVerdict:
    """Judge a claim by an interval; an effect smaller than ``smallest`` counts as none.

    ``printed`` is what the paper's models have, and their mean is the paper's effect. An effect in the direction of the
    claim that is smaller than it by more than ``smallest`` does not agree, nor, beside several models, one that is
    nearer to half of the mean than to the mean. It differs where it is surely smaller than that of every model, by more
    than ``smallest``. Where the mean does not lie on the side of the claim the direction alone decides.

    >>> claim_verdict(Interval(-0.04, -0.06, -0.02, 3), "below", 0, 0.01).answer
    'agrees'
    >>> claim_verdict(Interval(-0.04, -0.06, -0.02, 3), "below", 0, 0.01, [-0.3, -0.2]).answer
    'differs'
    >>> claim_verdict(Interval(-0.04, -0.06, -0.02, 3), "below", 0, 0.01, [-0.3, -0.04]).kind
    'cannot'
    >>> str(claim_verdict(Interval(-0.04, -0.12, 0.04, 3), "below", 0, 0.01))
    'undecided, too few: about 9 more seeds'
    """
    if one.low is None or one.high is None:
        return PaperVerdict("undecided", "There are too few matches for an interval.", kind="cannot")
    # Rounded, so that an end at the border lies on the same side on every machine.
    slack = ROUNDING * max(1.0, abs(threshold), smallest)
    if expect == "equal":
        distance = abs(one.value - threshold)
        if max(one.high - threshold, threshold - one.low) <= smallest + slack:
            return PaperVerdict("agrees")
        if one.low > threshold + smallest + slack or one.high < threshold - smallest - slack:
            return PaperVerdict("differs")
        return _undecided(one, threshold, smallest, smallest - distance, distance - smallest)
    # "above" is judged as "below" with signs flipped.
    sign = 1.0 if expect in ("below", "not above") else -1.0
    value = sign * (one.value - threshold)
    low, high = sorted((sign * (one.low - threshold), sign * (one.high - threshold)))
    if expect.startswith("not "):
        if high < smallest - slack:
            return PaperVerdict("agrees")
        return PaperVerdict("differs") if low > slack else _undecided(one, threshold, smallest, smallest - value, value)
    effects = [sign * (figure - threshold) for figure in printed]
    mean, weakest = (fmean(effects), max(effects)) if effects else (0.0, 0.0)
    # A certain effect that is too small to matter counts as none, unless the paper has it as well.
    if high < -slack and (low <= slack - smallest or -smallest < mean < 0):
        least = mean + (smallest if len(effects) < 2 else max(smallest, -mean * MAY_LACK)) + slack
        if mean >= 0 or low <= mean + slack or value <= least:
            return PaperVerdict("agrees")
        weak = weakest + smallest + slack
        if low > weak:
            return PaperVerdict("differs", "The direction is that of the paper, the effect is smaller.")
        if low > least and value <= weak:
            return PaperVerdict("undecided", BELOW_MEAN, kind="cannot")
        return replace(_undecided(one, threshold, smallest, value - (weak if low > least else least)), why=SMALLER)
    if low > slack - smallest:
        return PaperVerdict(
            "differs", "" if value > smallest else f"There is no effect as large as {one.scale * smallest:.3g}."
        )
    return _undecided(one, threshold, smallest, -value, value + smallest)


def by_value(
    one: Interval, expect: Expected, threshold: float, smallest: float, printed: Sequence[float], why: str
) -> PaperVerdict:
    """Judge a claim by its value and margin alone, if the spread is unknown."""
    verdict = claim_verdict(replace(one, low=one.value, high=one.value), expect, threshold, smallest, printed)
    if verdict.answer == "undecided" and verdict.why != BELOW_MEAN:
        verdict = PaperVerdict("differs")
    return replace(verdict, why=" ".join(filter(None, (verdict.why, why))), approximate=True)


def _share_ends(count: int, n: int) -> tuple[float, float]:
    ends = share_of(count, n, unit="group").reach(0.95)
    assert ends is not None
    return ends


def count_verdict(answers: Iterable[str], number: int, of: int) -> tuple[PaperVerdict, int, int, tuple[float, float]]:
    """Whether a printed count lies in the interval of ours, as shares; with our count, groups and interval.

    Groups that are undecided may be counted or not: what both say decides. A count that is nearer to half of the
    printed share than to it does not agree.

    >>> count_verdict(["agrees"] * 4, 18, 28)[0].answer, count_verdict(["differs"] * 4, 18, 28)[0].answer
    ('agrees', 'differs')
    """
    verdicts = list(answers)
    sure, most, n = verdicts.count("agrees"), len(verdicts) - verdicts.count("differs"), len(verdicts)
    share = number / of

    def says(count: int) -> Answer:
        low, high = _share_ends(count, n)
        if not low - ROUNDING <= share <= high + ROUNDING:
            return "differs"
        return "agrees" if count / n > (1 - MAY_LACK) * share else "undecided"

    def undecided(why: str, kind: Literal["too few", "cannot"]) -> PaperVerdict:
        return PaperVerdict("undecided", why, kind=kind)

    if "differs" not in (says(0), says(n)):
        verdict = undecided(f"There are {n} groups: any count of them would agree.", "cannot")
    elif says(sure) != says(most):
        verdict = undecided(f"{most - sure} of {n} groups are undecided.", "too few")
    elif says(sure) == "undecided":
        verdict = undecided(f"{sure} of {n} is nearer to half of {number} of {of}, and too few to differ.", "cannot")
    else:
        verdict = PaperVerdict(says(sure), approximate=True)
    return verdict, sure, n, (_share_ends(sure, n)[0], _share_ends(most, n)[1])


def cell_verdict(own: RunFigure, prior: Prior, printed: float, error: float, margin: float, seeds: int) -> PaperVerdict:
    """Judge a figure against a printed one with a standard error; ``prior`` is that of its table."""
    gap, slack = own.value - printed, ROUNDING * max(1.0, abs(printed))
    if own.alike or (own.se is None and own.matches <= 1):
        why = ALL_ALIKE if own.alike else ONE_MATCH
        return PaperVerdict("agrees" if abs(gap) <= margin + slack else "differs", why, approximate=True)
    if own.se is None:
        return PaperVerdict("undecided", "No interval is computed for it.", kind="cannot")
    if own.width > 3 * margin:
        return PaperVerdict(
            "undecided", "It is not judged: its values range over more than three margins.", kind="cannot"
        )
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
    ruled = f"A difference above {abs(gap) + far:.3g} is ruled out."
    if ONE_SIDED * error > margin:
        return PaperVerdict("undecided", "It is not decided at the paper's own size.", kind="cannot")
    if own.unit == "scenario":
        return PaperVerdict("undecided", _scenarios(own.matches), kind="cannot")
    if room <= error * NORMAL:
        return PaperVerdict("undecided", f"It lies at the border of the margin. {ruled}", kind="cannot")
    more = math.ceil(seeds * (reach / room) ** 2) - seeds
    if more > MOST_TIMES * seeds:
        small = abs(gap) + far <= MOST_TIMES * margin
        return PaperVerdict("undecided", ruled if small else MANY, kind="small" if small else "too few")
    return PaperVerdict("undecided", ruled, max(1, more), kind="too few")


def recomputed_verdict(value: float, printed: float, digits: int) -> PaperVerdict:
    """Judge a figure recomputed from the paper's data: it agrees within one unit of the last printed digit.

    >>> recomputed_verdict(0.4867, 0.486, 3).answer, recomputed_verdict(0.4871, 0.486, 3).answer
    ('agrees', 'differs')
    """
    # Printed figures are rounded or truncated.
    within = abs(value - printed) <= 10.0**-digits * (1 + 1e-6) + 1e-12
    return PaperVerdict("agrees" if within else "differs", "It is computed from the data of the paper.")


def _scenarios(many: int) -> str:
    return f"There are {how_many(many, 'scenario')}, and more seeds add none."


def _undecided(one: Interval, threshold: float, smallest: float, *room: float) -> PaperVerdict:
    """Return an undecided verdict with the seeds needed: half the width shrinks with the root of the seeds."""
    assert one.low is not None and one.high is not None
    if one.scenarios is not None:
        return PaperVerdict("undecided", _scenarios(one.scenarios), kind="cannot")
    half, widest = (one.high - one.low) / 2, max(room)
    if widest <= 0 or half <= 0:
        return PaperVerdict("undecided", "No number of seeds decides: the value lies at the border.", kind="cannot")
    more = max(1, math.ceil(min(one.seeds * (half / widest) ** 2, 1e9)) - one.seeds)
    if more <= MOST_TIMES * one.seeds:
        return PaperVerdict("undecided", "", more, more * one.usd / one.seeds if one.usd else None, kind="too few")
    far = max(abs(one.low - threshold), abs(one.high - threshold))
    if far <= MOST_TIMES * smallest:
        return PaperVerdict("undecided", f"An effect above {one.scale * far:.3g} is ruled out.", kind="small")
    return PaperVerdict("undecided", MANY, kind="too few")
