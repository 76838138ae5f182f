"""Yes, no, or undecided at this size: what estimates say about a claim, with the error control named.

A verdict needs an interval that lies wholly on one side. Where several comparisons are made at once, p-values
that invert the intervals are corrected, by Holm's method unless another is asked for, so that the chance of any
wrong yes or no stays at most 1 - level.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ostrom.analysis.estimate import Estimate, minus
from ostrom.analysis.statistics.result import holm
from ostrom.ground.errors import UsageError
from ostrom.ground.words import how_many

Answer = Literal["yes", "no", "undecided"]
Control = Literal["holm", "bonferroni", "none"]
NAMES: Mapping[str, str] = {
    "holm": "family-wise error controlled by Holm's method",
    "bonferroni": "family-wise error controlled by Bonferroni's method",
    "none": "each at its own level, not corrected for the number of comparisons",
}
FINEST = 1e-9
"""P-values are not followed below this."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer to one question about one estimate."""

    answer: Answer
    estimate: Estimate
    p: float
    """Of the hypothesis that the true value is the threshold; 1 where there is no interval."""
    adjusted: float
    """After correction for the number of comparisons."""
    level: float = 0.95
    """Of the interval that the answer rests on: it leaves the threshold out where the answer is yes or no."""

    @property
    def interval(self) -> Estimate:
        """The estimate with the interval that the answer rests on."""
        return self.estimate if self.estimate.inference is None else self.estimate.at(self.level)

    def __str__(self) -> str:
        return "undecided at this size" if self.answer == "undecided" else self.answer

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**self.estimate.as_dict(), "answer": self.answer, "p": self.p, "adjusted_p": self.adjusted}


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Whether several estimates are above a threshold, in their order."""

    threshold: float
    verdicts: tuple[Verdict, ...]
    control: str
    """The error control in words, with the number of comparisons, to be printed beside the answers."""

    def __iter__(self) -> Any:
        return iter(self.verdicts)

    def __len__(self) -> int:
        return len(self.verdicts)


def above(
    estimates: Sequence[Estimate], threshold: float = 0.0, *, control: Control = "holm", level: float = 0.95
) -> Verdicts:
    """Is the true value above a threshold? No means that it is below."""
    if control not in NAMES:
        raise UsageError(f"error control {control!r} (allowed: {', '.join(NAMES)})")
    many = len(estimates)
    ps = [p_value(estimate, threshold) for estimate in estimates]
    if control == "holm" and ps:
        adjusted = list(holm(ps))
    else:
        adjusted = [min(1.0, p * (many if control == "bonferroni" else 1)) for p in ps]
    sure = [corrected <= 1 - level for corrected in adjusted]
    # Holm compares the k-th smallest p-value with (1 - level) / (many - k + 1), up to the first that fails.
    ranks = {place: k for k, place in enumerate(sorted(range(many), key=lambda place: ps[place]))}
    made = []
    for place, (estimate, p, corrected) in enumerate(zip(estimates, ps, adjusted, strict=True)):
        answer: Answer = "undecided"
        if sure[place]:
            answer = "yes" if estimate.value > threshold else "no"
        before = min(ranks[place], sum(sure)) if control == "holm" else 0
        share = 1 if control == "none" else many - before
        made.append(Verdict(answer, estimate, p, corrected, 1 - (1 - level) / share))
    comparisons = how_many(many, "comparison")
    words = f"{comparisons} at {level:.0%}" + (f", {NAMES[control]}" if many > 1 else "")
    return Verdicts(threshold, tuple(made), words)


def all_of(verdicts: Verdicts, level: float = 0.95) -> Answer:
    """Whether the answer is yes for every estimate ("survives all framings").

    All must be yes at the plain level, which needs no correction (an intersection-union test: Berger 1982);
    one no after correction settles the opposite.

    >>> all_of(above([], 0.5))
    'undecided'
    """
    if any(v.answer == "no" for v in verdicts):
        return "no"
    surely = [
        v.answer == "yes" or (v.p <= 1 - level and v.estimate.value > verdicts.threshold) for v in verdicts
    ]
    return "yes" if surely and all(surely) else "undecided"


def largest(one: Estimate, others: Sequence[Estimate], **options: Any) -> tuple[Answer, str]:
    """Whether one estimate is truly the largest, with the error control in words.

    Yes where its differences to all others are above 0, no where one of them is below. The one may have been picked
    by the data, so every difference counts as a comparison. The estimates must rest on different units.
    """
    verdicts = above([minus(one, other) for other in others], 0.0, **options)
    answers = {v.answer for v in verdicts}
    return "no" if "no" in answers else "yes" if answers == {"yes"} else "undecided", verdicts.control


def p_value(estimate: Estimate, threshold: float) -> float:
    """1 minus the highest level at which the interval leaves a threshold out; 1 where there is no interval."""
    if estimate.low is None or estimate.high is None:
        return 1.0
    if estimate.method == "exact":
        return 1.0 if estimate.value == threshold else 0.0
    low, high = FINEST, 1 - FINEST  # bounds of p
    if threshold not in estimate.at(1 - low):
        return 0.0
    if threshold in estimate.at(1 - high):
        return 1.0
    for _ in range(40):
        middle = (low * high) ** 0.5 if low < 1e-3 else (low + high) / 2
        if threshold in estimate.at(1 - middle):
            low = middle
        else:
            high = middle
        if high - low < 1e-6 * high:
            break
    return high
