"""How often pooled intervals of shares hold the mean of the labs' distribution; written to docs/methods.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from tools.coverage.generators import Array, rng_for

from ostrom.analysis.estimate import estimated
from ostrom.analysis.intervals import mean_of
from ostrom.features.pooling.labs import evened, random_effects_mean, variance_of

LABS = (3, 5, 10)
LEAST = 0.93
"""The least share of intervals that should hold the mean, where labs are not skewed beyond what a model can know."""
AGAIN = 10
"""How many times as many samples decide on a figure that misses the aim: of 51 rates of .95, of 400 samples each, about
one is below .93 by chance alone."""
SKEWED = 1.0
"""A standard deviation between labs as large as the distance of their mean to the bound: no aim for the model."""


@dataclass(frozen=True)
class Kind:
    """Labs whose rates follow a Beta distribution, and what their matches are."""

    mean: float
    spread: float
    """The standard deviation between labs, in units of the mean's distance to the nearer bound."""
    rounds: int
    matches: int

    @property
    def name(self) -> str:
        """What the table calls it."""
        what = "all or nothing" if self.rounds == 1 else f"shares of {self.rounds} rounds"
        return f"{what}, {self.matches} matches a lab, mean {self.mean:g}, tau {self.tau:.3g}"

    @property
    def tau(self) -> float:
        """The standard deviation between labs."""
        return self.spread * min(self.mean, 1 - self.mean)

    def draw(self, rng: np.random.Generator, labs: int) -> Array:
        """The values of all matches, by lab."""
        rates = np.full(labs, self.mean)
        if self.tau:
            many = self.mean * (1 - self.mean) / self.tau**2 - 1
            rates = rng.beta(self.mean * many, (1 - self.mean) * many, labs)
        drawn: Array = rng.binomial(self.rounds, rates[:, None], (labs, self.matches)) / self.rounds
        return np.sort(drawn, axis=1)


SPREADS = {0.02: (0.5, SKEWED), 0.1: (0.5, SKEWED), 0.5: (0.3,), 0.95: (0.0, 0.5, SKEWED)}
KINDS = tuple(
    Kind(mean, spread, rounds, matches)
    for rounds, matches in ((1, 5), (1, 20), (1, 100), (10, 20))
    for mean, spreads in SPREADS.items()
    for spread in spreads
)


@dataclass(frozen=True)
class Row:
    """How both intervals fare with labs of one kind."""

    kind: Kind
    model: tuple[float, ...]
    free: tuple[float, ...]
    widths: tuple[tuple[float, float], ...]

    @property
    def short(self) -> list[tuple[str, int, float]]:
        """The intervals that miss their aim: which one, with how many labs, its share."""
        found = [("for any distribution", self.free)]
        if self.kind.spread < SKEWED:
            found.append(("of the model", self.model))
        return [
            (which, labs, share)
            for which, shares in found
            for labs, share in zip(LABS, shares, strict=True)
            if share < LEAST
        ]

    @property
    def missed(self) -> list[str]:
        """The aims that are missed."""
        return [
            f"pool, {self.kind.name}, {labs} labs: interval {which} covers {share:.3f}, aim {LEAST}"
            for which, labs, share in self.short
        ]


def rows(samples: int) -> Iterator[Row]:
    """Every row of the table."""
    for kind in KINDS:
        row = _row(kind, dict.fromkeys(LABS, samples))
        if again := {labs for _, labs, _ in row.short}:
            row = _row(kind, {labs: samples * (AGAIN if labs in again else 1) for labs in LABS})
        yield row


def _row(kind: Kind, samples: Mapping[int, int]) -> Row:
    counted = [_covered(kind, labs, many) for labs, many in samples.items()]
    return Row(kind, *(tuple(of) for of in zip(*counted, strict=True)))


def _covered(kind: Kind, labs: int, samples: int) -> tuple[float, float, tuple[float, float]]:
    rng = rng_for("pool", kind.name, labs)
    model = free = 0
    widths = np.zeros(2)
    for _ in range(samples):
        drawn = kind.draw(rng, labs)
        ends = _ends(tuple(sorted(map(tuple, drawn.tolist()))))
        (own, free_of) = (low - 1e-9 <= kind.mean <= high + 1e-9 for low, high in ends)
        model, free = model + own, free + free_of
        widths += [high - low for low, high in ends]
    return model / samples, free / samples, (float(widths[0]) / samples, float(widths[1]) / samples)


@lru_cache(maxsize=1 << 16)
def _ends(labs: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, float], tuple[float, float]]:
    """The interval of the model and the one for labs of any distribution."""
    variances = evened([_variance(values) for values in labs], [len(values) for values in labs])
    found = random_effects_mean([sum(values) / len(values) for values in labs], variances, bounds=(0.0, 1.0))
    assert found.model_free is not None
    return (found.low, found.high), found.model_free


@lru_cache(maxsize=1 << 16)
def _variance(values: tuple[float, ...]) -> float:
    return variance_of(estimated({}, mean_of(values, bounds=(0.0, 1.0)), len(values), "match"))


def pool_tables(samples: int) -> tuple[str, list[str]]:
    """The table, and the aims that are missed."""
    found = list(rows(samples))
    lines = [
        f"{samples:,} simulated sets of labs per figure, rates of labs by a Beta distribution: how often the 95 % "
        "interval of the model / the one for labs of any distribution holds the mean, and their mean widths. Bold: "
        f"below {LEAST:.2f}. A figure that misses this as its aim is taken from {AGAIN * samples:,} sets; the model "
        "has no aim where rates spread as far as their mean is from a bound.".replace("0.", "."),
        "",
        "| labs | 3 | 5 | 10 | widths 3 | 5 | 10 |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in found:
        shares = [f"{_share(a)} / {_share(b)}" for a, b in zip(row.model, row.free, strict=True)]
        wide = [f"{a:.2f} / {b:.2f}".replace("0.", ".") for a, b in row.widths]
        lines.append(f"| {row.kind.name} | " + " | ".join([*shares, *wide]) + " |")
    return "\n".join(lines), [text for row in found for text in row.missed]


def _share(value: float) -> str:
    text = "1" if value == 1 else f"{value:.3f}".removeprefix("0")
    return text if value >= LEAST else f"**{text}**"
