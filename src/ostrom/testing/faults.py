"""Faults of a test server, determined by the request and not by the order of arrival."""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist

from ostrom.ground.errors import StudyError

KINDS: dict[str, str] = {
    "rate_limit": "429 with Retry-After",
    "server_error": "500",
    "unavailable": "503",
    "overloaded": "529, as Anthropic says it",
    "error_in_200": "an error object in a reply with status 200",
    "refused_key": "401 that repeats the key it was given",
    "hang": "no answer at all",
    "reset": "connection broken off before the answer",
    "cut_body": "connection closed in the middle of the answer",
    "cut_reply": "half of the text, finish reason length",
    "malformed": "text that is not JSON",
    "wrong_schema": "JSON that is no completion",
    "empty": "a completion with an empty text",
    "drip": "the whole answer, a few bytes at a time",
}


@dataclass(frozen=True, slots=True)
class Faults:
    """Probabilities by kind of fault, and the fates of the first requests (``first``, None for success).

    The draw depends on the seed, the body and how often that body has come before: the same run meets the
    same faults whatever its concurrency, and a retry has a new chance.

    >>> faults = Faults({"hang": 0.5, "reset": 0.5})
    >>> faults.draw(b"body", 0) == faults.draw(b"body", 0) in KINDS
    True
    >>> Faults().draw(b"body", 0) is None
    True
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    first: tuple[str | None, ...] = ()
    seed: int = 0
    retry_after: str = "1"
    """The value of the Retry-After header."""

    def __post_init__(self) -> None:
        for kind in [*self.rates, *filter(None, self.first)]:
            if kind not in KINDS:
                raise StudyError("unknown kind of fault", key="faults", actual=kind, allowed=KINDS)
        if any(not 0 <= rate <= 1 for rate in self.rates.values()) or sum(self.rates.values()) > 1 + 1e-9:
            raise StudyError("probabilities lie between 0 and 1 and sum to at most 1", actual=dict(self.rates))

    def draw(self, body: bytes, attempt: int) -> str | None:
        """The fault of this request, or None."""
        left = uniform(self.seed, b"fault", attempt, body) if self.rates else 1.0
        for kind, rate in self.rates.items():
            left -= rate
            if left < 0:
                return kind
        return None


@dataclass(frozen=True, slots=True)
class Latency:
    """Seconds until the answer: fixed, or log-normal around the median with the given spread (sigma)."""

    median: float = 0.0
    sigma: float = 0.0
    seed: int = 0

    def draw(self, body: bytes, attempt: int) -> float:
        """The latency of this request."""
        if self.sigma == 0 or self.median == 0:
            return self.median
        u = uniform(self.seed, b"latency", attempt, body)
        return self.median * math.exp(self.sigma * NormalDist().inv_cdf(min(max(u, 1e-9), 1 - 1e-9)))


def uniform(seed: int, purpose: bytes, attempt: int, body: bytes) -> float:
    """A number in [0, 1) that depends on exactly these things."""
    digest = hashlib.blake2b(body, digest_size=8, key=b"%d/%s/%d" % (seed, purpose, attempt)).digest()
    return int.from_bytes(digest, "big") / 2**64
