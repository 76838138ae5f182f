"""Analysis of variance with one factor or two, and Tukey's comparisons of all pairs of levels.

Sums of squares compare nested least-squares fits. Type II tests a main effect given the other one and no
interaction; Type III tests it given everything else, with levels coded to sum to zero (Fox 2016, chapter 8).
Balanced designs give the same under both. Comparisons are of least-squares means, whose p-values and intervals
come from the studentised range (Tukey 1949; Kramer 1956 for unequal sizes).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any, Literal

import numpy as np

from ostrom.analysis.statistics.result import Estimate
from ostrom.analysis.statistics.samples import (
    BadSample,
    Floats,
    Ints,
    Labels,
    Numbers,
    Undefined,
    checked_level,
    checked_option,
    checked_unit,
    label_codes,
    sample,
    without_rounding,
)

SumsOfSquares = Literal["II", "III"]
NO_RESIDUAL = 1e-20
"""A residual below this share of the total sum of squares is rounding error."""


@dataclass(frozen=True)
class VarianceSource:
    """One line of the table. The residual has neither F nor p."""

    source: str
    sum_squares: float
    df: int
    mean_square: float
    f: float | None
    p: float | None
    partial_eta_squared: float | None


@dataclass(frozen=True)
class AnalysisOfVariance:
    """The table of an analysis of variance, and all pairwise comparisons within each factor."""

    sources: tuple[VarianceSource, ...]
    comparisons: tuple[Estimate, ...]
    """Differences of least-squares means of two levels of a factor, after Tukey and Kramer."""
    sums_of_squares: str
    n: int
    unit: str
    balanced: bool
    empty_cells: tuple[tuple[Any, ...], ...]
    """Combinations without a value; if there are any, the model has no interaction."""

    def __getitem__(self, source: str) -> VarianceSource:
        for line in self.sources:
            if line.source == source:
                return line
        raise BadSample(f"no source {source!r} (found: {', '.join(line.source for line in self.sources)})")


def anova(
    values: Numbers,
    factors: Mapping[str, Labels],
    *,
    unit: str,
    sums_of_squares: SumsOfSquares = "II",
    level: float = 0.95,
) -> AnalysisOfVariance:
    """Analysis of variance of one factor, or of two with their interaction.

    Levels are compared in the order in which they appear. The interaction is left out where a combination of
    levels has no value (``empty_cells``).

    >>> made = anova([1, 2, 3, 2, 4, 6], {"game": ["a", "a", "a", "b", "b", "b"]}, unit="match")
    >>> round(made["game"].f, 3), made["residual"].df
    (2.4, 4)
    """
    checked_unit(unit), checked_level(level)
    checked_option("sums_of_squares", sums_of_squares, ("II", "III"))
    y = sample(values, "values", at_least=3)
    if len(factors) not in (1, 2):
        raise BadSample(f"an analysis of variance takes one factor or two (found {len(factors)})")
    coded = {name: _coded(name, labels, y.size) for name, labels in factors.items()}
    empty = _empty_cells(coded)
    model = _Model(y, coded, interaction=len(coded) == 2 and not empty)
    if model.df <= 0:
        raise Undefined(f"{y.size} values leave nothing to estimate the error from: play more seeds")
    total = float(((y - y.mean()) ** 2).sum())
    if model.residual <= NO_RESIDUAL * max(total, float((y**2).sum())):
        raise Undefined("analysis of variance is undefined: values do not vary within the combinations")
    lines = [_line(model, name, _explained(model, name, sums_of_squares), total) for name in model.blocks]
    residual = VarianceSource("residual", model.residual, model.df, model.residual / model.df, None, None, None)
    compared = tuple(
        line for name in coded for line in _comparisons(model, name, unit, level) if len(coded[name][1]) > 1
    )
    sizes = np.unique(np.stack([codes for codes, _ in coded.values()]), axis=1, return_counts=True)[1]
    return AnalysisOfVariance(
        (*lines, residual), compared, sums_of_squares if len(coded) == 2 else "one factor", int(y.size), unit,
        not empty and len(set(sizes.tolist())) == 1, empty,
    )  # fmt: skip


def _coded(name: str, labels: Labels, size: int) -> tuple[Ints, tuple[Any, ...]]:
    """Return codes and levels in the order of appearance."""
    codes, levels = label_codes(labels, size, name)
    if len(levels) < 2:
        raise BadSample(f"{name}: needs at least 2 levels with values (found {', '.join(map(str, levels))})")
    order = list(dict.fromkeys(codes.tolist()))
    return np.argsort(order).astype(np.int64)[codes], tuple(levels[code] for code in order)


def _empty_cells(coded: Mapping[str, tuple[Ints, tuple[Any, ...]]]) -> tuple[tuple[Any, ...], ...]:
    met = set(zip(*(codes.tolist() for codes, _ in coded.values()), strict=True))
    places = product(*(range(len(levels)) for _, levels in coded.values()))
    empty = (at for at in places if at not in met)
    return tuple(tuple(levels[i] for i, (_, levels) in zip(at, coded.values(), strict=True)) for at in empty)


class _Model:
    """Least squares with an intercept and a block of columns for each factor and the interaction."""

    def __init__(self, y: Floats, coded: Mapping[str, tuple[Ints, tuple[Any, ...]]], *, interaction: bool) -> None:
        self.y, self.coded, self.interaction = y, coded, interaction
        self.blocks = {name: _sum_to_zero(len(levels))[codes] for name, (codes, levels) in coded.items()}
        if interaction:
            (one, a), (two, b) = self.blocks.items()
            self.blocks[f"{one} x {two}"] = _products(a, b)
        self.matrix = self._joined(self.blocks)
        rank = int(np.linalg.matrix_rank(self.matrix))
        if rank < self.matrix.shape[1]:
            raise Undefined("the two factors cannot be told apart: too many combinations have no value")
        self.df = y.size - rank
        self.coefficients = np.linalg.lstsq(self.matrix, y, rcond=None)[0]
        self.residual = self.residual_of(list(self.blocks))

    def _joined(self, names: Any) -> Floats:
        return np.column_stack([np.ones(self.y.size), *(self.blocks[name] for name in names)])

    def residual_of(self, names: list[str]) -> float:
        """The residual sum of squares of the model with these blocks."""
        matrix = self._joined(names)
        left = self.y - matrix @ np.linalg.lstsq(matrix, self.y, rcond=None)[0]
        return float(left @ left)

    def mean_row(self, factor: str, code: int) -> Floats:
        """Return the design row of a least-squares mean: averaged over the levels of the other factor."""
        rows = {
            name: _sum_to_zero(len(levels))[code] if name == factor else np.zeros(len(levels) - 1)
            for name, (_, levels) in self.coded.items()
        }
        parts = list(rows.values())
        if self.interaction:
            parts.append(np.zeros(parts[0].size * parts[1].size))
        return np.concatenate([[1.0], *parts])


def _sum_to_zero(levels: int) -> Floats:
    """Sum-to-zero coding, one row per level: the intercept is then the mean of the level means."""
    return np.vstack([np.eye(levels - 1), -np.ones(levels - 1)])


def _products(a: Floats, b: Floats) -> Floats:
    return np.column_stack([a[:, i] * b[:, j] for i in range(a.shape[1]) for j in range(b.shape[1])])


def _explained(model: _Model, name: str, sums_of_squares: str) -> float:
    """Return the sum of squares that a block adds to the other blocks of its type."""
    others = [other for other in model.blocks if other != name]
    if sums_of_squares == "II" and name in model.coded:
        others = [other for other in others if other in model.coded]
        return model.residual_of(others) - model.residual_of([*others, name])
    return model.residual_of(others) - model.residual


def _line(model: _Model, name: str, explained: float, total: float) -> VarianceSource:
    from scipy.special import fdtrc

    explained = max(0.0, without_rounding(explained, total))
    df = int(model.blocks[name].shape[1])
    f = explained / df / (model.residual / model.df)
    return VarianceSource(
        name, explained, df, explained / df, f, float(fdtrc(df, model.df, f)),
        explained / (explained + model.residual),
    )  # fmt: skip


def _comparisons(model: _Model, factor: str, unit: str, level: float) -> list[Estimate]:
    from scipy.stats import studentized_range

    levels = model.coded[factor][1]
    error = model.residual / model.df
    inverse = np.linalg.inv(model.matrix.T @ model.matrix)
    reach = float(studentized_range.ppf(level, len(levels), model.df)) / math.sqrt(2)
    scale = float(np.abs(model.y).max())
    comparisons = []
    for one, two in combinations(range(len(levels)), 2):
        row = model.mean_row(factor, one) - model.mean_row(factor, two)
        difference = without_rounding(float(row @ model.coefficients), scale)
        se = math.sqrt(error * float(row @ inverse @ row))
        p = min(1.0, max(0.0, float(studentized_range.sf(math.sqrt(2) * abs(difference) / se, len(levels), model.df))))
        key = {"factor": factor, "comparison": f"{levels[one]} - {levels[two]}"}
        comparisons.append(
            Estimate(
                key,
                difference,
                difference - reach * se,
                difference + reach * se,
                model.y.size,
                unit,
                "tukey",
                level=level,
                se=se,
                df=float(model.df),
                p=p,
            )
        )
    return comparisons
