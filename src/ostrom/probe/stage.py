"""What every stage of the funnel returns: the traces that it kept, and each dropped one with its reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ostrom.probe.trace import Trace


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage after it has run."""

    name: str
    rule: str
    """What it keeps, in words."""
    kept: tuple[Trace, ...]
    dropped: tuple[tuple[Trace, str], ...]

    @property
    def reasons(self) -> dict[str, int]:
        """How many were dropped for each reason, most frequent first."""
        return dict(Counter(reason for _, reason in self.dropped).most_common())


def sieve(name: str, rule: str, traces: Iterable[Trace], why: Callable[[Trace], str | None]) -> Stage:
    """A stage that looks at each trace alone: ``why`` says the reason to drop it, or None."""
    kept: list[Trace] = []
    dropped: list[tuple[Trace, str]] = []
    for trace in traces:
        reason = why(trace)
        if reason is None:
            kept.append(trace)
        else:
            dropped.append((trace, reason))
    return Stage(name, rule, tuple(kept), tuple(dropped))


def parted(name: str, rule: str, traces: Sequence[Trace], chosen: Iterable[Trace], reason: str) -> Stage:
    """A stage that chooses among the traces as a whole."""
    places = {trace.place for trace in chosen}
    return sieve(name, rule, traces, lambda trace: None if trace.place in places else reason)
