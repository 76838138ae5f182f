"""Numbers as game files write them: 3, -0.5, .25, 1e3, 1/3."""

from __future__ import annotations

import re

_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_FRACTION = re.compile(r"([+-]?\d+)/(\d+)", re.ASCII)


def rational(text: str) -> float | None:
    """The nearest float of a decimal or a fraction; None when it is neither or has no finite value.

    >>> rational("1/4"), rational("-.5"), rational("1/0"), rational("1e999"), rational("one")
    (0.25, -0.5, None, None, None)
    """
    if _DECIMAL.fullmatch(text):
        value = float(text)
        return value if abs(value) < float("inf") else None
    fraction = _FRACTION.fullmatch(text)
    if fraction is None:
        return None
    try:
        return int(fraction[1]) / int(fraction[2])
    except (ZeroDivisionError, OverflowError, ValueError):
        return None  # ValueError: Python refuses integers of thousands of digits
