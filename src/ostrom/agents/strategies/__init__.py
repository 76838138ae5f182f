"""The strategies of the catalog: those of the table in ``_declared``, and one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostrom.ground.registry import Registry

if TYPE_CHECKING:
    from ostrom.agents.strategy import Strategy

strategies: Registry[Strategy] = Registry(
    "strategy",
    "ostrom.agents.strategies",
    "STRATEGY",
    "ostrom.strategies",
    folder="strategies",
    declared="ostrom.agents.strategies._declared",
)

__all__ = ["strategies"]
