"""How good the designs of a run are: does a mediator or a contract make cooperation stable?

Two questions per design, asked of the game that it induces, with gains up to 1e-9 counted as none (Tewolde
et al. 2026): is everybody cooperating a Nash equilibrium (under a mediator also: everybody delegating to one
that then cooperates for all), and is the cooperative action (under a mediator: delegating) weakly dominant
for every seat? Designs that a policy put in place of unreadable ones are judged too, and marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ostrom.engine.journal import Journal
from ostrom.engine.plan import Plan
from ostrom.games.game import Game
from ostrom.mechanisms.designed import Design, Designed
from ostrom.mechanisms.incentives import TOLERANCE, is_equilibrium, is_weakly_dominant


@dataclass(frozen=True, slots=True)
class Quality:
    """What a design does to a game."""

    equilibrium: bool
    """Everybody cooperating is a Nash equilibrium."""
    dominant: bool
    """The cooperative action (under a mediator: delegating) is weakly dominant for every seat."""


@dataclass(frozen=True, slots=True)
class JudgedDesign:
    """One design of a run; a failed or skipped preparation left none to judge."""

    factors: Mapping[str, Any]
    seed: int
    agent: str
    seat: int
    state: str
    design: tuple[int, ...] | None
    quality: Quality | None
    policy: bool
    """Put in place of an unreadable answer by the study's policy."""

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            **self.factors,
            "seed": self.seed,
            "agent": self.agent,
            "seat": self.seat,
            "state": self.state,
            "design": None if self.design is None else list(self.design),
            "equilibrium": None if self.quality is None else self.quality.equilibrium,
            "dominant": None if self.quality is None else self.quality.dominant,
            "policy": self.policy,
        }


@dataclass(frozen=True, slots=True)
class DesignShares:
    """The designs of one cell and agent in numbers; shares are over those that were made."""

    factors: Mapping[str, Any]
    agent: str
    made: int
    missing: int
    by_policy: int
    equilibrium: float | None
    dominant: float | None

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        numbers = {name: getattr(self, name) for name in self.__slots__ if name != "factors"}
        return {**self.factors, **numbers}


def quality(rules: Designed, game: Game, design: Sequence[int], tolerance: float = TOLERANCE) -> Quality:
    """Judge one design in one game; without cooperative actions nothing can be good.

    >>> from ostrom.games import build_game
    >>> from ostrom.mechanisms.catalog.mediation import Mediation
    >>> quality(Mediation(), build_game("prisoners_dilemma"), [1, 0])
    Quality(equilibrium=True, dominant=True)
    >>> quality(Mediation(), build_game("prisoners_dilemma"), [0, 0])
    Quality(equilibrium=False, dominant=False)
    """
    profiles = rules.cooperation(game, design)
    if not profiles:
        return Quality(False, False)
    induced = rules.induced(game, design)
    pivotal = tuple(rules.pivotal(game, seat) for seat in range(game.seats))
    return Quality(
        any(is_equilibrium(induced, profile, tolerance) for profile in profiles),
        all(is_weakly_dominant(induced, seat, action, tolerance) for seat, action in enumerate(pivotal)),
    )


def judged_designs(plan: Plan, journal: Journal) -> Iterator[JudgedDesign]:
    """Every design of a run that has come to an end, in the order of the plan."""
    for index, state, _ in journal.endings():
        unit = plan.unit(index)
        rules = unit.mechanism
        if unit.kind != "preparation" or not isinstance(rules, Design):
            continue
        ended = journal.ended(index)
        made = tuple(ended[3]["design"]) if ended is not None and state == "done" else None
        yield JudgedDesign(
            {"game": unit.game.name, "mechanism": rules.name, **unit.cell},
            unit.seed,
            unit.players[0].name,
            unit.seat + 1,
            state,
            made,
            None if made is None else quality(rules.rules, unit.game, made),
            any(answer.reading in ("policy", "refused") for answer, *_ in journal.answers(index).values()),
        )


def design_shares(designs: Iterable[JudgedDesign]) -> list[DesignShares]:
    """Shares of good designs by cell and agent."""
    groups: dict[tuple[Any, ...], list[JudgedDesign]] = {}
    for judged in designs:
        groups.setdefault((*judged.factors.items(), judged.agent), []).append(judged)
    return [_shares(group) for group in groups.values()]


def _shares(group: Sequence[JudgedDesign]) -> DesignShares:
    made = [judged.quality for judged in group if judged.quality is not None]
    return DesignShares(
        group[0].factors,
        group[0].agent,
        len(made),
        len(group) - len(made),
        sum(judged.policy for judged in group),
        sum(q.equilibrium for q in made) / len(made) if made else None,
        sum(q.dominant for q in made) / len(made) if made else None,
    )
