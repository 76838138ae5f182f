"""Bounds on what one filling of a template may compute and write, counted in operations and never in seconds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jinja2.exceptions import SecurityError

MOST_STEPS = 1_000_000
"""Parts of a template that one filling may execute; a pass of a loop counts what the loop contains."""
MOST_TEXT = 4_000_000
"""Characters of one text or list, also of those that a template makes on its way."""
MOST_WRITTEN = 16_000_000
"""Characters of all texts that one filling makes."""
MOST_PARTS = 100_000
"""Entries of one list or mapping that a template makes, nested ones included."""
MOST_BITS = 2048
"""Size of a whole number that a template computes."""


class Meter:
    """Counts the work of one filling; a template that does too much is stopped with a SecurityError."""

    __slots__ = ("steps", "written")

    def __init__(self) -> None:
        self.steps, self.written = MOST_STEPS, MOST_WRITTEN

    def spend(self, steps: int) -> None:
        """Count so many steps."""
        self.steps -= steps
        if (
            not 0 <= steps <= MOST_STEPS or self.steps < 0
        ):  # a negative number, or none at all, would refill it
            raise SecurityError(f"it takes more than {MOST_STEPS:,} steps")

    def write(self, size: int) -> None:
        """Count a text of that size; call this before the text is made."""
        self.written -= size
        if not 0 <= size <= MOST_TEXT or self.written < 0:
            raise SecurityError(f"it makes a text of more than {MOST_TEXT:,} characters")

    def weigh(self, value: Any) -> Any:
        """The value, if all that is nested in it stays within bounds: printing, comparing and hashing visit it all."""
        parts = size = 0
        waiting = [value]
        while waiting:
            item = waiting.pop()
            if isinstance(item, str | bytes):
                size += len(item)
            elif isinstance(item, Mapping):
                parts += 2 * len(item)
                if parts <= MOST_PARTS:
                    waiting += item.keys()
                    waiting += item.values()
            elif isinstance(item, list | tuple | set | frozenset):
                parts += len(item)
                if parts <= MOST_PARTS:
                    waiting += item
            if parts > MOST_PARTS or size > MOST_TEXT:
                raise SecurityError(
                    f"it makes a list of more than {MOST_PARTS:,} entries or {MOST_TEXT:,} characters"
                )
        self.spend(parts)
        return value

    def each(self, values: Any, weight: int) -> Any:
        """What a loop runs over, counted by the weight of its body."""
        try:
            count = len(values)
        except TypeError:
            return self._counted(values, weight)
        self.spend(count * weight)
        return values

    def _counted(self, values: Iterable[Any], weight: int) -> Iterator[Any]:
        for item in values:
            self.spend(weight)
            yield item

    def look_at(self, *values: Any) -> None:
        """Count an operation that reads all of these values once."""
        steps = 1
        for value in values:
            if isinstance(value, str):
                steps += len(value) // 64
            elif isinstance(value, list | tuple | Mapping) and hasattr(value, "__len__"):
                steps += len(value)  # the context of a filling is a mapping without a length
        self.spend(steps)
