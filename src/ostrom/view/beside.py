"""Two runs side by side: paired matches, and the prompts and replies at their first difference.

A branch pairs with the match that it comes from. Two runs of the same study pair by number. Otherwise matches pair as
in the analysis: by the same seed, in cells that agree in every column in which the runs have levels in common.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response

from ostrom.engine.folder import identity, without_shards
from ostrom.engine.integrity import connect_read_only
from ostrom.ground.errors import OstromError, UsageError
from ostrom.ground.values import grouped
from ostrom.view.calls import CallTry, changes, tries_of
from ostrom.view.listing import MatchList
from ostrom.view.match import chosen_of, highlighted, match_of
from ostrom.view.viewer import Routes, Viewer, parse_integer

Setting = tuple[int, str, str, str]
"""Cell, game, mechanism and agents of a match."""


@dataclass(frozen=True)
class MatchPair:
    """Two paired matches, with their first difference."""

    left: dict[str, Any]
    right: dict[str, Any] | None
    """The partner; None if there is none."""
    differs: int | None
    """The index of the first differing action, from 0; None if all agree."""


@dataclass(frozen=True)
class RunPairing:
    """How the matches of two runs are paired."""

    rule: str
    """branch, number, seed, or none"""
    note: str
    partner: Callable[[dict[str, Any]], int | None]
    """A function from a listed match to the number of its partner."""
    swapped: bool = False
    """Whether the other run's matches are listed: replicates of a branch share one parent match."""


def pairing_of(
    left: Mapping[str, Any], right: Mapping[str, Any], lists: tuple[MatchList, MatchList], names: tuple[str, str]
) -> RunPairing:
    """Return how two runs are paired, by their manifests and matches."""
    for other, name, swapped in ((right, names[0], True), (left, names[1], False)):
        parent = other.get("parent")
        if parent and parent.get("run") == name and parent.get("kind") == "branch":
            origin = int(parent["match"])
            note = f"match {origin} of {name} and its branch from round {parent['round']} on"
            return RunPairing("branch", note, lambda _, origin=origin: origin, swapped)  # type: ignore[misc]
    if identity(without_shards(left)) == identity(without_shards(right)):
        return RunPairing("number", "the same study: matches pair by their number", lambda row: int(row["match"]))
    return _by_seed(*lists)


def _by_seed(left: MatchList, right: MatchList) -> RunPairing:
    from ostrom.analysis.unit_figures import shared_columns

    sides = [_settings(listed) for listed in (left, right)]
    names = list(dict.fromkeys(name for side in sides for columns in side.values() for name in columns))
    shared, confounded = shared_columns(
        [name for name in names if all(name in columns for side in sides for columns in side.values())],
        list(sides[0].values()),
        list(sides[1].values()),
    )
    if confounded or not shared:
        why = f"they also differ in {', '.join(confounded)}" if confounded else "they have no cell in common"
        return RunPairing("none", f"the matches of these runs do not pair: {why}", lambda _: None)
    by_key = grouped((tuple(columns[name] for name in shared), setting) for setting, columns in sides[1].items())

    def partner(row: dict[str, Any]) -> int | None:
        own = sides[0].get((row["cell"], row["game"], row["mechanism"], orjson.dumps(row["agents"]).decode()), {})
        settings = by_key.get(tuple(own[name] for name in shared), []) if own else []
        rows = (
            right.connection.execute(
                "SELECT match FROM matches WHERE cell=? AND game=? AND mechanism=? AND agents=? AND seed=? "
                "AND kind='match' ORDER BY match LIMIT 1",
                (*setting, row["seed"]),
            ).fetchone()
            for setting in settings
        )
        return next((int(seed_row[0]) for seed_row in rows if seed_row is not None), None)

    return RunPairing("seed", f"matches pair by their seed and by {', '.join(shared)}", partner)


