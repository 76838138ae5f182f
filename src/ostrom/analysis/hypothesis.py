"""Classical tests of a measure between the levels of a factor: ``test(data, "cooperation", "style")``.

Tests rest on one value per unit of analysis (``ostrom.analysis.units``): players of a match are averaged first,
and so are matches of one scenario or person where the measure is about these. Any column of the table of matches
can be the factor. Every answer names the unit, the design and what the method assumes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from ostrom.analysis.estimate import contrast, split_by
from ostrom.analysis.hypothesis_methods import (
    Comparisons,
    Sample,
    Table,
    bayes_factors,
    many_comparisons,
    pairwise,
    permutations,
    regression,
    sample_of,
    t_tests,
    variance_table,
)
from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.population import Agents, agents_in_question
from ostrom.analysis.statistics.anova import SumsOfSquares
from ostrom.analysis.statistics.result import holm
from ostrom.analysis.statistics.samples import StatisticsError
from ostrom.analysis.units import Runs, Where, observations
from ostrom.data.rundata import RunData, so_far
from ostrom.ground.errors import UnknownName, UsageError

Method = Literal["estimate", "welch", "paired", "anova", "permutation", "jzs", "mixed", "glm", "gee"]
METHODS: tuple[str, ...] = get_args(Method)
TWO_FACTORS = ("anova", "mixed", "glm", "gee")
CLUSTERED = ("permutation", "mixed", "glm", "gee")
LOGISTIC = ("glm", "gee")


@dataclass(frozen=True)
class FactorTest:
    """The result of a test, with its groups and warnings."""

    measure: str
    factor: str
    second: str | None
    method: Method
    title: str
    unit: str
    design: str
    assumptions: tuple[str, ...]
    warnings: tuple[str, ...]
    """Warnings about values that contradict the assumptions."""
    groups: Table
    """Number of units, mean and standard deviation at every level."""
    results: Mapping[str, Table]
    """The tables of the test, by name."""
    level: float = 0.95
    label: str = ""
    """"exploratory" if the run is bound to a registration."""
    averaged_over: Mapping[str, int] = field(default_factory=dict)
    """Varied factors that are neither fixed nor compared, with the number of their levels."""

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            "measure": self.measure,
            "factor": self.factor,
            "second": self.second,
            "method": self.method,
            "title": self.title,
            "unit": self.unit,
            "design": self.design,
            "assumptions": list(self.assumptions),
            "warnings": list(self.warnings),
            "level": self.level,
            **({"label": self.label} if self.label else {}),
            "groups": self.groups,
            **self.results,
            "averaged_over": dict(self.averaged_over),
        }


def test(
    data: Runs,
    measure: str | Mapping[str, Any] | Measure,
    factor: str,
    method: Method | None = None,
    *,
    second: str | None = None,
    cluster: str | Sequence[str] = (),
    where: Where = None,
    sums_of_squares: SumsOfSquares = "II",
    level: float = 0.95,
    seed: int = 0,
    agents: Agents = None,
    mean_over_agents: bool = False,
) -> FactorTest:
    """Test whether a measure differs between the levels of a factor, for every studied agent.

    Without a method: the differences of `ostrom estimate` with their own p-values, for every pair of levels; analysis
    of variance for two factors. ``cluster`` names columns whose values say which
    units belong together. ``seed`` is that of a permutation test with too many arrangements to list.
    """
    part = measures.named(measure)
    clusters = (cluster,) if isinstance(cluster, str) and cluster else tuple(cluster or ())
    _check(method, factor, second, clusters)
    factors = (factor,) if second is None else (factor, second)
    observed = observations(data, part, where, agents_in_question(agents, (), factors))
    split = split_by(observed, (), factors, agents, mean=mean_over_agents)
    groups = {key: replace(observed, rows=tuple(rows)) for key, rows in observed.groups(split).items()} or {
        (): observed
    }
    parts, failure = [], None
    for key, values in groups.items():
        try:
            sample = sample_of(values, factors, clusters)
            method = method or _usual(sample)
            _check(method, factor, second, clusters)
            if method in LOGISTIC:
                _need_zeros_and_ones(sample, part.name, method)
            parts.append(
                (dict(zip(split, key, strict=True)), sample, _run_method(sample, method, sums_of_squares, level, seed))
            )
        except (UsageError, StatisticsError) as error:
            failure = failure or error
    if not parts or method is None:
        raise failure or UsageError(f"no finished match that is asked for has a value of {part.name}")
    first, outcome = parts[0][1:]
    far = so_far([data] if isinstance(data, RunData) else data)
    warnings = [f"{who['agent']}: {text}" if who else text for who, sample, one in parts
            for text in (*sample.warnings(method), *one.warnings)]  # fmt: skip
    tables = {
        name: with_holm_of([{**who, **row} for who, _, one in parts for row in one.tables.get(name, [])], bool(split))
        for name in dict.fromkeys(name for *_, one in parts for name in one.tables)
    }
    rows = [{**who, **row} for who, sample, _ in parts for row in sample.groups()]
    return FactorTest(
        part.name, factor, second, method, outcome.title, first.unit, outcome.design, outcome.assumptions,
        (*filter(None, [far]), *warnings, *([str(failure)] if failure is not None else [])), rows, tables, level,
        averaged_over=observed.averaged(observed.rows, [*split, *factors]),
    )  # fmt: skip


def with_holm_of(rows: Table, several: bool) -> Table:
    """Return comparisons of several agents with p-values corrected jointly."""
    tested = [row for row in rows if row.get("p") is not None]
    if not several or len(tested) < 2 or any("comparison" not in row for row in rows):
        return rows
    for row, adjusted in zip(tested, holm([row["p"] for row in tested]), strict=True):
        row["p_holm"] = adjusted
    return rows


test.__test__ = False  # type: ignore[attr-defined]  # pytest collects functions of this name


def _run_method(values: Sample, method: Method, sums_of_squares: SumsOfSquares, level: float, seed: int) -> Comparisons:
    methods: dict[str, Callable[[], Comparisons]] = {
        "estimate": lambda: _by_estimates(values, level),
        "welch": lambda: t_tests(values, "welch", level),
        "paired": lambda: t_tests(values, "paired", level),
        "permutation": lambda: permutations(values, seed),
        "jzs": lambda: bayes_factors(values),
        "anova": lambda: variance_table(values, sums_of_squares, level),
    }
    return methods.get(method, lambda: regression(values, method, level))()


def _by_estimates(values: Sample, level: float) -> Comparisons:
    """Return the contrasts of `ostrom estimate` with their p-values, for each pair of levels."""
    factor = values.factors[0]

    def pair(first: Any, second: Any) -> dict[str, Any]:
        (one,) = contrast(values.found, values.found.measure, factor, (first, second), level=level)
        se, df = (None if one.inference is None else one.inference.spread()) or (None, None)
        return {
            "difference": one.value, "low": one.low, "high": one.high, "t": one.value / se if se else None, "df": df,
            "p": one.p_value, "n": one.n, "method": one.method, "bound_low": one.bound_low,
            "bound_high": one.bound_high, "note": one.note,
        }  # fmt: skip

    table = pairwise(values, pair)
    methods = dict.fromkeys(str(row["method"]) for row in table if row.get("method"))
    return Comparisons(
        ", ".join(methods), "the differences of `ostrom estimate`: units in common pair, others are independent",
        ("means are about normal (the bounds need no such thing)", *many_comparisons(values)), {"comparisons": table},
    )  # fmt: skip


def _check(method: str | None, factor: str, second: str | None, clusters: Sequence[str]) -> None:
    if method is not None and method not in METHODS:
        raise UnknownName("method", method, METHODS)
    if second == factor:
        raise UsageError(f"second: must be another column than the factor (found {second!r} twice)")
    if set(clusters) & {factor, second}:
        raise UsageError(f"cluster: must be another column than the factor (found {', '.join(clusters)})")
    if method is not None and second is not None and method not in TWO_FACTORS:
        raise UsageError(f"method {method} compares the levels of one factor; two factors: {', '.join(TWO_FACTORS)}")
    if method is not None and clusters and method not in CLUSTERED:
        raise UsageError(f"method {method} takes no clusters; these do: {', '.join(CLUSTERED)}")


def _usual(values: Sample) -> Method:
    if values.clusters:
        raise UsageError(f"cluster: name the method too (allowed: {', '.join(CLUSTERED)})")
    return "anova" if len(values.factors) == 2 else "estimate"


def _need_zeros_and_ones(values: Sample, name: str, method: str) -> None:
    odd = [row.value for row in values.model_rows(method) if row.value not in (0.0, 1.0)]
    if odd:
        raise UsageError(
            f"method {method} is a logistic model and needs values of 0 or 1: {name} has {odd[0]:g} "
            f"({len(odd)} values in all); use welch, paired, anova, permutation or mixed"
        )


__all__ = ["METHODS", "FactorTest", "Method", "test"]
