"""Analysis of variance and Tukey's comparisons, against scipy and statsmodels on the same values."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import f_oneway, tukey_hsd

from ostrom.analysis.statistics.anova import SumsOfSquares, anova
from ostrom.analysis.statistics.samples import BadSample, Undefined


def unbalanced() -> tuple[list[float], list[str], list[str]]:
    rng = np.random.default_rng(7)
    a = rng.choice(["x", "y", "z"], 50).tolist()
    b = rng.choice(["p", "q"], 50).tolist()
    y = [float(rng.normal()) + 0.8 * (i == "x") + 0.5 * (i == "y" and j == "p") for i, j in zip(a, b, strict=True)]
    return y, a, b


@pytest.mark.slow
def test_one_factor_is_scipys_f_and_tukey() -> None:
    y, a, _ = unbalanced()
    made = anova(y, {"a": a}, unit="match")
    levels = list(dict.fromkeys(a))
    groups = [[v for v, i in zip(y, a, strict=True) if i == level] for level in levels]
    theirs = f_oneway(*groups)
    assert made["a"].f == pytest.approx(theirs.statistic) and made["a"].p == pytest.approx(theirs.pvalue)
    tukey = tukey_hsd(*groups)
    bounds: Any = tukey.confidence_interval(0.95)
    assert len(made.comparisons) == 3
    for line in made.comparisons:
        i, j = (levels.index(level) for level in line.key["comparison"].split(" - "))
        assert line.value == pytest.approx(tukey.statistic[i, j])
        assert line.p == pytest.approx(tukey.pvalue[i, j], abs=1e-8)
        assert (line.low, line.high) == pytest.approx((bounds.low[i, j], bounds.high[i, j]), abs=1e-6)


@pytest.mark.parametrize("kind", ["II", "III"])
def test_two_balanced_factors_by_hand(kind: SumsOfSquares) -> None:
    y = [0, 2, 4, 6, 10, 12, 14, 16]
    made = anova(y, {"a": list("ssssllll"), "b": list("xxyyxxyy")}, unit="match", sums_of_squares=kind)
    assert made.balanced and [line.source for line in made.sources] == ["a", "b", "a x b", "residual"]
    assert [line.sum_squares for line in made.sources] == pytest.approx([200, 32, 0, 8], abs=1e-9)
    assert [line.f for line in made.sources[:3]] == pytest.approx([100, 16, 0], abs=1e-9)
    shares = [line.partial_eta_squared for line in made.sources[:3]]  # of what the other factor leaves
    assert shares == pytest.approx([200 / 208, 32 / 40, 0], abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "number"), [("II", 2), ("III", 3)])
def test_two_factors_are_statsmodels_table(kind: SumsOfSquares, number: int) -> None:
    import pandas as pd
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    y, a, b = unbalanced()
    made = anova(y, {"a": a, "b": b}, unit="match", sums_of_squares=kind)
    fit = ols("y ~ C(a, Sum) * C(b, Sum)", pd.DataFrame({"y": y, "a": a, "b": b})).fit()
    theirs = anova_lm(fit, typ=number)
    for ours, name in (("a", "C(a, Sum)"), ("b", "C(b, Sum)"), ("a x b", "C(a, Sum):C(b, Sum)")):
        line = made[ours]
        assert (line.sum_squares, line.df) == pytest.approx((theirs["sum_sq"][name], theirs["df"][name]))
        assert (line.f, line.p) == pytest.approx((theirs["F"][name], theirs["PR(>F)"][name]))
    assert made["residual"].sum_squares == pytest.approx(theirs["sum_sq"]["Residual"])
    assert not made.balanced and made.sums_of_squares == kind


@pytest.mark.slow
def test_comparisons_of_two_factors_are_of_least_squares_means_with_the_error_of_the_model() -> None:
    from scipy.stats import studentized_range

    y, a, b = unbalanced()
    made = anova(y, {"a": a, "b": b}, unit="match")
    cells = {(i, j): [v for v, k, m in zip(y, a, b, strict=True) if (k, m) == (i, j)] for i in "xyz" for j in "pq"}
    line = next(c for c in made.comparisons if set(c.key["comparison"].split(" - ")) == {"x", "z"})
    first, second = line.key["comparison"].split(" - ")
    difference = sum(np.mean(cells[first, j]) - np.mean(cells[second, j]) for j in "pq") / 2
    error = sum(float(((np.array(v) - np.mean(v)) ** 2).sum()) for v in cells.values()) / (50 - 6)
    se = np.sqrt(error * sum(1 / len(cells[i, j]) for i in (first, second) for j in "pq") / 4)
    assert (line.value, line.se) == pytest.approx((difference, se))
    assert line.p == pytest.approx(studentized_range.sf(np.sqrt(2) * abs(difference) / se, 3, 44), abs=1e-8)


@pytest.mark.slow
def test_an_empty_combination_takes_the_interaction_out() -> None:
    y, a, b = unbalanced()
    kept = [i for i in range(50) if (a[i], b[i]) != ("z", "q")]
    made = anova([y[i] for i in kept], {"a": [a[i] for i in kept], "b": [b[i] for i in kept]}, unit="match")
    assert made.empty_cells == (("z", "q"),)
    assert [line.source for line in made.sources] == ["a", "b", "residual"]


def test_what_cannot_be_tested_is_refused_in_one_line() -> None:
    with pytest.raises(BadSample, match="needs at least 2 levels"):
        anova([1, 2, 3], {"a": ["x", "x", "x"]}, unit="match")
    with pytest.raises(Undefined, match="do not vary"):
        anova([1, 1, 2, 2], {"a": ["x", "x", "y", "y"]}, unit="match")
    with pytest.raises(Undefined, match="nothing to estimate the error"):
        anova([1, 2, 3, 5], {"a": ["x", "x", "y", "y"], "b": ["p", "q", "p", "q"]}, unit="match")
    with pytest.raises(BadSample, match="one factor or two"):
        anova([1, 2, 3], {}, unit="match")
    made = anova([1, 2, 4, 8], {"a": ["x", "x", "y", "y"]}, unit="match")
    with pytest.raises(BadSample, match=r"no source 'b' \(found: a, residual\)"):
        made["b"]


@pytest.mark.parametrize(("sizes", "balanced"), [((2, 2, 2, 2), True), ((2, 1, 1, 2), False), ((3, 2, 2, 2), False)])
def test_a_design_is_balanced_where_all_combinations_have_as_many_values(
    sizes: tuple[int, ...], balanced: bool
) -> None:
    cells = [cell for cell, size in zip(["xp", "xq", "yp", "yq"], sizes, strict=True) for _ in range(size)]
    y = [float(place * place % 7) for place in range(len(cells))]
    made = anova(y, {"a": [cell[0] for cell in cells], "b": [cell[1] for cell in cells]}, unit="match")
    assert made.balanced is balanced
