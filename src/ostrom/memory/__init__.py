"""Memories: pure functions that select the past a seat is shown."""

from ostrom.ground.registry import Registry
from ostrom.memory.base import Frequency, Memory, MemoryView, Note, NoteDue, Shown

memories: Registry[Memory] = Registry(
    "memory",
    "ostrom.memory.catalog",
    "MEMORY",
    "ostrom.memories",
    folder="memories",
    table={
        "asked": "ostrom.memory.recent:NamedRounds",
        "curated": "ostrom.memory.recent:Curated",
        "forgetting": "ostrom.memory.recent:Forgetting",
        "forgiving": "ostrom.memory.recent:Forgiving",
        "full": "ostrom.memory.recent:Full",
        "retrieval": "ostrom.memory.recent:Retrieval",
        "summary": "ostrom.memory.recent:Summary",
        "tally": "ostrom.memory.recent:TallyMemory",
        "window": "ostrom.memory.recent:Window",
    },
    code="ostrom.memory.function",
)

__all__ = ["Frequency", "Memory", "MemoryView", "Note", "NoteDue", "Shown", "memories"]
