"""The number of seeds that a study needs: simulations of its declared contrast, with the cost of each size."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostrom.analysis.estimate import Estimate, Query
from ostrom.analysis.population import names_agents
from ostrom.analysis.statistics.result import count_text
from ostrom.analysis.stopping import MET, Look, StopRule, decide
from ostrom.costs.forecast import Forecast, forecast
from ostrom.costs.measured import Measured
from ostrom.features.power.simulation import (
    Assumed,
    SeedLayout,
    Simulation,
    assumed_of,
    inside,
    says_yes,
    simulated_share,
)
from ostrom.ground.errors import UsageError
from ostrom.studies.design import condition_of, planned_contrast, planned_observations
from ostrom.studies.plan import StudyPlan

MOST_SEEDS = 10_000


@dataclass(frozen=True)
class PowerAt:
    """The result for one number of seeds: power, error rate and cost."""

    seeds: int
    n: int
    """The number of pairs, or of matches on both sides."""
    power: Estimate
    error: Estimate
    """The rate of positive answers where the statement is false."""
    matches: int
    calls: int
    """The likely number of calls; money and time are likely values as well."""
    usd: float | None
    """The likely cost; None if a price is unknown."""
    seconds: float
    calls_at_most: int

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        shares = {
            f"{name}{end}": getattr(of, value)
            for name, of in (("power", self.power), ("error", self.error))
            for end, value in (("", "value"), ("_low", "low"), ("_high", "high"))
        }
        return {
            "seeds": self.seeds, "n": self.n, **shares, "matches": self.matches, "calls": self.calls,
            "calls_at_most": self.calls_at_most, "usd": self.usd, "seconds": self.seconds,
        }  # fmt: skip


@dataclass(frozen=True)
class PowerCurve:
    """Power and cost of a study by its number of seeds."""

    points: tuple[PowerAt, ...]
    needed: int | None
    """The smallest number of seeds that reaches the target power; None if none does."""
    target: float
    truth: float
    """The true difference in the simulated runs."""
    assumed: Assumed
    source: str
    """The source of the assumptions, in words."""
    paired: bool
    found: str
    """What counts as a positive answer, in words."""
    wrong: str
    """What counts as an error, in words."""
    gate: str
    """The fewest seeds with which a gate on the contrast can pass, in words."""
    cost: Forecast
    """The cost of one seed."""


def design_of(plan: StudyPlan, query: Query) -> SeedLayout:
    """Return the values that one seed of a study adds to each side of a contrast."""
    contrast, columns = planned_contrast(plan, query)
    conditions, places, numbers = [], [], dict[Any, int]()
    for _, side in contrast.sides:
        own = [(u, x) for u, x in zip(side.units, side.labels, strict=True) if u.rows[0]["seed"] == plan.study.seed]
        conditions.append(tuple(condition_of(unit.rows[0], columns) for unit, _ in own))
        places.append(tuple(numbers.setdefault(label, len(numbers)) for _, label in own))
    return SeedLayout(contrast, (conditions[0], conditions[1]), (places[0], places[1]))


def of_one_agent(plan: StudyPlan, query: Query) -> tuple[Query, tuple[str, ...]]:
    """The question about the first of several studied agents, as each is analysed alone, and all of them."""
    if query.whose is not None or names_agents(query.where) or query.pair[0] == "agent":
        return query, ()
    planned = planned_observations(
        StudyPlan(plan.study.model_copy(update={"seeds": 1}), plan.library, plan.file), query
    )
    agents = tuple(dict.fromkeys(str(row["agent"]) for row in planned.rows if not row.whole))
    if len(agents) < 2:
        return query, ()
    return query.model_copy(update={"where": {**dict(query.where or {}), "agent": agents[0]}}), agents  # type: ignore[arg-type]


@dataclass(frozen=True)
class PowerQuestion:
    """The settings of a power simulation."""

    effect: float
    within: float | None = None
    level: float = 0.95
    target: float = 0.8
    simulations: int = 1000
    seed: int = 0


def power_curve(
    plan: StudyPlan,
    query: Query,
    question: PowerQuestion,
    seeds: Sequence[int],
    assumed: Assumed | None = None,
    source: str = "stated",
    *,
    design: SeedLayout | None = None,
    prices: Mapping[str, Any] | None = None,
    measured: Measured | None = None,
    seconds_per_call: float | None = None,
    progress: Callable[[int], None] = lambda seeds: None,  # noqa: ARG005
) -> PowerCurve:
    """Power and error for every number of seeds, and the smallest one that reaches the power asked for."""
    layout = design or design_of(plan, query)
    assumptions = assumed or assumed_of(layout, None, None, None)
    there = Simulation(layout, assumptions, question.effect)
    if question.effect and there.truth == 0:
        raise UsageError(
            f"--effect {question.effect:g}: the baseline of {assumptions.baseline:g} is at a bound of the measure, so "
            "nothing could be found"
        )
    # The false statement: a difference where there is none, or equivalence where the difference equals the margin.
    absent = Simulation(
        layout, assumptions, 0.0 if question.within is None else _margin(layout, assumptions, question.within)
    )
    cost = forecast(StudyPlan(plan.study.model_copy(update={"seeds": 1}), plan.library, plan.file), prices, measured)
    powers: dict[int, Estimate] = {}

    def power(n: int) -> Estimate:
        if n not in powers:
            progress(n)
            powers[n] = _hit_rate(there, n, question, question.seed)
        return powers[n]

    needed = _smallest(lambda n: power(n).value >= question.target, sorted(seeds))
    units = len({*layout.places[0], *layout.places[1]})
    points = tuple(
        PowerAt(
            n, n * units, power(n),
            _hit_rate(absent, n, question, question.seed + 1),
            n * cost.matches, n * cost.likely_calls, None if cost.likely_usd is None else n * cost.likely_usd,
            3600 * cost.hours(n) if seconds_per_call is None else n * cost.likely_calls * seconds_per_call,
            n * int(cost.at_most["calls"] or 0),
        )
        for n in sorted({*seeds, *([needed] if needed is not None else [])})
    )  # fmt: skip
    words = (
        ("p is below 0.05 on the side of the effect (the word YES)", "p is below 0.05 where nothing differs")
        if question.within is None
        else (f"the gate within ±{question.within:g} passes", "it does where the true difference is the margin")
    )
    return PowerCurve(
        points,
        needed,
        question.target,
        there.truth,
        assumptions,
        source,
        layout.paired,
        *words,
        gate_price(layout, question),
        cost,
    )


def gate_price(design: SeedLayout, question: PowerQuestion) -> str:
    """Return the fewest seeds with which a gate on the contrast can pass, if every match is perfect."""
    low, high = design.comparison.bounds
    if low is None or high is None:
        return "a gate on this difference is approximate: the measure has no declared bounds"
    inference = design.comparison_with(1, *([low] * len(of) for of in design.places)).inference()
    if any(design.comparison.certain):
        return "what a gate on this difference needs depends on the side without sampling error"
    if question.within is not None:
        words, allowed = f"within {question.within:g}", (-question.within, question.within)
    else:
        words, allowed = ("at_least 0", (0.0, math.inf)) if question.effect > 0 else ("at_most 0", (-math.inf, 0.0))
    needed = math.ceil(inference.multiple_for(*allowed, question.level) - 1e-9)
    return f"a gate `{words}` on this difference needs at least {count_text(needed, 'seed')}, however well it goes"


def _margin(design: SeedLayout, assumed: Assumed, within: float) -> float:
    """Return the margin as a true difference: negative if the measure has less room above than below."""
    up, down = (abs(Simulation(design, assumed, way).truth) for way in (within, -within))
    return within if up >= down - 1e-6 else -within


def _hit_rate(simulated: Simulation, seeds: int, question: PowerQuestion, seed: int) -> Estimate:
    """Return the share of simulated runs whose analysis gives the positive answer."""
    runs = simulated.inferences(seeds, question.simulations, seed)
    if question.within is not None:
        hits = sum(inside(of, question.within, question.level) for of in runs)
    else:
        sides = (question.effect,) if simulated.effect else (1.0, -1.0)
        hits = sum(any(says_yes(of, side, question.level) for side in sides) for of in runs)
    return simulated_share(hits, question.simulations)


def _smallest(reached: Callable[[int], bool], seeds: Sequence[int]) -> int | None:
    """Return the smallest sufficient number of seeds, interpolated between the listed ones."""
    enough = next((n for n in seeds if reached(n)), None)
    if enough is None:
        return None
    below = max((n for n in seeds if n < enough), default=0)
    while enough - below > 1:
        middle = (below + enough) // 2
        below, enough = (below, middle) if reached(middle) else (middle, enough)
    return enough


@dataclass(frozen=True)
class SequentialResult:
    """The performance of a stopping rule under one true difference."""

    truth: float
    seeds: float
    """The mean number of seeds at stopping."""
    middle: float
    """The median number of seeds at stopping."""
    met: Estimate
    """The share of runs that meet the criterion before the largest number of seeds."""
    excludes: Estimate
    """The share of intervals at stopping that exclude 0."""
    covers: Estimate
    """The share of intervals at stopping that contain the true difference."""
    calls: float
    usd: float | None
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        shares = {name: getattr(self, name).value for name in ("met", "excludes", "covers")}
        return {
            "effect": self.truth, "mean_seeds": self.seeds, "median_seeds": self.middle, **shares,
            "mean_calls": self.calls, "mean_usd": self.usd, "mean_seconds": self.seconds,
        }  # fmt: skip


def sequences(
    plan: StudyPlan,
    rule: StopRule,
    effects: Sequence[float],
    assumed: Assumed,
    layout: SeedLayout,
    *,
    simulations: int,
    seed: int,
    prices: Mapping[str, Any] | None = None,
    measured: Measured | None = None,
) -> list[SequentialResult]:
    """Simulate the study's stopping rule for each true difference."""
    cost = forecast(StudyPlan(plan.study.model_copy(update={"seeds": 1}), plan.library, plan.file), prices, measured)
    return [
        sequential(rule, Simulation(layout, assumed, effect), simulations, seed + number, cost)
        for number, effect in enumerate(effects)
    ]


