"""The form in which a player names rounds: a record with one list of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ostrom.answers import Record


def round_numbers(name: str, most: int, allowed: Sequence[int] | int) -> Record:
    """At most so many different rounds, of those listed or of the first ``allowed``.

    >>> round_numbers("recall", 2, 9).schema["properties"]["rounds"]["maxItems"]
    2
    """
    number: dict[str, Any] = {"type": "integer"}
    if isinstance(allowed, int):
        number |= {"minimum": 1, "maximum": allowed}
    else:
        number["enum"] = list(allowed)
    rounds = {"type": "array", "items": number, "maxItems": most, "uniqueItems": True}
    return Record(
        name,
        {
            "type": "object",
            "properties": {"rounds": rounds},
            "required": ["rounds"],
            "additionalProperties": False,
        },
    )