def _settings(listed: MatchList) -> dict[Setting, dict[str, Any]]:
    """Return the distinct settings of matches in a run, with their columns."""
    cells = listed.cells()
    rows = listed.connection.execute(
        "SELECT DISTINCT cell, game, mechanism, agents FROM matches WHERE kind='match' AND cell IS NOT NULL"
    )
    return {
        (cell, game, mechanism, agents): {
            **{name: str(level) for name, level in cells.get(cell, {}).items()},
            "game": game, "mechanism": mechanism, "agents": agents,
        }
        for cell, game, mechanism, agents in rows
    }  # fmt: skip


def pairs(
    pairing: RunPairing, listed: MatchList, other: MatchList, *, after: str | None = None, limit: int = 100
) -> tuple[list[MatchPair], str | None]:
    """Return some pairs, and where the next ones begin; the left match is of the listed run."""
    page = listed.matches(after=after, limit=limit)
    rows = [row for row in page.rows if row["kind"] == "match"]
    partners = [None if number is None else other.match(number) for number in map(pairing.partner, rows)]
    return [
        MatchPair(row, partner, None if partner is None else first_difference(row, partner))
        for row, partner in zip(rows, partners, strict=True)
    ], page.after


def first_difference(left: Mapping[str, Any], right: Mapping[str, Any]) -> int | None:
    """Return the index of the first differing action of two matches; None if there is none.

    >>> first_difference({"strips": ["CCD", "CCC"]}, {"strips": ["CCD", "CDC"]})
    1
    """
    middle = len(left["strips"] or ())
    return next(
        (
            at
            for at, signs in enumerate(zip_longest(*(left["strips"] or ()), *(right["strips"] or ())))
            if signs[:middle] != signs[middle:]
        ),
        None,
    )


def aligned(left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]) -> Iterator[tuple[Any, Any, bool]]:
    """Yield the steps of two matches side by side, and whether any answer differs."""
    by_step = [{step["step"]: step for step in side} for side in (left, right)]
    for number in sorted(by_step[0].keys() | by_step[1].keys()):
        one, two = (side.get(number) for side in by_step)
        yield one, two, answers_of(one) != answers_of(two)


def answers_of(step: dict[str, Any] | None) -> dict[int, Any]:
    """Return every player's answers in a step."""
    return {
        player: [(a["kind"], a["answer"], a["action"]) for a in answers]
        for player, answers in (step["players"].items() if step else ())
    }


PAGE = 100


def choose(viewer: Viewer, request: Request) -> Response:
    """Serve the page that chooses a run to compare with: branches and parent first."""
    name = str(request.path_params["run"])
    own = _parent(viewer, name)
    names = [other for other in viewer.shelf.names() if other != name]
    related = [other for other in names if own == other or _parent(viewer, other) == name]
    others = [other for other in names if other not in related]
    return viewer.page(
        request, "beside_choose", title=f"Beside {name}", **viewer.run_header(name), related=related, others=others,
        here="beside", titles={one: viewer.watching.status(one).title for one in (*related, *others)},
    )  # fmt: skip


def _parent(viewer: Viewer, name: str) -> str | None:
    try:
        parent = viewer.shelf.folder(name).manifest().get("parent") or {}
    except OstromError:
        return None
    return str(parent["run"]) if parent.get("kind") == "branch" else None


def page(viewer: Viewer, request: Request) -> Response:
    """Serve the paired matches of two runs."""
    names = str(request.path_params["run"]), str(request.path_params["other"])
    if names[0] == names[1]:
        raise UsageError(f"{names[0]}: is the same run twice")
    only = request.query_params.get("only") == "different"
    manifests = [viewer.shelf.folder(name).manifest() for name in names]
    # Always in the same order, so that two pages with a run each cannot deadlock.
    with ExitStack() as stack:
        lists = {name: stack.enter_context(viewer.shelf.match_list(name)) for name in sorted(names)}
        left, right = (lists[name] for name in names)
        progress = left.progress if not left.progress.complete else right.progress
        pairing = pairing_of(manifests[0], manifests[1], (left, right), names)
        listed, other = (right, left) if pairing.swapped else (left, right)
        page_pairs, after = pairs(pairing, listed, other, after=request.query_params.get("after"), limit=PAGE)
    shown = [pair for pair in page_pairs if not only or pair.right is None or pair.differs is not None]
    ordered = names[::-1] if pairing.swapped else names
    return viewer.page(
        request, "beside", title=f"{names[0]} beside {names[1]}", **viewer.run_header(names[0]), pairing=pairing,
        pairs=shown, after=after, cells=any(pair.left["levels"] for pair in shown), listed=ordered[0],
        partner=ordered[1], other=names[1], progress=progress, here="beside", only=only,
        query_values=list(request.query_params.multi_items()),
    )  # fmt: skip


