"""Group games with simultaneous decisions: public goods, pools, coordination, guesses.

Each function builds the game of its name; the table in ``ostrom.games`` names them all.
"""

from collections.abc import Sequence
from itertools import product
from math import floor, fsum
from typing import Annotated, Any

from ostrom.games.amounts import Amounts
from ostrom.games.formula import Formula, Term
from ostrom.games.function import Due, End, FunctionGame, Now, Stages, at_once
from ostrom.games.game import Game
from ostrom.games.parameters import ManySeats, Seats, require, shown
from ostrom.games.tensor import TensorGame
from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Amount, Finite, Ge, Le, NoFraction, Number, checked


@checked
def public_goods(n: Seats = 3, multiplier: Number = 1.5, endowment: Number = 1, *, strict: bool = True) -> Game:
    """Contribute the endowment to a common pot or keep it; the pot is multiplied and shared equally.

    ``n`` is the number of seats (2 to 16). ``multiplier`` says how the pot grows: with k contributors
    everybody gets endowment x multiplier x k / n, and who kept the ``endowment`` has it on top. ``strict``
    demands 1 < multiplier < n, without which giving does not help the group or keeping does not help oneself.

    >>> public_goods().payoff((0, 0, 1))
    (1.0, 1.0, 2.0)
    """
    import numpy as np

    seats, factor, stake = int(n), float(multiplier), float(endowment)
    if strict:
        require(
            "public_goods",
            1 < factor < seats,
            "multiplier must lie between 1 and n",
            f"multiplier={shown(factor)}, n={seats}",
        )
        require("public_goods", stake > 0, "endowment must be above 0", f"endowment={shown(stake)}")
    payoffs = np.empty((2,) * seats + (seats,))
    for profile in product((0, 1), repeat=seats):
        share = stake * (factor * profile.count(0) / seats)
        payoffs[profile] = [share + stake * action for action in profile]
    return TensorGame(
        "public_goods",
        (("contribute", "free_ride"),) * seats,
        payoffs,
        cooperative=(0,) * seats,
        title="Public Goods",
        citation="Isaac & Walker (1988), Group size effects in public goods provision",
        formula=Formula(0, tuple(Term(stake * action, stake * factor, float(seats)) for action in (0, 1))),
        params={"n": seats, "multiplier": factor, "endowment": stake, "strict": strict},
    )


@checked
def public_goods_amounts(
    n: ManySeats = 4, endowment: Number = 20, multiplier: Number = 1.6, step: Number = 1, strict: bool = True
) -> Game:
    """``n`` players put parts of an ``endowment`` in, in steps of ``step``; the sum times ``multiplier`` is shared.

    Theory: nobody puts in anything where a unit returns less than it costs (multiplier below n), everybody all of it
    where it returns more. ``strict`` refuses parameters under which there is no dilemma.
    """
    seats, e, m, s = int(n), float(endowment), float(multiplier), float(step)
    if strict:
        require(
            "public_goods_amounts",
            1 < m < seats,
            "a dilemma needs a multiplier between 1 and n",
            f"{m} for n = {seats}",
        )
    amounts = Amounts(0, e, s, few=dict.fromkeys((0.0, Amounts(0, e, s).nearest(e / 2), e)))

    def pay(contributions: Sequence[Any]) -> list[float]:
        share = m * fsum(contributions) / seats
        return [e - own + share for own in contributions]

    top = amounts.levels - 1
    free_ride = m < seats
    return FunctionGame(
        "public_goods_amounts",
        (amounts,) * seats,
        at_once("contribute", (amounts,) * seats, pay),
        stages=("contribute",),
        theory=lambda seat, stage, facts: 0 if free_ride else amounts.high,  # noqa: ARG005
        theory_payoffs=(e if free_ride else e * m,) * seats,
        best_total=seats * e * max(1.0, m),
        cooperative=(top,) * seats,
        defective=(0,) * seats,
        title="Public goods, amounts",
        citation="Isaac and Walker (1988); Fehr and Gächter (2000)",
        params={"n": seats, "endowment": e, "multiplier": m, "step": s, "strict": strict},
    )


