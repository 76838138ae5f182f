"""The centipede game: take the larger pile now, or pass and let both piles grow."""

from __future__ import annotations

from typing import Annotated

from ostrom.games.amounts import IDLE
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.games.parameters import require
from ostrom.ground.parameters import Amount, Ge, Gt, Le, Number, Whole, checked

NAME = "centipede"
CHOICES = ("take", "pass")


@checked
def build(
    moves: Annotated[float, Whole(), Ge(1), Le(100)] = 4,
    large: Number = 4,
    small: Amount = 1,
    factor: Annotated[float, Gt(1), Le(100)] = 2,
) -> Game:
    """Two players take turns, at most ``moves`` of them: whoever takes has the larger pile, the other the smaller one.

    The piles hold ``large`` and ``small`` at first; every pass multiplies both by ``factor``. If nobody ever takes, the
    piles grow once more and go to the player whose turn would come next. Theory (subgame perfect): take at once.
    """
    last, high, low, grows = int(moves), float(large), float(small), float(factor)
    # The factor is above 1, so that the small pile is the smaller one, too.
    rule = "factor x small must be below large, or passing pays"
    require(NAME, grows * low < high, rule, f"{grows * low}", lifted=False)

    def play(now: Now) -> Stages:  # noqa: ARG001
        larger, smaller = high, low
        for move in range(last):
            seat = move % 2
            told = {"move": move + 1, "large": larger, "small": smaller}
            (choice,) = yield [Due(seat, "move", CHOICES, told)]
            if choice == "take":
                return End(_shared(seat, larger, smaller), {"taken_at": move + 1})
            larger, smaller = larger * grows, smaller * grows
        return End(_shared(last % 2, larger, smaller), {"taken_at": None})

    options = (*CHOICES, IDLE)
    return FunctionGame(
        NAME,
        (CHOICES, options if last > 1 else (IDLE,)),
        play,
        stages=("move",),
        turns=last,
        theory=lambda seat, stage, facts: "take",  # noqa: ARG005
        theory_payoffs=(high, low),
        best_total=(high + low) * grows**last,
        cooperative=(1, 1 if last > 1 else None),
        defective=(0, 0 if last > 1 else None),
        roles=("first mover", "second mover"),
        title="Centipede",
        citation="Rosenthal (1981); piles as in McKelvey and Palfrey (1992)",
        params={"moves": last, "large": high, "small": low, "factor": grows},
    )


def _shared(seat: int, larger: float, smaller: float) -> tuple[float, float]:
    return (larger, smaller) if seat == 0 else (smaller, larger)


GAME = build
