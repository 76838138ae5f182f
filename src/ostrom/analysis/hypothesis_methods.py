"""The methods of a test: each computes tables from a sample and states its assumptions.

A sample has one value per unit of analysis and combination of levels. Regressions also give standardised estimates and
Bayes factors of their coefficients, each with what it takes for granted.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from statistics import stdev
from typing import Any, Literal, TypeAlias

import numpy as np

from ostrom.analysis.statistics.anova import SumsOfSquares, anova
from ostrom.analysis.statistics.logistic import gee_logistic, logistic_regression
from ostrom.analysis.statistics.means import (
    MEDIUM,
    cohens_d,
    cohens_d_paired,
    jzs_from_t,
    jzs_paired,
    jzs_two_sample,
    paired_t,
    welch_t,
)
from ostrom.analysis.statistics.regression import FittedRegression, linear_mixed_model
from ostrom.analysis.statistics.resampling import permutation_grouped, permutation_paired
from ostrom.analysis.statistics.result import Estimate, holm
from ostrom.analysis.statistics.samples import StatisticsError
from ostrom.analysis.unit_figures import comparison
from ostrom.analysis.units import Observation, Observations, UnitValue, independent, per_match
from ostrom.ground.errors import UsageError
from ostrom.ground.values import grouped
from ostrom.ground.words import PLURALS


@dataclass(frozen=True)
class SampleRow:
    """One value: its levels, the unit it belongs to, and its cluster."""

    levels: tuple[Any, ...]
    unit: tuple[Any, ...]
    cluster: tuple[Any, ...]
    value: float
    exact: bool
    weight: float = 1.0


@dataclass(frozen=True)
class Sample:
    """The values that a test compares."""

    found: Observations
    factors: tuple[str, ...]
    clusters: tuple[str, ...]
    observed: tuple[Observation, ...]
    """The values behind the rows: those with a level of every factor."""
    missing: int
    """The number of values that lack a level of some factor."""

    @property
    def unit(self) -> str:
        """The unit of analysis."""
        return "match" if self.found.measure.unit == "decision" else self.found.measure.unit

    @property
    def by_round(self) -> bool:
        """Return whether a match has one value per round."""
        return self.found.measure.unit == "decision" and "round" in self.found.columns

    @property
    def units(self) -> str:
        """Return the unit of analysis in the plural."""
        return PLURALS.get(self.unit, f"{self.unit}s")

    @cached_property
    def levels(self) -> dict[str, list[Any]]:
        """The levels of every factor, in the order of the study."""
        return {
            name: [key for (key,) in self.found.groups([name]) if any(o[name] == key for o in self.observed)]
            for name in self.factors
        }

    @cached_property
    def rows(self) -> tuple[SampleRow, ...]:
        """One row per unit, combination of levels and cluster, in the order of the study."""
        table = []
        for levels in self._combinations():
            here = [o for o in self.observed if tuple(o[name] for name in self.factors) == levels]
            clusters = grouped((tuple(row[name] for name in self.clusters), row) for row in here)
            parts = grouped(
                ((*cluster, independent(self.found.measure, of_match)), of_match)
                for cluster, rows in clusters.items()
                for of_match in per_match(rows).values()
            )
            for key, of in parts.items():
                weight = math.fsum(u.weight for u in of)
                mean = math.fsum(u.weight * u.value for u in of) / weight
                table.append(SampleRow(levels, key[-1], key[:-1], mean, all(u.exact for u in of), weight))
        return tuple(table)

    def _combinations(self) -> list[tuple[Any, ...]]:
        combinations = {tuple(o[name] for name in self.factors) for o in self.observed}
        places = [{level: i for i, level in enumerate(self.levels[name])} for name in self.factors]
        return sorted(combinations, key=lambda key: [place[v] for place, v in zip(places, key, strict=True)])

    @cached_property
    def repeated(self) -> int:
        """Return how many units have values at more than one combination of levels."""
        levels = grouped((row.unit, row.levels) for row in self.rows)
        return sum(len(set(of)) > 1 for of in levels.values())

    def rows_at(self, level: Any) -> list[SampleRow]:
        """Return the rows at a level of the first factor."""
        return [row for row in self.rows if row.levels[0] == level]

    def side(self, level: Any) -> list[Observation]:
        """Return the values at a level of the first factor, before averaging."""
        return [o for o in self.observed if o[self.factors[0]] == level]

    def model_rows(self, method: str) -> tuple[SampleRow, ...]:
        """Return the rows of a model: one per unit, or one per player's value if the unit is the cluster.

        A measure by round has one row per round, since a model with clusters allows values to depend on each other.
        """
        if not self.by_round and (self.clusters or method == "glm"):
            return self.rows
        rounds = self.by_round and (self.clusters or method == "glm")
        parts: dict[tuple[Any, ...], UnitValue] = {}
        for at, o in enumerate(self.observed):
            place = independent(self.found.measure, UnitValue([o]))
            cluster = tuple(o[name] for name in self.clusters) or place
            key = (tuple(o[name] for name in self.factors), place, cluster, o["round"] if rounds else at)
            parts.setdefault(key, UnitValue()).rows.append(o)
        return tuple(
            SampleRow(levels, place, cluster, of.value, of.exact) for (levels, place, cluster, _), of in parts.items()
        )

    def groups(self) -> list[dict[str, Any]]:
        """Return size, mean (as in `ostrom estimate`) and standard deviation of every combination of levels."""
        summaries = []
        for levels in self._combinations():
            rows = [row for row in self.rows if row.levels == levels]
            mean = math.fsum(row.weight * row.value for row in rows) / math.fsum(row.weight for row in rows)
            summaries.append(
                {
                    **dict(zip(self.factors, levels, strict=True)),
                    self.units: len(rows),
                    "mean": mean,
                    "sd": stdev([row.value for row in rows]) if len(rows) > 1 else None,
                }
            )
        return summaries

    def warnings(self, method: str) -> tuple[str, ...]:
        """Return warnings about these values for a method."""
        exact = sum(row.exact for row in self.rows)
        # If all weights are equal, ignoring them changes nothing.
        unequal = method != "estimate" and len({round(row.weight, 9) for row in self.rows}) > 1
        texts = (
            (self.missing, f"{self.missing} values without a level of {' and '.join(self.factors)} are left out"),
            (exact, f"{exact} of {len(self.rows)} values come from deterministic players and have no sampling error: "
                    "more seeds repeat them, so p-values do not apply to them"),
            (unequal, f"{self.found.measure.name} weighs its values; here all {self.units} count the same"),
        )  # fmt: skip
        return tuple(text for applies, text in texts if applies)


def sample_of(observed: Observations, factors: Sequence[str], clusters: Sequence[str] = ()) -> Sample:
    """Build the sample of a measure by one or two factors; refused if there is nothing to compare."""
    observed.need([*factors, *clusters])
    if not observed.rows:
        raise UsageError(f"no finished match that is asked for has a value of {observed.measure.name}")
    complete = [o for o in observed.rows if all(o[name] is not None for name in factors)]
    sample = Sample(observed, tuple(factors), tuple(clusters), tuple(complete), len(observed.rows) - len(complete))
    if complete and all(o.exact for o in complete):
        raise UsageError(
            f"{observed.measure.name}: all values come from deterministic players, which have no sampling error: there "
            "is nothing to test; `ostrom estimate` gives the exact differences"
        )
    for name in factors:
        if len(sample.levels[name]) < 2:
            listed = ", ".join(map(str, sample.levels[name])) or "none"
            raise UsageError(f"factor {name}: a test needs at least 2 levels with values (found {listed})")
    return sample


LOGISTIC_SD = math.pi / math.sqrt(3)
"""The standard deviation of the logistic distribution, in log odds."""
STANDARDISED = ("standardised", "standardised_low", "standardised_high")


def standardised(method: str, fit: FittedRegression) -> tuple[float, str]:
    """Return the divisor that standardises an estimate, and a sentence that explains it.

    The scale is that of a mixed model (total variance) or of a logistic one (log odds; Hasselblad & Hedges 1995).
    """
    if method != "mixed":
        return LOGISTIC_SD, "standardised: log odds over pi / sqrt 3, as if a logistic variable had been cut in two"
    total = float(fit.details["variance_between"]) + float(fit.details["variance_within"])
    return math.sqrt(total), "standardised: in standard deviations of the outcome, between and within groups together"


def clusters_behind(
    reference: Mapping[str, str], rows: Sequence[SampleRow], clustered: bool
) -> dict[str, tuple[int, ...]]:
    """Return the number of clusters behind each term; ``reference`` has the first level of each factor.

    Two numbers for a term whose levels lie in different clusters, one where every cluster has both levels.
    """
    clusters: dict[str, tuple[int, ...]] = {}
    for i, (name, first) in enumerate(reference.items()):
        members = {
            level: set(of)
            for level, of in grouped(
                (str(row.levels[i]), row.cluster if clustered else row.unit) for row in rows
            ).items()
        }
        base = members.pop(first, set())
        for level, of in members.items():
            both = len(base & of)
            clusters[f"{name}[{level}]"] = (both,) if both == len(base | of) else (len(base), len(of))
    return clusters


def bayes_factor(line: Estimate, sizes: tuple[int, ...] | None, unit: str) -> float | None:
    """The JZS Bayes factor of a main effect; None for the intercept, interactions and too few clusters."""
    if sizes is None or line.statistic is None or not math.isfinite(line.statistic):
        return None
    with suppress(StatisticsError):
        return jzs_from_t(line.statistic, *sizes, unit=unit).bf10
    return None


Table: TypeAlias = list[dict[str, Any]]
FEW_CLUSTERS = 40
"""The number of clusters below which standard errors are corrected (Mancl & DeRouen 2001)."""


@dataclass(frozen=True)
class Comparisons:
    """The tables and notes of a method."""

    title: str
    design: str
    assumptions: tuple[str, ...]
    tables: Mapping[str, Table]
    warnings: tuple[str, ...] = ()


def t_tests(values: Sample, method: Literal["welch", "paired"], level: float) -> Comparisons:
    """Welch's or the paired t test of every pair of levels, with Cohen's d."""

    def welch(first: Any, second: Any) -> dict[str, Any]:
        one, two = _values(values.rows_at(first)), _values(values.rows_at(second))
        return _t_row(
            welch_t(one, two, unit=values.unit, level=level), cohens_d(one, two, unit=values.unit, level=level)
        )

    def pairs(first: Any, second: Any) -> dict[str, Any]:
        one, two = values.side(first), values.side(second)
        contrast = comparison(values.found, one, two, values.factors[0], ())
        if not contrast.paired:  # requested by name: values are paired by seed in any case
            contrast = comparison(replace(values.found, shared=True), one, two, values.factors[0], ())
        sides = contrast.pairs()
        if len(sides[0]) < 2:
            raise UsageError(
                f"{values.factors[0]}: {len(sides[0])} pairs of {first} and {second} (at least 2 are needed): pairs "
                "share a match, or a seed in cells that differ in the factor alone"
            )
        return {
            **_t_row(
                paired_t(*sides, unit=values.unit, level=level), cohens_d_paired(*sides, unit=values.unit, level=level)
            ),
            "note": contrast.note,
        }

    if method == "welch":
        return Comparisons(
            "Welch's t test",
            f"independent groups: one value per {values.unit} and level",
            (
                f"{values.units} are independent of each other",
                "means are about normal; variances may differ",
                *many_comparisons(values),
            ),
            {"comparisons": pairwise(values, welch)},
            _dependent(values, "paired or mixed"),
        )
    return Comparisons(
        "paired t test",
        "pairs: two values of the same match, of the same seed in cells that differ in the factor alone, or of the "
        "same scenario or person",
        ("pairs are independent of each other", "the mean difference is about normal", *many_comparisons(values)),
        {"comparisons": pairwise(values, pairs)},
    )


def _t_row(test: Estimate, d: Estimate) -> dict[str, Any]:
    return {
        "difference": test.value, "low": test.low, "high": test.high,
        "t": test.statistic, "df": test.df, "p": test.p,
        "d": d.value, "d_low": d.low, "d_high": d.high, "n": list(test.sizes),
    }  # fmt: skip


def permutations(values: Sample, seed: int) -> Comparisons:
    """Permutation tests: of pairs, of units, of clusters, or of units within clusters."""
    rng = np.random.default_rng(seed)
    within = values.repeated > 0 and not values.clusters
    moves = f"{values.units} swap levels"

    def rearranged(first: Any, second: Any) -> dict[str, Any]:
        if within:
            one, two, left = _same_units(values, first, second)
            test = permutation_paired(one, two, unit=values.unit, rng=rng)
            note = f"{left} without a partner left out" if left else ""
        else:
            rows = [*values.rows_at(first), *values.rows_at(second)]
            treated = [float(row.levels[0] == first) for row in rows]
            labels = [row.cluster for row in rows] if values.clusters else None
            by_cluster = labels is not None and _constant(rows)
            test = permutation_grouped(
                _values(rows), treated, unit=values.unit, rng=rng,
                clusters=labels if by_cluster else None, blocks=None if by_cluster else labels,
            )  # fmt: skip
            note = "" if labels is None else "whole clusters swap levels" if by_cluster else "swaps within clusters"
        how = "all arrangements" if test.exact else f"{test.arrangements} random arrangements, seed {seed}"
        estimate = test.estimate
        return {
            "difference": estimate.value, "p": estimate.p, "arrangements": how, "n": list(estimate.sizes), "note": note
        }  # fmt: skip

    if within:
        design = f"pairs: {values.repeated} {values.units} have values at several levels, which swap within them"
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
            *many_comparisons(values),
        ),
        {"comparisons": pairwise(values, rearranged)},
    )


def bayes_factors(values: Sample) -> Comparisons:
    """JZS Bayes factors of every pair of levels."""
    within = values.repeated > 0

    def factor(first: Any, second: Any) -> dict[str, Any]:
        note = ""
        if within:
            one, two, left = _same_units(values, first, second)
            jzs, note = (jzs_paired(one, two, unit=values.unit), f"{left} without a partner left out" if left else "")
        else:
            jzs = jzs_two_sample(_values(values.rows_at(first)), _values(values.rows_at(second)), unit=values.unit)
        return {
            "bf10": jzs.bf10, "log_bf10": jzs.log_bf10, "t": jzs.t, "df": jzs.df, "n": list(jzs.n), "note": note
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
        {"comparisons": pairwise(values, factor)},
    )


def variance_table(values: Sample, sums_of_squares: SumsOfSquares, level: float) -> Comparisons:
    """Analysis of variance with Tukey's comparisons."""
    columns = {name: [str(row.levels[i]) for row in values.rows] for i, name in enumerate(values.factors)}
    fit = anova(_values(values.rows), columns, unit=values.unit, sums_of_squares=sums_of_squares, level=level)
    two = len(values.factors) == 2
    design = f"independent groups: one value per {values.unit} and combination of levels"
    if two:
        design += f"; {'balanced' if fit.balanced else 'unbalanced'}, Type {sums_of_squares} sums of squares"
        design += ", without interaction" if fit.empty_cells else ", with interaction"
    warnings = list(_dependent(values, "mixed"))
    if fit.empty_cells:
        cells = "; ".join(" and ".join(map(str, cell)) for cell in fit.empty_cells[:5])
        warnings.append(f"{len(fit.empty_cells)} combinations have no value ({cells}): no interaction is fitted")
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
            "sources": [asdict(line) for line in fit.sources],
            "comparisons": [
                {**line.key, "difference": line.value, "low": line.low, "high": line.high, "p": line.p}
                for line in fit.comparisons
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
    unit_name = ", ".join(values.clusters) or values.unit
    clustered = bool(values.clusters) or values.by_round or method != "glm"
    each = f"one value per {values.unit}" if values.clusters or method == "glm" else "one value per player"
    each += " and round" * values.by_round
    base = ", ".join(f"{name} {level}" for name, level in reference.items())
    assumed = [f"coefficients are differences from {base}", "p-values are not corrected for their number"]
    warnings: tuple[str, ...] = ()
    if method == "mixed":
        if len(set(clusters)) == len(rows):
            raise UsageError(
                f"method mixed needs several values of each {unit_name} (every one has exactly one): name a column "
                "that groups them (cluster)"
            )
        fit = linear_mixed_model(y, columns, groups=clusters, **shared)
        title, design = "linear mixed model, REML", f"{each}, random intercept per {unit_name}"
        assumed.append("random intercepts and errors are normal; degrees of freedom between and within groups")
    elif method == "glm":
        fit = logistic_regression(y, columns, clusters=clusters if clustered else None, **shared)
        title, design = "logistic regression", each
        if clustered:
            design += f", errors robust to dependence within {unit_name}"
            assumed.append("clusters are independent of each other and many")
        else:
            assumed.append(f"{values.units} are independent of each other")
            warnings = _dependent(values, "gee")
    else:
        few = len(set(clusters)) < FEW_CLUSTERS
        fit = gee_logistic(y, columns, clusters=clusters, covariance="bias_reduced" if few else "robust", **shared)
        title = "logistic generalised estimating equations"
        design = f"{each}, exchangeable within {unit_name}"
        if few:
            design += f", errors corrected for few clusters ({len(set(clusters))})"
        assumed.append("clusters are independent of each other")
    sizes, (sd, scale) = clusters_behind(reference, rows, clustered), standardised(method, fit)
    assumed += [
        f"bf10: JZS, two-sided, r = {MEDIUM:.3f}, from the statistic as if it were a t of one value per {unit_name}; "
        "one above 1 speaks for a difference", scale,
    ]  # fmt: skip
    lines = [
        {
            **line.key, "estimate": line.value, "se": line.se, "statistic": line.statistic,
            "df": line.df, "p": line.p, "low": line.low, "high": line.high,
            **{
                name: end / sd if line.key["term"] != "intercept" and sd > 0 and end is not None else None
                for name, end in zip(STANDARDISED, (line.value, line.low, line.high), strict=True)
            },
            "bf10": bayes_factor(line, sizes.get(line.key["term"]), unit_name),
            **({"odds_ratio": math.exp(line.value)} if method != "mixed" else {}), "note": line.note or None,
        }
        for line in fit.coefficients
    ]  # fmt: skip
    return Comparisons(
        title,
        design,
        tuple(assumed),
        {"coefficients": lines, "fit": [{"rows": fit.n, "clusters": fit.n_clusters, **fit.details}]},
        warnings,
    )


def pairwise(values: Sample, compare: Callable[[Any, Any], dict[str, Any]]) -> Table:
    """Return a row for every pair of levels; several p-values are corrected by Holm's method.

    A pair whose statistic does not exist says why; where none exists, the first reason is the answer.
    """
    rows: Table = []
    failure: StatisticsError | None = None
    for first, second in combinations(values.levels[values.factors[0]], 2):
        named = {"comparison": f"{first} - {second}"}
        try:
            rows.append({**named, **compare(first, second)})
        except StatisticsError as error:
            failure = failure or error
            rows.append({**named, "note": str(error)})
    filled = [row for row in rows if len(row) > 2]
    if failure is not None and not filled:
        raise failure
    tested = [row for row in filled if row.get("p") is not None]
    if len(rows) > 1 and tested:
        for row, adjusted in zip(tested, holm([row["p"] for row in tested]), strict=True):
            row["p_holm"] = adjusted
    columns = list(dict.fromkeys(name for row in filled for name in row if name != "note"))
    return [{**{name: row.get(name) for name in columns}, "note": row.get("note") or ""} for row in rows]


def _same_units(values: Sample, first: Any, second: Any) -> tuple[list[float], list[float], int]:
    sides = [{row.unit: row.value for row in values.rows_at(level)} for level in (first, second)]
    both = [unit for unit in sides[0] if unit in sides[1]]
    one, two = ([side[unit] for unit in both] for side in sides)
    return one, two, len(sides[0]) + len(sides[1]) - 2 * len(both)


def _constant(rows: list[SampleRow]) -> bool:
    """Return whether every cluster has only one level."""
    return len({(row.cluster, row.levels[0]) for row in rows}) == len({row.cluster for row in rows})


def _values(rows: Any) -> list[float]:
    return [row.value for row in rows]


def many_comparisons(values: Sample) -> tuple[str, ...]:
    levels = len(values.levels[values.factors[0]])
    pairs = levels * (levels - 1) // 2
    return (f"p_holm corrects for {pairs} comparisons by Holm's method",) if pairs > 1 else ()


def _dependent(values: Sample, better: str) -> tuple[str, ...]:
    text = (
        f"{values.repeated} {values.units} have values at more than one level: these are not independent, use {better}"
    )
    return (text,) if values.repeated else ()