@checked
def common_pool(
    n: Annotated[float, NoFraction(), Ge(1), Le(1000)] = 5,
    capacity: Annotated[float, NoFraction(), Ge(1), Le(10**6)] = 100,
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
        raise GameError(f"game common_pool: collapse must be at most the capacity, {full} (found {collapse!r})")

    def play(now: Now) -> Stages:
        stock = int(now.state.get("stock", full))
        wanted = yield [Due(seat, "harvest", Amounts(0, stock), {"stock": stock}) for seat in range(seats)]
        demand = fsum(map(float, wanted))
        cut = min(1.0, stock / demand) if demand else 1.0
        harvests = [float(w) * cut for w in wanted]
        left = max(0, stock - floor(demand)) if demand <= stock else 0
        gone = left < least or left == 0
        grown = 0 if gone else min(full, floor(left * grows + 1e-9))
        return End(
            harvests,
            {"stock": stock, "left": left, "collapsed": gone, "sustainable": stock * (1 - 1 / grows)},
            {"stock": grown},
            over="collapse" if gone else None,
        )

    return FunctionGame(
        "common_pool",
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


@checked
def minimum_effort(
    n: ManySeats = 4, levels: ManySeats = 7, gain: Number = 20, cost: Number = 10, base: Number = 60
) -> Game:
    """``n`` players choose efforts from 1 to ``levels``.

    Each is paid the ``base`` and the ``gain`` times the lowest effort, less the ``cost`` times its own. Every effort
    that all choose alike is an equilibrium. The benchmark is the one that pays all most, the highest effort; the
    lowest effort is the safest.
    """
    seats, top, g, c, b = int(n), int(levels), float(gain), float(cost), float(base)
    require("minimum_effort", 0 < c < g, "cost must lie between 0 and the gain", f"cost={c}, gain={g}", lifted=False)
    efforts = Amounts(1, top)

    def pay(chosen: Sequence[Any]) -> list[float]:
        weakest = min(chosen)
        return [b + g * weakest - c * own for own in chosen]

    best = b + (g - c) * top
    return FunctionGame(
        "minimum_effort",
        (efforts,) * seats,
        at_once("effort", (efforts,) * seats, pay),
        stages=("effort",),
        theory=lambda seat, stage, facts: top,  # noqa: ARG005
        theory_payoffs=(best,) * seats,
        best_total=best * seats,
        cooperative=(efforts.levels - 1,) * seats,
        defective=(0,) * seats,
        title="Minimum effort",
        citation="Van Huyck, Battalio and Beil (1990), Tacit coordination games",
        params={"n": seats, "levels": top, "gain": g, "cost": c, "base": b},
    )


@checked
def volunteers_dilemma(n: Seats = 3, benefit: Number = 10, cost: Number = 4) -> Game:
    """Everybody has the ``benefit`` if at least one of ``n`` players volunteers, which has a ``cost``; else nobody.

    In the symmetric equilibrium each waits with chance (cost / benefit) ** (1 / (n - 1)), so the more could
    volunteer, the less likely it is that anybody does.

    >>> volunteers_dilemma().payoff((0, 1, 1)), volunteers_dilemma().payoff((1, 1, 1))
    ((6.0, 10.0, 10.0), (0.0, 0.0, 0.0))
    """
    import numpy as np

    seats, good, price = int(n), float(benefit), float(cost)
    require(
        "volunteers_dilemma",
        0 < price < good,
        "cost must lie between 0 and the benefit",
        f"benefit={shown(good)}, cost={shown(price)}",
        lifted=False,
    )
    payoffs = np.empty((2,) * seats + (seats,))
    for profile in product((0, 1), repeat=seats):
        had = good if 0 in profile else 0.0
        payoffs[profile] = [had - price * (action == 0) for action in profile]
    return TensorGame(
        "volunteers_dilemma",
        (("volunteer", "wait"),) * seats,
        payoffs,
        cooperative=(0,) * seats,
        title="Volunteer's dilemma",
        citation="Diekmann (1985), Volunteer's dilemma",
        params={"n": seats, "benefit": good, "cost": price},
    )


@checked
def coordination(left: Number = 1, right: Number = 1, miss: Number = 0, n: Seats = 2, *, strict: bool = True) -> Game:
    """Everybody picks left or right; all are paid when all pick the same.

    ``left`` and ``right`` are paid to everyone when all meet there (unequal values make one of them better
    for all), ``miss`` when they do not meet. ``n`` is the number of seats (2 to 16). ``strict`` demands that
    meeting on either side beats missing.

    >>> coordination(left=2).payoff((0, 0))
    (2.0, 2.0)
    """
    import numpy as np

    at_left, at_right, apart, seats = float(left), float(right), float(miss), int(n)
    if strict:
        actual = f"left={shown(at_left)}, right={shown(at_right)}, miss={shown(apart)}"
        require("coordination", min(at_left, at_right) > apart, "left and right must be above miss", actual)
    payoffs = np.full((2,) * seats + (seats,), apart)
    payoffs[(0,) * seats] = at_left
    payoffs[(1,) * seats] = at_right
    return TensorGame(
        "coordination",
        (("left", "right"),) * seats,
        payoffs,
        title="Coordination",
        citation="Schelling (1960), The Strategy of Conflict; Lewis (1969), Convention",
        params={"left": at_left, "right": at_right, "miss": apart, "n": seats, "strict": strict},
    )


NEAR = 1e-9
"""The relative difference below which distances from the target are equal."""


@checked
def beauty_contest(
    n: ManySeats = 10,
    p: Number = 2 / 3,
    high: Annotated[float, NoFraction(), Ge(1), Le(10**6)] = 100,
    prize: Number = 100,
    strict: bool = True,
) -> Game:
    """``n`` players guess whole numbers up to ``high``; the ``prize`` goes to the guess nearest to ``p`` x the mean.

    Several nearest guesses share it. Theory: below p = 1 only 0 survives the repeated removal of dominated guesses.
    ``strict`` refuses a p outside 0 to 1, where that is not so.
    """
    seats, part, most, won = int(n), float(p), int(high), float(prize)
    if strict:
        require("beauty_contest", 0 < part < 1, "p must lie between 0 and 1", str(part))
    guesses = Amounts(0, most)

    def pay(made: Sequence[Any]) -> list[float]:
        target = part * fsum(made) / seats
        far = [abs(guess - target) for guess in made]
        nearest = [f <= min(far) + NEAR * most for f in far]
        return [won / sum(nearest) if is_near else 0.0 for is_near in nearest]

    return FunctionGame(
        "beauty_contest",
        (guesses,) * seats,
        at_once("guess", (guesses,) * seats, pay),
        stages=("guess",),
        theory=(lambda seat, stage, facts: 0) if 0 < part < 1 else None,  # noqa: ARG005
        theory_payoffs=(won / seats,) * seats if 0 < part < 1 else (),
        best_total=won,
        title="Beauty contest",
        citation="Moulin (1986); Nagel (1995)",
        params={"n": seats, "p": part, "high": most, "prize": won, "strict": strict},
    )
