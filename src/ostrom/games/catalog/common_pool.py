"""A common pool: several harvest one stock that regrows, until it collapses."""

from __future__ import annotations

from math import floor, fsum
from typing import Annotated

from ostrom.games.amounts import Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Amount, Finite, Ge, Le, Whole, checked

NAME = "common_pool"


@checked
def build(
    n: Annotated[float, Whole(), Ge(1), Le(1000)] = 5,
    capacity: Annotated[float, Whole(), Ge(1), Le(10**6)] = 100,
    regrowth: Annotated[float, Finite(), Ge(1)] = 2,
    collapse: Amount = 5,
) -> Game:
    """``n`` harvesters take whole units from a stock of ``capacity``; what is left is multiplied by ``regrowth``.

    The stock never grows above the capacity. Below ``collapse`` units left, it is gone and the match is over.
    Wishes beyond the stock are cut in proportion. Theory: with a known last round or a short horizon everybody
    takes what can be had, so the stock is gone in the first round; the benchmark of a round is the whole stock.
    The most that a round yields for ever is capacity x (1 - 1 / regrowth), shared equally.
    """
    seats, full, grows, least = int(n), int(capacity), float(regrowth), float(collapse)
    if least > full:
        raise GameError(f"game {NAME}: collapse must be at most the capacity, {full} (found {collapse!r})")

    def play(now: Now) -> Stages:
        stock = int(now.state.get("stock", full))
        wanted = yield [Due(seat, "harvest", Amounts(0, stock), {"stock": stock}) for seat in range(seats)]
        asked = fsum(map(float, wanted))
        cut = min(1.0, stock / asked) if asked else 1.0
        taken = [float(w) * cut for w in wanted]
        left = max(0, stock - floor(asked)) if asked <= stock else 0
        gone = left < least or left == 0
        grown = 0 if gone else min(full, floor(left * grows + 1e-9))
        return End(
            taken,
            {"stock": stock, "left": left, "collapsed": gone, "sustainable": stock * (1 - 1 / grows)},
            {"stock": grown},
            over="collapse" if gone else None,
        )

    return FunctionGame(
        NAME,
        (Amounts(0, full),) * seats,
        play,
        stages=("harvest",),
        stateful=True,
        theory=lambda seat, stage, facts: facts["stock"],  # noqa: ARG005
        best_total=full * (1 - 1 / grows),
        title="Common pool",
        citation="Gordon (1954); Ostrom, Gardner and Walker (1994); regrowth by doubling as in Piatti et al. (2024)",
        params={"n": seats, "capacity": full, "regrowth": grows, "collapse": least},
    )


GAME = build
