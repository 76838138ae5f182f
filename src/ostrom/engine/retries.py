"""Waiting times before a call is retried, and before a batch is polled again."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential back-off with full jitter; a server's Retry-After is respected.

    The jitter decides only when a call is made, never what it answers, so it needs no keyed stream.
    """

    tries: int = 8
    first: float = 0.5
    longest: float = 60.0
    longest_wait: float = 3600.0
    """The longest Retry-After that is waited for, in seconds."""
    outage: float = 600.0
    """Seconds for which a model that has answered before may be out of reach; its calls are tried until then."""

    def allows(self, retry_after: float | None) -> bool:
        """Return whether a server's Retry-After is short enough to wait for.

        >>> RetryPolicy().allows(30.0), RetryPolicy().allows(None), RetryPolicy().allows(1e8)
        (True, True, False)
        """
        return retry_after is None or retry_after <= self.longest_wait

    def wait(self, failures: int, retry_after: float | None = None) -> float:
        """Return the seconds to wait after consecutive failures: Retry-After, but at least the back-off.

        >>> 0 <= RetryPolicy().wait(1) <= 0.5
        True
        """
        # A server that asks for 0 s, or names a past date, must not use up all tries within seconds.
        backoff = random.uniform(0, min(self.longest, self.first * 2 ** min(failures - 1, 64)))
        return max(backoff, (retry_after or 0.0) + min(1.0, backoff))


@dataclass(frozen=True, slots=True)
class PollingPolicy:
    """How often a batch is polled, and after how many failures or seconds polling ends."""

    first: float = 0.5
    longest: float = 60.0
    growth: float = 1.5
    failures: int = 200
    """The number of consecutive failed polls that end the session; the batch stays in the journal."""
    lag: float = 10.0
    """Seconds after which a batch that no listing shows counts as not created."""
    readings: int = 4
    patience: float = 60.0
    """Seconds during which incomplete results are read again."""
    lifetime: float = 26 * 3600.0
    """Seconds after which results count as final; services promise 24 hours."""

    def wait(self, polls: int) -> float:
        """Seconds before the next poll, with jitter.

        >>> 0.25 <= PollingPolicy().wait(0) <= 0.75 and PollingPolicy().wait(100) <= 90
        True
        """
        return random.uniform(0.5, 1.5) * min(self.longest, self.first * self.growth ** min(polls, 64))
