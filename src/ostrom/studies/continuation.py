"""How a match went on, and how its branch did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ostrom.mechanisms.protocol import Round
from ostrom.studies.branch import BranchOf
from ostrom.studies.fork import point_of
from ostrom.studies.run import Run


@dataclass(frozen=True, slots=True)
class Continuation:
    """How often one player cooperated: before the branch, after it in the parent, after it here."""

    player: int
    agent: str
    before: float | None
    parent: float | None
    branch: float | None
    change: float | None
    replicates: int

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def continuations(parent: Run, made: Run, origin: BranchOf) -> list[Continuation]:
    """One row per player; the branch is the mean over its finished replicates."""
    point = point_of(parent, origin.match)
    known = _rounds(parent, origin.match)
    finished = [index for index, state in sorted(made.journal.states().items()) if state == "done"]
    own = [_rounds(made, index) for index in finished]
    rows = []
    for player, seated in enumerate(made.plan.unit(0).players):
        before = _share(point.unit.game, known, player, 1, origin.round)
        then = _share(point.unit.game, known, player, origin.round, None)
        shares = [_share(point.unit.game, rounds, player, origin.round, None) for rounds in own]
        valid = [s for s in shares if s is not None]
        now = sum(valid) / len(valid) if valid else None
        change = None if now is None or then is None else now - then
        rows.append(Continuation(player + 1, seated.name, before, then, now, change, len(valid)))
    return rows


def _rounds(run: Run, match: int) -> Sequence[Round]:
    _, outcome, _ = run.rows.replayed(run.plan.unit(match))
    return outcome.rounds if outcome is not None else ()


def _share(game: Any, rounds: Sequence[Round], player: int, first: int, end: int | None) -> float | None:
    """The share of cooperative actions from one round up to another, None where there is none."""
    acts = []
    for r in rounds:
        if r.void or r.number < first or (end is not None and r.number >= end):
            continue
        seats = list(r.players or range(len(r.actions)))
        if player in seats:
            seat = seats.index(player)
            acts.append(game.cooperates(seat, r.actions[seat]))
    known = [a for a in acts if a is not None]
    return sum(known) / len(known) if known else None
