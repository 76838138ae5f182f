"""The matches of a run as action strips, sorted and filtered by any column."""

import math
from dataclasses import replace
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from ostrom.ground.errors import UsageError
from ostrom.ground.values import grouped
from ostrom.view.listing import NUMBERS, SEATED, SORTS, MatchFilters, MatchList
from ostrom.view.shelf import AT_ONCE
from ostrom.view.viewer import Routes, Viewer

PAGE = 200
MOST_VALUES = 100
"""The most values in a URL's query: filters, bounds and order."""
COLUMNS = (
    ("match", "Match", ""), ("cell", "Cell", ""), ("outcome", "Actions", ""), ("state", "State", ""),
    ("rounds", "Rounds", "n"), ("score", "Score", "n"), ("cooperation", "Cooperation", "n"),
    ("first_defection", "First defection", "n"), ("complaints", "Unread replies", "n"), ("policies", "By policy", "n"),
    ("errors", "Failed calls", "n"), ("tokens_out", "Tokens out", "n"), ("usd", "Cost", "n"),
)  # fmt: skip
"""The columns of the list: name, title, style."""
LEVEL = "level."
CHOICES = (*SEATED, "state", "outcome", "reading", "kind", "game", "mechanism")


def page(viewer: Viewer, request: Request) -> Response:
    """Serve the matches that fit the URL's filters, from a place in their order on."""
    name = str(request.path_params["run"])
    params = request.query_params
    if len(params.multi_items()) > MOST_VALUES:  # every link of the page repeats them
        raise UsageError(f"the address has {len(params.multi_items())} values: {MOST_VALUES} at the most")
    filters = filters_of(params)
    sort, descending = params.get("sort", "match"), params.get("desc") == "1"
    if sort not in SORTS:
        raise UsageError(f"sort={sort[:40]}: is no column (allowed: {', '.join(SORTS)})")
    context: dict[str, Any] = {"count": 0, "others": 0, "choices": {}, "factors": {}}
    with viewer.shelf.match_list(name, AT_ONCE) as listed:
        batch = listed.matches(filters, sort=sort, descending=descending, after=params.get("after"), limit=PAGE)
        context |= {"rows": batch.rows, "more": batch.after, "progress": listed.progress}
        if params.get("after") is None:
            count = listed.count(filters if filters.kind else replace(filters, kind="match"))
            context |= {
                "count": count,
                "others": listed.count(filters) - count,
                "choices": choices_of(listed),
                "factors": factors_of(listed),
            }
    more = "hx-request" in request.headers and "hx-target" not in request.headers  # a row has no id
    part = "_rows" if more and params.get("after") is not None else "matches"
    return viewer.page(
        request, part, title=f"Matches of {name}", **viewer.run_header(name), **context, here="matches",
        columns=COLUMNS, sort=sort, descending=descending, asked=params,
        values=[(key, value) for key, value in params.multi_items() if value and key != "after"], numbers=NUMBERS,
        active=active_of(params),
    )  # fmt: skip


def filters_of(params: QueryParams) -> MatchFilters:
    """Parse the filters in a URL's query."""
    levels = {key.removeprefix(LEVEL): value for key, value in params.items() if key.startswith(LEVEL) and value}
    bounds = {
        start: {key[4:]: _number(key, value) for key, value in params.items() if key.startswith(start) and value}
        for start in ("min.", "max.")
    }
    chosen: dict[str, Any] = {name: params.get(name) or None for name in CHOICES}
    # The form names the bounded column and its bounds separately.
    if (column := params.get("bound")) and (params.get("low") or params.get("high")):
        for start, limit in (("min.", params.get("low")), ("max.", params.get("high"))):
            if limit:
                bounds[start][column] = _number(column, limit)
    return MatchFilters(
        levels, least=bounds["min."], most=bounds["max."], retries=params.get("retries") == "1",
        errors=params.get("errors") == "1", **chosen,
    )  # fmt: skip


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise UsageError(f"{name[:40]}={text[:20]}: must be a number")
    return number


def active_of(params: QueryParams) -> list[tuple[str, str, list[str]]]:
    """Return the active filters: name, value as text, and the query names to remove to undo each."""
    active = []
    for key, value in params.items():
        if not value or key in ("sort", "desc", "after", "low", "high"):
            continue
        if key == "bound":
            low, high = params.get("low"), params.get("high")
            if low or high:
                active.append((value, f"{low or '…'} to {high or '…'}", ["bound", "low", "high"]))
        elif key in ("retries", "errors"):
            active.append(({"retries": "unread replies", "errors": "failed calls"}[key], "some", [key]))
        else:
            sign = {"min.": "at least ", "max.": "at most "}.get(key[:4], "")
            active.append((key.removeprefix(LEVEL).removeprefix("min.").removeprefix("max."), sign + value, [key]))
    return active


def choices_of(listed: MatchList) -> dict[str, list[Any]]:
    """Return the values that the form offers."""
    choices: dict[str, list[Any]] = {
        **{name: listed.players(name) for name in SEATED},
        "state": listed.known("state"),
        "outcome": listed.known("outcome"),
        "reading": listed.readings(),
        "kind": listed.known("kind"),
    }
    if listed.models_tell_agents():
        del choices["model"]
    return {name: values for name, values in choices.items() if len(values) > 1}


def factors_of(listed: MatchList) -> dict[str, list[Any]]:
    """Every factor with the levels that occur, in the order of the cells."""
    return {
        name: list(dict.fromkeys(of))
        for name, of in grouped(pair for _, cell in sorted(listed.cells().items()) for pair in cell.items()).items()
        if len(set(of)) > 1
    }


TAB = ("matches", "Matches", "/matches")
ROUTES: Routes = [("/run/{run}/matches", page, ["GET"])]
