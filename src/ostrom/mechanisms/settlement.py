"""Settlement: each player's action and payoff in every round of a match, and its invariants.

A round is settled once: with one place for each player of the match, whether it was asked or not. The payoffs of a
player, each with the weight of its round (``Mechanism.weights``), sum to its score.
"""

from collections.abc import Iterator, Sequence
from math import fsum, isclose
from typing import NamedTuple

from ostrom.games.amounts import IDLE
from ostrom.games.game import Game
from ostrom.mechanisms.base import Mechanism
from ostrom.mechanisms.protocol import Outcome, Round

CHOSE, BOUND, DELEGATED, UNASKED, UNREACHED, UNMET, MISSED, VOID = WHATS = (
    "chose", "bound", "delegated", "idle", "not reached", "unmet", "missed", "void",
)  # fmt: skip
"""What a player's round was: it chose its action; an agreement bound it to one; it handed the choice over; its seat
never decides; its turn did not come, or the game ended before the round; it met nobody; it did not decide in time (its
action is the default, if there is one); the round does not count for it because somebody else missed it."""


class SettledRound(NamedTuple):
    """One player in one round; indices from 0, except the number of the round."""

    meeting: int
    number: int
    table: int | None
    """The lowest player of those who meet; None if the round is unplayed, or the player meets nobody or all."""
    player: int
    seat: int
    what: str
    action: int | None
    payoff: float
    paid: float | None


def what_of(game: Game, played: Round) -> tuple[str, ...]:
    """Return the kind of each seat's action in a round."""
    stated = played.what or ("",) * len(played.payoffs)
    moved = {move["seat"] for move in played.facts.get("moves", ())}

    def derived(seat: int) -> str:
        if seat in played.missed:
            return MISSED
        if played.void:
            return VOID
        if game.has_table or seat in moved:
            return CHOSE
        return UNASKED if tuple(game.actions[seat]) == (IDLE,) else UNREACHED

    return tuple(stated[seat] or derived(seat) for seat in range(len(played.payoffs)))


def settled_rounds(game: Game, rounds: Sequence[Round]) -> Iterator[SettledRound]:
    """Yield every seat of every round, by meeting, round and player."""
    places: list[SettledRound] = []
    for played in rounds:
        meeting = played.facts.get("bout", 0) if played.facts else 0
        whats = what_of(game, played)
        meets = (len(played.payoffs) > 1 or game.seats == 1) and not played.unplayed
        table = min(played.players, default=0) if meets else None
        for seat, player in enumerate(played.players or range(len(played.payoffs))):
            acted = played.actions and whats[seat] not in (UNASKED, UNREACHED)
            places.append(
                SettledRound(
                    meeting, played.number, table, player, seat, whats[seat],
                    played.actions[seat] if acted else None, played.payoffs[seat],
                    played.paid[seat] if played.paid else None,
                )
            )  # fmt: skip
    return iter(sorted(places, key=lambda place: (place.meeting, place.number, place.player)))


def breach(rules: Mechanism, game: Game, outcome: Outcome) -> str | None:
    """Return where a match violates the settlement invariants; None if it does not."""
    own: dict[tuple[int, int], dict[int, float]] = {}
    for one in settled_rounds(game, outcome.rounds):
        rows = own.setdefault((one.meeting, one.player), {})
        if one.number in rows:
            return f"player {one.player + 1}: has more than one row in round {one.number}"
        rows[one.number] = one.payoff
    due: dict[tuple[int, int], set[int]] = {}
    for played in outcome.rounds:
        meeting = played.facts.get("bout", 0)
        for player in played.players if rules.apart else range(len(outcome.scores)):
            due.setdefault((meeting, player), set()).add(played.number)
    if rules.apart:  # a player at a table is there in all of its rounds
        for played in outcome.rounds:
            shared = set().union(*(due[played.facts["bout"], player] for player in played.players))
            due.update({(played.facts["bout"], player): shared for player in played.players})
    meetings = sorted({meeting for meeting, _ in due})
    for player, score in enumerate(outcome.scores):
        where, parts = f"player {player + 1}", list[float]()
        for meeting in meetings:
            rows = own.get((meeting, player), {})
            if lacks := sorted(due.get((meeting, player), {0}) - rows.keys()):
                return f"{where}: has no row in round {lacks[0] or 'any'}"
            parts += [w * rows[n] for w, n in zip(rules.weights(len(rows)), sorted(rows), strict=True)]
        total = fsum(parts)
        if not meetings or not isclose(total, score, rel_tol=1e-9, abs_tol=1e-9):
            return f"{where}: its payoffs, weighted by round, sum to {total:.12g}, and its score is {score:.12g}"
    strangers = sorted({player for _, player in own} - set(range(len(outcome.scores))))
    return f"player {strangers[0] + 1}: has rows and no score" if strangers else None
