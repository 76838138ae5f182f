"""How many rounds a memory lets a player see, and how many of them are real."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import orjson

from ostrom.memory import memories
from ostrom.memory.catalog.sanitized import Sanitized
from ostrom.memory.recent import Window


@dataclass(frozen=True, slots=True)
class MemorySpan:
    """A memory: its name, the rounds it shows, and for a sanitized one how many of them are real."""

    name: str
    length: int | None
    """History length: the most rounds shown; None where the memory has no fixed number."""
    real: int | None = None
    mode: str | None = None


@lru_cache(maxsize=1024)
def span_of(memory: str) -> MemorySpan:
    """The span of a memory as the column ``agent_memory`` writes it.

    >>> span_of("window:80")
    MemorySpan(name='window', length=80, real=None, mode=None)
    >>> span_of('{"mode":"ideal","name":"sanitized","real":20}').real
    20
    """
    built = memories.build(orjson.loads(memory) if memory.startswith("{") else memory)
    if isinstance(built, Window):
        return MemorySpan(built.name, built.k)
    if isinstance(built, Sanitized):
        return MemorySpan(built.name, built.window, built.real, built.mode)
    return MemorySpan(built.name, None)
