"""The page of all runs with the stream that updates it, and the page of one run: status, findings, heat table."""

import asyncio
import re
from collections.abc import Callable
from contextlib import closing, suppress
from functools import partial
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from ostrom.engine.folder import Folder
from ostrom.engine.integrity import connect_read_only
from ostrom.engine.shards import entries_in
from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.files import read_plain
from ostrom.reports.words import number, pretty, share, written
from ostrom.view.matches import CHOICES
from ostrom.view.render import address, draw
from ostrom.view.states import DAMAGED, FINISHED, INTERRUPTED, RUNNING, UNKNOWN
from ostrom.view.viewer import Routes, Viewer, message, stream

ORDER = {RUNNING: 0, DAMAGED: 1, UNKNOWN: 2, INTERRUPTED: 3, FINISHED: 4}


def runs_page(viewer: Viewer, request: Request) -> Response:
    """The page of all runs: running ones first, then damaged, unknown, interrupted and finished, each newest first."""
    watching = viewer.watching
    names = viewer.shelf.names()
    missing = [name for name in names if name not in watching.statuses]
    if len(missing) <= 8:  # more would take too long: the background task polls them
        watching.poll(missing)
    search, sort = request.query_params.get("q", "")[:200], request.query_params.get("sort", "")
    words = search.lower().split()
    rows = [row for row in map(partial(_row, viewer), names) if all(word in _words(row) for word in words)]
    rows.sort(key=lambda row: row["status"].created, reverse=True)
    rows.sort(key=SORTS.get(sort, lambda row: ORDER.get(row["status"].state, 9)))
    counts = {state: sum(row["status"].state == state for row in rows) for state in ORDER}
    return viewer.page(
        request, "runs", title="Runs", rows=rows, counts=counts, root=str(viewer.shelf.root), asked=search, sort=sort,
        sorts=SORTS, total=len(names),
    )  # fmt: skip


SORTS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "newest": lambda _: 0,
    "name": lambda row: row["name"].lower(),
    "cost": lambda row: -row["status"].usd,
}
"""The orders of the list with their sort keys; rows are already sorted with the newest first."""


def _words(row: dict[str, Any]) -> str:
    """The texts of a run in which a search of the list looks."""
    status = row["status"]
    return " ".join(
        (row["name"], status.study, status.title, status.question, status.result, status.state, *status.models)
    ).lower()


def _row(viewer: Viewer, name: str) -> dict[str, Any]:
    return {"name": name, "status": viewer.watching.status(name), "check": viewer.watching.check(name)}


def _message(viewer: Viewer, name: str, part: str) -> bytes:
    """The event about a run that changed, rendered once for all open pages."""
    watching = viewer.watching
    version, event = watching.drawn.get((name, part), (None, b""))
    if version != (now := watching.changed.get(name)):
        event = message(name, draw(part, **_row(viewer, name), run=name))
        watching.drawn[name, part] = now, event
    return event


def events(viewer: Viewer, request: Request) -> Response:
    """Stream the changed rows of the list of runs, or the progress of the one run that the query names."""
    watching = viewer.watching
    only, seen = request.query_params.get("run"), watching.version

    async def news() -> list[bytes]:
        nonlocal seen
        if watching.version == seen:
            return []
        since, seen = seen, watching.version
        part = "_cells" if only is None else "_pulse"
        return [
            _message(viewer, name, part)
            for name, at in list(watching.changed.items())
            if at > since and name in watching.statuses and only in (None, name)
        ]

    return stream(viewer, news, 0.25)


TONES = 10
"""The number of steps from the lightest to the darkest cell of a heat table."""


def page(viewer: Viewer, request: Request) -> Response:
    """The page of a run; its results are loaded afterwards."""
    name = str(request.path_params["run"])
    with viewer.shelf.opened(name) as run:
        study, parent = run.manifest["study"], run.manifest.get("parent") or {}
        origin = {**dict.fromkeys(("kind", "run")), **parent, "here": parent.get("run") in viewer.shelf.names()}
        return viewer.page(
            request, "run", title=study.get("title") or name, **viewer.run_header(name), study=study, here="run",
            asked=request.url.query, parent=origin,
        )  # fmt: skip