def pair(viewer: Viewer, request: Request) -> Response:
    """Serve two matches side by side, at the first difference or the requested decision."""
    names = str(request.path_params["run"]), str(request.path_params["other"])
    numbers = [parse_integer(str(request.path_params[key]), key) for key in ("number", "with")]
    sides, journals = [], []
    for name, number in zip(names, numbers, strict=True):
        with viewer.shelf.opened(name) as run:
            sides.append(match_of(run, number))
            journals.append(run.journal.file(number))
    rows = [
        {"left": one, "right": two, "differs": differs}
        for one, two, differs in aligned(sides[0]["steps"], sides[1]["steps"])
    ]
    first = next((row for row in rows if row["differs"]), None)
    params = request.query_params
    if params.get("step") is not None:
        wanted: tuple[int, int] | None = _place(sides, params.get("step"), params.get("player"))
    else:
        wanted = _first_place(first) if first is not None else chosen_of(sides[0], None, None)
    at_round = next(
        (step["round"] for side in sides for step in side["steps"] if wanted and step["step"] == wanted[0]), None
    )
    tries: list[list[CallTry]] = []
    for journal, number in zip(journals, numbers, strict=True):
        with closing(connect_read_only(journal)) as connection:
            tries.append(tries_of(connection, number, *wanted) if wanted else [])
    prompts = _prompts(tries)
    same = not any(new for side in prompts for _, marks in side for _, new in marks)
    return viewer.page(
        request, "beside_match", title=f"{names[0]} {numbers[0]} beside {names[1]} {numbers[1]}",
        **viewer.run_header(names[0]), other=names[1], names=names, sides=sides, rows=rows, first=first, chosen=wanted,
        said=tries, prompts=prompts, same=same, marked=highlighted, here="beside", shown=at_round,
    )  # fmt: skip


def _place(sides: list[dict[str, Any]], step: str | None, player: str | None) -> tuple[int, int]:
    for side in sides:
        with suppress(UsageError):
            if (place := chosen_of(side, step, player)) is not None:
                return place
    raise UsageError("neither match has this decision")


def _first_place(row: dict[str, Any]) -> tuple[int, int]:
    """Return the step and the first player whose answers differ."""
    left, right = answers_of(row["left"]), answers_of(row["right"])
    return int((row["left"] or row["right"])["step"]), next(
        p for p in sorted(left | right) if left.get(p) != right.get(p)
    )


def _prompts(side_tries: list[list[CallTry]]) -> list[list[tuple[str, list[tuple[str, bool]]]]]:
    """Return the messages of both sides' first tries, each with the text that the other side lacks."""
    sent = [[(m.role, m.content.text) for m in tries[0].messages] if tries else [] for tries in side_tries]
    return [
        [
            (role, list(changes(other[at][1], text)) if at < len(other) else [(text, False)])
            for at, (role, text) in enumerate(own)
        ]
        for own, other in (sent, sent[::-1])
    ]


TAB = ("beside", "Side by side", "/beside")
ROUTES: Routes = [
    ("/run/{run}/beside", choose, ["GET"]),
    ("/run/{run}/beside/{other}", page, ["GET"]),
    ("/run/{run}/beside/{other}/{number}/{with}", pair, ["GET"]),
]
