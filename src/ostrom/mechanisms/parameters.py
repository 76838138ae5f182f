"""Parameter checks for mechanisms without annotations, mainly those of other packages.

A mechanism that says its bounds by annotations (``ostrom.ground.parameters``) needs none of them.
"""

from typing import Annotated, Any

from ostrom.ground.errors import ParameterError
from ostrom.ground.parameters import Amount, Ge, Le, PositiveShare, Share, rule_of


def whole_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Return ``value`` as an int; raise a ParameterError unless it is a whole number within the bounds.

    >>> whole_number("rounds", 0, 1)
    Traceback (most recent call last):
    ostrom.ground.errors.ParameterError: rounds must be a whole number of at least 1, found 0
    """
    kind: Any = Annotated[int, Ge(least)]
    return int(_allowed(name, value, kind if most is None else Annotated[kind, Le(most)]))


whole = whole_number
"""The name of ``whole_number`` in 1.0, which other packages import."""


def amount(name: str, value: Any) -> float:
    """Return ``value`` as a float; raise a ParameterError unless it is a finite number of at least 0."""
    return float(_allowed(name, value, Amount))


def share(name: str, value: Any, *, above: bool = False) -> float:
    """Return ``value`` as a float; raise a ParameterError unless it is from 0 to 1 (``above``: not 0)."""
    return float(_allowed(name, value, PositiveShare if above else Share))


def _allowed(name: str, value: Any, annotation: Any) -> Any:
    rule = rule_of(annotation)
    if rule is not None and not rule.fits(value):
        raise ParameterError(rule.problem(name, value))
    return value
