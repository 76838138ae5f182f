"""Yes, no or undecided: verdicts on estimates, with error control.

A verdict rests on the p-value that inverts the classical interval. Where several comparisons are made at once they
are corrected by Holm's method, so that the chance of any wrong yes or no stays at most 1 - level. Two units never
decide. It is *guaranteed* where the bounds, which hold for every distribution, say the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ostrom.analysis.estimate import Estimate, minus
from ostrom.analysis.statistics.result import holm, overlap
from ostrom.ground.words import how_many

Answer = Literal["yes", "no", "undecided"]
HOLM = "family-wise error controlled by Holm's method"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on one estimate."""

    answer: Answer
    estimate: Estimate
    p: float
    """The p-value of the hypothesis that the true value is the threshold; 1 without an interval."""
    adjusted: float
    """The p-value corrected for the number of comparisons."""
    guaranteed: bool = False
    """Whether guaranteed bounds exclude the threshold as well, jointly for all comparisons."""

    def __str__(self) -> str:
        return "undecided at this size" if self.answer == "undecided" else self.answer

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            **self.estimate.as_dict(), "answer": self.answer, "p": self.p, "adjusted_p": self.adjusted,
            "guaranteed": self.guaranteed,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Verdicts on whether estimates are above a threshold, in order."""

    threshold: float
    verdicts: tuple[Verdict, ...]
    control: str
    """The error control in words, with the number of comparisons."""

    def __iter__(self) -> Any:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)


def above(estimates: Sequence[Estimate], threshold: float = 0.0, *, level: float = 0.95) -> Verdicts:
    """Judge whether true values are above a threshold; no means below."""
    many = len(estimates)
    ps = [p_value(estimate, threshold) for estimate in estimates]
    adjusted = holm(ps) if ps else ()
    answers = []
    for estimate, p, corrected in zip(estimates, ps, adjusted, strict=True):
        answer: Answer = "undecided"
        bounds = None if estimate.inference is None else estimate.inference.bounds(1 - (1 - level) / many)
        sure = bounds is not None and not overlap(bounds, (threshold, threshold))
        if sure or (corrected <= 1 - level and (estimate.inference is None or estimate.inference.decides)):
            answer = "yes" if estimate.value > threshold else "no"
        answers.append(Verdict(answer, estimate, p, corrected, sure))
    comparisons = how_many(many, "comparison")
    return Verdicts(threshold, tuple(answers), f"{comparisons} at {level:.0%}" + (f", {HOLM}" if many > 1 else ""))


def all_of(verdicts: Verdicts, level: float = 0.95) -> Answer:
    """Return whether the answer is yes for every estimate ("survives all framings").

    All must be yes at the plain level, which needs no correction (an intersection-union test: Berger 1982);
    one no after correction settles the opposite.

    >>> all_of(above([], 0.5))
    'undecided'
    """
    if any(v.answer == "no" for v in verdicts):
        return "no"
    surely = [v.answer == "yes" or (v.p <= 1 - level and v.estimate.value > verdicts.threshold) for v in verdicts]
    return "yes" if surely and all(surely) else "undecided"


def largest(one: Estimate, others: Sequence[Estimate], **options: Any) -> tuple[Answer, str]:
    """Return whether one estimate is truly the largest, and the error control in words.

    Yes where its differences to all others are above 0, no where one of them is below. The one may have been picked
    by the data, so every difference counts as a comparison. The estimates must rest on different units.
    """
    verdicts = above([minus(one, other) for other in others], 0.0, **options)
    answers = {v.answer for v in verdicts}
    return "no" if "no" in answers else "yes" if answers == {"yes"} else "undecided", verdicts.control


def p_value(estimate: Estimate, threshold: float) -> float:
    """Return the p-value against a threshold, 1 without one; for an estimate from a file, a bound by its interval."""
    if estimate.inference is not None:
        p = estimate.inference.p_value(threshold)
        return 1.0 if p is None else p
    return 1.0 if estimate.low is None or threshold in estimate else 1 - estimate.level
