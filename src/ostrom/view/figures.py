"""Results of a run: estimates of any measure, in a separate process: `python -m ostrom.view.figures`.

It reads one JSON request a line and writes one JSON reply a line. A process, because the tables of a run are made from
its whole journal and the libraries that read them take more memory than the server may; it ends when it is not needed.
"""

import os
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ostrom.analysis.estimate import estimate
from ostrom.analysis.measure import Measure, measures
from ostrom.analysis.population import ALL, agents_in_question, refuse_mixed_people
from ostrom.analysis.units import observations
from ostrom.data.rundata import RunData, run_data
from ostrom.ground.errors import OstromError, UnknownName, UsageError
from ostrom.ground.registry import refresh
from ostrom.reports.answers import headline_measure, tied
from ostrom.reports.card import card, findings, first_chart, headline, registered_lines, warnings
from ostrom.reports.cells import levels, levels_met
from ostrom.reports.chart import averages
from ostrom.reports.figures import both_widths, serve_requests
from ostrom.reports.page import page_table
from ostrom.studies.run import open_run

MEMORY = "200MB"
"""The memory limit of a database query."""
PATIENT = 30
"""Tables of a run in play are rebuilt after this many times their build time."""
MOST_LEVELS = 60
"""The most rows or columns of a heat table."""

_render_times: dict[Path, tuple[float, float]] = {}
"""When each run's tables were built last, and how long that took."""


def answered(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    kind, folder = request["asked"], Path(request["folder"])
    with open_run(folder, checked=False) as run:
        began = time.monotonic()
        when, took = _render_times.get(folder, (-1e9, 0.0))
        stale = run.folder.being_played and began - when < PATIENT * took
        with run_data(run.rows, folder, run.manifest, stale=stale) as data:
            data.connection.execute(f"SET memory_limit='{MEMORY}'").fetchall()
            answer = {
                "behind": max(run.journal.entries - data.entries, 0),
                "exploratory": bool(data.manifest.get("registered")),
                **ANSWERS[kind](data, request),
            }
            if not stale:  # tables are built on demand, so answering is part of the build time
                _render_times[folder] = (time.monotonic(), time.monotonic() - began)
            return answer


def first_screen(data: RunData, _: Mapping[str, Any]) -> dict[str, Any]:
    """The first screen of the report: warnings, findings, the card, the numbers."""
    table = headline(data)
    return {
        "registered": registered_lines(data), "warnings": warnings(data), "findings": findings(data),
        "card": card(data), "table": None if table is None else page_table(table, "", always_open=True),
        "measures": usable(data), "columns": columns(data), "measure": headline_measure(data),
    }  # fmt: skip


def chart(data: RunData, _: Mapping[str, Any]) -> dict[str, Any]:
    """Return the chart of the first screen as SVG for a page."""
    card_chart = first_chart(data)
    drawn = () if card_chart is None else card_chart.draw(data).figures[:1]
    return {
        "figures": [{"svg": _plain(both_widths(f.chart, "chart0")), "alt": f.alt, "caption": f.caption} for f in drawn]
    }


def _plain(svg: str) -> str:
    """Remove style attributes, which the pages' content policy forbids; the width comes from the page."""
    return re.sub(r'(<[a-z][^>]*?) style="[^"]*"', r"\1", svg)


def usable(data: RunData) -> list[dict[str, str]]:
    """Return all registered measures for which this run has the columns."""
    entries = []
    for name in measures.names():
        try:
            part: Any = measures.get(name)
            measure = part if isinstance(part, Measure) else measures.build(name)
            measure.check(data)
        except (OstromError, TypeError, ValueError):
            continue
        entries.append({"name": name, "title": measure.title, "scale": measure.scale, "definition": measure.definition})
    return entries


def columns(data: RunData) -> dict[str, list[Any]]:
    """Return the columns that cells can be grouped by, with their levels: factors first."""
    names = dict.fromkeys([*data.factors, "agent", "game", "mechanism", "model", "role"])
    available = data.columns("matches")
    if tied(data, "agent", "model"):  # one determines the other
        names.pop("model" if "model" not in data.factors else "agent")
    return {
        name: of
        for name in names
        if name in available
        for of in [levels(data, name)]
        if name in data.factors or (1 < len(of) <= MOST_LEVELS and None not in of)
    }


def heat(data: RunData, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return estimates of a measure for every combination of the levels of two columns."""
    measure = measures.named(str(request["measure"]))
    by = [name for name in (request.get("rows"), request.get("columns")) if name]
    data.need("matches", by)
    if len(set(by)) != len(by):
        raise UsageError("rows and columns must be different")
    for name in by:
        if name not in data.factors and (met := len(levels(data, name))) > MOST_LEVELS:
            raise UsageError(f"{name}: has {met:,} levels, {MOST_LEVELS} at the most can be rows or columns")
    where = {}
    for name, wanted in dict(request.get("where") or {}).items():
        data.need("matches", [name])
        fitting = [level for level in levels(data, name) if str(level) in wanted]
        if not fitting:
            return {"cells": [], "across": [], "down": [], "factors": [], **_about(measure)}
        where[name] = fitting
    # Who met whom is a table of all players, scripts included.
    values = observations(
        data, measure, where or None, ALL if {"agent", "opponents"} <= {*by} else agents_in_question(None, by)
    )
    if "agent" in values.averaged(values.rows, by):
        refuse_mixed_people([data], {row["agent"] for row in values.rows})
    estimates = estimate(values, measure, by)
    axes = [levels_met(data, name, estimates)[:MOST_LEVELS] for name in by]
    return {
        "cells": [{"key": [e.key[name] for name in by], **e.as_dict()} for e in estimates],
        "down": axes[0] if request.get("rows") else [None],
        "across": axes[-1] if request.get("columns") else [None],
        "factors": list(data.factors),
        **_about(measure, averages(estimates)),
    }


def _about(measure: Measure, more: str = "") -> dict[str, Any]:
    return {
        "measure": measure.name,
        "title": measure.title,
        "scale": measure.scale,
        "definition": f"{measure.definition} {more}".rstrip(),
    }


ANSWERS: Mapping[str, Callable[[RunData, Mapping[str, Any]], dict[str, Any]]] = {
    "first": first_screen,
    "chart": chart,
    "heat": heat,
}


def main() -> None:
    """Answer requests until the input ends."""
    os.nice(5)
    serve_requests(_answered_anew)


def _answered_anew(request: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a request, once more where a measure or a game was installed after this process began."""
    try:
        return answered(request)
    except UnknownName:
        refresh()
        return answered(request)


if __name__ == "__main__":
    main()
