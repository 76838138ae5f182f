"""Two runs side by side: which matches pair, and where they first differ.

A branch pairs with the match that it comes from. Two runs of the same study pair by number. Otherwise the rule of the
analysis holds: the same seed, in cells that agree in every column that the runs have values in common of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import orjson

from ostrom.engine.manifest import identity
from ostrom.view.index import RunIndex

Setting = tuple[int, str, str, str]
"""Cell, game, mechanism and agents of matches, as the index keeps them."""


@dataclass(frozen=True)
class MatchPair:
    """Two matches that pair, with the place of their first difference."""

    left: dict[str, Any]
    right: dict[str, Any] | None
    """None: the match has no partner."""
    differs: int | None
    """The number of the first action that is not the same, from 0; None: all are."""


@dataclass(frozen=True)
class RunPairing:
    """How the matches of two runs pair."""

    rule: str
    """branch, number, seed, or none"""
    note: str
    partner: Callable[[dict[str, Any]], int | None]
    """From a match of the run that is listed to the other's."""
    swapped: bool = False
    """Whether the other run is the one whose matches are listed: replicates of a branch share one parent."""


def pairing_of(
    left: Mapping[str, Any],
    right: Mapping[str, Any],
    indexes: tuple[RunIndex, RunIndex],
    names: tuple[str, str],
) -> RunPairing:
    """How two runs pair, from their manifests and indexes."""
    for other, name, swapped in ((right, names[0], True), (left, names[1], False)):
        parent = other.get("parent")
        if parent and parent.get("run") == name and parent.get("kind") == "branch":
            return _of_branch(parent, name, swapped)
    if identity(left) == identity(right):
        return RunPairing(
            "number", "the same study: matches pair by their number", lambda row: int(row["match"])
        )
    return _by_seed(*indexes)


def _of_branch(parent: Mapping[str, Any], name: str, swapped: bool) -> RunPairing:
    origin = int(parent["match"])
    note = f"match {origin} of {name} and its branch from round {parent['round']} on"
    return RunPairing("branch", note, lambda _: origin, swapped)


def _by_seed(left: RunIndex, right: RunIndex) -> RunPairing:
    from ostrom.analysis.pairing import shared_columns

    sides = [_settings(index) for index in (left, right)]
    names = list(dict.fromkeys(name for side in sides for columns in side.values() for name in columns))
    known = [name for name in names if all(name in columns for side in sides for columns in side.values())]
    shared, confounded = shared_columns(known, list(sides[0].values()), list(sides[1].values()))
    if confounded or not shared:
        why = f"they also differ in {', '.join(confounded)}" if confounded else "they have no cell in common"
        return RunPairing("none", f"the matches of these runs do not pair: {why}", lambda _: None)
    by_key: dict[tuple[Any, ...], list[Setting]] = {}
    for setting, columns in sides[1].items():
        by_key.setdefault(tuple(columns[name] for name in shared), []).append(setting)

    def partner(row: dict[str, Any]) -> int | None:
        own = sides[0].get((row["cell"], row["game"], row["mechanism"], _json(row["agents"])))
        if own is None:
            return None
        for setting in by_key.get(tuple(own[name] for name in shared), ()):
            found = right.connection.execute(
                "SELECT match FROM matches WHERE cell=? AND game=? AND mechanism=? AND agents=? AND seed=? "
                "AND kind='match' ORDER BY match LIMIT 1",
                (*setting, row["seed"]),
            ).fetchone()
            if found is not None:
                return int(found[0])
        return None

    return RunPairing("seed", f"matches pair by their seed and by {', '.join(shared)}", partner)


def _settings(index: RunIndex) -> dict[Setting, dict[str, Any]]:
    """The kinds of matches in a run, with their columns."""
    cells = index.cells()
    rows = index.connection.execute(
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
    pairing: RunPairing, listed: RunIndex, other: RunIndex, *, after: str | None = None, limit: int = 100
) -> tuple[list[MatchPair], str | None]:
    """Some pairs, and where the next ones begin; in each, the left one is a match of the run that is listed."""
    page = listed.matches(after=after, limit=limit)
    made = []
    for row in page.rows:
        if row["kind"] == "match":
            number = pairing.partner(row)
            partner = None if number is None else other.match(number)
            made.append(MatchPair(row, partner, None if partner is None else first_difference(row, partner)))
    return made, page.after


def first_difference(left: Mapping[str, Any], right: Mapping[str, Any]) -> int | None:
    """The first action, counted from 0, that differs between two matches; None: none does.

    >>> first_difference({"strips": ["CCD", "CCC"]}, {"strips": ["CCD", "CDC"]})
    1
    """
    columns = zip_longest(*(left["strips"] or ()), *(right["strips"] or ()))
    middle = len(left["strips"] or ())
    for at, signs in enumerate(columns):
        if signs[:middle] != signs[middle:]:
            return at
    return None


def aligned(
    left: Sequence[dict[str, Any]], right: Sequence[dict[str, Any]]
) -> Iterator[tuple[Any, Any, bool]]:
    """The steps of two matches beside each other, with whether any answer in them differs."""
    by_step = [{step["step"]: step for step in side} for side in (left, right)]
    for number in sorted(by_step[0].keys() | by_step[1].keys()):
        one, two = (side.get(number) for side in by_step)
        yield one, two, answers_of(one) != answers_of(two)


def answers_of(step: dict[str, Any] | None) -> dict[int, Any]:
    """What every player answered in a step."""
    if step is None:
        return {}
    return {
        player: [(a["kind"], a["answer"], a["action"]) for a in answers]
        for player, answers in step["players"].items()
    }


def _json(data: Any) -> str:
    return orjson.dumps(data).decode()
