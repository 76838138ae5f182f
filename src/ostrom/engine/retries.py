"""How long to wait before a call is tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """Exponential back-off with full jitter, or what the server asks for.

    The jitter decides only when a call is made, never what it answers, so it needs no keyed stream.
    """

    tries: int = 8
    first: float = 0.5
    longest: float = 60.0

    def wait(self, failures: int, retry_after: float | None = None) -> float:
        """Seconds to wait after so many failures in a row.

        >>> 0 <= Patience().wait(1) <= 0.5
        True
        """
        backoff = random.uniform(0, min(self.longest, self.first * 2 ** (failures - 1)))
        return backoff if retry_after is None else retry_after + min(1.0, backoff)
