"""`ostrom pool`: runs of one study by several labs, models or dates as one estimate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostrom.cli.options import Json, Level, Runs, check_level, opened_runs, stated_query
from ostrom.cli.output import print_answer, print_table, say, write
from ostrom.ground.errors import UsageError
from ostrom.ground.results import CommandResult

if TYPE_CHECKING:
    from ostrom.features.pooling.labs import LabPool


def pool(
    names: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Runs of one study: names or folders.")
    ],
    measure: Annotated[
        str | None, typer.Option(help="The measure (default: cooperation, else the score).")
    ] = None,
    contrast: Annotated[
        str, typer.Option(metavar="FACTOR=A-B", help="Pool the difference between two levels of a factor.")
    ] = "",
    over: Annotated[str, typer.Option(help="Pool the slope over a column of numbers.")] = "",
    log: Annotated[bool, typer.Option("--log", help="With --over: per unit of ln x.")] = False,
    by: Annotated[str, typer.Option(help="Columns to split by, separated by commas.")] = "",
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only these matches: column=level[,level] ({model}: the model of the run) or SQL."),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY", help="Pool although the studies differ in this key. May be given several times."
        ),
    ] = None,
    level: Level = 0.95,
    chart: Annotated[
        Path | None, typer.Option(help="Write the forest plot to this file (.svg, .png or .html).")
    ] = None,
    runs: Runs = Path("runs"),
    json: Json = False,
) -> CommandResult:
    """Pool runs of one study by several labs: a mean over labs.

    A random-effects model (restricted maximum likelihood, intervals of Hartung and Knapp). Runs of different studies
    are refused, and the difference is shown.
    """
    from ostrom.analysis.registered import standing
    from ostrom.features.pooling.labs import pool_runs
    from ostrom.reports.answers import headline_measure

    check_level(level)
    if chart is not None and chart.suffix.lower() not in (".svg", ".png", ".html"):
        raise UsageError(f"--chart {chart}: must end in .svg, .png or .html")
    if len(names) < 2:
        raise UsageError("pooling needs two runs or more: ostrom pool RUN RUN...")
    with opened_runs(names, runs) as data:
        name = measure or headline_measure(data[0])
        if name is None:
            raise UsageError(
                f"{names[0]}: has no finished match with cooperation or a score (name a --measure)"
            )
        query = stated_query(name, contrast, over, log, by, where or ())
        pools = pool_runs(data, query, level, allow or ())
        registered = standing(data)
    document = {
        "runs": names, "measure": query.part.name, "question": query.words, "where": query.where, "level": level,
        "allowed": list(allow or ()), "pools": [one.as_dict() for one in pools],
    }  # fmt: skip
    if chart is not None:
        from ostrom.features.pooling.forest import write_forest

        write_forest(pools, chart, query)

    def show() -> None:
        for one in pools:
            _show(one, query.words, level)
        if chart is not None:
            say(f"forest plot: {chart}")

    print_answer(document, registered, show, json=json)
    return CommandResult(document, pools)


def _show(one: LabPool, words: str, level: float) -> None:
    estimate = one.pooled
    group = f"{one.title}: " if one.title else ""
    write(
        f"{group}pooled over {estimate.labs} runs: {estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}], "
        "the mean of the distribution that the runs come from"
    )
    if estimate.model_free is not None:
        low, high = estimate.model_free
        write(f"for labs of any distribution: {low:.3f} to {high:.3f}")
    further = estimate.prediction
    predicted = "" if further is None else f"; a further run: {further[0]:.3f} to {further[1]:.3f}"
    write(
        f"between runs: tau {estimate.tau:.3f}, I2 {estimate.i2:.0%}, Q {estimate.q:.1f} on {estimate.labs - 1} df "
        f"(p {'< 0.001' if estimate.p < 0.001 else f'{estimate.p:.3f}'}){predicted}"
    )
    rest = one.without or (None,) * len(one.labs)
    print_table(
        f"{words}{f' ({one.title})' if one.title else ''}: runs ({level:.0%} intervals)",
        ["run", "value", "low", "high", "n", "weight", "pooled without it"],
        [
            [lab.name, lab.estimate.value, lab.estimate.low, lab.estimate.high, lab.estimate.n, f"{lab.weight:.1%}",
             None if without is None else f"{without.value:.3f} [{without.low:.3f}, {without.high:.3f}]"]
            for lab, without in zip(one.labs, rest, strict=True)
        ],
    )  # fmt: skip
    if one.moderators:
        labs = [lab.name for lab in one.labs]
        print_table(
            "What differs between the runs",
            ["key", *labs],
            [[_keys(of.keys), *(of.values[name] for name in labs)] for of in one.moderators],
        )
    for of in one.moderators:
        if of.difference is not None:
            first, second, value, low, high = of.difference
            write(
                f"{_keys(of.keys)}: {first} minus {second}: {value:+.3f} [{low:.3f}, {high:.3f}], not randomised"
            )
    for name, why in one.left_out.items():
        say(f"{name} is left out: {why}")


def _keys(keys: tuple[str, ...]) -> str:
    return keys[0] if len(keys) == 1 else f"{keys[0]} (and {len(keys) - 1} that go with it)"
