"""Which published cell a match belongs to: mechanism, game, and what is set otherwise than in the paper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.engine.plan import Unit
from ostrom.games import build_game
from ostrom.games.game import Game
from ostrom.ground.registry import parse_spec
from ostrom.mechanisms.designed import Designed
from ostrom.replications.coopeval.scores import Point, score_points

GAMES: Mapping[str, tuple[str, str | dict[str, str], float, float]] = {
    "prisoners_dilemma": ("prisoners_dilemma", {"name": "prisoners_dilemma", "preset": "coopeval"}, 1.0, 2.0),
    "public_goods": ("public_goods", "public_goods", 1.0, 1.5),
    "travelers_dilemma": ("travelers_dilemma", "travelers_dilemma", 2.0, 5.0),
    "trust": ("trust_game", "trust", 4.0, 10.0),
}
"""Own games: the paper's name and payoffs, and what a player gets when all defect and when all cooperate."""

FOUR = frozenset(name for name, *_ in GAMES.values())
ALL_FOUR = "all_four"
ROUNDS, CONTINUATION, WINDOW, DEPTH = 15, 0.8, 3, 3
"""What the paper repeats with, tells, shows and nests."""


@dataclass(frozen=True)
class Placed:
    """The finished matches of a run that have a published cell, and what must be said about the others.

    ``rows`` are rows of the matches table under the paper's names (``mechanism`` holds the setting too, see
    ``apart``), ``points`` their scores by seat, and ``payable`` the games that pay as the paper's do.
    """

    rows: tuple[Mapping[str, Any], ...]
    points: tuple[Point, ...]
    acts: tuple[Point, ...]
    """The same seats; the value is the share of cooperative actions in per cent."""
    payable: frozenset[str]
    remarks: tuple[str, ...]


def placed(data: RunData) -> Placed:
    """All matches by published cell, unfinished ones among the rows alone."""
    rows, remarks = [], list[str]()
    as_printed: dict[str, bool] = {}
    rounds: dict[str, set[int]] = {}
    at: dict[int, tuple[str, str] | None] = {}
    for row in data.records(
        "SELECT * FROM matches WHERE unit = 'match' AND seat IS NOT NULL ORDER BY match, player"
    ):
        unit = data.unit(row["match"])
        if row["match"] not in at:
            at[row["match"]] = mechanism_of(unit)
        where, known = at[row["match"]], GAMES.get(unit.game.name)
        if where is None or known is None:
            continue
        name, same = known[0], _pays_as_printed(unit.game)
        as_printed[name] = as_printed.get(name, True) and same
        if (played := getattr(unit.mechanism, "rounds", ROUNDS)) != ROUNDS:
            rounds.setdefault(where[0], set()).add(played)
        # One agent is one line of the comparison, whatever else the study varies about it.
        rows.append({**row, "mechanism": joined(*where), "game": name, "agent_id": row["agent"]})
    for name, same in as_printed.items():
        if not same:
            remarks.append(
                f"{name}: played with other payoffs than the paper's, so payoffs are not compared."
            )
    for name, found in rounds.items():
        listed = ", ".join(map(str, sorted(found)))
        remarks.append(f"{name}: played for {listed} rounds, the paper for {ROUNDS}.")
    points = score_points(rows, data.unit).points
    acted = [{**r, "score": None if r["cooperation"] is None else 100 * r["cooperation"]} for r in rows]
    shares = score_points(acted, data.unit).points
    acts = tuple(replace(p, value=p.score, bounds=(0.0, 100.0)) for p in shares)
    return Placed(
        tuple(rows), points, acts, frozenset(g for g, same in as_printed.items() if same),
        (*remarks, *_pooled(data, rows)),
    )  # fmt: skip


def mechanism_of(unit: Unit) -> tuple[str, str] | None:
    """The paper's name of a unit's mechanism and what is set otherwise; None for one that it does not have.

    A setting reads as the paper's ablations do: ``continuation 0.7`` or ``window 2``.
    """
    rules = unit.mechanism
    told: Mapping[str, Any] = getattr(rules, "told", {}) if rules.name in ("repetition", "reputation") else {}
    if rules.name == "none":
        return "NoMechanism", ""
    if isinstance(rules, Designed) and rules.name in ("mediation", "contracting"):
        return rules.name.capitalize(), "given designs" if rules.fixed else ""
    if rules.name == "repetition":
        odd = [word for word in ("predict", "noise") if getattr(rules, word)]
        odd += ["random end"] if getattr(rules, "stopping", "fixed") != "fixed" else []
        return "Repetition", ", ".join([*_future(rules, told), *_windows(unit), *odd])
    if rules.name == "reputation":
        higher = told["order"] == "higher"
        shown = [] if told["window"] == WINDOW else [f"window {told['window']}"]
        nested = [f"depth {told['depth']}"] if higher and told["depth"] != DEPTH else []
        return f"Reputation{'+' if higher else '-'}", ", ".join([*_future(rules, told), *shown, *nested])
    return None


def joined(mechanism: str, setting: str) -> str:
    """Mechanism and setting in one text."""
    return f"{mechanism}|{setting}"


def apart(text: str) -> tuple[str, str]:
    """The two again.

    >>> apart(joined("Repetition", "window 2"))
    ('Repetition', 'window 2')
    """
    mechanism, _, setting = text.partition("|")
    return mechanism, setting


def _future(rules: Any, told: Mapping[str, Any]) -> Iterator[str]:
    """One chance of going on is told and weighs the score; the paper's ablations change both together."""
    chance, weight = told.get("continuation"), rules.discount
    if chance == weight == CONTINUATION:
        return
    yield f"continuation {chance:g}" if chance == weight is not None else f"told {chance}, discount {weight}"


def _windows(unit: Unit) -> Iterator[str]:
    """What is shown of the past; strategies are not shown anything."""
    shown = {_window(p.config.memory) for p in unit.players if p.config.strategy is None}
    if shown - {WINDOW}:
        yield " and ".join(sorted(f"window {k}" if isinstance(k, int) else f"memory {k}" for k in shown))


def _window(memory: str | dict[str, Any]) -> int | str:
    name, args, kwargs = parse_spec(memory)
    size = kwargs.get("k", args[0] if args else None)
    return size if name == "window" and isinstance(size, int) else name


def _pays_as_printed(game: Game) -> bool:
    other = _printed(game.name)
    return game.payoffs.shape == other.payoffs.shape and bool((game.payoffs == other.payoffs).all())


@cache
def _printed(name: str) -> Game:
    return build_game(GAMES[name][1])


def _pooled(data: RunData, rows: list[dict[str, Any]]) -> Iterator[str]:
    """Factors that figures do not tell apart."""
    for name in data.factors:
        cells: dict[tuple[str, str], set[Any]] = {}
        for row in rows:
            cells.setdefault((row["mechanism"], row["game"]), set()).add(row[name])
        if name not in ("mechanism", "game") and any(len(levels) > 1 for levels in cells.values()):
            yield f"The study varies {name}; figures pool its levels."
