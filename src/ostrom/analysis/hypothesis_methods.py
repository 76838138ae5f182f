"""The methods of a test: each turns a sample into tables and says what it assumes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np

from ostrom.analysis.hypothesis_standard import evidence_of, standard_scale
from ostrom.analysis.hypothesis_units import Sample, SampleRow
from ostrom.analysis.pairing import paired
from ostrom.analysis.statistics.anova import SumsOfSquares, anova
from ostrom.analysis.statistics.bayes_factor import MEDIUM, jzs_paired, jzs_two_sample
from ostrom.analysis.statistics.effect_size import cohens_d, cohens_d_paired
from ostrom.analysis.statistics.errors import StatisticsError
from ostrom.analysis.statistics.logistic import gee_logistic, logistic_regression
from ostrom.analysis.statistics.means import paired_t, welch_t
from ostrom.analysis.statistics.mixed_model import linear_mixed_model
from ostrom.analysis.statistics.multiplicity import holm
from ostrom.analysis.statistics.permutation import permutation_grouped, permutation_paired
from ostrom.ground.errors import UsageError

Table: TypeAlias = list[dict[str, Any]]
FEW_CLUSTERS = 40
"""With fewer clusters the errors of estimating equations are corrected (Mancl & DeRouen 2001)."""


@dataclass(frozen=True)
class Comparisons:
    """What a method found."""

    title: str
    design: str
    assumptions: tuple[str, ...]
    tables: Mapping[str, Table]
    warnings: tuple[str, ...] = ()


def t_tests(values: Sample, method: Literal["welch", "paired"], level: float) -> Comparisons:
    """Welch's or the paired t test of every pair of levels, with Cohen's d."""

    def welch(first: Any, second: Any) -> dict[str, Any]:
        one, two = _values(values.at(first)), _values(values.at(second))
        test = welch_t(one, two, unit=values.unit, level=level)
        return _t_row(test, cohens_d(one, two, unit=values.unit, level=level))

    def pairs(first: Any, second: Any) -> dict[str, Any]:
        found = paired(values.found, values.side(first), values.side(second), values.factors[0])
        if len(found.keys) < 2:
            raise UsageError(
                f"{values.factors[0]}: {len(found.keys)} pairs of {first} and {second} (at least 2 are needed): pairs "
                "share a match, or a seed in cells that differ in the factor alone"
            )
        test = paired_t(found.first, found.second, unit=values.unit, level=level)
        d = cohens_d_paired(found.first, found.second, unit=values.unit, level=level)
        notes = [f"{found.left} without a partner left out"] if found.left else []
        return {
            **_t_row(test, d),
            "n": [len(found.keys)],
            "note": "; ".join([*notes, found.note]).strip("; "),
        }

    if method == "welch":
        return Comparisons(
            "Welch's t test",
            f"independent groups: one value per {values.unit} and level",
            (
                f"{values.units} are independent of each other",
                "means are about normal; variances may differ",
                *_many(values),
            ),
            {"comparisons": _pairwise(values, welch)},
            _dependent(values, "paired or mixed"),
        )
    return Comparisons(
        "paired t test",
        "pairs: two values of the same match, of the same seed in cells that differ in the factor alone, or of the "
        "same scenario or person",
        ("pairs are independent of each other", "the mean difference is about normal", *_many(values)),
        {"comparisons": _pairwise(values, pairs)},
    )


def _t_row(test: Any, d: Any) -> dict[str, Any]:
    return {
        "difference": test.estimate, "low": test.ci.low, "high": test.ci.high,
        "t": test.statistic, "df": test.df, "p": test.p,
        "d": d.estimate, "d_low": d.ci.low, "d_high": d.ci.high, "n": list(test.n),
    }  # fmt: skip


def permutations(values: Sample, seed: int) -> Comparisons:
    """Rearranged labels: of pairs, of units, of whole clusters, or of units within clusters."""
    rng = np.random.default_rng(seed)
    within = values.repeated > 0 and not values.clusters
    moves = f"{values.units} swap levels"

    def rearranged(first: Any, second: Any) -> dict[str, Any]:
        if within:
            one, two, left = _same_units(values, first, second)
            test = permutation_paired(one, two, unit=values.unit, rng=rng)
            note = f"{left} without a partner left out" if left else ""
        else:
            rows = [*values.at(first), *values.at(second)]
            treated = [float(row.levels[0] == first) for row in rows]
            labels = [row.cluster for row in rows] if values.clusters else None
            whole = labels is not None and _constant(rows)
            test = permutation_grouped(
                _values(rows), treated, unit=values.unit, rng=rng,
                clusters=labels if whole else None, blocks=None if whole else labels,
            )  # fmt: skip
            note = (
                "" if labels is None else "whole clusters swap levels" if whole else "swaps within clusters"
            )
        how = "all arrangements" if test.exact else f"{test.arrangements} random arrangements, seed {seed}"
        return {
            "difference": test.estimate, "p": test.p, "arrangements": how, "n": list(test.n), "note": note
        }  # fmt: skip

    if within:
        design = (
            f"pairs: {values.repeated} {values.units} have values at several levels, which swap within them"
        )
    elif values.clusters:
        design = f"clusters by {', '.join(values.clusters)}: levels are rearranged as they were assigned"
    else:
        design = f"independent groups: {moves}"
    return Comparisons(
        "permutation test of the difference of means",
        design,
        (
            "under the null hypothesis the labels that are rearranged are exchangeable",
            "a difference in spread alone can also give a small p",
            *_many(values),
        ),
        {"comparisons": _pairwise(values, rearranged)},
    )


def bayes_factors(values: Sample) -> Comparisons:
    """JZS Bayes factors of every pair of levels."""
    within = values.repeated > 0

    def factor(first: Any, second: Any) -> dict[str, Any]:
        note = ""
        if within:
            one, two, left = _same_units(values, first, second)
            made, note = (
                jzs_paired(one, two, unit=values.unit),
                f"{left} without a partner left out" if left else "",
            )
        else:
            made = jzs_two_sample(_values(values.at(first)), _values(values.at(second)), unit=values.unit)
        return {
            "bf10": made.bf10, "log_bf10": made.log_bf10, "t": made.t, "df": made.df, "n": list(made.n), "note": note
        }  # fmt: skip

    kind = f"pairs of values of the same {values.unit}" if within else "independent groups"
    return Comparisons(
        "JZS Bayes factor (bf10: evidence for a difference over none)",
        f"{kind}: one value per {values.unit} and level",
        (
            f"the effect size has a Cauchy prior of scale {MEDIUM:.4g}, two-sided",
            "values are about normal" + ("" if within else " with the same variance in both groups"),
            f"{values.units} are independent of each other",
        ),
        {"comparisons": _pairwise(values, factor)},
    )


def variance_table(values: Sample, sums_of_squares: SumsOfSquares, level: float) -> Comparisons:
    """Analysis of variance with Tukey's comparisons."""
    columns = {name: [str(row.levels[i]) for row in values.rows] for i, name in enumerate(values.factors)}
    made = anova(
        _values(values.rows), columns, unit=values.unit, sums_of_squares=sums_of_squares, level=level
    )
    two = len(values.factors) == 2
    design = f"independent groups: one value per {values.unit} and combination of levels"
    if two:
        design += f"; {'balanced' if made.balanced else 'unbalanced'}, Type {sums_of_squares} sums of squares"
        design += ", without interaction" if made.empty_cells else ", with interaction"
    warnings = list(_dependent(values, "mixed"))
    if made.empty_cells:
        cells = "; ".join(" and ".join(map(str, cell)) for cell in made.empty_cells[:5])
        warnings.append(
            f"{len(made.empty_cells)} combinations have no value ({cells}): no interaction is fitted"
        )
    return Comparisons(
        f"{'two' if two else 'one'}-way analysis of variance with Tukey's comparisons",
        design,
        (
            f"{values.units} are independent of each other",
            "values are about normal with the same variance in all groups",
            "comparisons are of least-squares means; p-values and intervals hold for all pairs of levels of a factor "
            "together (Tukey-Kramer)",
        ),
        {
            "sources": [line.as_dict() for line in made.sources],
            "comparisons": [
                {
                    "factor": line.factor, "comparison": f"{line.first} - {line.second}",
                    "difference": line.estimate, "low": line.ci.low, "high": line.ci.high, "p": line.p,
                }
                for line in made.comparisons
            ],
        },
        tuple(warnings),
    )  # fmt: skip


