"""The forest plot: each run with its interval, then the pooled mean and the prediction interval of a further run."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ostrom.analysis.estimate import Query
from ostrom.features.pooling.labs import LabPool
from ostrom.reports.build import write_chart_file
from ostrom.reports.marks import dots, series_colours
from ostrom.reports.panel import Figure, Table

SERIES = ("runs", "pooled", "a further run")


def write_forest(pools: Sequence[LabPool], path: Path, query: Query) -> None:
    """Write the plot as SVG, PNG or a page with its table."""
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
    """The rows of the plot, from top to bottom."""
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
