"""Checks of game parameters beyond annotations: rules across them, and payoffs as people write them.

``number`` and ``whole_number`` check single values: bounds that depend on other parameters, and games of other
packages without annotations. ``ostrom.ground.parameters`` checks annotated parameters.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from ostrom.ground.errors import GameError
from ostrom.ground.parameters import Ge, Le, Length, NoFraction, Number, rule_of

Pair = Annotated[Sequence[Number], Length(2, "two numbers, seat 1 and seat 2")]
"""The payoffs of two seats."""
Seats = Annotated[float, NoFraction(), Ge(2), Le(16)]
"""The number of seats of a game with a payoff table."""
ManySeats = Annotated[float, NoFraction(), Ge(2), Le(1000)]
"""The number of seats of a game by a rule."""


def number(game: str, name: str, value: Any) -> float:
    """Return a parameter as a float; refuse what is no finite number.

    >>> number("chicken", "win", 3)
    3.0
    """
    return float(_allowed(game, name, value, Number))


def whole_number(game: str, name: str, value: Any, *, least: int, most: int) -> int:
    """Return a parameter as a whole number within two bounds, or refuse it; 3.0 counts as 3."""
    return int(_allowed(game, name, value, Annotated[float, NoFraction(), Ge(least), Le(most)]))


whole = whole_number
"""The name of ``whole_number`` in 1.0, which other packages import."""


def _allowed(game: str, name: str, value: Any, annotation: Any) -> Any:
    rule = rule_of(annotation)
    if rule is not None and not rule.fits(value):
        raise GameError(f"game {game}: {rule.problem(name, value)}")
    return value


def require(game: str, holds: bool, rule: str, found: str, *, lifted: bool = True) -> None:
    """Refuse parameters that break a rule of the game; ``lifted`` mentions that ``strict=False`` allows them."""
    if not holds:
        way_out = "; strict=False lifts this rule" if lifted else ""
        raise GameError(f"game {game}: {rule} (found {found}){way_out}")


def shown(value: float) -> str:
    """Format a payoff exactly, without ".0".

    >>> shown(200.0), shown(1.5), shown(-0.0)
    ('200', '1.5', '0')
    """
    if value == 0:
        return "0"
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
