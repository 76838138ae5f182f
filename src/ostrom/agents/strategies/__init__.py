"""The catalog of strategies: declared ones, three families, and one file each for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostrom.ground.registry import Registry

if TYPE_CHECKING:
    from ostrom.agents.strategy import Strategy

FAMILIES = {
    "_by_action": {
        "alternator": "Alternator",
        "constant": "Constant",
        "favourite": "Favourite",
        "random": "Random",
        "script": "Script",
    },
    "_by_amount": {
        "conditional_cooperator": "ConditionalCooperator",
        "proportional": "Proportional",
        "threshold": "Threshold",
    },
    "_dilemma": {
        "contrite_tit_for_tat": "ContriteTitForTat",
        "generous_tit_for_tat": "GenerousTitForTat",
        "grim": "Grim",
        "zd_extortion": "ZDExtortion",
    },
}
"""Strategies that share a module, with their classes."""

strategies: Registry[Strategy] = Registry(
    "strategy",
    "ostrom.agents.strategies",
    "STRATEGY",
    "ostrom.strategies",
    folder="strategies",
    declared="ostrom.agents.strategies._declared",
    table={
        name: f"ostrom.agents.strategies.{module}:{kind}"
        for module, kinds in FAMILIES.items()
        for name, kind in kinds.items()
    },
    code="ostrom.agents.function_strategy",
)

__all__ = ["strategies"]