def regression(values: Sample, method: str, level: float) -> Comparisons:
    """A mixed, logistic or population-averaged logistic model: coefficients against the first level."""
    rows = values.model_rows(method)
    columns = {name: [str(row.levels[i]) for row in rows] for i, name in enumerate(values.factors)}
    reference = {name: str(levels[0]) for name, levels in values.levels.items()}
    shared: dict[str, Any] = {
        "unit": values.unit, "reference": reference, "level": level,
        "interactions": [values.factors] if len(values.factors) == 2 else [],
    }  # fmt: skip
    y, clusters = _values(rows), [row.cluster for row in rows]
    named = ", ".join(values.clusters) or values.unit
    each = f"one value per {values.unit}" if values.clusters or method == "glm" else "one value per player"
    base = ", ".join(f"{name} {level}" for name, level in reference.items())
    assumed = [f"coefficients are differences from {base}", "p-values are not corrected for their number"]
    warnings: tuple[str, ...] = ()
    if method == "mixed":
        if len(set(clusters)) == len(rows):
            raise UsageError(
                f"method mixed needs several values of each {named} (every one has exactly one): name a column "
                "that groups them (cluster)"
            )
        made = linear_mixed_model(y, columns, groups=clusters, **shared)
        title, design = "linear mixed model, REML", f"{each}, random intercept per {named}"
        assumed.append(
            "random intercepts and errors are normal; degrees of freedom between and within groups"
        )
    elif method == "glm":
        made = logistic_regression(y, columns, clusters=clusters if values.clusters else None, **shared)
        title, design = "logistic regression", each
        if values.clusters:
            design += f", errors robust to dependence within {named}"
            assumed.append("clusters are independent of each other and many")
        else:
            assumed.append(f"{values.units} are independent of each other")
            warnings = _dependent(values, "gee")
    else:
        few = len(set(clusters)) < FEW_CLUSTERS
        made = gee_logistic(
            y, columns, clusters=clusters, covariance="bias_reduced" if few else "robust", **shared
        )
        title = "logistic generalised estimating equations"
        design = f"{each}, exchangeable within {named}"
        if few:
            design += f", errors corrected for few clusters ({len(set(clusters))})"
        assumed.append("clusters are independent of each other")
    clustered = bool(values.clusters) or method != "glm"
    evidence = evidence_of(reference, rows, named, clustered)
    scale = standard_scale(method, made.details)
    assumed += [evidence.said, scale.said]
    lines = [
        {
            "term": line.term, "estimate": line.estimate, "se": line.se, "statistic": line.statistic,
            "df": line.df, "p": line.p, "low": line.ci and line.ci.low, "high": line.ci and line.ci.high,
            **scale.of(line.term, line.estimate, line.ci), "bf10": evidence.of(line.term, line.statistic),
            **({"odds_ratio": line.odds_ratio} if method != "mixed" else {}), "note": line.note,
        }
        for line in made.coefficients
    ]  # fmt: skip
    facts = [{"rows": made.n, "clusters": made.n_clusters, **made.details}]
    return Comparisons(title, design, tuple(assumed), {"coefficients": lines, "fit": facts}, warnings)


