"""What flows: plain data that nobody changes once it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True)
def value(cls: type[T]) -> type[T]:
    """A frozen dataclass with slots, for what is made in every turn: never change one, ``replace`` it.

    The type checker refuses a change, as in any frozen dataclass. At run time nothing does: that guard would
    make each of them four times as slow to build, and scripted play does little else.

    >>> from dataclasses import replace
    >>> @value
    ... class Move:
    ...     seat: int
    ...     action: str = "cooperate"
    >>> replace(Move(0), seat=1) == Move(1), len({Move(0), Move(0)})
    (True, 1)
    """
    return dataclass(slots=True, unsafe_hash=True)(cls)
