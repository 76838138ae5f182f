"""Lengths of time as people write them: 20, 30s, 5min, 2h, 90d."""

from __future__ import annotations

import re

_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
_WRITTEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(s|min|h|d)?\s*")


def seconds(value: object) -> float:
    """A length of time in seconds.

    >>> seconds(20), seconds("30min"), seconds("90d")
    (20.0, 1800.0, 7776000.0)
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
        return float(value)
    found = _WRITTEN.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError("must be a length of time such as 20 (seconds), 30s, 5min, 2h or 90d")
    return float(found[1]) * _UNITS[found[2] or "s"]
