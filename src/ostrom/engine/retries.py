"""How long to wait before a call is tried again, and before a batch is asked for again."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential back-off with full jitter, or what the server asks for.

    The jitter decides only when a call is made, never what it answers, so it needs no keyed stream.
    """

    tries: int = 8
    first: float = 0.5
    longest: float = 60.0
    longest_wait: float = 3600.0
    """A server that asks for more seconds than this is not waited for."""

    def allows(self, retry_after: float | None) -> bool:
        """Whether what the server asks for is worth waiting for.

        >>> RetryPolicy().allows(30.0), RetryPolicy().allows(None), RetryPolicy().allows(1e8)
        (True, True, False)
        """
        return retry_after is None or retry_after <= self.longest_wait

    def wait(self, failures: int, retry_after: float | None = None) -> float:
        """Seconds to wait after so many failures in a row: what the server asks for, never less than the back-off.

        >>> 0 <= RetryPolicy().wait(1) <= 0.5
        True
        """
        # A server that asks for 0 s, or names a date that has passed, must not use up all tries within seconds.
        backoff = random.uniform(0, min(self.longest, self.first * 2 ** (failures - 1)))
        return max(backoff, (retry_after or 0.0) + min(1.0, backoff))


@dataclass(frozen=True, slots=True)
class PollingPolicy:
    """How often the state of a batch is polled, and after how many failures or seconds that is given up."""

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
    lifetime: float = 26 * 3600.0
    """Seconds after which a service no longer completes the results of a batch; it promises 24 hours."""

    def wait(self, polls: int) -> float:
        """Seconds before the next poll, with jitter.

        >>> 0.25 <= PollingPolicy().wait(0) <= 0.75 and PollingPolicy().wait(100) <= 90
        True
        """
        return random.uniform(0.5, 1.5) * min(self.longest, self.first * self.growth ** min(polls, 64))
