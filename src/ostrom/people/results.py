"""What a match came to for one of its people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ostrom.engine.journal import Journal
from ostrom.engine.match import replay
from ostrom.engine.plan import Unit
from ostrom.games.amounts import Options
from ostrom.mechanisms.protocol import Round


@dataclass(frozen=True, slots=True)
class MatchResult:
    """Points, missed decisions, how it ended, the player, and the last round."""

    points: float
    missed: int
    ended: str
    player: int
    last: Round | None = None

    def shown(self, labels: tuple[Options, ...]) -> dict[str, Any]:
        """What the next page says about it; ``labels`` are what the person saw for the actions."""
        told: dict[str, Any] = {"points": self.points, "whole": self.ended == "done"}
        if self.last is not None and len(self.last.actions) == 2 and len(labels) == 2 and self.player < 2:
            own, other = self.player, 1 - self.player
            told["last_words"] = {
                "own": labels[own][self.last.actions[own]], "other": labels[other][self.last.actions[other]],
            }  # fmt: skip
        return told


def result_of(unit: Unit, journal: Journal, player: int) -> MatchResult:
    """Replay a match from the journal; one that broke off counts as far as it was played."""
    answers = journal.answers(unit.index)
    mechanism = unit.mechanism
    if unit.needs:
        facts = [journal.ended(index) for index in unit.needs]
        if any(found is None or found[0] != "done" for found in facts):
            return MatchResult(0.0, 0, "failed", player)
        mechanism = mechanism.given([found[3] for found in facts if found is not None])
    steps, outcome = replay(unit, mechanism.play(unit.game, unit.streams), answers)
    rounds = list(outcome.rounds) if outcome else list(steps[-1][0].view.history) if steps else []
    points = 0.0
    for played in rounds:
        for seat, who in enumerate(played.players or range(len(played.payoffs))):
            if who == player:
                points += played.payoffs[seat]
    missed = sum(
        a.reading == "missed" for (_, who, part), (a, *_) in answers.items() if who == player and not part
    )
    state = journal.ended(unit.index)
    how = "done"
    if outcome is None:
        how = "failed" if state is None or state[0] == "failed" else "broken_off"
    elif outcome.facts.get("ended") == "missed":
        how = "timed_out" if player + 1 in outcome.facts.get("missed_by", ()) else "broken_off"
    return MatchResult(round(points, 6), missed, how, player, rounds[-1] if rounds else None)
