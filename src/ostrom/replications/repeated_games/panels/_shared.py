"""What the panels about repeated games share: moves by block of the study, means over matches, maps with numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ostrom.analysis.rundata import RunData, quoted
from ostrom.analysis.summary import bootstrap_interval
from ostrom.reports.cells import varied
from ostrom.reports.layout import JOINT, cell_label
from ostrom.reports.marks import MOST_PANELS, series_colours
from ostrom.reports.theme import MOST_COLOURS
from ostrom.reports.words import labels

READ = (
    "run match unit seed game state round player seat agent kind target answer action cooperative payoff"
).split()


def decisions(data: RunData) -> Any:
    """The decisions of matches without their texts, as a polars frame."""
    picked = ", ".join(quoted(name) for name in dict.fromkeys([*READ, *data.factors]))
    return data.query(f"SELECT {picked} FROM decisions WHERE unit = 'match' ORDER BY match, step, player")


def block_columns(data: RunData) -> list[str]:
    """The game where there is more than one, and every factor that varies."""
    factors = varied(data)
    games = data.records("SELECT count(DISTINCT game) AS n FROM matches WHERE state = 'done'")[0]["n"]
    return [*(["game"] if games > 1 and "game" not in factors else []), *factors]


def block_name(row: Mapping[str, Any], columns: Sequence[str]) -> str:
    """What a block is called; a run without blocks has one without a name."""
    return cell_label(row, columns) if columns else ""


def few_blocks(frame: Any, columns: list[str], notes: list[str]) -> list[str]:
    """The columns if their blocks can be drawn side by side; else none, and a note that all are pooled."""
    if columns and frame.select(columns).n_unique() > MOST_PANELS:
        notes.append(
            f"The charts pool {frame.select(columns).n_unique()} combinations of {', '.join(columns)}; "
            "the tables keep them apart."
        )
        return []
    return columns


def summarised(values: Sequence[float]) -> dict[str, Any]:
    """Mean, percentile interval over the values (none with a single one) and how many there are."""
    found = np.array(values, dtype=np.float64)
    low, high = bootstrap_interval(found)
    return {"mean": float(found.mean()), "low": low, "high": high, "n": len(found)}


def match_means(frame: Any, keys: Sequence[str], value: str) -> list[dict[str, Any]]:
    """Means over matches for every combination of keys: within a match first, then over matches."""
    import polars as pl

    found = (
        frame.group_by([*keys, "run", "match"], maintain_order=True)
        .agg(pl.col(value).cast(pl.Float64).mean())
        .group_by(list(keys), maintain_order=True)
        .agg(pl.col(value))
    )
    return [{**{k: row[k] for k in keys}, **summarised(row[value])} for row in found.iter_rows(named=True)]


def coloured(agents: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Labels of agents and colours of labels; more agents than colours share one and need facets."""
    named = labels(agents)
    if len(agents) > MOST_COLOURS:
        return named, series_colours(["all agents"])
    return named, series_colours(list(named.values()))


def placed(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], agents: Sequence[str]
) -> tuple[list[dict[str, Any]], list[str], dict[str, str]]:
    """Rows with ``series`` and ``facet``, the facets in order, and the colours."""
    named, series = coloured(agents)
    apart = len(agents) > MOST_COLOURS
    made = []
    for row in rows:
        parts = [block_name(row, columns), named[row["agent"]] if apart else ""]
        made.append(
            {
                **row,
                "facet": JOINT.join(part for part in parts if part),
                "series": "all agents" if apart else named[row["agent"]],
            }
        )
    return made, list(dict.fromkeys(row["facet"] for row in made)), series
