"""How often a batch is asked for."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PollingPolicy:
    """How often a batch is asked for, and how much is tried."""

    first: float = 0.5
    longest: float = 60.0
    growth: float = 1.5
    failures: int = 200
    """So many failed polls in a row end the session; the batch stays in the journal."""
    lag: float = 10.0
    """Seconds after which a batch that no listing shows was not made."""
    readings: int = 4
    patience: float = 60.0
    """Results that lack lines are read so often at least, and again for so many seconds."""

    def wait(self, polls: int) -> float:
        """Seconds before the next poll, with jitter.

        >>> 0.25 <= PollingPolicy().wait(0) <= 0.75 and PollingPolicy().wait(100) <= 90
        True
        """
        return random.uniform(0.5, 1.5) * min(self.longest, self.first * self.growth ** min(polls, 64))
