"""How the outside service fails: seeded draws for exchanges, batches, result files and listings."""

from __future__ import annotations

import random
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

EXCHANGES = (
    "reset_before",  # the connection is reset before anything happened
    "reset_after",  # ... after the request took effect: its answer is lost
    "rate_limit",  # 429 with Retry-After
    "server_error",  # 500, 502, 503 or 529 before anything happened
    "late_error",  # 500 after the request took effect
    "cut_json",  # 200, and half of the JSON document
    "cut_body",  # the connection is closed in the middle of the body
    "html",  # 200, and a page of some proxy
    "hang",  # no answer at all
    "slow",
)
FATES = ("failed", "expired", "cancelled", "slow")
"""What becomes of a batch beside ``completed``."""
READINGS = ("cut", "missing", "doubled", "unknown", "broken_line", "not_found")
"""What is wrong with a file of results when it is read."""
EARLY_READS = 2
"""How often lines of one file may be missing: later readings are whole."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much goes wrong, and how long things take."""

    share: float = 0.0
    """Of exchanges, batches, readings, lines and listings."""
    seed: int = 0
    seconds: float = 0.0
    """How long a batch takes; a slow one takes five times as long."""
    lag: float = 0.0
    """Seconds for which a listing may miss a new batch, and the results of an ended one may not be there."""
    hang: float = 10.0
    kinds: tuple[str, ...] = EXCHANGES
    tokens: int | None = None
    """The most tokens of batches that are not ended; a batch beyond them fails."""


class Draws:
    """Draws that several threads share; every fault that happened is counted."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.met: Counter[str] = Counter()
        self._random = random.Random(plan.seed)
        self._lock = threading.Lock()

    def exchange(self) -> str | None:
        """How an exchange fails, if it does."""
        return self._one_of("exchange", self.plan.kinds)

    def fate(self) -> str:
        """How a batch ends."""
        return self._one_of("batch", FATES) or "completed"

    def reading(self) -> str | None:
        """What is wrong with a file of results."""
        return self._one_of("reading", READINGS)

    def line_fails(self) -> bool:
        """Whether a request within a batch is answered with an error."""
        return self._one_of("line", ("error",)) is not None

    def lags(self) -> bool:
        """Whether something new is not seen at once."""
        return self._one_of("view", ("lag",)) is not None

    def _one_of(self, what: str, kinds: tuple[str, ...]) -> str | None:
        with self._lock:
            if not kinds or self._random.random() >= self.plan.share:
                return None
            kind = self._random.choice(kinds)
            self.met[f"{what} {kind}"] += 1
            return kind

    def shuffled(self, items: list[T]) -> list[T]:
        """The items in any order."""
        with self._lock:
            return self._random.sample(items, len(items))

    def number(self, below: int) -> int:
        """A number from 0."""
        with self._lock:
            return self._random.randrange(max(1, below))