def sequential(
    rule: StopRule, simulated: Simulation, times: int, seed: int, cost: Forecast | None = None
) -> SequentialResult:
    """Simulate runs with looks as the rule says; return their summary."""
    first, second = simulated.values(rule.at_most, times, seed)
    sizes = [len(of) for of in simulated.design.places]

    def looks(a: Sequence[float], b: Sequence[float]) -> Iterator[Look]:
        for n in rule.looks:
            yield decide(rule, simulated.design.comparison_with(n, a[: n * sizes[0]], b[: n * sizes[1]]), n)

    ends = [next(look for look in looks(a, b) if look.stop) for a, b in zip(first, second, strict=True)]
    numbers = sorted(look.seeds for look in ends)
    mean, truth = math.fsum(numbers) / len(numbers), simulated.truth
    bounded = [look for look in ends if look.low is not None and look.high is not None]
    apart = sum((look.low or 0.0) > 1e-12 or (look.high or 0.0) < -1e-12 for look in bounded)
    holds = sum((look.low or 0.0) - 1e-9 <= truth <= (look.high or 0.0) + 1e-9 for look in bounded)
    met = sum(look.why == MET for look in ends)
    return SequentialResult(
        truth, mean, numbers[len(numbers) // 2], simulated_share(met, times), simulated_share(apart, times),
        simulated_share(holds, times),
        0.0 if cost is None else mean * cost.likely_calls,
        None if cost is None or cost.likely_usd is None else mean * cost.likely_usd,
        0.0 if cost is None else 3600 * cost.hours(mean),
    )  # fmt: skip


def write_chart(curve: PowerCurve, path: Path, study: str, query: Query) -> None:
    """Write the power curve as SVG, PNG or a page."""
    from ostrom.reports.build import write_chart_file
    from ostrom.reports.marks import curves, series_colours
    from ostrom.reports.panel import Figure, Table

    names = ("power", "error")
    rows = [
        {"x": point.seeds, "mean": of.value, "low": of.low, "high": of.high, "series": name, "facet": ""}
        for name, of in zip(names, zip(*((p.power, p.error) for p in curve.points), strict=True), strict=True)
        for point, of in zip(curve.points, of, strict=True)
    ]
    # Far beyond the sufficient number the curve is flat, so only the part around it is drawn.
    most = max(p.seeds for p in curve.points) if curve.needed is None else max(2 * curve.needed, 5)
    chart = curves(
        [row for row in rows if row["x"] <= most], x="seeds", y="share of simulated runs", facets=[""],
        series=series_colours(names), legend=None, target=curve.target,
    )  # fmt: skip
    needed = "No number of seeds that was tried reaches" if curve.needed is None else f"{curve.needed} seeds reach"
    caption = (
        f"Power: {curve.found}. Error: {curve.wrong}. Bands are Monte Carlo intervals (95 %). True difference "
        f"{curve.truth:.3g}; assumed ({curve.source}): {curve.assumed.words}. Dashed: the target."
    )
    values = "; ".join(f"{p.seeds} seeds: power {p.power.value:.2f}, error {p.error.value:.2f}" for p in curve.points)
    points = [point.as_dict() for point in curve.points]
    columns = [name for name in points[0] if any(point[name] is not None for point in points)]
    table = Table("power", columns, [[point[name] for name in columns] for point in points], "Every figure.")
    write_chart_file(
        path, Figure("power", chart, caption, f"Power over seeds. {values}."), table,
        kicker=f"Study {study}", title=f"Power: {query.words}",
        heading=f"{needed} a power of {curve.target:g}", about=query.matches,
    )  # fmt: skip
