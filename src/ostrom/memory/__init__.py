"""Memories: which part of the past a seat is shown. Pure."""

from ostrom.ground.registry import Registry
from ostrom.memory.base import Count, Memory, Note, NoteDue, Shown

memories: Registry[Memory] = Registry(
    "memory", "ostrom.memory.catalog", "MEMORY", "ostrom.memories", folder="memories"
)

__all__ = ["Count", "Memory", "Note", "NoteDue", "Shown", "memories"]
