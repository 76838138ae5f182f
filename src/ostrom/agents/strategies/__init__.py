"""The strategies of the catalog, one file each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostrom.ground.registry import Registry

if TYPE_CHECKING:
    from ostrom.agents.strategy import Strategy

strategies: Registry[Strategy] = Registry(
    "strategy", "ostrom.agents.strategies", "STRATEGY", "ostrom.strategies", folder="strategies"
)

__all__ = ["strategies"]
