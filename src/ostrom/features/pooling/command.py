"""`ostrom pool`: runs of one study by several labs, models or dates as one estimate."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostrom.cli.options import Level, Runs, opened_runs, standing, stated_query
from ostrom.cli.output import Output, Remark, TextItem, TextTable
from ostrom.ground.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ostrom.analysis.estimate import Query
    from ostrom.features.pooling.labs import LabPool

SERIES = ("runs", "pooled", "a further run")


def pool(
    names: Annotated[list[str], typer.Argument(metavar="RUN...", help="Runs of one study: names or folders.")],
    measure: Annotated[str | None, typer.Option(help="The measure (default: cooperation, else the score).")] = None,
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
        typer.Option(metavar="KEY", help="Pool although the studies differ in this key. May be given several times."),
    ] = None,
    level: Level = 0.95,
    chart: Annotated[
        Path | None, typer.Option(help="Write the forest plot to this file (.pdf, .svg, .png or .html).")
    ] = None,
    runs: Runs = Path("runs"),
) -> Output:
    """Pool runs of one study by several labs: a mean over labs.

    A random-effects model (restricted maximum likelihood, intervals of Hartung and Knapp). Runs of different studies
    are refused, and the difference is shown.
    """
    from ostrom.features.pooling.labs import pool_runs
    from ostrom.reports.answers import headline_measure
    from ostrom.reports.build import check_chart_file

    if chart is not None:
        check_chart_file(chart)
    if len(names) < 2:
        raise UsageError("pooling needs two runs or more: ostrom pool RUN RUN...")
    with opened_runs(names, runs) as data:
        name = measure or headline_measure(data[0])
        if name is None:
            raise UsageError(f"{names[0]}: has no finished match with cooperation or a score (name a --measure)")
        query = stated_query(name, contrast, over, log, by, where or ())
        pools, alone = pool_runs(data, query, level, allow or ())
        registered = standing(data)
    document = {
        "runs": names, "measure": query.measure_object.name, "question": query.words,
        "where": query.where, "level": level, "allowed": list(allow or ()), "pools": [one.as_dict() for one in pools],
        "not_pooled": alone,
    }  # fmt: skip
    if chart is not None:
        write_forest(pools, chart, query)
    text = chain(
        *(_text(one, query.words, level) for one in pools),
        (Remark(f"not pooled: {why}") for why in alone),
        [None if chart is None else Remark(f"forest plot: {chart}")],
    )
    return Output(document, text, standing=registered, source=pools)


def _text(one: LabPool, words: str, level: float) -> list[TextItem]:
    estimate, further = one.pooled, one.pooled.prediction
    group = f"{one.title}: " if one.title else ""
    predicted = "" if further is None else f"; a further run: {further[0]:.3f} to {further[1]:.3f}"
    rest = one.without or (None,) * len(one.labs)
    labs = [lab.name for lab in one.labs]
    differences = [(_keys(of.keys), of.difference) for of in one.moderators if of.difference is not None]
    return [
        f"{group}pooled over {estimate.labs} runs: {estimate.value:.3f} [{estimate.low:.3f}, {estimate.high:.3f}], "
        "the mean of the distribution that the runs come from",
        None
        if estimate.model_free is None
        else "for labs of any distribution: {:.3f} to {:.3f}".format(*estimate.model_free),
        f"between runs: tau {estimate.tau:.3f}, I2 {estimate.i2:.0%}, Q {estimate.q:.1f} on {estimate.labs - 1} df "
        f"(p {'< 0.001' if estimate.p < 0.001 else f'{estimate.p:.3f}'}){predicted}",
        TextTable(
            f"{words}{f' ({one.title})' if one.title else ''}: runs ({level:.0%} intervals)",
            ["run", "value", "low", "high", "n", "weight", "pooled without it"],
            [
                [lab.name, lab.estimate.value, lab.estimate.low, lab.estimate.high, lab.estimate.n, f"{lab.weight:.1%}",
                 None if without is None else f"{without.value:.3f} [{without.low:.3f}, {without.high:.3f}]"]
                for lab, without in zip(one.labs, rest, strict=True)
            ],
        ),
        TextTable(
            "What differs between the runs",
            ["key", *labs],
            [[_keys(of.keys), *(of.values[name] for name in labs)] for of in one.moderators],
        )
        if one.moderators
        else None,
        *(
            f"{keys}: {first} minus {second}: {value:+.3f} [{low:.3f}, {high:.3f}], not randomised"
            for keys, (first, second, value, low, high) in differences
        ),
        *(Remark(f"{name} is left out: {why}") for name, why in one.left_out.items()),
    ]  # fmt: skip


def _keys(keys: tuple[str, ...]) -> str:
    return keys[0] if len(keys) == 1 else f"{keys[0]} (and {len(keys) - 1} that go with it)"


def write_forest(pools: Sequence[LabPool], path: Path, query: Query) -> None:
    """Write the forest plot as SVG, PNG or a page with its table."""
    from ostrom.reports.build import write_chart_file
    from ostrom.reports.marks import dots, series_colours
    from ostrom.reports.panel import Figure, Table

    groups = {one.title: forest_rows(one) for one in pools}
    chart = dots(groups, axis=query.words, series=series_colours(SERIES), domain=None, zero=bool(query.contrast))
    columns = ["group", "run", "value", "low", "high"]
    rows = [[title, row["label"], row["mean"], row["low"], row["high"]] for title, of in groups.items() for row in of]
    subtitle = "; ".join(
        f"{one.title + ': ' if one.title else ''}{one.pooled.value:.3f} [{one.pooled.low:.3f}, {one.pooled.high:.3f}] "
        f"over {one.pooled.labs} runs, tau {one.pooled.tau:.3f}"
        for one in pools
    )
    caption = (
        f"Every run with its interval, the pooled mean (random effects, Hartung and Knapp), and where the mean of a "
        f"further run would lie ({pools[0].pooled.level:.0%}). {subtitle}."
    )
    figure = Figure("forest", chart, caption, f"Forest plot. {subtitle}.")
    write_chart_file(
        path, figure, Table("forest", columns, rows, "Every figure."),
        kicker="Pooled runs", title=f"Pooled: {query.words}", heading=subtitle, about=query.matches,
    )  # fmt: skip


def forest_rows(one: LabPool) -> list[dict[str, Any]]:
    """Return the rows of the forest plot from top to bottom: the runs, the pooled mean, and a further run."""
    rows = [
        {"label": lab.name, "series": SERIES[0], "mean": lab.estimate.value, "low": lab.estimate.low,
         "high": lab.estimate.high}
        for lab in one.labs
    ]  # fmt: skip
    pooled = one.pooled
    rows.append({"label": "pooled", "series": SERIES[1], "mean": pooled.value, "low": pooled.low, "high": pooled.high})
    if pooled.prediction is not None:
        low, high = pooled.prediction
        rows.append({"label": "a further run", "series": SERIES[2], "mean": pooled.value, "low": low, "high": high})
    return rows
