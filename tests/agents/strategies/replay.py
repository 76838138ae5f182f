"""Check a strategy against a record of play: which recorded moves could it not have made?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostrom.agents.strategy import Strategy
from ostrom.games.game import Game
from ostrom.mechanisms.protocol import History, Round, View

Move = str | int


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A recorded move that the strategy would never have made there."""

    round: int
    recorded: str
    odds: dict[str, float]


def replay(
    strategy: Strategy,
    game: Game,
    own_moves: Sequence[Move],
    other_moves: Sequence[Move | Sequence[Move]],
    *,
    seat: int = 0,
    before: Sequence[tuple[Move, Move | Sequence[Move]]] = (),
) -> list[Mismatch]:
    """The rounds in which the record shows a move that has no chance under the strategy.

    Moves are action names or indices; with several co-players each entry of ``other_moves`` lists theirs by
    seat. ``before`` holds (own, other) moves that the strategy is made to remember from before the match: the
    way to test whether a deviation is state that leaked in.
    """
    rounds: list[Round] = []
    for own, others in before:
        _append(rounds, game, seat, own, others)
    found = []
    for number, (own, others) in enumerate(zip(own_moves, other_moves, strict=True), 1):
        odds = strategy.odds(View(game, seat, "repetition", number, History(rounds)))
        action = _index(game, seat, own)
        if odds[action] == 0.0:
            names = game.actions[seat]
            found.append(Mismatch(number, names[action], dict(zip(names, odds, strict=True))))
        _append(rounds, game, seat, own, others)
    return found


def _append(rounds: list[Round], game: Game, seat: int, own: Move, others: Move | Sequence[Move]) -> None:
    rest = [others] if isinstance(others, str | int) else list(others)
    moves = [*rest[:seat], own, *rest[seat:]]
    actions = tuple(_index(game, s, move) for s, move in enumerate(moves))
    rounds.append(Round(len(rounds) + 1, actions, game.payoff(actions)))


def _index(game: Game, seat: int, move: Move) -> int:
    return game.index(seat, move) if isinstance(move, str) else move