async def first_screen(viewer: Viewer, request: Request) -> Response:
    """The findings, warnings and numbers of the run, and the form of its heat table."""
    name = str(request.path_params["run"])
    answer = await _ask(viewer, name, asked="first")
    if answer is None or "problem" in answer:
        return _waiting(viewer, request, answer, name)
    choice = _choice(request, answer)
    return viewer.page(request, "_first", run=name, found=answer, choice=choice, asked=urlencode(_pairs(choice)))


async def chart(viewer: Viewer, request: Request) -> Response:
    """The chart on the page of a run."""
    name = str(request.path_params["run"])
    answer = await _ask(viewer, name, asked="chart")
    if answer is None or "problem" in answer:
        return _waiting(viewer, request, answer, name)
    return viewer.page(
        request, "_chart", figures=[{**figure, "svg": Markup(figure["svg"])} for figure in answer["figures"]]
    )


async def heat(viewer: Viewer, request: Request) -> Response:
    """Respond with a heat table: one measure of a run by the factors that the query names."""
    name = str(request.path_params["run"])
    params = dict(request.query_params)
    where = {key.removeprefix("where."): [value] for key, value in params.items() if key.startswith("where.") and value}
    answer = await _ask(
        viewer, name, asked="heat", measure=params.get("measure", "score"), rows=params.get("rows", ""),
        columns=params.get("columns", ""), where=where,
    )  # fmt: skip
    if answer is None or "problem" in answer:
        return _waiting(viewer, request, answer, name)
    by = [column for column in (params.get("rows"), params.get("columns")) if column]
    reply = viewer.page(
        request, "_heat", run=name, found=answer, table=_table(answer, by, where), rows=params.get("rows") or None,
        columns=params.get("columns") or None, where=where,
    )  # fmt: skip
    if request.headers.get("hx-trigger") == "heat-form":
        query = urlencode([(key, value) for key, value in request.query_params.multi_items() if value])
        reply.headers["hx-replace-url"] = f"/run/{address(name)}?{query}"
    return reply


async def _ask(viewer: Viewer, name: str, **request: Any) -> dict[str, Any] | None:
    folder = viewer.shelf.folder(name)
    return await viewer.figures.ask(_mark(folder), folder=str(folder.path), **request)


def _mark(folder: Folder) -> list[tuple[int, int]]:
    """The version of a run: the inode of each journal and its number of entries."""
    marks = []
    for part in folder.parts:
        with closing(connect_read_only(part.journal)) as connection:
            marks.append((part.journal.stat().st_ino, entries_in(connection)))
    return marks


def _waiting(viewer: Viewer, request: Request, answer: dict[str, Any] | None, name: str) -> Response:
    again = request.url.path + ("?" + request.url.query if request.url.query else "")
    return viewer.page(
        request, "_waiting", run=name, again=again, problem=None if answer is None else answer["problem"]
    )


def _choice(request: Request, answer: dict[str, Any]) -> dict[str, Any]:
    """The measure, axes and filters of the heat table in a URL; by default the headline measure by two factors."""
    params, names = dict(request.query_params), list(answer["columns"])
    measures = [measure["name"] for measure in answer["measures"]]
    measure = params.get("measure") or answer["measure"] or (measures[0] if measures else "")
    has_axes = "rows" in params or "columns" in params
    free = [name for name in names if len(answer["columns"][name]) > 1] or names
    axes = (params.get("rows", ""), params.get("columns", "")) if has_axes else (*free, "", "")
    return {
        "measure": measure,
        "rows": axes[0],
        "columns": axes[1],
        "where": {n: params.get(f"where.{n}", "") for n in names},
    }


def _pairs(choice: dict[str, Any]) -> list[tuple[str, str]]:
    return [(name, choice[name]) for name in ("measure", "rows", "columns")] + [
        (f"where.{name}", level) for name, level in choice["where"].items() if level
    ]


def _table(answer: dict[str, Any], by: list[str], where: dict[str, list[str]]) -> list[dict[str, Any]]:
    """The rows of a heat table: the label of each, and its cells with tone, text and the query for their matches."""
    cells = {tuple(map(str, cell["key"])): cell for cell in answer["cells"]}
    values = [cell["value"] for cell in answer["cells"]]
    low, high = (0.0, 1.0) if answer["scale"] == "share" else (min(values, default=0.0), max(values, default=1.0))
    drawn = {key: _cell(cell, low, high, answer, by, where) for key, cell in cells.items()}

    def key_of(down: Any, across: Any) -> tuple[str, ...]:
        return tuple(map(str, (down, across)[2 - len(by) if down is None else 0 :][: len(by)]))

    return [
        {"label": down, "cells": [drawn.get(key_of(down, across)) for across in answer["across"]]}
        for down in answer["down"]
    ]


