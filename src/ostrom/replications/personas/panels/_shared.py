"""Played profiles of a run for panels, and the conditions that they are split by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ostrom.data.rundata import RunData
from ostrom.replications.personas.profiles import Played
from ostrom.reports.words import pretty

NOTHING = "No one-shot match is finished, so there is no profile to show."


def conditions(data: RunData, found: Sequence[Played]) -> list[str]:
    """The factors that make conditions: all that vary, less what names the game and what follows from the others.

    In the published design persona and payoffs settle the instruction and the names: two factors say it all.
    """
    made: list[str] = []
    for name in data.factors:
        if not all(p.cell.get(name) == p.scenario for p in found) and not _follows(name, made, found):
            made.append(name)
    return made


def _follows(name: str, others: Sequence[str], found: Sequence[Played]) -> bool:
    """Whether the level of a factor is the same wherever those of the others are; so one that never varies."""
    levels: dict[tuple[Any, ...], set[Any]] = {}
    for p in found:
        levels.setdefault(tuple(p.cell.get(other) for other in others), set()).add(p.cell.get(name))
    return all(len(of) == 1 for of in levels.values())


def condition_label(key: Mapping[str, Any], by: Sequence[str]) -> str:
    """A condition in words.

    >>> condition_label({"persona": "yes", "payoffs": "hidden"}, ["persona", "payoffs"])
    'persona yes, payoffs hidden'
    """
    return ", ".join(f"{pretty(name)} {pretty(key[name])}" for name in by) or "all"
