"""Two runs side by side: matches that pair, and what was said where they first differ."""

from __future__ import annotations

from contextlib import closing
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ostrom.engine.journal import connect_read_only
from ostrom.ground.errors import OstromError, UsageError
from ostrom.view.lexicon import marked
from ostrom.view.match import chosen_of, match_of
from ostrom.view.pairs import aligned, pairing_of, pairs
from ostrom.view.said import CallTry, changes, tries_of
from ostrom.view.viewer import Routes, Viewer

PAGE = 100


def choose(viewer: Viewer, request: Request) -> Response:
    """Which run to set beside this one: its branches and its parent first."""
    name = str(request.path_params["run"])
    own = _parent(viewer, name)
    related, others = list[str](), list[str]()
    for other in viewer.shelf.names():
        if other != name:
            kin = own == other or _parent(viewer, other) == name
            (related if kin else others).append(other)
    return viewer.page(
        request, "beside_choose", title=f"Beside {name}", **viewer.about(name), related=related, others=others,
        here="beside", titles={one: viewer.watching.status(one).title for one in (*related, *others)},
    )  # fmt: skip


def _parent(viewer: Viewer, name: str) -> str | None:
    try:
        parent = viewer.shelf.folder(name).manifest().get("parent") or {}
    except OstromError:
        return None
    return str(parent["run"]) if parent.get("kind") == "branch" else None


def page(viewer: Viewer, request: Request) -> Response:
    """The matches of two runs, paired."""
    names = str(request.path_params["run"]), str(request.path_params["other"])
    if names[0] == names[1]:
        raise UsageError(f"{names[0]}: is the same run twice")
    only = request.query_params.get("only") == "different"
    folders = [viewer.shelf.folder(name) for name in names]
    context: dict[str, Any] = {
        "pairing": None,
        "pairs": [],
        "after": None,
        "cells": False,
        "listed": names[0],
        "partner": names[1],
    }
    with viewer.indexers.index(folders[0]) as left, viewer.indexers.index(folders[1]) as right:
        progress = [None if index is None else index.progress for index in (left, right)]
        if left is not None and right is not None:
            pairing = pairing_of(folders[0].manifest(), folders[1].manifest(), (left, right), names)
            listed, other = (right, left) if pairing.swapped else (left, right)
            if pairing.swapped:
                context |= {"listed": names[1], "partner": names[0]}
            found, after = pairs(pairing, listed, other, after=request.query_params.get("after"), limit=PAGE)
            if only:
                found = [pair for pair in found if pair.right is None or pair.differs is not None]
            cells = any(pair.left["levels"] for pair in found)
            context |= {"pairing": pairing, "pairs": found, "after": after, "cells": cells}
    waiting = next((p for p in progress if p is None or not p.complete), progress[0])
    problem = viewer.indexers.problem(folders[0]) or viewer.indexers.problem(folders[1])
    return viewer.page(
        request, "beside", title=f"{names[0]} beside {names[1]}", **viewer.about(names[0]), **context, other=names[1],
        progress=waiting, problem=problem, here="beside", only=only,
        query_values=list(request.query_params.multi_items()),
    )  # fmt: skip


def pair(viewer: Viewer, request: Request) -> Response:
    """Two matches beside each other, decision by decision; the first difference is chosen unless another is named."""
    names = str(request.path_params["run"]), str(request.path_params["other"])
    numbers = [_number(str(request.path_params[key])) for key in ("number", "with")]
    sides = []
    for name, number in zip(names, numbers, strict=True):
        with viewer.shelf.opened(name) as run:
            sides.append(match_of(run, number))
    beside = aligned(sides[0]["steps"], sides[1]["steps"])
    rows = [{"left": one, "right": two, "differs": differs} for one, two, differs in beside]
    first = next((row for row in rows if row["differs"]), None)
    asked = request.query_params
    if asked.get("step") is not None:
        wanted: tuple[int, int] | None = _place(sides, asked.get("step"), asked.get("player"))
    else:
        wanted = _first_place(first) if first is not None else chosen_of(sides[0], None, None)
    steps = [
        step for side in sides for step in side["steps"] if wanted is not None and step["step"] == wanted[0]
    ]
    shown = next((step["round"] for step in steps), None)
    said: list[list[CallTry]] = [[], []]
    if wanted is not None:
        for at, (name, number) in enumerate(zip(names, numbers, strict=True)):
            with closing(connect_read_only(viewer.shelf.folder(name).journal)) as connection:
                said[at] = tries_of(connection, number, *wanted)
    prompts = _prompts(said)
    same = not any(new for side in prompts for _, marks in side for _, new in marks)
    return viewer.page(
        request, "beside_match", title=f"{names[0]} {numbers[0]} beside {names[1]} {numbers[1]}",
        **viewer.about(names[0]), other=names[1], names=names, sides=sides, rows=rows, first=first, chosen=wanted,
        said=said, prompts=prompts, same=same, marked=marked, here="beside", shown=shown,
    )  # fmt: skip


def _place(sides: list[dict[str, Any]], step: str | None, player: str | None) -> tuple[int, int]:
    for side in sides:
        try:
            if (found := chosen_of(side, step, player)) is not None:
                return found
        except UsageError:
            continue
    raise UsageError("neither match has this decision")


def _first_place(row: dict[str, Any]) -> tuple[int, int]:
    """The first player whose answers differ in a step."""
    steps = [step for step in (row["left"], row["right"]) if step is not None]
    if len(steps) == 1:
        return int(steps[0]["step"]), min(steps[0]["players"])
    players = sorted(steps[0]["players"].keys() | steps[1]["players"].keys())
    told = [
        {p: [(a["kind"], a["answer"], a["action"]) for a in s["players"].get(p, ())] for p in players}
        for s in steps
    ]
    return int(steps[0]["step"]), next(p for p in players if told[0][p] != told[1][p])


def _prompts(said: list[list[CallTry]]) -> list[list[tuple[str, list[tuple[str, bool]]]]]:
    """The messages of both sides' first tries, each with what the other side's message does not have."""
    sent = [[(m.role, m.content.text) for m in tries[0].messages] if tries else [] for tries in said]
    made: list[list[tuple[str, list[tuple[str, bool]]]]] = []
    for own, other in ((sent[0], sent[1]), (sent[1], sent[0])):
        side = []
        for at, (role, text) in enumerate(own):
            before = other[at][1] if at < len(other) else None
            side.append((role, [(text, False)] if before is None else list(changes(before, text))))
        made.append(side)
    return made


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise UsageError(f"{text[:20]}: must be a number")
    return int(text)


TAB = ("beside", "Side by side", "/beside")
ROUTES: Routes = [
    ("/run/{run}/beside", choose, ["GET"]),
    ("/run/{run}/beside/{other}", page, ["GET"]),
    ("/run/{run}/beside/{other}/{number}/{with}", pair, ["GET"]),
]
