"""The dictator game: one divides, the other takes what it is given."""

from __future__ import annotations

from ostrom.games.amounts import IDLE, Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.ground.parameters import Number, checked

NAME = "dictator"


@checked
def build(stake: Number = 100, step: Number = 1) -> Game:
    """Seat 1 gives seat 2 a part of the ``stake`` in steps of ``step`` and keeps the rest; seat 2 decides nothing.

    Theory: whoever cares for the own payoff alone gives nothing.
    """
    s, by = float(stake), float(step)
    parts = Amounts(0, s, by, few=dict.fromkeys((0.0, Amounts(0, s, by).nearest(s / 2), s)))

    def play(now: Now) -> Stages:  # noqa: ARG001
        (given,) = yield [Due(0, "give", parts)]
        return End((s - float(given), float(given)))

    return FunctionGame(
        NAME,
        (parts, (IDLE,)),
        play,
        stages=("give",),
        theory=lambda seat, stage, facts: 0,  # noqa: ARG005
        theory_payoffs=(s, 0.0),
        best_total=s,
        roles=("dictator", "recipient"),
        title="Dictator",
        citation="Forsythe, Horowitz, Savin and Sefton (1994)",
        params={"stake": s, "step": by},
    )


GAME = build
