"""What an attribution found: how single remembered rounds move the chance of cooperating."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ostrom.analysis.intervals import combination_of, share_of
from ostrom.analysis.intervals.group import count_group
from ostrom.answers import Answer
from ostrom.errors import UsageError
from ostrom.studies.attribution import AttributionPlan, Measure
from ostrom.studies.run import Run


@dataclass(frozen=True, slots=True)
class Chance:
    """A chance of cooperating: exact, or from ``cooperated`` of ``n`` valid answers."""

    p: float | None
    n: int
    cooperated: int
    low: float | None = None
    high: float | None = None
    invalid: int = 0
    """Askings that gave no valid answer; they count for nothing."""


@dataclass(frozen=True, slots=True)
class RoundEffect:
    """One change to one remembered round and what came of it."""

    round: int
    back: int
    row: str
    shown: str
    """The round as it was, from the player's side."""
    chance: Chance
    change: float | None
    """The chance with the change minus the chance as it was."""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Attribution:
    """All effects on one decision."""

    run: str
    match: int
    round: int
    seat: int
    agent: str
    measure: Measure
    memory: Any
    taken: str | None
    """What the player did in the match."""
    baseline: Chance
    effects: tuple[RoundEffect, ...]
    complete: bool

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def read_effects(run: Run, level: float = 0.95) -> Attribution:
    """The effects that a run of counterfactuals has found so far."""
    plan = run.plan
    if not isinstance(plan, AttributionPlan):
        raise UsageError(f"{run.name}: is not an attribution")
    answers: list[list[Answer | None]] = [[] for _ in plan.edits]
    states = run.journal.states()
    open_units = 0
    place = (plan.origin.step, plan.decision.player, "")
    for index in range(1, len(plan)):
        if index not in states:
            open_units += 1
            continue
        found = run.journal.answers(index).get(place)
        answers[(index - 1) % len(plan.edits)].append(None if found is None else found[0])
    chances = [_chance(plan, given, level) for given in answers]
    base = chances[0]
    effects = []
    for edit, chance in zip(plan.edits[1:], chances[1:], strict=True):
        assert edit is not None
        change, low, high = _difference(plan.origin.measure, chance, base, level)
        effects.append(
            RoundEffect(edit.round, edit.back, edit.row, _shown(plan, edit.back), chance, change, low, high)
        )
    origin = plan.origin
    return Attribution(
        origin.run, origin.match, origin.round, origin.seat, plan.seated.name, origin.measure,
        plan.seated.config.memory, origin.taken, base, tuple(effects), open_units == 0,
    )  # fmt: skip


def _chance(plan: AttributionPlan, answers: Sequence[Answer | None], level: float) -> Chance:
    game, seat = plan.parent.game, plan.decision.view.seat
    cooperative = game.cooperative[seat]
    assert cooperative is not None
    name = game.actions[seat][cooperative]
    valid = [a for a in answers if a is not None and a.reading not in ("policy", "refused", "missed")]
    invalid = len(answers) - len(valid)
    if plan.origin.measure != "sample":
        odds = [a.probabilities.get(name, 0.0) for a in valid if a.probabilities is not None]
        return Chance(sum(odds) / len(odds) if odds else None, len(odds), 0, invalid=invalid)
    cooperated = sum(a.value == name for a in valid)
    if not valid:
        return Chance(None, 0, 0, invalid=invalid)
    share = share_of(cooperated, len(valid), unit="asking").limits(level)
    return Chance(share.value, len(valid), cooperated, *share.ends, invalid)


def _difference(
    measure: Measure, chance: Chance, base: Chance, level: float
) -> tuple[float | None, float | None, float | None]:
    if chance.p is None or base.p is None:
        return None, None, None
    if measure != "sample":
        return chance.p - base.p, None, None
    groups = [count_group(side.cooperated, side.n) for side in (chance, base)]
    found = combination_of(groups, (1.0, -1.0), unit="asking").limits(level)
    return found.value, *found.ends


def _shown(plan: AttributionPlan, back: int) -> str:
    """What the round shows, in the game's own words."""
    view, played = plan.decision.view, plan.rounds[-back]
    if played.void:
        return "missed"
    names = view.game.actions
    seats = sorted(range(view.game.seats), key=lambda s: (s != view.seat, s))
    return " / ".join(names[s][played.actions[s]] for s in seats)
