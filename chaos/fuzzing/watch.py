"""Feeding inputs to a reader under watch: only clean refusals, in one line, within bounded time."""

from __future__ import annotations

import contextlib
import io
import resource
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any
from zlib import crc32

from ostrom.ground.errors import OstromError

SECONDS = 5.0
"""Processor time that one input may take: far beyond anything polynomial for inputs of this size."""
MEMORY = 6 << 30


class TooSlow(BaseException):
    """An input took too long. Not an Exception: no reader may swallow it."""


@dataclass(frozen=True, slots=True)
class Target:
    """A reader, and how inputs for it are drawn; ``inputs`` is its part of a full run."""

    name: str
    inputs: int
    draw: Callable[[Random], Any]
    feed: Callable[[Any], object]


@dataclass(slots=True)
class Tried:
    """What became of a batch of inputs."""

    accepted: int = 0
    refused: int = 0
    crashes: list[str] = field(default_factory=list)

    @property
    def inputs(self) -> int:
        """How many there were."""
        return self.accepted + self.refused + len(self.crashes)

    def add(self, other: Tried) -> None:
        """Count another batch in."""
        self.accepted += other.accepted
        self.refused += other.refused
        self.crashes += other.crashes


def attempt(target: Target, number: int) -> str | None:
    """Feed one input, by its number: None if it was accepted, '' if it was refused, else what went wrong."""
    given = target.draw(Random(crc32(target.name.encode()) << 32 | number))
    try:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        target.feed(given)
        return None
    except OstromError as error:
        said = str(error)
        if said.strip() and len(said.splitlines()) == 1:
            return ""
        return _told(target, number, given, f"refused in {len(said.splitlines())} lines: {said[:300]!r}")
    except TooSlow:
        return _told(target, number, given, f"more than {SECONDS:g} s")
    except (Exception, RecursionError) as error:
        frames = traceback.extract_tb(error.__traceback__)
        where = " < ".join(f"{f.filename.rpartition('/')[2]}:{f.lineno}" for f in reversed(frames[-4:]))
        return _told(target, number, given, f"{type(error).__name__}: {str(error)[:200]} at {where}")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _told(target: Target, number: int, given: Any, what: str) -> str:
    try:
        shown = ascii(given)[:400]
    except RecursionError:
        shown = "(too deep to show)"
    return f"{target.name} #{number}: {what} | input {shown}"


def feed_range(target: Target, start: int, stop: int) -> Tried:
    """Feed the inputs with these numbers."""
    tried = Tried()
    with watched():
        for number in range(start, stop):
            outcome = attempt(target, number)
            if outcome is None:
                tried.accepted += 1
            elif outcome == "":
                tried.refused += 1
            else:
                tried.crashes.append(outcome)
    return tried


@contextlib.contextmanager
def watched() -> Iterator[None]:
    """A watch on processor time, and silence on the terminal."""

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGPROF, stop)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        signal.signal(signal.SIGPROF, before)


def bound_memory() -> None:
    """A reader that wants all memory of the machine fails here instead of taking it."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
