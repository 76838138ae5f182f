"""Memories: which part of the past a seat is shown. Pure."""

from ostrom.memory.base import Memory, Shown
from ostrom.registry import Registry

memories: Registry[Memory] = Registry("memory", "ostrom.memory.catalog", "MEMORY", "ostrom.memories")

__all__ = ["Memory", "Shown", "memories"]
