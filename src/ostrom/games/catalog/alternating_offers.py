"""Bargaining by alternating offers: a pie that shrinks while two disagree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from ostrom.games.amounts import IDLE, Amounts, Value
from ostrom.games.function import Due, End, FunctionGame, Now, Stages
from ostrom.games.game import Game
from ostrom.ground.parameters import Ge, Le, Number, PositiveShare, Whole, checked

NAME = "alternating_offers"


@checked
def build(
    pie: Number = 100,
    discount: PositiveShare = 0.9,
    offers: Annotated[float, Whole(), Ge(1), Le(50)] = 6,
    step: Number = 1,
) -> Game:
    """Seats 1 and 2 offer each other parts of a ``pie`` in turn, up to ``offers`` times, in steps of ``step``.

    Accepting the k-th offer pays both what it says, times ``discount`` to the power k - 1. Without agreement both
    get nothing. Theory (subgame perfect): whoever offers leaves the other exactly what waiting is worth to it, so
    the first offer is accepted.
    """
    whole_pie, d, times, by = float(pie), float(discount), int(offers), float(step)
    parts = Amounts(0, whole_pie, by)
    least = _left_to_the_other(parts, whole_pie, d, times)

    def play(now: Now) -> Stages:  # noqa: ARG001
        rejected: list[dict[str, Any]] = []
        for k in range(1, times + 1):
            proposer = (k - 1) % 2
            worth = whole_pie * d ** (k - 1)
            told = {"turn": k, "left": times - k, "worth": worth, "rejected": rejected}
            (offer,) = yield [Due(proposer, "offer", parts, told)]
            (reply,) = yield [Due(1 - proposer, "reply", ("accept", "reject"), {**told, "offer": offer})]
            if reply == "accept":
                given = float(offer) * d ** (k - 1)
                shares = (worth - given, given) if proposer == 0 else (given, worth - given)
                return End(shares, {"agreed": k})
            rejected = [*rejected, {"seat": proposer, "offer": offer}]
        return End((0.0, 0.0), {"agreed": None})

    def theory(seat: int, stage: str, facts: Mapping[str, Any]) -> Value | None:  # noqa: ARG001
        smallest = least[int(facts["turn"]) - 1]
        if stage == "offer":
            return smallest
        return "accept" if float(facts["offer"]) >= float(smallest) else "reject"

    first = float(least[0])
    may = Amounts(0, whole_pie, by, also=("accept", "reject", IDLE))
    return FunctionGame(
        NAME,
        (may, may),
        play,
        stages=("offer", "reply"),
        turns=2 * times,
        theory=theory,
        theory_payoffs=(whole_pie - first, first),
        best_total=whole_pie,
        roles=("first", "second"),
        title="Alternating offers",
        citation="Ståhl (1972); Rubinstein (1982)",
        params={"pie": whole_pie, "discount": d, "offers": times, "step": by},
    )


def _left_to_the_other(parts: Amounts, pie: float, discount: float, times: int) -> list[Value]:
    """The smallest offer that is accepted at each turn, by backward induction; the responder accepts when indifferent.

    Waiting is worth the discounted share of whoever offers next, in units of now.
    """
    least: list[Value] = []
    waiting = 0.0
    for _ in range(times):
        index = next(i for i in range(parts.levels) if float(parts.value(i)) >= waiting - 1e-9)
        least.append(parts.value(index))
        waiting = discount * (pie - float(least[-1]))
    return least[::-1]


GAME = build
