"""Sources of a factor's levels other than a list: one file per source.

A study writes ``vary: {scenario: {set: game, to: {from: scenarios, family: commons}}}``. A source is a
function that returns the levels as entries; another package adds one by an entry point of the group ``ostrom.sources``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ostrom.ground.registry import Registry

__all__ = ["Entry", "sources"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A level of a factor: its label in tables, the value of the field that it sets, and further columns."""

    label: str | int | float | bool
    value: Any
    traits: Mapping[str, Any] = field(default_factory=dict)
    """Further table columns of the level, such as the class of a scenario."""


sources: Registry[Sequence[Entry]] = Registry("source of levels", "ostrom.studies.sources", "SOURCE", "ostrom.sources")
