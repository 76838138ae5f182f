"""How often both intervals hold the truth, how wide they are, and how often every word is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from tools.coverage.generators import HARD, RARE, TAME, Array, Generator, rng_for

from ostrom.analysis.intervals import Inference, difference_of, mean_of, paired_difference_of, slope_of
from ostrom.analysis.intervals.moderated import Prior, prior_of
from ostrom.analysis.looks import alpha
from ostrom.analysis.references import RunFigure
from ostrom.features.replicate.verdicts import cell_verdict
from ostrom.reports.answers import Family, decisive_multiple

UNIT = (0.0, 1.0)
GATE_TIMES = 5
"""A rate of .025 needs more samples than the others."""
Sample = Callable[[np.random.Generator], tuple[Inference, float]]


@dataclass(frozen=True)
class Row:
    """One figure of the page; ``aim`` is what it must not exceed (or not fall below)."""

    what: str
    where: str
    value: float
    aim: float | None = None
    at_least: bool = False

    @property
    def missed(self) -> bool:
        """Whether the aim is missed by more than the simulation can be wrong by (two standard errors of 400)."""
        if self.aim is None:
            return False
        slack = 2 * math.sqrt(self.aim * (1 - self.aim) / 400)
        return self.value < self.aim - slack if self.at_least else self.value > self.aim + slack


def shapes(one: Generator, n: int) -> dict[str, Sample]:
    """The questions of each shape, with their true answer, for values of one kind."""

    def draw(rng: np.random.Generator, size: int) -> Array:
        return one.draw(rng, (size,))

    def mean(rng: np.random.Generator) -> tuple[Inference, float]:
        return mean_of(draw(rng, n), bounds=UNIT), one.mean

    def pairs(rng: np.random.Generator) -> tuple[Inference, float]:
        return paired_difference_of(draw(rng, n), draw(rng, n), bounds=UNIT), 0.0

    def welch(rng: np.random.Generator) -> tuple[Inference, float]:
        return difference_of(draw(rng, n), draw(rng, n), bounds=UNIT), 0.0

    def uneven(rng: np.random.Generator) -> tuple[Inference, float]:
        return difference_of(draw(rng, max(5, n // 3)), draw(rng, 2 * n), bounds=UNIT), 0.0

    def conditions(rng: np.random.Generator) -> tuple[Inference, float]:
        other = 0.5 * draw(rng, n) + 0.25
        values = np.concatenate([draw(rng, n), other])
        return mean_of(values, bounds=UNIT, strata=[0] * n + [1] * n), 0.75 * one.mean + 0.125

    def slope(rng: np.random.Generator) -> tuple[Inference, float]:
        return slope_of(np.repeat([0, 1, 2, 4], n), draw(rng, 4 * n), bounds=UNIT), 0.0

    def ratio(rng: np.random.Generator) -> tuple[Inference, float]:
        seats = rng.integers(1, 5, n).astype(np.float64)
        return mean_of(draw(rng, n), bounds=UNIT, weights=seats, ratio=True, most_weight=4.0), one.mean

    def seeds(rng: np.random.Generator) -> tuple[Inference, float]:
        x, of = np.tile([0, 1, 2], n), np.repeat(np.arange(n), 3)
        usual = np.repeat(draw(rng, n), 3)  # what the conditions of a seed share
        return slope_of(x, (draw(rng, 3 * n) + usual) / 2, bounds=UNIT, clusters=of.tolist(), shared=True), 0.0

    return {
        "mean": mean, "pairs": pairs, "difference": welch, "difference, n/3 and 2n": uneven,
        "over two conditions": conditions, "slope over four levels": slope,
        "ratio of totals": ratio, "slope, shared seeds": seeds,
    }  # fmt: skip


@dataclass(frozen=True)
class Measured:
    """What repeated samples of one question came to."""

    covered: float
    below: float
    """The share of samples whose lower bound is too high."""
    above: float
    noted: float
    unnoted: float
    """The share of samples without a caution note whose interval misses the truth."""
    yes: float
    width: float
    """Of the bounds, as a multiple of the interval."""


def measured(question: Sample, samples: int, rng: np.random.Generator) -> Measured:
    """Repeat a question."""
    counts, widths = np.zeros(6), []
    for _ in range(samples):
        one, truth = question(rng)
        ends = one.reach(0.95)
        inside = ends is not None and ends[0] - 1e-12 <= truth <= ends[1] + 1e-12
        noted = ends is None or bool(one.cautions())
        p = one.p_value()
        sure = one.bounds()
        if sure is not None:
            counts[1] += sure[0] > truth + 1e-12
            counts[2] += sure[1] < truth - 1e-12
            if ends is not None and ends[1] > ends[0]:
                widths.append((sure[1] - sure[0]) / (ends[1] - ends[0]))
        counts[0] += inside
        counts[3] += noted
        counts[4] += not noted and not inside
        counts[5] += truth == 0 and p is not None and p < 0.05 and one.decides
    covered, below, above, noted, unnoted, yes = (counts / samples).tolist()
    width = float(np.median(widths)) if widths else math.nan
    return Measured(covered, below, above, noted, unnoted, yes, width)


def coverage(samples: int) -> Iterator[tuple[str, str, int, Measured, str]]:
    """Every kind of values, size and shape; generators with a rare part where it shows with a chance of .95."""
    kinds: list[tuple[str, tuple[Generator, ...]]] = [("tame", TAME), ("hard", HARD), ("rare", RARE)]
    for kind, generators in kinds:
        for one in generators:
            for n in (10, 20, 40):
                if one.rare is not None and 1 - (1 - one.rare) ** n < 0.95:
                    continue
                for name, question in shapes(one, n).items():
                    if name == "mean" or n == 10:
                        yield one.name, name, n, measured(question, samples, rng_for(one.name, n, name)), kind


def words(samples: int) -> Iterator[Row]:
    """How often every word of a verdict is wrong."""
    rng = np.random.default_rng(7)

    def ever_yes(one: Generator) -> bool:
        first, second = one.draw(rng, (40,)), one.draw(rng, (40,))
        for look, n in enumerate((5, 10, 20, 30, 40), start=1):
            p = difference_of(first[:n], second[:n], bounds=UNIT).p_value()
            if p is not None and p < alpha(look):
                return True
        return False

    def shown_small(one: Generator, margin: float, n: int, gap: float) -> bool:
        """Whether the bounds call a difference of ``gap`` smaller than ``margin``."""
        first = np.clip(one.draw(rng, (n,)) * (1 - gap) + gap, 0, 1)
        made = difference_of(first, one.draw(rng, (n,)) * (1 - gap), bounds=UNIT)
        return made.surely_within(-margin, margin)

    def ever_passes(one: Generator) -> bool:
        values = one.draw(rng, (60,))
        return any(mean_of(values[:n], bounds=UNIT).surely_within(one.mean + 1e-9, 2.0) for n in range(5, 61, 1))

    kinds = (*TAME[:4], *HARD[:4], *RARE[:3])
    for one in kinds:
        yield Row("YES where nothing differs, five looks", one.name, _share(ever_yes, one, samples), 0.10)
    for one in kinds[:6]:
        wrong = _share(lambda of: shown_small(of, 0.2, 40, 0.2), one, samples // 2)
        yield Row("NO, equivalent or absent where the difference is the margin", one.name, wrong, 0.05)
        yield Row(
            "gate passes at its border, a look after every seed",
            one.name,
            _share(ever_passes, one, GATE_TIMES * samples),
            0.025,
        )
    yield from papers(samples // 4)
    yield from advice(samples)


def _share(happens: Callable[[Generator], bool], one: Generator, samples: int) -> float:
    return sum(happens(one) for _ in range(samples)) / samples


def papers(tables: int) -> Iterator[Row]:
    """72 cells of 3 matches, margin .05: figures that lie a margin away from the border, and wrong ones."""
    rng = np.random.default_rng(11)
    for sd in (0.01, 0.02, 0.03):
        decided = wrong = clear = 0
        for _ in range(max(2, tables // 20)):
            truth = rng.uniform(0.2, 0.8, 72)
            gaps = rng.choice([0.0, 0.1, -0.1], 72)
            spread = sd * rng.uniform(0.5, 1.5, 72)
            values = truth[:, None] + rng.normal(0, 1, (72, 3)) * spread[:, None]
            variances = values.var(axis=1, ddof=1)
            prior: Prior = prior_of(variances.tolist(), [2.0] * 72)
            for row, gap, mean in zip(values, gaps, truth, strict=True):
                own = RunFigure(
                    (), "a", float(row.mean()), None, None, None, 3, se=float(row.std(ddof=1) / math.sqrt(3)), df=2.0
                )
                answer = cell_verdict(own, prior, float(mean + gap), 0.0, 0.05, 3).answer
                clear += 1
                decided += answer in ("agrees", "differs")
                wrong += answer == ("agrees" if gap else "differs")
        aim = 0.8 if sd <= 0.02 else None
        yield Row(
            "as the paper reads it: clear figures decided, 3 matches", f"match sd {sd:g}", decided / clear, aim, True
        )
        yield Row("as the paper reads it: wrong", f"match sd {sd:g}", wrong / clear, 0.05)


def advice(samples: int) -> Iterator[Row]:
    """Undecided differences whose advice on seeds is followed."""
    rng = np.random.default_rng(13)
    for sd, gap in ((0.15, 0.1), (0.1, 0.06), (0.25, 0.2)):
        followed = decided = 0
        for _ in range(samples):
            first = np.clip(rng.normal(0.5 + gap, sd, 200), 0, 1)
            second = np.clip(rng.normal(0.5, sd, 200), 0, 1)
            made = difference_of(first[:8], second[:8], bounds=UNIT)
            p = made.p_value()
            multiple = decisive_multiple(made, 0.05, Family(1, 1))
            if p is None or p < 0.05 or multiple > 10:
                continue
            n = min(200, math.ceil(8 * multiple))
            later = difference_of(first[:n], second[:n], bounds=UNIT)
            q = later.p_value()
            followed += 1
            decided += (q is not None and q < alpha(2)) or later.surely_within(-0.05, 0.05)
        if followed:
            yield Row(
                "advice on seeds followed: decided", f"sd {sd:g}, difference {gap:g}", decided / followed, 0.5, True
            )
