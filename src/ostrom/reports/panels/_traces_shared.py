"""What the panels about words share: counted traces by cell, with intervals that resample matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ostrom.analysis.lexicons import Ratio
from ostrom.analysis.rundata import RunData, quoted
from ostrom.analysis.statistics import StatisticsError, cluster_bootstrap, ends
from ostrom.analysis.summary import draws
from ostrom.analysis.traces.summary import DONE, source
from ostrom.analysis.traces.table import TraceTable, trace_table

CELL = ("agent", "agent_style", "game", "history_length")
RESAMPLES = 2000


@dataclass(frozen=True, slots=True)
class Share:
    """A figure of one cell: part over whole, both summed over traces."""

    agent: str
    style: str | None
    game: str
    length: int | None
    value: float
    low: float | None
    high: float | None
    traces: int
    matches: int


def table_or_note(data: RunData) -> tuple[TraceTable | None, str]:
    """The counted traces, or why there are none."""
    if not data.rows["calls"]:
        return None, "No model was called in this run, so there are no traces to read."
    table = trace_table(data)
    if not table.rows:
        return (
            None,
            f"None of {table.replies} replies holds reasoning (agents were asked for their answer alone).",
        )
    done = data.records(f"SELECT count(*) AS n FROM {source(table)} WHERE {DONE}")[0]["n"]
    if not done:
        return None, f"{table.rows} replies hold reasoning, but none is of a finished match."
    return table, ""


def shares(data: RunData, table: TraceTable, part: str, whole: str, scale: float = 1.0) -> list[Share]:
    """Part over whole (SQL over columns of the table) in every cell; cells without a whole are left out."""
    keys = ", ".join(quoted(name) for name in CELL)
    rows = data.records(
        f"SELECT {keys}, match, sum({part})::DOUBLE AS a, sum({whole})::DOUBLE AS b, count(*) AS n "
        f"FROM {source(table)} WHERE {DONE} GROUP BY {keys}, match ORDER BY match"
    )
    cells: dict[tuple[Any, ...], list[tuple[float, float, int]]] = {}
    for row in rows:
        cells.setdefault(tuple(row[name] for name in CELL), []).append((row["a"], row["b"], row["n"]))
    found = []
    for (agent, style, game, length), of in cells.items():
        a, b = sum(r[0] for r in of), sum(r[1] for r in of)
        if not b:
            continue
        low, high = _interval(of)
        traces = sum(r[2] for r in of)
        bounds = [None if end is None else scale * end for end in (low, high)]
        found.append(Share(agent, style, game, length, scale * a / b, bounds[0], bounds[1], traces, len(of)))
    return sorted(found, key=lambda s: -1 if s.length is None else s.length)


def ratio_sql(ratio: Ratio) -> tuple[str, str]:
    """Part and whole of a ratio."""
    return quoted(ratio.part), f"{quoted(ratio.part)} + {quoted(ratio.other)}"


def _interval(of: Sequence[tuple[float, float, int]]) -> tuple[float | None, float | None]:
    if len(of) < 2:
        return None, None
    try:
        result = cluster_bootstrap(
            np.array([(a, b) for a, b, _ in of]), lambda sums: sums[:, 0] / sums[:, 1],
            clusters=list(range(len(of))), unit="match", rng=draws(len(of)), resamples=RESAMPLES,
        )  # fmt: skip
    except StatisticsError:
        return None, None
    return ends(result.ci)
