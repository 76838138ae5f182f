"""What people are paid, to the last penny; decimal numbers throughout."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

from ostrom.people.schema import Pay

PENNY = Decimal("0.01")
WHOLE = ("done", "no_partner")
"""Ends at which the base is paid."""
NOTHING = ("declined", "full", "finished_before")
"""Ends before anything was earned."""
BY_PLATFORM = ("prolific", "mturk")
"""Sources that pay the base themselves; what is left for a payment file is the bonus."""


def due(pay: Pay, end: str, points: float) -> tuple[Decimal, Decimal]:
    """Base and bonus of somebody whose visit ended like this with so many points.

    >>> due(Pay(base="3.00", per_point="0.01", at_most="2.00"), "done", 157)
    (Decimal('3.00'), Decimal('1.57'))
    """
    base = pay.base if end in WHOLE else Decimal(0)
    if end in NOTHING:
        return base.quantize(PENNY), Decimal(0).quantize(PENNY)
    bonus = max(Decimal(0), Decimal(str(round(points, 6))) * pay.per_point)
    if pay.at_most is not None:
        bonus = min(bonus, pay.at_most)
    return base.quantize(PENNY, ROUND_HALF_UP), bonus.quantize(PENNY, ROUND_HALF_UP)


def owed(source: str, base: Decimal, bonus: Decimal) -> Decimal:
    """What of an amount is left for a payment file: platforms pay the base themselves.

    >>> owed("prolific", Decimal("3.00"), Decimal("1.57")), owed("lab", Decimal("3.00"), Decimal("1.57"))
    (Decimal('1.57'), Decimal('4.57'))
    """
    return bonus if source in BY_PLATFORM else base + bonus


def completion_link(source: str, code: str) -> str | None:
    """Where somebody returns to, with the code."""
    if source == "prolific" and code:
        return f"https://app.prolific.com/submissions/complete?cc={code}"
    return None
