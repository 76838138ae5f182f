"""A game of another package: a club whose members pay into a project, then vote on whether the next player joins."""

from typing import Annotated

from ostrom.games.amounts import IDLE, Amounts
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.ground.parameters import Ge, Le, Number, checked

BONUS = 0


@checked
def build(
    n: Annotated[int, Ge(2), Le(12)] = 4,
    founders: Annotated[int, Ge(1), Le(12)] = 2,
    most: Number = 10,
    factor: Number = 1.5,
) -> Game:
    """A club of ``founders`` that grows up to ``n`` members; each pays in up to ``most``, which grows by ``factor``."""
    amounts = Amounts(0, float(most))

    def play(now: Now) -> Stages:
        members = int(now.state.get("members", founders))
        paid = yield [Due(seat, "pay", amounts, {"members": members}) for seat in range(members)]
        pot, votes = sum(map(float, paid)), list[object]()
        if members < n:
            told = {"members": members, "paid": pot}
            votes = [*(yield [Due(seat, "vote", ("admit", "refuse"), told) for seat in range(members)])]
        grown = votes.count("admit") * 2 > members
        share = float(factor) * pot / members + BONUS * grown
        payoffs = [float(most) - float(one) + share for one in paid] + [0.0] * (n - members)
        facts = {"members": members, "joined": grown}
        return End(payoffs, facts, state={"members": members + grown}, hidden={"votes": votes.count("admit")})

    return FunctionGame(
        "club", (Amounts(0, float(most), also=("admit", "refuse", IDLE)),) * n, play,
        stages=("pay", "vote"), turns=2 * n, stateful=True,
        roles=("founder",) * founders + ("candidate",) * (n - founders),
        citation="own", params={"n": n, "founders": founders, "most": float(most), "factor": float(factor)},
    )  # fmt: skip
