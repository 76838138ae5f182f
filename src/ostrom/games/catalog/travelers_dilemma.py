"""Traveler's Dilemma: two claims for the same loss; the lower one is paid and rewarded."""

from typing import Annotated

from ostrom.games.formula import ClaimFormula
from ostrom.games.game import Game
from ostrom.games.parameters import require, shown, whole_number
from ostrom.games.tensor import bimatrix
from ostrom.ground.parameters import Ge, Le, NoFraction, Number, checked

MAX_CLAIM = 10_000
MAX_CLAIMS = 500


@checked
def build(
    low: Annotated[float, NoFraction(), Ge(0), Le(MAX_CLAIM)] = 2,
    high: Annotated[float, NoFraction()] = 5,
    bonus: Number = 2,
    *,
    strict: bool = True,
) -> Game:
    """Claim a whole amount; equal claims are paid, otherwise the lower claim plus or minus a bonus.

    ``low`` and ``high`` bound the claims (2 to 5 in Liu et al. 2026 and Tewolde et al. 2026; 2 to 100 in Basu
    1994). ``bonus`` goes from the higher claimant to the lower one. ``strict`` demands a bonus above 1,
    without which undercutting does not pay. The highest claim is the cooperative action, the lowest the
    defective one.

    >>> build().payoff((0, 3))
    (4.0, 0.0)
    """
    name = "travelers_dilemma"
    first, extra = int(low), float(bonus)
    last = whole_number(name, "high", high, least=first + 1, most=first + MAX_CLAIMS - 1)
    if strict:
        require(name, extra > 1, "bonus must be above 1", f"bonus={shown(extra)}")
    claims = range(first, last + 1)
    actions = tuple(f"claim_{claim}" for claim in claims)
    top = len(actions) - 1
    return bimatrix(
        name,
        (actions, actions),
        [[_paid(mine, yours, extra) for yours in claims] for mine in claims],
        cooperative=(top, top),
        defective=(0, 0),
        title="Traveler's Dilemma",
        citation="Basu (1994), The traveler's dilemma: paradoxes of rationality in game theory",
        formula=ClaimFormula(tuple(map(float, claims)), extra),
        params={"low": first, "high": last, "bonus": extra, "strict": strict},
    )


def _paid(mine: int, yours: int, bonus: float) -> tuple[float, float]:
    if mine == yours:
        return mine, yours
    lower = min(mine, yours)
    return (lower + bonus, lower - bonus) if mine < yours else (lower - bonus, lower + bonus)


GAME = build