def _pairwise(values: Sample, compare: Callable[[Any, Any], dict[str, Any]]) -> Table:
    """A row for every pair of levels; p-values of several are corrected by Holm's method.

    A pair whose statistic does not exist says why; where none exists, the first reason is the answer.
    """
    made: Table = []
    failure: StatisticsError | None = None
    for first, second in combinations(values.levels[values.factors[0]], 2):
        named = {"comparison": f"{first} - {second}"}
        try:
            made.append({**named, **compare(first, second)})
        except StatisticsError as error:
            failure = failure or error
            made.append({**named, "note": str(error)})
    known = [row for row in made if len(row) > 2]
    if failure is not None and not known:
        raise failure
    if len(made) > 1 and all("p" in row for row in known):
        for row, adjusted in zip(known, holm([row["p"] for row in known]).adjusted, strict=True):
            row["p_holm"] = adjusted
    columns = list(dict.fromkeys(name for row in known for name in row if name != "note"))
    return [{**{name: row.get(name) for name in columns}, "note": row.get("note") or ""} for row in made]


def _same_units(values: Sample, first: Any, second: Any) -> tuple[list[float], list[float], int]:
    sides = [{row.unit: row.value for row in values.at(level)} for level in (first, second)]
    both = [unit for unit in sides[0] if unit in sides[1]]
    one, two = ([side[unit] for unit in both] for side in sides)
    return one, two, len(sides[0]) + len(sides[1]) - 2 * len(both)


def _constant(rows: list[SampleRow]) -> bool:
    """Whether every cluster has one level only."""
    return len({(row.cluster, row.levels[0]) for row in rows}) == len({row.cluster for row in rows})


def _values(rows: Any) -> list[float]:
    return [row.value for row in rows]


def _many(values: Sample) -> tuple[str, ...]:
    levels = len(values.levels[values.factors[0]])
    pairs = levels * (levels - 1) // 2
    return (f"p_holm corrects for {pairs} comparisons by Holm's method",) if pairs > 1 else ()


def _dependent(values: Sample, better: str) -> tuple[str, ...]:
    if not values.repeated:
        return ()
    return (
        f"{values.repeated} {values.units} have values at more than one level: these are not independent, use {better}",
    )
