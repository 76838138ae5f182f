"""How a match went on, and how its branch did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ostrom.features.branching.branch import BranchOf
from ostrom.games.game import Game
from ostrom.mechanisms.protocol import Round
from ostrom.studies.fork import point_of
from ostrom.studies.run import Run


@dataclass(frozen=True, slots=True)
class Continuation:
    """How often one player cooperated: before the branch, after it in the parent, after it here.

    Where the game calls nothing cooperation it is what the player was paid per round (``measure_of``); rounds that an
    early end of the game took away (a stock that collapsed) count as rounds without pay, as they do in the score.
    """

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
    game = point_of(parent, origin.match).unit.game
    known, lost = _rounds(parent, origin.match)
    finished = [index for index, state in sorted(made.journal.states().items()) if state == "done"]
    own = [_rounds(made, index) for index in finished]
    rows = []
    for player, seated in enumerate(made.plan.unit(0).players):
        before = _mean(game, known, player, 1, origin.round)
        then = _mean(game, known, player, origin.round, None, lost)
        shares = [_mean(game, rounds, player, origin.round, None, gone) for rounds, gone in own]
        valid = [s for s in shares if s is not None]
        now = sum(valid) / len(valid) if valid else None
        change = None if now is None or then is None else now - then
        rows.append(Continuation(player + 1, seated.name, before, then, now, change, len(valid)))
    return rows


def _rounds(run: Run, match: int) -> tuple[Sequence[Round], int]:
    """The rounds of a match, and how many more there would have been if the game had not ended it."""
    unit = run.plan.unit(match)
    _, outcome, _ = run.rows.replayed(unit)
    if outcome is None:
        return (), 0
    if "over" not in outcome.facts:
        return outcome.rounds, 0
    rest = unit.mechanism.most_rounds(unit.game) - len(outcome.rounds)
    return outcome.rounds, int(outcome.facts.get("unplayed", rest))


def measure_of(game: Game) -> str:
    """What rows compare: cooperation, or the payoff per round where the game calls nothing cooperation."""
    return "payoff per round" if all(action is None for action in game.cooperative) else "cooperation"


def _mean(
    game: Game, rounds: Sequence[Round], player: int, first: int, end: int | None, lost: int = 0
) -> float | None:
    """The mean from one round up to another, None where there is none; ``lost`` more rounds paid nothing."""
    paid = measure_of(game) != "cooperation"
    known: list[float] = []
    for r in rounds:
        if r.void or r.number < first or (end is not None and r.number >= end):
            continue
        seats = list(r.players or range(len(r.actions)))
        if player in seats:
            seat = seats.index(player)
            cooperates = game.cooperates(seat, r.actions[seat])
            if paid:
                known.append(r.payoffs[seat])
            elif cooperates is not None:
                known.append(cooperates)
    return sum(known) / (len(known) + lost * paid) if known else None
