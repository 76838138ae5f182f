"""`ostrom power`: the number of seeds that a study needs, computed before any call is paid for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.options import (
    Level,
    MeanOverAgents,
    Models,
    PlayOptions,
    Presets,
    Runs,
    Sets,
    opened_runs,
    with_play_options,
)
from ostrom.cli.output import Output, Remark, TextItem, TextTable, show
from ostrom.ground.errors import UsageError

if TYPE_CHECKING:
    from ostrom.analysis.stopping import StopRule
    from ostrom.features.power.plan import PowerAt, PowerCurve, SequentialResult

WIDTH = 40
"""The width of a full bar, in characters."""


@with_play_options("prompts", "prices")
def power(
    study: Annotated[str, typer.Argument(help="A study file (YAML) or the name of a built-in study.")],
    measure: Annotated[
        str | None, typer.Option(help="The measure (default: that of the study's stopping rule).")
    ] = None,
    contrast: Annotated[
        str | None,
        typer.Option(metavar="FACTOR=A-B", help="The difference between two levels of a factor (default: likewise)."),
    ] = None,
    effect: Annotated[
        float | None, typer.Option(help="The true difference A - B (default: 0.1; with --within 0).")
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="RUN", help="Take spreads, means and lengths of replies from this run."),
    ] = None,
    seeds: Annotated[str, typer.Option(help="Numbers of seeds, separated by commas.")] = "3,5,10,20,50",
    target: Annotated[float, typer.Option("--power", help="The power that is wanted.", min=0.01, max=0.999)] = 0.8,
    within: Annotated[
        float | None, typer.Option(help="Power of the gate `within` this margin instead: equivalence.", min=0)
    ] = None,
    baseline: Annotated[
        float | None, typer.Option(help="The mean at level B (default: the middle of the scale).")
    ] = None,
    sd: Annotated[
        float | None, typer.Option(help="The sd between matches of one condition (default: a uniform spread).", min=0)
    ] = None,
    correlation: Annotated[
        float | None, typer.Option(help="The correlation of pairs, which share a seed (default 0).", min=-1, max=1)
    ] = None,
    where: Annotated[
        list[str] | None, typer.Option(help="Only these matches: column=level[,level]. May be given several times.")
    ] = None,
    mean_over_agents: MeanOverAgents = False,
    level: Level = 0.95,
    simulations: Annotated[
        int, typer.Option(help="Simulated runs for every number of seeds.", min=100, max=100_000)
    ] = 1000,
    seed: Annotated[int, typer.Option(help="The seed of the simulation.", min=0)] = 0,
    seconds_per_call: Annotated[
        float | None, typer.Option(help="Wall time per call, for the time it takes (default: that of --from).", min=0)
    ] = None,
    chart: Annotated[Path | None, typer.Option(help="Write the curve to this file: .pdf, .svg, .png or .html.")] = None,
    model: Models = None,
    preset: Presets = None,
    set_: Sets = None,
    options: PlayOptions = PlayOptions(),
    runs: Runs = Path("runs"),
) -> Output:
    """Say how many seeds a study needs to find a difference.

    The study's own analysis is made of simulated values. Values come from a pilot's means and spreads (--from RUN) or
    from stated assumptions, which are printed.
    """
    from ostrom.analysis.estimate import Query
    from ostrom.analysis.population import studied_agents
    from ostrom.costs.measured import measured_replies
    from ostrom.features.power import plan as powering
    from ostrom.features.power import simulation as assuming
    from ostrom.ground.validation import validate
    from ostrom.reports.build import check_chart_file
    from ostrom.studies.resolve import resolve

    numbers = _seeds(seeds, powering.MOST_SEEDS)
    if within is not None and within <= 0:
        raise UsageError("--within must be more than 0")
    true = (0.0 if within is not None else 0.1) if effect is None else effect
    if within is None and true == 0:
        raise UsageError("--effect must not be 0: nothing could be found (the error at 0 stands beside every power)")
    if within is not None and abs(true) >= within:
        raise UsageError(f"--effect {true:g}: must lie within the margin of {within:g}")
    if chart is not None:
        check_chart_file(chart)
    resolved = resolve(study, preset=preset, changes=set_ or (), models=model or (), options=options)
    rule = resolved.plan.study.stop if measure is None and contrast is None else None
    if rule is None and (measure is None or contrast is None):
        raise UsageError("--measure and --contrast are needed: the study has no stopping rule that names them")
    if rule is not None and (within is not None or chart is not None or where):
        raise UsageError(
            "--within, --where and --chart are not for a stopping rule, which has its own contrast and matches"
        )
    all_agents = query = (
        validate(Query, {"measure": measure, "contrast": contrast, "where": _where(where or ())}, "--contrast")
        if rule is None
        else rule
    )
    agents: tuple[str, ...] = ()
    if rule is None and not mean_over_agents:
        query, agents = powering.of_one_agent(resolved.plan, query)
    design = powering.design_of(resolved.plan, query)
    if correlation and not design.paired:
        raise UsageError(
            "--correlation: no matches of this contrast pair, because its cells share nothing "
            "(`seeds: {count: N, shared: true}` in the study declares that they do)"
        )
    pace, source, measured = seconds_per_call, "stated", None
    if from_ is None:
        assumed = assuming.assumed_of(design, baseline, sd, correlation)
    else:
        with opened_runs([from_], runs) as data:
            in_pilot = not agents or agents[0] in studied_agents(data[0])
            assumed, source = assuming.assumed_from(data[0], query if in_pilot else all_agents)
            source += f" ({data[0].so_far})" if data[0].so_far else ""
            pace = assuming.pace_of(data[0]) if pace is None else pace
        measured = measured_replies(from_, runs)
        stated = {"baseline": baseline, "sd": sd, "correlation": correlation}
        changed: dict[str, Any] = {key: value for key, value in stated.items() if value is not None}
        assumed = assuming.stated_over(assumed, changed, design.comparison.bounds)
        source += f", with stated {', '.join(changed)}" if changed else ""
    if rule is not None:
        return _sequences(
            powering.sequences(
                resolved.plan,
                rule,
                (true, 0.0),
                assumed,
                design,
                simulations=simulations,
                seed=seed,
                prices=options.rates,
                measured=measured,
            ),
            resolved.plan.name,
            rule,
            assumed,
            source,
            simulations,
        )
    question = powering.PowerQuestion(true, within, level, target, simulations, seed)
    curve = powering.power_curve(
        resolved.plan, query, question, numbers, assumed, source, design=design, prices=options.rates,
        measured=measured, seconds_per_call=pace,
        progress=lambda n: show(Remark(f"simulating {n} seeds")),
    )  # fmt: skip
    if chart is not None:
        powering.write_chart(curve, chart, resolved.plan.name, query)
    return Output(
        {**_document(curve, resolved.plan.name, query, question), "agents": list(agents)},
        [*_text(curve, resolved.plan.name, query.words, question, timed=pace is not None), _one_of(agents)],
        source=curve,
        rows_key="points",
    )


def _sequences(
    results: list[SequentialResult], study: str, rule: StopRule, assumed: Any, source: str, times: int
) -> Output:
    table = TextTable(
        f"{study}: {rule.words}, {rule.rule}, {rule.at_least} to {rule.at_most} seeds, looked every {rule.every}",
        ["true difference", "mean seeds", "median", "criterion met", "excludes 0", "95 %", "covers the truth", "95 %",
         "mean calls, likely", "mean USD, likely", "mean time, likely"],
        [
            [one.truth, round(one.seeds, 1), one.middle, one.met.value, one.excludes.value, _interval(one.excludes),
             one.covers.value, _interval(one.covers), round(one.calls),
             "unknown" if one.usd is None else round(one.usd, 2), duration(one.seconds)]
            for one in results
        ],
    )  # fmt: skip
    document = {
        "study": study, "measure": rule.measure_object.name, "contrast": rule.contrast, "rule": rule.rule,
        "looks": rule.looks, "simulations": times, "assumed": {
            "source": source, "baseline": assumed.baseline, "sd": assumed.sd, "correlation": assumed.correlation,
        },
        "sequences": [one.as_dict() for one in results],
    }  # fmt: skip
    lines = (
        f"assumed ({source}): {assumed.words}; {times} simulated runs each",
        "excludes 0: the power where there is a difference, the type I error where there is none",
    )
    return Output(document, [table, *lines], source=results, rows_key="sequences")


def _document(made: PowerCurve, study: str, query: Any, asked: Any) -> dict[str, Any]:
    return {
        "study": study, "measure": query.measure_object.name, "contrast": query.contrast, "where": query.where,
        "effect": made.truth, "within": asked.within, "level": asked.level, "simulations": asked.simulations,
        "seed": asked.seed, "assumed": {
            "source": made.source, "baseline": made.assumed.baseline, "sd": made.assumed.sd,
            "correlation": made.assumed.correlation, "paired": made.paired,
        },
        "found": made.found, "error": made.wrong, "power": made.target, "needed": made.needed,
        "gate": made.gate,
        "points": [point.as_dict() for point in made.points],
    }  # fmt: skip


def _text(curve: PowerCurve, study: str, words: str, question: Any, *, timed: bool) -> Iterator[TextItem]:
    yield TextTable(
        f"{study}: power for {words}, true difference {curve.truth:.3g}",
        ["seeds", "pairs" if curve.paired else "matches compared", "power", "95 %", "error", "95 %", "matches",
         "calls, likely", "USD, likely", "time, likely"],
        [_row(point) for point in curve.points],
    )  # fmt: skip
    for point in curve.points:
        full = round(point.power.value * WIDTH)
        yield f"{point.seeds:>7} seeds {'█' * full}{'·' * (WIDTH - full)} {point.power.value:.3f}"
    yield from (
        f"assumed ({curve.source}): {curve.assumed.words}",
        f"the effect of {question.effect:g} ends at a bound of the measure: the true difference is {curve.truth:.3g}"
        if abs(curve.truth - question.effect) > 1e-4
        else None,
        f"power: how often {curve.found}; error: how often {curve.wrong} ({question.simulations} simulated runs each)",
        None if curve.cost.measured is None else f"calls and USD: as in {curve.cost.measured}",
        *(f"calls and USD: {line}" for line in curve.cost.assumes),
        f"no number of seeds that was tried reaches a power of {curve.target:g}: try more with --seeds"
        if curve.needed is None
        else f"{curve.needed} seeds are the fewest that reach a power of {curve.target:g}",
        curve.gate,
        None if timed else f"time: {curve.cost.speed}; --seconds-per-call or --from RUN say better",
    )


def _one_of(agents: tuple[str, ...]) -> str | None:
    many = f"each of {len(agents)} agents is analysed alone"
    return (
        f"the power for {agents[0]} alone, as {many} (--where agent=NAME: another; --mean-over-agents: their mean)"
        if agents
        else None
    )


def _row(point: PowerAt) -> list[Any]:
    return [
        point.seeds, point.n, f"{point.power.value:.3f}", _interval(point.power), f"{point.error.value:.3f}",
        _interval(point.error), point.matches, point.calls,
        "unknown" if point.usd is None else round(point.usd, 2), duration(point.seconds),
    ]  # fmt: skip


def _interval(of: Any) -> str:
    return f"{of.low:.3f} to {of.high:.3f}"


def duration(seconds: float) -> str:
    """Return a duration in words.

    >>> duration(90), duration(7300), duration(200_000)
    ('2 min', '2.0 h', '2.3 days')
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 86_400 else f"{seconds / 86_400:.1f} days"


def _seeds(text: str, most: int) -> list[int]:
    try:
        numbers = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1 or max(numbers) > most:
        raise UsageError(f"--seeds must be whole numbers from 1 to {most}, separated by commas (found {text!r})")
    return sorted(set(numbers))


def _where(texts: Any) -> dict[str, list[str]]:
    wanted: dict[str, list[str]] = {}
    for text in texts:
        column, equals, levels = text.partition("=")
        if not equals or not column.strip() or not levels.strip():
            raise UsageError(f"--where must be column=level[,level] (found {text!r})")
        wanted[column.strip()] = [level.strip() for level in levels.split(",")]
    return wanted
