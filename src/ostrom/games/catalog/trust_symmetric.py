"""Symmetric Trust: both seats trust or betray at once, so both are investor and trustee."""

from dataclasses import replace

from ostrom.games.game import Game
from ostrom.games.parameters import require, shown
from ostrom.games.tensor import symmetric_2x2, table_of
from ostrom.ground.parameters import Number, checked


@checked
def build(
    T: Number = 20,
    R: Number = 10,
    P: Number = 4,
    S: Number = 2,
    told_victim: Number | None = None,
    told_betrayer: Number | None = None,
    *,
    strict: bool = True,
) -> Game:
    """Trust or betray: the game that the printed rewards of Liu et al. (2026) belong to.

    ``T`` is paid for betraying one who trusts, ``R`` for mutual trust, ``P`` for mutual betrayal and ``S``
    for trusting a betrayer. ``strict`` demands T > R > P > S. With the defaults taking turns at betrayal (T +
    S = 22) pays a pair more than mutual trust (2R = 20).

    ``told_victim`` and ``told_betrayer`` are what a player reads that the other gets when it betrays one who trusts,
    and when it trusts a betrayer; by default S and T, as scored. Liu et al. (2026, Appendix A.1) print 0 and 6.

    >>> build().payoff((0, 1))
    (2.0, 20.0)
    """
    import numpy as np

    name = "trust_symmetric"
    t, r, p, s = map(float, (T, R, P, S))
    if strict:
        require(name, t > r > p > s, "needs T > R > P > S", f"T={shown(t)}, R={shown(r)}, P={shown(p)}, S={shown(s)}")
    payoffs = [s if told_victim is None else float(told_victim), t if told_betrayer is None else float(told_betrayer)]
    game = symmetric_2x2(
        name,
        ("trust", "betray"),
        both=r,
        alone=s,
        other=t,
        neither=p,
        cooperative=(0, 0),
        title="Trust, symmetric",
        citation="Liu et al. (2026), The Memory Curse",
        params={
            "T": t, "R": r, "P": p, "S": s, "told_victim": told_victim, "told_betrayer": told_betrayer,
            "strict": strict,
        },
    )  # fmt: skip
    if payoffs == [s, t]:
        return game
    read = np.stack([game.payoffs, game.payoffs])
    read[0, 1, 0, 1], read[0, 0, 1, 1] = payoffs
    read[1, 0, 1, 0], read[1, 1, 0, 0] = payoffs
    return replace(table_of(game), told=read)


GAME = build
