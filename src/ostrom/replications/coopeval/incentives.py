"""Incentives to cooperate: designs made by players, and the continuation that cooperation needs.

Two questions per design, asked of the game that it induces, with gains up to 1e-9 counted as none (Tewolde
et al. 2026): is everybody cooperating a Nash equilibrium (under a mediator also: everybody delegating to one
that then cooperates for all), and is the cooperative action (under a mediator: delegating) weakly dominant
for every seat? Designs that a policy put in place of unreadable ones are judged too, and marked.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import orjson

from ostrom.analysis.intervals import share_of
from ostrom.data.rundata import RunData
from ostrom.engine.plan import Unit
from ostrom.games.equilibria import least_continuation
from ostrom.games.game import Game
from ostrom.ground.values import grouped
from ostrom.mechanisms.designs import Design, Designed
from ostrom.mechanisms.incentives import TOLERANCE, is_equilibrium, is_weakly_dominant
from ostrom.mechanisms.single import compared_game


def made_designs(data: RunData) -> Iterator[dict[str, Any]]:
    """Yield every design of a run in the order of preparations, as text; None if it was never made.

    ``equilibrium`` and ``dominant`` are its qualities, ``policy`` says that it replaces an unreadable one.
    """
    for row in data.records(
        "SELECT match, mechanism, game, agent, seat, seed, state, facts, policies FROM matches "
        "WHERE unit = 'preparation' ORDER BY match"
    ):
        unit = data.unit(row["match"])
        if not isinstance(unit.mechanism, Design):
            continue
        design = orjson.loads(row["facts"])["design"] if row["state"] == "done" else None
        verdict = None if design is None else quality(unit.mechanism.rules, unit.game, design)
        yield {
            **{name: row[name] for name in ("mechanism", "game", "seat", "seed", "state")},
            "type": row["agent"],
            "design": None if design is None else " ".join(map(str, design)),
            "equilibrium": verdict and verdict.equilibrium,
            "dominant": verdict and verdict.dominant,
            "policy": row["policies"] > 0,
        }


def design_shares(designs: Iterable[Mapping[str, Any]], qualities: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the share of designs with each quality, by mechanism, game and designer, with an interval over designs."""
    groups = grouped(((d["mechanism"], d["game"], d["type"]), d) for d in designs if d["design"] is not None)
    for key, of in groups.items():
        for name in qualities:
            share = share_of(sum(one[name] for one in of), len(of), unit="design").limits()
            columns = dict(zip(("mechanism", "game", "type"), key, strict=True))
            yield {**columns, "quality": name, "share": share.value, "low": share.low, "high": share.high}


class NeededContinuation(NamedTuple):
    """The least continuation chance at which full cooperation is an equilibrium, and the told one."""

    game: str
    mechanism: str
    needed: float | None
    played: float | None
    answer: str
    why: str


def continuations(data: RunData) -> list[NeededContinuation]:
    """The chance of another round that full cooperation needs, for each game and mechanism of the run."""
    by = ", ".join(f'"{name}"' for name in data.factors)
    per_cell = f" GROUP BY {by}" if by else ""
    firsts = data.records(f"SELECT min(match) AS first FROM matches WHERE unit = 'match'{per_cell} ORDER BY 1")
    return list(dict.fromkeys(continuation_of(data.unit(row["first"])) for row in firsts))


def continuation_of(unit: Unit) -> NeededContinuation:
    """Return the chance of another round that cooperation needs in a match, and the one that players were told."""
    game, mechanism = unit.game, unit.mechanism
    build = partial(NeededContinuation, game.name, str(unit.cell.get("mechanism", mechanism.name)))
    if mechanism.name in ("repetition", "reputation", "punishment"):
        needed = least_continuation(
            game, punished=getattr(mechanism, "window", None) if mechanism.name == "reputation" else None
        )
        had = getattr(mechanism, "told", {}).get("continuation")
        if had is None:
            had = getattr(mechanism, "discount", None)
        if needed is None:
            return build(None, had, "no", "somebody gains by leaving it, whatever the continuation")
        if had is None:
            return build(needed, None, "unknown", "players were told of no chance of another round")
        return build(needed, had, "yes" if had >= needed - 1e-9 else "no", "by all defecting afterwards")
    if mechanism.name in ("mediation", "contracting"):
        return build(0.0, None, "by design", "in one play, under a design that makes it one")
    if mechanism.name == "similarity":
        full_game = compared_game(game, mechanism.error)  # type: ignore[attr-defined]
        stable = is_equilibrium(full_game, tuple(len(names) for names in game.actions))
        return build(0.0, None, "yes" if stable else "no", "in one play, if all let the comparison decide")
    cooperate = tuple(a for a in game.cooperative if a is not None)
    stable = len(cooperate) == game.seats and is_equilibrium(game, cooperate)
    return build(None, None, "yes" if stable else "no", "in one play")


@dataclass(frozen=True, slots=True)
class Quality:
    """The quality of a design in a game."""

    equilibrium: bool
    """Everybody cooperating is a Nash equilibrium."""
    dominant: bool
    """The cooperative action (under a mediator: delegating) is weakly dominant for every seat."""


def quality(rules: Designed, game: Game, design: Sequence[int], tolerance: float = TOLERANCE) -> Quality:
    """Judge one design in one game; without cooperative actions no design is good.

    >>> from ostrom.games import build_game
    >>> from ostrom.mechanisms.designs import Mediation
    >>> quality(Mediation(), build_game("prisoners_dilemma"), [1, 0])
    Quality(equilibrium=True, dominant=True)
    >>> quality(Mediation(), build_game("prisoners_dilemma"), [0, 0])
    Quality(equilibrium=False, dominant=False)
    """
    profiles = rules.cooperation(game, design)
    if not profiles:
        return Quality(False, False)
    induced = rules.induced(game, design)
    return Quality(
        any(is_equilibrium(induced, profile, tolerance) for profile in profiles),
        all(is_weakly_dominant(induced, seat, rules.pivotal(game, seat), tolerance) for seat in range(game.seats)),
    )