def _cell(
    cell: dict[str, Any], low: float, high: float, answer: dict[str, Any], by: list[str], where: dict[str, list[str]]
) -> dict[str, Any]:
    scale, spread = answer["scale"], high - low
    tone = round(TONES * min(max((cell["value"] - low) / spread, 0.0), 1.0)) if spread > 0 else TONES // 2
    levels = {**{name: of[0] for name, of in where.items()}, **dict(zip(by, map(str, cell["key"]), strict=True))}
    # A name that both a factor and a column have means the factor.
    plain = {*CHOICES} - set(answer["factors"])
    pairs = [(name if name in plain else f"level.{name}", level) for name, level in levels.items()]
    return {
        "tone": tone,
        "text": _text(cell["value"], scale),
        "n": cell["n"],
        "unit": cell["unit"],
        "interval": None if cell["low"] is None else f"{_text(cell['low'], scale)} to {_text(cell['high'], scale)}",
        "method": cell["method"],
        "note": cell["note"],
        "matches": urlencode(pairs),
        "label": ", ".join(f"{pretty(name)} {written(level)}" for name, level in levels.items()) or "all matches",
    }


def _text(value: float, scale: str) -> str:
    return share(value) if scale == "share" else number(float(value))


async def compute_results(viewer: Viewer) -> None:
    """Compute the results that the list of runs lacks, one run after the other, while any page is open."""
    done: set[tuple[str, int]] = set()
    while True:
        statuses = list(viewer.watching.statuses.values()) if viewer.watching.watchers else []
        due = (one for one in statuses if one.state == FINISHED and not (one.result or one.large or one.counting))
        missing = next((one for one in due if (one.name, one.bytes) not in done), None)
        if missing is None:
            await asyncio.sleep(1)
            continue
        done.add((missing.name, missing.bytes))
        with suppress(OstromError):
            while await _ask(viewer, missing.name, asked="first") is None:
                pass


TASKS = (compute_results,)
TAB = ("run", "Overview", "")
REPORT_FILES = {
    "html": "text/html", "svg": "image/svg+xml", "png": "image/png", "pdf": "application/pdf", "csv": "text/csv",
    "md": "text/plain", "tex": "text/plain",
}  # fmt: skip
SANDBOX = {"content-security-policy": "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"}
"""Headers of report files, which may have come with a run from a stranger: no scripts, and an origin of its own."""


def report(viewer: Viewer, request: Request) -> Response:
    """Serve a file of a run's report."""
    name, file = str(request.path_params["run"]), str(request.path_params["file"])
    match = re.fullmatch(r"(?:(?:figures|tables)/)?[\w.-]+\.(\w+)", file, re.ASCII)
    path = viewer.shelf.folder(name).path / "report" / file
    if match is None or match[1] not in REPORT_FILES or path.resolve() != path or not path.is_file():
        raise UsageError(f"{name}: its report has no file {file[:100]!r} (ostrom report writes it)")
    return Response(read_plain(path), media_type=REPORT_FILES[match[1]], headers=SANDBOX)


def attribution_page(viewer: Viewer, request: Request) -> Response:
    """The page of an attribution: how much every remembered round moved the decision."""
    from ostrom.features.attribution.effects import read_effects, strips

    name = str(request.path_params["run"])
    with viewer.shelf.opened(name) as run:
        if (run.manifest.get("parent") or {}).get("kind") != "attribution":
            raise UsageError(f"{name}: is no attribution (ostrom more attribute makes one)")
        effects = read_effects(run)
    return viewer.page(
        request, "strip", title=f"What moved the decision, {name}", **viewer.run_header(name), found=effects,
        lines=list(strips(effects)), here="",
    )  # fmt: skip


ROUTES: Routes = [
    ("/", runs_page, ["GET"]),
    ("/events", events, ["GET"]),
    ("/run/{run}", page, ["GET"]),
    ("/run/{run}/first", first_screen, ["GET"]),
    ("/run/{run}/chart", chart, ["GET"]),
    ("/run/{run}/heat", heat, ["GET"]),
    ("/run/{run}/strip", attribution_page, ["GET"]),
    ("/run/{run}/report/{file:path}", report, ["GET"]),
]
