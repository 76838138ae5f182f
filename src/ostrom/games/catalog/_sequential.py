"""Sequential games of two by a rule: one gives or offers and the other answers, or both alternate.

Each function builds the game of its name; the table in ``ostrom.games`` names them all.
"""

from bisect import bisect_left
from collections.abc import Mapping
from typing import Annotated, Any

from ostrom.games.amounts import IDLE, Amounts, Value
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.games.parameters import require
from ostrom.ground.parameters import Amount, Finite, Ge, Gt, Le, NoFraction, Number, PositiveShare, checked


@checked
def dictator(stake: Number = 100, step: Number = 1) -> Game:
    """Seat 1 gives seat 2 a part of the ``stake`` in steps of ``step`` and keeps the rest; seat 2 decides nothing.

    Theory: whoever cares for the own payoff alone gives nothing.
    """
    s, by = float(stake), float(step)
    parts = Amounts(0, s, by, few=dict.fromkeys((0.0, Amounts(0, s, by).nearest(s / 2), s)))

    def play(now: Now) -> Stages:  # noqa: ARG001
        (gift,) = yield [Due(0, "give", parts)]
        return End((s - float(gift), float(gift)))

    return FunctionGame(
        "dictator",
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


@checked
def ultimatum(stake: Number = 100, step: Number = 1, strategy_method: bool = False) -> Game:
    """Seat 1 offers a part of the ``stake`` in steps of ``step``; seat 2 accepts it, or both get nothing.

    With ``strategy_method`` seat 2 names the smallest offer that it accepts, before it knows the offer.
    Theory (subgame perfect): every offer is accepted, so the smallest one is made.
    """
    s, by, blind = float(stake), float(step), strategy_method
    parts = Amounts(0, s, by)

    def play(now: Now) -> Stages:  # noqa: ARG001
        if blind:
            offer, least = yield [Due(0, "offer", parts), Due(1, "least", parts)]
            accepted = float(offer) >= float(least)
        else:
            (offer,) = yield [Due(0, "offer", parts)]
            (reply,) = yield [Due(1, "reply", ("accept", "reject"), {"offer": offer})]
            accepted = reply == "accept"
        gift = float(offer)
        return End((s - gift, gift) if accepted else (0.0, 0.0), {"accepted": accepted})

    def theory(seat: int, stage: str, facts: Mapping[str, Any]) -> Value | None:  # noqa: ARG001
        return "accept" if stage == "reply" else 0

    return FunctionGame(
        "ultimatum",
        (parts, parts if blind else ("accept", "reject")),
        play,
        stages=("offer", "least") if blind else ("offer", "reply"),
        theory=theory,
        theory_payoffs=(s, 0.0),
        best_total=s,
        roles=("proposer", "responder"),
        title="Ultimatum",
        citation="Güth, Schmittberger and Schwarze (1982)",
        params={"stake": s, "step": by, "strategy_method": blind},
    )


@checked
def alternating_offers(
    pie: Number = 100,
    discount: PositiveShare = 0.9,
    offers: Annotated[float, NoFraction(), Ge(1), Le(50)] = 6,
    step: Number = 1,
) -> Game:
    """Seats 1 and 2 offer each other parts of a ``pie`` in turn, up to ``offers`` times, in steps of ``step``.

    Accepting the k-th offer pays both what it says, times ``discount`` to the power k - 1. Without agreement both
    get nothing. Theory (subgame perfect): whoever offers leaves the other exactly what waiting is worth to it, so
    the first offer is accepted.
    """
    full_pie, d, times, by = float(pie), float(discount), int(offers), float(step)
    parts = Amounts(0, full_pie, by)
    least = _left_to_the_other(parts, full_pie, d, times)

    def play(now: Now) -> Stages:  # noqa: ARG001
        rejected: list[dict[str, Any]] = []
        for k in range(1, times + 1):
            proposer = (k - 1) % 2
            worth = full_pie * d ** (k - 1)
            turn_facts = {"turn": k, "left": times - k, "worth": worth, "rejected": rejected}
            (offer,) = yield [Due(proposer, "offer", parts, turn_facts)]
            (reply,) = yield [Due(1 - proposer, "reply", ("accept", "reject"), {**turn_facts, "offer": offer})]
            if reply == "accept":
                gift = float(offer) * d ** (k - 1)
                shares = (worth - gift, gift) if proposer == 0 else (gift, worth - gift)
                return End(shares, {"agreed": k})
            rejected = [*rejected, {"seat": proposer, "offer": offer}]
        return End((0.0, 0.0), {"agreed": None})

    def theory(seat: int, stage: str, facts: Mapping[str, Any]) -> Value | None:  # noqa: ARG001
        smallest = least[int(facts["turn"]) - 1]
        if stage == "offer":
            return smallest
        return "accept" if float(facts["offer"]) >= float(smallest) else "reject"

    first = float(least[0])
    may = Amounts(0, full_pie, by, also=("accept", "reject", IDLE))
    return FunctionGame(
        "alternating_offers",
        (may, may),
        play,
        stages=("offer", "reply"),
        turns=2 * times,
        theory=theory,
        theory_payoffs=(full_pie - first, first),
        best_total=full_pie,
        roles=("first", "second"),
        title="Alternating offers",
        citation="Ståhl (1972); Rubinstein (1982)",
        params={"pie": full_pie, "discount": d, "offers": times, "step": by},
    )


def _left_to_the_other(parts: Amounts, pie: float, discount: float, times: int) -> list[Value]:
    """Return the smallest accepted offer of each turn by backward induction; indifferent responders accept.

    The value of waiting is the share that the responder would keep as the next proposer, discounted once.
    """
    least: list[Value] = []
    waiting = 0.0
    for _ in range(times):
        least.append(parts.value(bisect_left(range(parts.levels), waiting - 1e-9, key=lambda i: float(parts.value(i)))))
        waiting = discount * (pie - float(least[-1]))
    return least[::-1]


@checked
def trust_amounts(
    endowment: Number = 10,
    multiplier: Annotated[float, Finite(), Gt(1)] = 3,
    step: Number = 1,
    trustee_endowment: Amount = 0,
) -> Game:
    """Seat 1 sends a part of its ``endowment``, times ``multiplier``; seat 2 returns a part of it.

    Both name amounts in steps of ``step``. Seat 2 keeps the rest and its own ``trustee_endowment``, which cannot be
    sent. If nothing is sent, there is nothing to return and seat 2 is not asked. Theory (subgame perfect): nothing is
    returned, so nothing is sent; all together have most if everything is sent.
    """
    e, m, by, own = float(endowment), float(multiplier), float(step), float(trustee_endowment)
    sending = Amounts(0, e, by)

    def play(now: Now) -> Stages:  # noqa: ARG001
        (sent,) = yield [Due(0, "send", sending)]
        arrived = round(float(sent) * m, 9)
        returned = 0.0
        if arrived:
            (back,) = yield [Due(1, "return", Amounts(0, arrived, by), {"sent": sent, "arrived": arrived})]
            returned = float(back)
        return End((e - float(sent) + returned, own + arrived - returned), {"arrived": arrived})

    return FunctionGame(
        "trust_amounts",
        (sending, Amounts(0, round(e * m, 9), by, also=(IDLE,))),
        play,
        stages=("send", "return"),
        theory=lambda seat, stage, facts: 0,  # noqa: ARG005
        theory_payoffs=(e, own),
        best_total=e * m + own,
        roles=("investor", "trustee"),
        title="Trust, amounts",
        citation="Berg, Dickhaut and McCabe (1995), Trust, reciprocity, and social history",
        params={"endowment": e, "multiplier": m, "step": by, "trustee_endowment": own},
    )


COSTS = (0, 1, 2, 4, 6, 8, 10, 12, 15, 18)
"""The worker's cost of an effort of 0.1, 0.2, ... 1.0."""
EFFORTS = Amounts(0.1, 1, 0.1)


@checked
def gift_exchange(value: Annotated[float, Finite(), Gt(0)] = 100, step: Number = 1) -> Game:
    """Seat 1 pays a wage from 0 to ``value`` in steps of ``step``; seat 2 chooses an effort from 0.1 to 1.

    The employer receives value x effort less the wage, the worker the wage less the cost of its effort (0, 1, 2, 4,
    6, 8, 10, 12, 15 and 18 from the lowest effort to the highest). Theory (subgame perfect): the lowest effort
    whatever the wage, so a wage of 0.
    """
    v, by = float(value), float(step)
    wages = Amounts(0, v, by)

    def play(now: Now) -> Stages:  # noqa: ARG001
        (wage,) = yield [Due(0, "wage", wages)]
        (effort,) = yield [Due(1, "effort", EFFORTS, {"wage": wage})]
        return End((round(v * float(effort) - float(wage), 9), float(wage) - cost(float(effort))))

    return FunctionGame(
        "gift_exchange",
        (wages, EFFORTS),
        play,
        stages=("wage", "effort"),
        theory=lambda seat, stage, facts: 0 if seat == 0 else 0.1,  # noqa: ARG005
        theory_payoffs=(round(v * 0.1, 9), 0.0),
        best_total=max(round(v * (i + 1) / 10, 9) - paid for i, paid in enumerate(COSTS)),
        roles=("employer", "worker"),
        title="Gift exchange",
        citation="Fehr, Kirchsteiger and Riedl (1993); payoffs as in Fehr, Gächter and Kirchsteiger (1997)",
        params={"value": v, "step": by, "costs": list(COSTS)},
    )


def cost(effort: float) -> float:
    """Return the worker's cost of an effort.

    >>> cost(0.1), cost(0.7), cost(1)
    (0.0, 10.0, 18.0)
    """
    return float(COSTS[EFFORTS.place(effort)])


CHOICES = ("take", "pass")


@checked
def centipede(
    moves: Annotated[float, NoFraction(), Ge(1), Le(100)] = 4,
    large: Number = 4,
    small: Amount = 1,
    factor: Annotated[float, Gt(1), Le(100)] = 2,
) -> Game:
    """Two players take turns, at most ``moves`` of them: whoever takes has the larger pile, the other the smaller one.

    The piles hold ``large`` and ``small`` at first; every pass multiplies both by ``factor``. If nobody ever takes, the
    piles grow once more and go to the player whose turn would come next. Theory (subgame perfect): take at once.
    """
    last, high, low, grows = int(moves), float(large), float(small), float(factor)
    # The factor is above 1, so the small pile stays the smaller one.
    require(
        "centipede",
        grows * low < high,
        "factor x small must be below large, or passing pays",
        f"{grows * low}",
        lifted=False,
    )

    def play(now: Now) -> Stages:  # noqa: ARG001
        larger, smaller = high, low
        for move in range(last):
            seat = move % 2
            (choice,) = yield [Due(seat, "move", CHOICES, {"move": move + 1, "large": larger, "small": smaller})]
            if choice == "take":
                return End(_shared(seat, larger, smaller), {"taken_at": move + 1})
            larger, smaller = larger * grows, smaller * grows
        return End(_shared(last % 2, larger, smaller), {"taken_at": None})

    options = (*CHOICES, IDLE)
    return FunctionGame(
        "centipede",
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
